//! Tests of the program `cargo xtask live`, with an emulator in place of the service.
// clippy exempts only functions with a test attribute, but not the functions that they call.
#![allow(clippy::unwrap_used, clippy::panic)]

mod compare;
mod session;

use std::{
    fs,
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
};

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::json;

use crate::session::{NAMES, Session, answer, compare, operations, text};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_no_names_and_compares_without_differences() {
    let session = Session::start().await;
    let ids = session.jobs().await;
    session.records().await;
    let output = session.record(&["--create", "--yes"]).await;
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let written = fs::read_to_string(session.file()).unwrap();
    for name in NAMES.iter().copied().chain(ids.iter().map(String::as_str)) {
        assert!(!written.contains(name), "{name} is in the transcript");
    }
    for name in [
        &*session.project,
        "10.11.12.13",
        "127.0.0.1",
        session.emulator.url(),
    ] {
        assert!(!written.contains(name), "{name} is in the transcript");
    }
    let created = said
        .lines()
        .find_map(|line| line.strip_prefix("created the job "));
    for name in created
        .unwrap()
        .split([' ', '(', ')'])
        .filter(|it| !it.is_empty())
    {
        assert!(!written.contains(name), "{name} is in the transcript");
    }
    let transcript = session.transcript();
    assert_eq!(
        operations(&transcript).into_iter().collect::<Vec<_>>(),
        [
            "CreateTrainingJob",
            "DeleteTrainingJob",
            "ListAlgorithms",
            "ListEventCategories",
            "ListTrainingExperiments",
            "ListTrainingJobEvents",
            "ListTrainingJobStages",
            "ListTrainingJobTags",
            "ListTrainingJobTasks",
            "ListTrainingJobs",
            "ShowAutoSearchYamlTemplatesInfo",
            "ShowObsUrlOfTrainingJobLogs",
            "ShowSearchAlgorithms",
            "ShowTrainJobTags",
            "ShowTrainingJobDetails",
            "ShowTrainingJobEngines",
            "ShowTrainingJobFlavors",
            "ShowTrainingJobLogsFromAom",
            "ShowTrainingJobLogsPreview",
            "ShowTrainingJobMetrics",
            "ShowTrainingQuotas",
        ]
    );
    // A name has the same placeholder everywhere, and a path keeps its form.
    let job = answer(&transcript, "ShowTrainingJobDetails");
    let input = &job["algorithm"]["inputs"][0];
    let directory = input["remote"]["obs"]["obs_url"].as_str().unwrap();
    let events = answer(&transcript, "ListTrainingJobEvents");
    let message = |at: usize| events["events"][at]["message"].as_str().unwrap();
    assert_eq!(message(0), "Training job created.");
    assert_eq!(
        message(1),
        format!(
            "[worker-0] [Duration: 0.5] Training input (parameter: {}) downloaded.",
            input["name"].as_str().unwrap()
        )
    );
    let user = job["metadata"]["user_name"].as_str().unwrap();
    assert!(
        message(2).contains(&format!("Failed to download obs:/{directory}file_")),
        "{}",
        message(2)
    );
    assert!(
        message(2).contains(&format!(".csv: {user} of ")),
        "{}",
        message(2)
    );
    assert!(directory.starts_with("/bucket-1/dir_"), "{directory}");
    let code = job["algorithm"]["code_dir"].as_str().unwrap();
    let file = job["algorithm"]["boot_file"].as_str().unwrap();
    assert!(
        file.starts_with(code) && file.ends_with(".py"),
        "{code} {file}"
    );
    assert_eq!(job["algorithm"]["parameters"][1]["value"], "11");
    assert_eq!(job["status"]["phase"], "Completed");
    let log = answer(&transcript, "ShowTrainingJobLogsPreview");
    assert_eq!(log["content"], "xxxx-xxxxxx 00\nxxx xxxxxxxx\n");
    // The job was deleted; the comparison found no difference.
    assert_eq!(session.executed("CreateTrainingJob"), 1);
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
    let (code, out) = compare(&session.file());
    assert!(out.ends_with(" not replayed, 0 differences\n"), "{out}");
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_not_created_where_the_question_cannot_be_asked() {
    let session = Session::start().await;
    let output = session.record(&["--create"]).await;
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: --create may cost money, and the question cannot be asked, as stdin is no terminal; \
         --yes must be given too\n"
    );
    assert!(
        session
            .emulator
            .requests()
            .values()
            .all(|it| it.received == 0)
    );
}

