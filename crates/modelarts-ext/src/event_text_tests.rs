//! Every text that is documented.

use std::time::Duration;

use crate::event_kind::EventKind as K;

fn task() -> String {
    "worker-0".into()
}

fn took(millis: u64) -> Option<Duration> {
    Some(Duration::from_millis(millis))
}

#[test]
fn every_text_of_the_guide_is_understood() {
    let table = [
        ("Training job created.", K::Created),
        (
            "Training job failures: no agency",
            K::CreateFailed {
                cause: "no agency".into(),
            },
        ),
        (
            "Training job failures:",
            K::CreateFailed {
                cause: String::new(),
            },
        ),
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
            K::AutoStopped { hours: 1 },
        ),
        (
            "The training job has been stopped. (Maximum running duration: 3 hours)",
            K::AutoStopped { hours: 3 },
        ),
        ("The training job has been manually deleted.", K::Deleted),
        ("Billing information synchronized.", K::Billed),
        (
            "[worker-0] The training environment is being pre-checked.",
            K::PreCheckStarted { task: task() },
        ),
        (
            "[worker-0] [Duration: 12] Pre-check completed.",
            K::PreCheckDone {
                task: task(),
                took: took(12_000),
            },
        ),
        (
            "[worker-0] [Duration: second] Pre-check completed.",
            K::PreCheckDone {
                task: task(),
                took: None,
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
            "[worker-0] The training code is being downloaded.",
            K::CodeDownloading { task: task() },
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
            "[worker-0] The training input is being downloaded.",
            K::InputDownloading { task: task() },
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
fn every_text_of_the_api_is_understood() {
    let table = [
        ("Training job is running.", K::Running),
        ("Training job failed.", K::Failed),
        (
            "[worker-0] training started.",
            K::TaskStarted { task: task() },
        ),
        (
            "[worker-0] Training finished. Exit code 1.",
            K::TaskFinished {
                task: task(),
                exit_code: Some(1),
            },
        ),
        (
            "[worker-0] Training output(parameter name: train_url) Uploading.",
            K::OutputUploading {
                task: task(),
                parameter: Some("train_url".into()),
            },
        ),
        (
            "[worker-0][time used: 0.296s] Upload training output(parameter name: train_url) finished.",
            K::OutputUploaded {
                task: task(),
                took: took(296),
                parameter: "train_url".into(),
            },
        ),
        (
            "[Pod: modelarts-job-x-worker-0] Pulled: Successfully pulled image \"a:1\"",
            K::Cluster {
                object: "Pod".into(),
                name: "modelarts-job-x-worker-0".into(),
                reason: "Pulled".into(),
                text: "Successfully pulled image \"a:1\"".into(),
            },
        ),
        (
            "[Job: modelarts-job-x] ExecuteAction: Start to execute action TerminateJob",
            K::Cluster {
                object: "Job".into(),
                name: "modelarts-job-x".into(),
                reason: "ExecuteAction".into(),
                text: "Start to execute action TerminateJob".into(),
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
