//! Tests of the command `cargo xtask codegen`, with a small description.
// clippy exempts only functions with a test attribute, but not the functions that they call.
#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use tempfile::TempDir;

const DESCRIPTION: &str = r"
openapi: 3.0.3
info: {title: Small, version: '1'}
paths:
  /jobs/{id}:
    get:
      operationId: ShowJob
      x-effect: read
      parameters:
        - {name: id, in: path, required: true, schema: {type: string}}
      responses:
        '200':
          description: The job.
          content: {application/json: {schema: {$ref: '#/components/schemas/Job'}}}
        4XX:
          description: Refused.
          content: {application/json: {schema: {$ref: '#/components/schemas/ApiError'}}}
components:
  schemas:
    Job:
      type: object
      properties:
        name: {type: string}
    ApiError:
      type: object
      properties:
        error_code: {type: string}
";

/// Temporary project with a description and its snapshots.
struct Project(TempDir);

impl Project {
    /// Creates a project whose snapshots are up to date.
    fn new() -> Self {
        let project = Self(tempfile::tempdir().unwrap());
        project.describe(DESCRIPTION);
        let output = project.codegen(&[]);
        assert_eq!(code(&output), 0, "{}", text(&output));
        project
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn snapshot(&self, piece: &str) -> std::path::PathBuf {
        self.path("snapshots").join(format!("{piece}.snap"))
    }

    fn describe(&self, yaml: &str) {
        fs::write(self.path("small.yaml"), yaml).unwrap();
    }

    fn codegen(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("codegen")
            .args(arguments)
            // Relative paths must refer to the current directory.
            .args(["--description", "small.yaml", "--snapshots", "snapshots"])
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    fn check(&self) -> (i32, String) {
        let output = self.codegen(&["--check"]);
        (code(&output), text(&output))
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn text(output: &Output) -> String {
    let stdout = String::from_utf8(output.stdout.clone()).unwrap();
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    stdout + &stderr
}

fn edit(path: &Path, edit: impl FnOnce(String) -> String) {
    fs::write(path, edit(fs::read_to_string(path).unwrap())).unwrap();
}

#[test]
fn what_was_just_written_passes() {
    let project = Project::new();
    let (code, text) = project.check();
    assert_eq!(
        (code, text.contains("snapshots are what")),
        (0, true),
        "{text}"
    );
    let stored = fs::read_to_string(project.snapshot("schema.Job")).unwrap();
    assert!(
        stored.starts_with("---\nsource: xtask/src/snapshots.rs\n---\n"),
        "{stored}"
    );
}

#[test]
fn the_check_leaves_everything_alone() {
    let project = Project::new();
    let path = project.snapshot("schema.Job");
    edit(&path, |text| {
        text.replace("pub struct Job", "pub struct Jab")
    });
    let before = fs::read_to_string(&path).unwrap();
    let files = fs::read_dir(project.path("snapshots")).unwrap().count();
    project.check();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    let now = fs::read_dir(project.path("snapshots")).unwrap().count();
    assert_eq!(now, files, "no pending snapshots");
}

#[test]
fn a_changed_field_is_red_with_a_diff_and_regenerating_mends_it() {
    let project = Project::new();
    project.describe(&DESCRIPTION.replace("name: {type: string}", "name: {type: integer}"));
    let (code, report) = project.check();
    assert_eq!(code, 1);
    for line in [
        "--- schema.Job (snapshot)\n+++ schema.Job (generated)\n",
        "\n-    pub name: ::std::option::Option<::std::string::String>,\n",
        "\n+    pub name: ::std::option::Option<i64>,\n",
        "\nchanged (1): schema.Job\n",
        "\nrun `cargo xtask codegen` and commit",
    ] {
        assert!(report.contains(line), "{line:?} in {report}");
    }
    let said = text(&project.codegen(&[]));
    assert!(said.starts_with("1 changed: schema.Job\n"), "{said}");
    assert_eq!(project.check().0, 0);
}

#[test]
fn new_and_removed_schemas_are_named() {
    let project = Project::new();
    project.describe(
        &DESCRIPTION
            .replace("schemas/Job'", "schemas/Task'")
            .replace("    Job:", "    Task:"),
    );
    let (code, report) = project.check();
    assert_eq!(code, 1);
    assert!(
        report.contains("without a snapshot (1): schema.Task\n"),
        "{report}"
    );
    assert!(
        report.contains("belong to nothing (1): schema.Job.snap\n"),
        "{report}"
    );
    let said = text(&project.codegen(&[]));
    assert!(said.starts_with("1 added: schema.Task\n"), "{said}");
    assert!(said.contains("1 removed: schema.Job.snap\n"), "{said}");
    assert!(!project.snapshot("schema.Job").exists());
    assert_eq!(project.check().0, 0);
}

#[test]
fn a_snapshot_of_nothing_is_red() {
    let project = Project::new();
    fs::copy(
        project.snapshot("schema.Job"),
        project.snapshot("schema.Old"),
    )
    .unwrap();
    let (code, report) = project.check();
    assert_eq!(code, 1);
    assert!(
        report.starts_with("belong to nothing (1): schema.Old.snap\n"),
        "{report}"
    );
}

#[test]
fn a_join_that_is_not_the_generated_file_is_red_and_regenerating_mends_it() {
    let project = Project::new();
    edit(&project.snapshot("schema.Job"), |text| text + "\n\n");
    let (code, report) = project.check();
    assert_eq!(code, 1);
    assert!(
        report.starts_with("the joined snapshots are not the generated file\n  schema.Job line "),
        "{report}"
    );
    assert_eq!(self::code(&project.codegen(&[])), 0);
    assert_eq!(project.check().0, 0);
}

#[test]
fn a_broken_description_is_one_sentence_and_touches_nothing() {
    let project = Project::new();
    project.describe(&DESCRIPTION.replace("x-effect: read", "x-effect: reads"));
    for arguments in [&["--check"][..], &[]] {
        let output = project.codegen(arguments);
        assert_eq!(
            (code(&output), text(&output)),
            (
                1,
                "error: small.yaml: operation ShowJob: x-effect is \"reads\"; \
                 it must be read, idempotent or create\n"
                    .to_owned()
            )
        );
    }
    project.describe(DESCRIPTION);
    assert_eq!(project.check().0, 0);
}

#[test]
fn what_is_not_yaml_or_says_something_twice_is_one_sentence() {
    let project = Project::new();
    for (before, after, said) in [
        (
            "        name: {type: string}",
            "        name: {type: string}\n        name: {type: integer}",
            "components.schemas.Job.properties: duplicate entry with key \"name\" at line 23 \
             column 9",
        ),
        (
            "title: Small",
            "title: [Small",
            "did not find expected ',' or ']' at line 3 column 35, while parsing a flow sequence at \
             line 3 column 15",
        ),
    ] {
        project.describe(&DESCRIPTION.replace(before, after));
        let output = project.codegen(&["--check"]);
        assert_eq!(
            (code(&output), text(&output)),
            (1, format!("error: small.yaml: not YAML: {said}\n"))
        );
    }
}
