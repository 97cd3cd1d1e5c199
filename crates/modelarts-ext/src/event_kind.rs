//! What an event says, in a form that programs can use.
//!
//! The service sends sentences. They are worded differently in the user guide and
//! in the answers of the API, so both are read; text that is neither stays what it
//! is, in [`Event::message`](crate::Event::message).

use std::time::Duration;

/// What happened, read from the text of an event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EventKind {
    /// The job was accepted.
    Created,
    /// The job could not be made.
    CreateFailed {
        /// Why.
        cause: String,
    },
    /// What the job needs was not ready in time.
    PrepareTimedOut,
    /// The job waits for resources.
    Queuing,
    /// The job could not be queued.
    QueueFailed,
    /// The job runs.
    Running,
    /// The job ended well.
    Completed,
    /// The job failed.
    Failed,
    /// Another job took the nodes.
    Preempted,
    /// The platform suspects that the job hangs.
    MaybeHanging,
    /// The job was started again.
    Restarted,
    /// A user stopped the job.
    StoppedByUser,
    /// The job reached the limit of its duration.
    AutoStopped {
        /// The limit.
        hours: u32,
    },
    /// A user deleted the job.
    Deleted,
    /// The costs of the job are known.
    Billed,
    /// The environment of a task is being checked.
    PreCheckStarted {
        /// Such as `worker-0`.
        task: String,
    },
    /// The environment of a task is good.
    PreCheckDone {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
    },
    /// The environment of a task is not good.
    PreCheckFailed {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
        /// What is wrong.
        error: String,
    },
    /// The code is being downloaded.
    CodeDownloading {
        /// Such as `worker-0`.
        task: String,
    },
    /// The code is there.
    CodeDownloaded {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
    },
    /// The code could not be downloaded.
    CodeDownloadFailed {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
        /// Why.
        cause: String,
    },
    /// The inputs are being downloaded.
    InputDownloading {
        /// Such as `worker-0`.
        task: String,
    },
    /// An input is there.
    InputDownloaded {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
        /// The name of the input.
        parameter: String,
    },
    /// An input could not be downloaded.
    InputDownloadFailed {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
        /// The name of the input.
        parameter: String,
        /// Why.
        cause: String,
    },
    /// Python packages are being installed.
    DependenciesInstalling {
        /// Such as `worker-0`.
        task: String,
        /// The files that name them.
        files: Vec<String>,
    },
    /// Python packages are installed.
    DependenciesInstalled {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
        /// The files that name them.
        files: Vec<String>,
    },
    /// The code of a task runs.
    TaskStarted {
        /// Such as `worker-0`.
        task: String,
    },
    /// The code of a task ended.
    TaskFinished {
        /// Such as `worker-0`.
        task: String,
        /// Its exit code, where the text says it.
        exit_code: Option<i64>,
    },
    /// An output is being uploaded.
    OutputUploading {
        /// Such as `worker-0`.
        task: String,
        /// The name of the output, where the text says it.
        parameter: Option<String>,
    },
    /// An output is uploaded.
    OutputUploaded {
        /// Such as `worker-0`.
        task: String,
        /// How long it took.
        took: Option<Duration>,
        /// The name of the output.
        parameter: String,
    },
    /// The cluster reports about one of its objects.
    Cluster {
        /// What it is, such as `Pod` or `Job`.
        object: String,
        /// Its name in the cluster.
        name: String,
        /// What happened, in one word, such as `Pulled`.
        reason: String,
        /// What happened.
        text: String,
    },
    /// Something else.
    Other,
}

impl EventKind {
    /// Reads the text of an event.
    #[must_use]
    pub fn parse(message: &str) -> Self {
        let Prefix {
            task,
            took,
            object,
            text,
        } = Prefix::read(message);
        match (object, task) {
            (Some((object, name)), _) => cluster(object, name, text),
            (None, Some(task)) => of_task(task.to_owned(), took, text),
            (None, None) => of_job(text),
        }
        .unwrap_or(Self::Other)
    }

