//! Closed streams, formats and errors.

use serde_json::json;

use crate::{
    manners::program,
    support::{Fixture, assert, error_of},
};

/// Runs a line of the shell.
async fn shell(fixture: &Fixture, line: &str) -> snapbox::cmd::OutputAssert {
    assert(program(fixture, "bash").args(["-c", line])).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_leaves_ends_the_command_without_a_message() {
    let fixture = Fixture::start().await;
    let seeds = json!([{"name": "job-{n}", "count": 10_000}]);
    fixture.seed(seeds).await;
    let line = "modelarts ls --columns name | head -1; echo ${PIPESTATUS[0]}";
    shell(&fixture, line).await.code(0).stdout_eq("NAME\n0\n").stderr_eq("");
    // The rest of the list is not read.
    assert!(fixture.emulator.requests()["ListTrainingJobs"].received < 150);
    let line = "modelarts api ListTrainingJobs --all -o ndjson | head -c 1; echo ${PIPESTATUS[0]}";
    shell(&fixture, line).await.code(0).stdout_eq("{0\n").stderr_eq("");
}

#[tokio::test(flavor = "multi_thread")]
async fn closed_streams_are_not_an_error() {
    let fixture = Fixture::start().await;
    for line in [
        "modelarts flavors >&-",
        "modelarts flavors -o json >&-",
        "modelarts --help >&-",
        "modelarts flavors --min-cards 99 2>&-",
        "modelarts ls <&-",
    ] {
        let output = shell(&fixture, line).await.code(0);
        let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(["", "no jobs\n"].contains(&stderr.as_str()), "{line}: {stderr}");
    }
    // The message is lost, and the exit code is that of the result.
    let line = "modelarts flavors --min-cards 99 2> >(exec true); echo $?";
    shell(&fixture, line).await.code(0).stdout_eq("0\n");
    shell(&fixture, "modelarts ls --wrong 2>&-").await.code(2).stdout_eq("").stderr_eq("");
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_is_an_error() {
    let fixture = Fixture::start().await;
    let output = shell(&fixture, "modelarts flavors > /dev/full").await.code(1);
    output.stderr_eq("error: cannot write to stdout: No space left on device (os error 28)\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn colours_follow_the_variables() {
    let fixture = Fixture::start().await;
    for (variables, is_coloured) in
        [("", false), ("CLICOLOR_FORCE=1", true), ("CLICOLOR_FORCE=1 NO_COLOR=1", false)]
    {
        let output = shell(&fixture, &format!("{variables} modelarts flavors")).await;
        let output = output.code(0);
        let has_styles = output.get_output().stdout.contains(&0x1b);
        assert_eq!(has_styles, is_coloured, "{variables}");
        // JSON never has styles.
        let output = shell(&fixture, &format!("{variables} modelarts flavors -o json")).await;
        assert!(!output.code(0).get_output().stdout.contains(&0x1b));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_terminal_nothing_is_cut() {
    let fixture = Fixture::start().await;
    let output = shell(&fixture, "COLUMNS=20 modelarts engines").await.code(0);
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    assert!(!text.contains('…'), "{text}");
    assert!(text.lines().any(|line| line.len() > 100), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_errors_in_the_requested_format() {
    let fixture = Fixture::start().await;
    let output = fixture.run("ls --phse Running").await.code(2);
    let stderr = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("tip: a similar argument exists: '--phase'"), "{stderr}");

    let error = error_of(&fixture.run("ls --phse Running -o json").await.code(2));
    assert_eq!(error["exit_code"], 2);
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("unexpected argument '--phse' found"), "{message}");
    assert!(message.contains("'--phase'"), "{message}");

    let output = shell(&fixture, "MODELARTS_OUTPUT=jsn modelarts ls").await.code(2);
    output.stdout_eq("").stderr_eq(
        "\
error: invalid value 'jsn' for '--output <FORMAT>'
  [possible values: table, wide, json, ndjson, yaml, id, csv, job]

  tip: a similar value exists: 'json'

For more information, try '--help'.

The value may be that of the variable MODELARTS_OUTPUT.
",
    );
    let error = error_of(&shell(&fixture, "MODELARTS_OUTPUT=json modelarts lst").await.code(2));
    assert!(error["message"].as_str().unwrap().contains("unrecognized subcommand 'lst'"));
}

#[tokio::test(flavor = "multi_thread")]
async fn expressions_of_jq_apply_to_documents_and_lines() {
    let fixture = Fixture::start().await;
    let output = fixture.run("flavors --jq .flavors|length").await;
    output.code(0).stdout_eq("6\n");
    let output = fixture.run("flavors --kind cpu -o ndjson --jq .id").await;
    output.code(0).stdout_eq("modelarts.vm.cpu.2u\nmodelarts.vm.cpu.8u\n");
    let output = fixture.run("flavors --kind cpu -o ndjson --jq {id,cores}").await;
    output.code(0).stdout_eq(
        "{\"cores\":2,\"id\":\"modelarts.vm.cpu.2u\"}\n\
             {\"cores\":8,\"id\":\"modelarts.vm.cpu.8u\"}\n",
    );
    let message = "--jq \".flavors[\": closing bracket expected at its end; it must be an \
                   expression of jq, such as .jobs[].id";
    let error = error_of(&fixture.run("flavors -o json --jq .flavors[").await.code(2));
    assert_eq!(error["message"], message);
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_json_only_where_json_is_requested_by_name() {
    let fixture = Fixture::start().await;
    let message = "no job is named \"nothing\", and no id begins with it; `modelarts ls` lists \
                   jobs, and a job of another workspace is found by its id";
    for arguments in ["", "--jq .id", "-o yaml --jq .id", "-o table --jq .id"] {
        let output = fixture.run(&format!("show nothing {arguments}")).await;
        let output = output.code(4).stdout_eq("");
        output.stderr_eq(format!("error: {message}\n"));
    }
    for arguments in ["-o json --jq .id", "-o ndjson"] {
        let output = fixture.run(&format!("show nothing {arguments}")).await;
        let error = error_of(&output.code(4));
        assert_eq!(error["message"], message);
    }
    let line = "MODELARTS_OUTPUT=json modelarts show nothing --jq .id";
    let error = error_of(&shell(&fixture, line).await.code(4));
    assert_eq!(error["exit_code"], 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_other_tools_use_have_a_tip() {
    let fixture = Fixture::start().await;
    for (name, tip) in [("ps", "ls"), ("describe a", "show"), ("tail", "logs")] {
        let output = fixture.run(name).await.code(2);
        let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        let expected = format!("tip: a similar subcommand exists: '{tip}'");
        assert!(text.contains(&expected), "{text}");
    }
    let output = fixture.run("context ps").await.code(2);
    let text = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(!text.contains("exists: 'ls'"), "{text}");
}
