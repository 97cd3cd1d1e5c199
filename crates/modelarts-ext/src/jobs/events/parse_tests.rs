//! Every text that is documented.

use std::time::Duration;

use crate::jobs::events::kind::EventKind as K;

fn task() -> String {
    "worker-0".into()
}

fn took(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

fn hours(hours: u64) -> Duration {
    Duration::from_secs(hours * 3600)
}

/// The texts as the guide prints them, with its placeholders, in its order.
#[test]
fn every_text_of_the_guide_has_its_kind() {
    let none = String::new;
    let xxx = || "xxx".to_owned();
    let table = [
        ("Training job created.", K::Created),
        ("Training job failures:", K::CreateFailed { cause: none() }),
        (
            "Preparations timed out. The possible cause is that the cross-region algorithm synchronization or creating shared storage timed out.",
            K::PrepareTimedOut,
        ),
        (
            "The training job is queuing and awaiting resource allocation.",
            K::Queuing,
        ),
        ("Failed to be queued.", K::QueueFailed),
        ("The training job starts to run.", K::Running),
        ("Training job executed.", K::Completed),
        ("Failed to run the training job.", K::Failed),
        ("The training job is preempted.", K::Preempted),
        (
            "The system detects that your training job may be suspended. Go to the job details page to view the cause and handle the issue.",
            K::MaybeHanging,
        ),
        ("The training job has been restarted.", K::Restarted),
        (
            "The training job has been manually stopped.",
            K::StoppedByUser,
        ),
        (
            "The training job has been stopped. (Maximum running duration: 1 hour)",
            K::AutoStopped { limit: hours(1) },
        ),
        (
            "The training job has been stopped. (Maximum running duration: 3 hours)",
            K::AutoStopped { limit: hours(3) },
        ),
        ("The training job has been manually deleted.", K::Deleted),
        ("Billing information synchronized.", K::Billed),
        (
            "[worker-0] The training environment is being pre-checked.",
            K::PreCheckStarted { task: task() },
        ),
        (
            "[worker-0] [Duration: second] Pre-check completed.",
            K::PreCheckDone {
                task: task(),
                took: None,
            },
        ),
        // The guide has this line twice.
        (
            "[worker-0] [Duration: second] Pre-check failed. Error: xxx",
            K::PreCheckFailed {
                task: task(),
                took: None,
                error: xxx(),
            },
        ),
        (
            "[worker-0] The training code is being downloaded.",
            K::CodeDownloading { task: task() },
        ),
        (
            "[worker-0] [Duration: second] Training code downloaded.",
            K::CodeDownloaded {
                task: task(),
                took: None,
            },
        ),
        (
            "[worker-0] [Duration: second] Failed to download the training code. Failure cause:",
            K::CodeDownloadFailed {
                task: task(),
                took: None,
                cause: none(),
            },
        ),
        (
            "[worker-0] The training input is being downloaded.",
            K::InputDownloading { task: task() },
        ),
        (
            "[worker-0] [Duration: second] Training input (parameter: xxx) downloaded.",
            K::InputDownloaded {
                task: task(),
                took: None,
                parameter: xxx(),
            },
        ),
        (
            "[worker-0] [Duration: second] Failed to download the training input (parameter: xxx). Failure cause:",
            K::InputDownloadFailed {
                task: task(),
                took: None,
                parameter: xxx(),
                cause: none(),
            },
        ),
        (
            "[worker-0] Python dependency packages are being installed. Import the following files:",
            K::DependenciesInstalling {
                task: task(),
                files: vec![],
            },
        ),
        (
            "[worker-0] [Duration: second] Python dependency packages installed. Import the following files:",
            K::DependenciesInstalled {
                task: task(),
                took: None,
                files: vec![],
            },
        ),
        (
            "[worker-0] The training job starts to run.",
            K::TaskStarted { task: task() },
        ),
        (
            "[worker-0] Training job executed.",
            K::TaskFinished {
                task: task(),
                exit_code: None,
            },
        ),
        (
            "[worker-0] The training input is being uploaded.",
            K::OutputUploading {
                task: task(),
                parameter: None,
            },
        ),
        (
            "[worker-0] [Duration: second] Training output (parameter: xxx) uploaded.",
            K::OutputUploaded {
                task: task(),
                took: None,
                parameter: xxx(),
            },
        ),
    ];
    assert_eq!(table.len(), 31, "32 lines, of which two are the same");
    for (text, kind) in table {
        assert_eq!(K::parse(text), kind, "{text}");
    }
}

/// The ten events of the API's example, in its order.
#[test]
fn every_event_of_the_api_has_its_kind() {
    const JOB: &str = "modelarts-job-5bd61eea-9de2-4864-a0f7-5fae966171b5";
    let cluster = |object: &str, name: String, reason: &str, text: &str| K::Cluster {
        object: object.into(),
        name,
        reason: reason.into(),
        text: text.into(),
    };
    let pod = || format!("{JOB}-worker-0");
    let image = "Successfully pulled image \"resource-path/modelarts-job-dev-image/modelarts-tool-container:1.0.0-5.3.1-b002.2\"";
    let table = [
        ("Training job failed.".to_owned(), K::Failed),
        (
            format!("[Job: {JOB}] ExecuteAction: Start to execute action TerminateJob"),
            cluster("Job", JOB.into(), "ExecuteAction", "Start to execute action TerminateJob"),
        ),
        (
            "[worker-0][time used: 0.296s] Upload training output(parameter name: train_url) finished.".into(),
            K::OutputUploaded {
                task: task(),
                took: took(296),
                parameter: "train_url".into(),
            },
        ),
        (
            "[worker-0] Training output(parameter name: train_url) Uploading.".into(),
            K::OutputUploading {
                task: task(),
                parameter: Some("train_url".into()),
            },
        ),
        (
            "[worker-0] Training finished. Exit code 1.".into(),
            K::TaskFinished {
                task: task(),
                exit_code: Some(1),
            },
        ),
        (
            "[worker-0] training started.".into(),
            K::TaskStarted { task: task() },
        ),
        ("Training job is running.".into(), K::Running),
        (
            format!("[Pod: {JOB}-worker-0] Started: Started container"),
            cluster("Pod", pod(), "Started", "Started container"),
        ),
        (
            format!("[Pod: {JOB}-worker-0] SuccessfulCreate: Created container"),
            cluster("Pod", pod(), "SuccessfulCreate", "Created container"),
        ),
        (
            format!("[Pod: {JOB}-worker-0] Pulled: {image}"),
            cluster("Pod", pod(), "Pulled", image),
        ),
    ];
    for (text, kind) in table {
        assert_eq!(K::parse(&text), kind, "{text}");
    }
}

#[test]
fn a_duration_has_the_unit_that_the_text_gives() {
    for (text, seconds) in [
        ("30 minutes", 1800),
        ("1 minute", 60),
        ("90 min", 5400),
        ("1 hour 30 minutes", 5400),
        ("2 days", 172_800),
        ("5 seconds", 5),
        ("1:30:00", 5400),
    ] {
        let message =
            format!("The training job has been stopped. (Maximum running duration: {text})");
        let limit = Duration::from_secs(seconds);
        assert_eq!(K::parse(&message), K::AutoStopped { limit }, "{text}");
    }
    for (text, millis) in [
        ("0:01:05", Some(65_000)),
        ("0:01:05.250000", Some(65_250)),
        ("1 day, 0:00:01", Some(86_401_000)),
        ("12", Some(12_000)),
        ("0.5s", Some(500)),
        ("250ms", Some(250)),
        ("1min 5s", Some(65_000)),
        ("2 weeks", None),
        ("1:05", None),
        ("0:xx:05", None),
        ("-5", None),
        ("1e400", None),
        ("9999999999999999999999", None),
        ("second", None),
        ("", None),
    ] {
        let message = format!("[worker-0] [Duration: {text}] Training code downloaded.");
        let took = millis.map(Duration::from_millis);
        let task = task();
        assert_eq!(
            K::parse(&message),
            K::CodeDownloaded { task, took },
            "{text}"
        );
    }
}

#[test]
fn names_with_blanks_are_read_whole() {
    let task = || "worker group 0".to_owned();
    let name = || "my data".to_owned();
    let table = [
        (
            "[worker group 0] [Duration: 1] Training input (parameter: my data) downloaded.",
            K::InputDownloaded {
                task: task(),
                took: took(1000),
                parameter: name(),
            },
        ),
        (
            "[worker group 0] [Duration: 1] Failed to download the training input (parameter: my data). Failure cause: no such file",
            K::InputDownloadFailed {
                task: task(),
                took: took(1000),
                parameter: name(),
                cause: "no such file".into(),
            },
        ),
        (
            "[worker group 0] Training output(parameter name: my data) Uploading.",
            K::OutputUploading {
                task: task(),
                parameter: Some(name()),
            },
        ),
        (
            "[worker group 0] [Duration: 1] Training output (parameter: my data) uploaded.",
            K::OutputUploaded {
                task: task(),
                took: took(1000),
                parameter: name(),
            },
        ),
        (
            "[worker group 0] Python dependency packages are being installed. Import the following files: my requirements.txt, b.txt",
            K::DependenciesInstalling {
                task: task(),
                files: vec!["my requirements.txt".into(), "b.txt".into()],
            },
        ),
        (
            "[Resource pool: my pool] Full: no node is free",
            K::Cluster {
                object: "Resource pool".into(),
                name: "my pool".into(),
                reason: "Full".into(),
                text: "no node is free".into(),
            },
        ),
    ];
    for (text, kind) in table {
        assert_eq!(K::parse(text), kind, "{text}");
    }
}

#[test]
fn packages_that_cannot_be_installed_have_their_kind() {
    let failed = |took, files: &[&str], cause: &str| K::DependenciesFailed {
        task: task(),
        took,
        files: files.iter().copied().map(str::to_owned).collect(),
        cause: cause.into(),
    };
    for (text, kind) in [
        (
            "[worker-0] [Duration: 9] Failed to install Python dependency packages. Import the following files: a.txt, b.txt. Failure cause: no match for torch, 1.",
            failed(took(9000), &["a.txt", "b.txt"], "no match for torch, 1."),
        ),
        (
            "[worker-0] Failed to install Python dependency packages. Failure cause: offline",
            failed(None, &[], "offline"),
        ),
        (
            "[worker-0] Failed to install Python dependency packages.",
            failed(None, &[], ""),
        ),
    ] {
        assert_eq!(K::parse(text), kind, "{text}");
        assert_eq!(kind.task(), Some("worker-0"));
        assert!(!kind.is_final());
    }
}

#[test]
fn an_error_of_a_pre_check_keeps_its_colons() {
    for text in [
        "Error: dns: timed out",
        "Exception: dns: timed out",
        "dns: timed out",
    ] {
        let message = format!("[worker-0] Pre-check failed. {text}");
        let kind = K::PreCheckFailed {
            task: task(),
            took: None,
            error: "dns: timed out".into(),
        };
        assert_eq!(K::parse(&message), kind, "{text}");
    }
}

#[test]
fn the_fields_of_a_text_are_read() {
    let table = [
        (
            "Training job failures: no agency",
            K::CreateFailed {
                cause: "no agency".into(),
            },
        ),
        (
            "[worker-0] [Duration: 12] Pre-check completed.",
            K::PreCheckDone {
                task: task(),
                took: took(12_000),
            },
        ),
        (
            "[worker-0] [Duration: 2s] Pre-check failed. Error: dns",
            K::PreCheckFailed {
                task: task(),
                took: took(2000),
                error: "dns".into(),
            },
        ),
        (
            "[worker-0] [Duration: 2s] Pre-check failed. Exception: dns",
            K::PreCheckFailed {
                task: task(),
                took: took(2000),
                error: "dns".into(),
            },
        ),
        (
            "[worker-0] [Duration: 0.5] Training code downloaded.",
            K::CodeDownloaded {
                task: task(),
                took: took(500),
            },
        ),
        (
            "[worker-0] [Duration: 1] Failed to download the training code. Failure cause: 403",
            K::CodeDownloadFailed {
                task: task(),
                took: took(1000),
                cause: "403".into(),
            },
        ),
        (
            "[worker-0] [Duration: 7 seconds] Training input (parameter: data_url) downloaded.",
            K::InputDownloaded {
                task: task(),
                took: took(7000),
                parameter: "data_url".into(),
            },
        ),
        (
            "[worker-0] [Duration: 7] Failed to download the training input (parameter: data_url). Failure cause: gone",
            K::InputDownloadFailed {
                task: task(),
                took: took(7000),
                parameter: "data_url".into(),
                cause: "gone".into(),
            },
        ),
        (
            "[worker-0] Python dependency packages are being installed. Import the following files: requirements.txt",
            K::DependenciesInstalling {
                task: task(),
                files: vec!["requirements.txt".into()],
            },
        ),
        (
            "[worker-0] [Duration: 9] Python dependency packages installed. Import the following files: a.txt, b.txt",
            K::DependenciesInstalled {
                task: task(),
                took: took(9000),
                files: vec!["a.txt".into(), "b.txt".into()],
            },
        ),
        (
            "[worker-0] [Duration: 3] Training output (parameter: train_url) uploaded.",
            K::OutputUploaded {
                task: task(),
                took: took(3000),
                parameter: "train_url".into(),
            },
        ),
    ];
    for (text, kind) in table {
        assert_eq!(K::parse(text), kind, "{text}");
    }
}

#[test]
fn other_text_is_no_error() {
    for text in [
        "",
        "[",
        "]",
        "[worker-0]",
        "[worker-0] hello",
        "[Pod: x] no colon",
        "Training",
        "The training job has been stopped. (Maximum running duration: many hours)",
        "[a] [b] [c]",
        "é[é:é]é",
        "[worker-0] Training output (parameter: x",
    ] {
        assert_eq!(K::parse(text), K::Other, "{text}");
    }
}

#[test]
fn a_kind_knows_its_task_and_whether_it_is_the_end() {
    assert_eq!(
        K::parse("[worker-3] training started.").task(),
        Some("worker-3")
    );
    assert_eq!(K::Created.task(), None);
    assert!(K::parse("Training job executed.").is_final());
    assert!(!K::parse("[worker-0] Training job executed.").is_final());
    assert!(!K::Billed.is_final());
}
