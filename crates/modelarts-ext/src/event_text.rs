//! Reads the texts of events.

use std::time::Duration;

use crate::event_kind::EventKind;

/// What a text says, if that is known.
pub(crate) fn read(message: &str) -> Option<EventKind> {
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