    /// The task that it is about, such as `worker-0`.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        match self {
            Self::PreCheckStarted { task }
            | Self::PreCheckDone { task, .. }
            | Self::PreCheckFailed { task, .. }
            | Self::CodeDownloading { task }
            | Self::CodeDownloaded { task, .. }
            | Self::CodeDownloadFailed { task, .. }
            | Self::InputDownloading { task }
            | Self::InputDownloaded { task, .. }
            | Self::InputDownloadFailed { task, .. }
            | Self::DependenciesInstalling { task, .. }
            | Self::DependenciesInstalled { task, .. }
            | Self::TaskStarted { task }
            | Self::TaskFinished { task, .. }
            | Self::OutputUploading { task, .. }
            | Self::OutputUploaded { task, .. } => Some(task),
            _ => None,
        }
    }

    /// Whether the job does nothing more after this, except for being billed.
    #[must_use]
    pub fn is_final(&self) -> bool {
        matches!(
            self,
            Self::CreateFailed { .. }
                | Self::PrepareTimedOut
                | Self::QueueFailed
                | Self::Completed
                | Self::Failed
                | Self::StoppedByUser
                | Self::AutoStopped { .. }
                | Self::Deleted
        )
    }
}

/// What stands in brackets before the text: `[worker-0] [Duration: 3] …`,
/// `[worker-0][time used: 0.296s] …`, `[Pod: name] …`.
#[derive(Default)]
struct Prefix<'a> {
    task: Option<&'a str>,
    took: Option<Duration>,
    object: Option<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Prefix<'a> {
    fn read(message: &'a str) -> Self {
        let mut prefix = Self {
            text: message.trim(),
            ..Self::default()
        };
        while let Some((inside, rest)) = prefix
            .text
            .strip_prefix('[')
            .and_then(|rest| rest.split_once(']'))
        {
            match inside.split_once(':') {
                Some((key, value)) if is_duration(key) => prefix.took = seconds(value),
                Some((key, value)) => prefix.object = Some((key.trim(), value.trim())),
                None if prefix.task.is_none() => prefix.task = Some(inside.trim()),
                // A second plain bracket belongs to the text.
                None => break,
            }
            prefix.text = rest.trim_start();
        }
        prefix
    }
}

fn is_duration(key: &str) -> bool {
    let key = key.trim();
    key.eq_ignore_ascii_case("duration") || key.eq_ignore_ascii_case("time used")
}

fn seconds(text: &str) -> Option<Duration> {
    let end = text
        .trim_start()
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.trim_start().len());
    let number: f64 = text.trim_start()[..end].parse().ok()?;
    Duration::try_from_secs_f64(number).ok()
}

fn cluster(object: &str, name: &str, text: &str) -> Option<EventKind> {
    let (reason, text) = text.split_once(':')?;
    Some(EventKind::Cluster {
        object: object.to_owned(),
        name: name.to_owned(),
        reason: reason.trim().to_owned(),
        text: text.trim().to_owned(),
    })
}

/// What follows `start`, if the text begins with it, in any case.
fn after<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start)
        .then(|| text[start.len()..].trim())
}

/// Whether the text is this sentence; the full stop may be missing.
fn is(text: &str, sentence: &str) -> bool {
    after(text, sentence).is_some_and(|rest| rest.is_empty() || rest == ".")
}

fn of_job(text: &str) -> Option<EventKind> {
    use EventKind as K;
    let fixed = [
        ("Training job created", K::Created),
        (
            "The training job is queuing and awaiting resource allocation",
            K::Queuing,
        ),
        ("Failed to be queued", K::QueueFailed),
        ("The training job starts to run", K::Running),
        ("Training job is running", K::Running),
        ("Training job executed", K::Completed),
        ("Failed to run the training job", K::Failed),
        ("Training job failed", K::Failed),
        ("The training job is preempted", K::Preempted),
        ("The training job has been restarted", K::Restarted),
        (
            "The training job has been manually stopped",
            K::StoppedByUser,
        ),
        ("The training job has been manually deleted", K::Deleted),
        ("Billing information synchronized", K::Billed),
    ];
    for (sentence, kind) in fixed {
        if is(text, sentence) {
            return Some(kind);
        }
    }
    if let Some(cause) = after(text, "Training job failures:") {
        return Some(K::CreateFailed {
            cause: cause.to_owned(),
        });
    }
    // These two go on with advice that may change.
    if after(text, "Preparations timed out").is_some() {
        return Some(K::PrepareTimedOut);
    }
    if after(
        text,
        "The system detects that your training job may be suspended",
    )
    .is_some()
    {
        return Some(K::MaybeHanging);
    }
    let limit = after(text, "The training job has been stopped.")?;
    let limit = after(limit, "(Maximum running duration:")?;
    let hours = limit.split_whitespace().next()?.parse().ok()?;
    Some(K::AutoStopped { hours })
}

