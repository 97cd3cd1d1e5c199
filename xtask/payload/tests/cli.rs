//! Tests of the program's output and exit codes.
// clippy exempts only functions with a test attribute, but not the functions that they call.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

/// Runs the program in an empty directory with `input` on standard input.
fn payload(arguments: &[&str], input: &str) -> (i32, String, String) {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("job.json"), r#"{"kind":"job"}"#).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_modelarts-payload"))
        .args(arguments)
        .current_dir(directory.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Ignores the error of the write, because a program that rejects its arguments does not read
    // its input.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    let output = child.wait_with_output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn stdin(schema: &str, input: &str) -> (i32, String) {
    let (code, out, err) = payload(&[schema, "-"], input);
    assert_eq!(err, "");
    (code, out)
}

#[test]
fn notes_and_unknown_fields_pass() {
    assert_eq!(
        stdin(
            "LogPreview",
            r#"{"full_size":"27","content":null,"new":[]}"#
        ),
        (
            0,
            "- as LogPreview\n  \
             note     /content: null became absent\n  \
             note     /full_size: \"27\" became 27\n  \
             unknown  /new: [] is in no field of the type\n  \
             ok: 2 notes, 1 unknown\n"
                .to_owned()
        )
    );
}

#[test]
fn filler_is_passed_over_and_a_dropped_element_fails() {
    let (code, out) = stdin("ListTrainingJobsResponse", r#"{"items":["......",{}]}"#);
    assert_eq!(code, 0);
    assert_eq!(
        out,
        "- as ListTrainingJobsResponse\n  \
         filler   /items/0: \"......\": invalid type: string \"......\", expected an object\n  \
         ok: 1 filler; left out of lists: 1 rows, 0 nested elements\n"
    );
    let (code, out) = stdin("ListTrainingJobsResponse", r#"{"items":[5,{}]}"#);
    assert_eq!(code, 1);
    assert_eq!(
        out,
        "- as ListTrainingJobsResponse\n  \
         dropped  /items/0: 5: invalid type: integer `5`, expected an object\n  \
         FAILED: 1 dropped; left out of lists: 1 rows, 0 nested elements\n"
    );
}

#[test]
fn one_bad_file_of_several_fails_and_the_others_are_still_read() {
    let (code, out, _) = payload(
        &["TrainingJob", "none.json", "-", "job.json"],
        "{\n\"kind\" 5}",
    );
    assert_eq!(code, 1);
    assert_eq!(
        out,
        "none.json as TrainingJob\n  \
         FAILED: the file cannot be read: No such file or directory (os error 2)\n\
         - as TrainingJob\n  \
         FAILED: not JSON: expected `:` at line 2 column 8\n\
         job.json as TrainingJob\n  \
         ok\n"
    );
}

#[test]
fn a_list_is_not_taken_for_an_object() {
    let (code, out) = stdin("TrainingJob", r#"[{"kind":"job"},{"kind":"job"}]"#);
    assert_eq!(code, 1);
    assert!(
        out.contains("FAILED: cannot be decoded: invalid type: sequence, expected an object"),
        "{out}"
    );
}

#[test]
fn an_unknown_schema_gets_the_nearest_name() {
    let (code, out, err) = payload(&["TrainingJobs", "job.json"], "");
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(
        err,
        "error: no schema is called TrainingJobs; the nearest name is TrainingJob\n"
    );
}

#[test]
fn empty_bodies_pass_as_empty() {
    for body in ["", "\"\"", "null", "{}"] {
        assert_eq!(stdin("Empty", body), (0, "- as Empty\n  ok\n".to_owned()));
    }
    assert_eq!(stdin("Empty", "{\"id\":1}").0, 1);
}