/// The options for a job that does not end by itself.
const ENDLESS: [&str; 4] = ["--create", "--yes", "--command", "sleep 600"];

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stopped_and_deleted_when_the_budget_is_used_up() {
    let session = Session::start().await;
    let output = session
        .record(&[&ENDLESS[..], &["--budget-minutes", "0.01"]].concat())
        .await;
    let said = text(&output.stderr);
    assert!(
        said.ends_with("error: the budget of 0.01 minutes is used up\n"),
        "{said}"
    );
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(session.executed("StopTrainingJob"), 1);
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
    let (code, out) = compare(&session.file());
    assert!(out.ends_with(" not replayed, 0 differences\n"), "{out}");
    assert_eq!(code, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_stopped_and_deleted_on_ctrl_c() {
    let session = Session::start().await;
    let mut command = session.command(&ENDLESS);
    let mut child: Child = command.stderr(Stdio::piped()).spawn().unwrap();
    let said = tokio::task::spawn_blocking(move || {
        let mut said = Vec::new();
        for line in BufReader::new(child.stderr.take().unwrap()).lines() {
            let line = line.unwrap();
            if line.starts_with("created the job") {
                let id = child.id().to_string();
                assert!(
                    Command::new("kill")
                        .args(["-INT", &id])
                        .status()
                        .unwrap()
                        .success()
                );
            }
            said.push(line);
        }
        (child.wait().unwrap().code(), said)
    });
    let (code, said) = said.await.unwrap();
    assert_eq!(said.last().unwrap(), "error: interrupted");
    assert_eq!(code, Some(2));
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
    assert!(operations(&session.transcript()).contains("DeleteTrainingJob"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_fails_is_tried_again() {
    let session = Session::start().await;
    let fault = json!({"fault": "status", "status": 409});
    let fault: Fault = serde_json::from_value(fault).unwrap();
    let rule = FaultRule::once("DeleteTrainingJob", fault);
    session.emulator.faults().add(rule).unwrap();
    let output = session.record(&["--create", "--yes"]).await;
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(session.executed("DeleteTrainingJob"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_refused_is_written_too() {
    let session = Session::start().await;
    let output = session
        .record(&["--create", "--yes", "--flavor", "plovers.large"])
        .await;
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("error: the job was not created: "), "{said}");
    assert!(
        !fs::read_to_string(session.file())
            .unwrap()
            .contains("plovers")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cloud_of_the_environment_is_written() {
    let session = Session::start().await;
    let mut command = session.command(&[]);
    command.env("MODELARTS_CLOUD", "otc");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    assert!(output.await.unwrap().status.success());
    assert_eq!(session.transcript()["cloud"], "otc");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_its_first_call_is_refused() {
    let session = Session::start().await;
    let mut command = session.command(&["--create", "--yes"]);
    command.env("HUAWEICLOUD_SDK_SK", "sk-of-another");
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("error: the first call was refused, and nothing else was sent; no transcript was written: "),
        "{said}"
    );
    assert!(!session.file().exists());
    // Only two lines are printed, the endpoint and the error: no further step was started.
    assert_eq!(said.lines().count(), 2, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_when_there_is_no_connection() {
    let session = Session::start().await;
    let mut command = session.command(&[]);
    // Connections to the port of a closed listener are refused.
    let closed = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    command.env("MODELARTS_ENDPOINT", format!("http://{closed}"));
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("error: the first call had no answer, and nothing else was sent; no transcript was written: "),
        "{said}"
    );
    assert!(!session.file().exists());
}