fn of_task(task: String, took: Option<Duration>, text: &str) -> Option<EventKind> {
    use EventKind as K;
    if is(text, "The training environment is being pre-checked") {
        return Some(K::PreCheckStarted { task });
    }
    if is(text, "Pre-check completed") {
        return Some(K::PreCheckDone { task, took });
    }
    if let Some(error) = after(text, "Pre-check failed.") {
        // `Error: …`, and `Exception: …` in a later edition of the guide.
        let error = error.split_once(':').map_or(error, |(_, error)| error);
        return Some(K::PreCheckFailed {
            task,
            took,
            error: error.trim().to_owned(),
        });
    }
    if is(text, "The training code is being downloaded") {
        return Some(K::CodeDownloading { task });
    }
    if is(text, "Training code downloaded") {
        return Some(K::CodeDownloaded { task, took });
    }
    if let Some(rest) = after(text, "Failed to download the training code.") {
        let cause = after(rest, "Failure cause:").unwrap_or(rest).to_owned();
        return Some(K::CodeDownloadFailed { task, took, cause });
    }
    if is(text, "The training input is being downloaded") {
        return Some(K::InputDownloading { task });
    }
    if let Some((parameter, rest)) = parameter(text, "Training input")
        && is(rest, "downloaded")
    {
        return Some(K::InputDownloaded {
            task,
            took,
            parameter,
        });
    }
    if let Some((parameter, rest)) = parameter(text, "Failed to download the training input") {
        let rest = rest.trim_start_matches('.').trim_start();
        let cause = after(rest, "Failure cause:").unwrap_or(rest).to_owned();
        return Some(K::InputDownloadFailed {
            task,
            took,
            parameter,
            cause,
        });
    }
    if let Some(rest) = after(text, "Python dependency packages are being installed.") {
        let files = files(rest);
        return Some(K::DependenciesInstalling { task, files });
    }
    if let Some(rest) = after(text, "Python dependency packages installed.") {
        let files = files(rest);
        return Some(K::DependenciesInstalled { task, took, files });
    }
    if is(text, "The training job starts to run") || is(text, "training started") {
        return Some(K::TaskStarted { task });
    }
    if is(text, "Training job executed") {
        return Some(K::TaskFinished {
            task,
            exit_code: None,
        });
    }
    if let Some(rest) = after(text, "Training finished.") {
        let code = after(rest, "Exit code").unwrap_or_default();
        let exit_code = code.trim_end_matches('.').trim().parse().ok();
        return Some(K::TaskFinished { task, exit_code });
    }
    // The guide says input and means output.
    if is(text, "The training input is being uploaded")
        || is(text, "The training output is being uploaded")
    {
        return Some(K::OutputUploading {
            task,
            parameter: None,
        });
    }
    if let Some((parameter, rest)) = parameter(text, "Training output") {
        if is(rest, "uploading") {
            let parameter = Some(parameter);
            return Some(K::OutputUploading { task, parameter });
        }
        if is(rest, "uploaded") {
            return Some(K::OutputUploaded {
                task,
                took,
                parameter,
            });
        }
    }
    if let Some((parameter, rest)) = parameter(text, "Upload training output")
        && is(rest, "finished")
    {
        return Some(K::OutputUploaded {
            task,
            took,
            parameter,
        });
    }
    None
}

/// Reads `<start> (parameter: x) <rest>` and `<start>(parameter name: x) <rest>`.
fn parameter<'a>(text: &'a str, start: &str) -> Option<(String, &'a str)> {
    let inside = after(text, start)?.strip_prefix('(')?;
    let value = after(inside, "parameter:").or_else(|| after(inside, "parameter name:"))?;
    let (name, rest) = value.split_once(')')?;
    Some((name.trim().to_owned(), rest.trim_start()))
}

fn files(rest: &str) -> Vec<String> {
    let list = after(rest, "Import the following files:").unwrap_or(rest);
    list.split([',', ' ', '\n'])
        .map(|file| file.trim().trim_end_matches('.'))
        .filter(|file| !file.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{EventKind as K, *};

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
}
