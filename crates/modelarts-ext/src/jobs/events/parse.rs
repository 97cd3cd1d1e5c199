//! Parser of event messages.

use std::time::Duration;

use crate::jobs::events::kind::EventKind;

impl EventKind {
    /// Parses the message of an event. Returns [`Other`](Self::Other) for an unknown message.
    #[must_use]
    pub fn parse(message: &str) -> Self {
        parse(message).unwrap_or(Self::Other)
    }
}

fn parse(message: &str) -> Option<EventKind> {
    let Prefix { task, took, object, text } = Prefix::read(message);
    match (object, task) {
        (Some((object, name)), _) => cluster_event(object, name, text),
        (None, Some(task)) => task_event(task.to_owned(), took, text),
        (None, None) => job_event(text),
    }
}

/// Prefix such as `[worker-0] [Duration: 3]`, `[worker-0][time used: 0.296s]` or `[Pod: name]`.
#[derive(Default)]
struct Prefix<'a> {
    task: Option<&'a str>,
    took: Option<Duration>,
    object: Option<(&'a str, &'a str)>,
    text: &'a str,
}

impl<'a> Prefix<'a> {
    fn read(message: &'a str) -> Self {
        let mut prefix = Self { text: message.trim(), ..Self::default() };
        while let Some((inside, rest)) =
            prefix.text.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            match inside.split_once(':') {
                Some((key, value)) if is_duration(key) => prefix.took = duration(value),
                Some((key, value)) => prefix.object = Some((key.trim(), value.trim())),
                None if prefix.task.is_none() => prefix.task = Some(inside.trim()),
                // A second bracket without a key belongs to the message.
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

/// Parses a duration such as `12`, `0.296s`, `7 seconds`, `1.5 hours 30 minutes`, `1 day, 0:01:05`.
fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    let mut total = 0.0;
    loop {
        let end = rest.find(|c: char| !c.is_ascii_digit() && !".:".contains(c));
        let (number, after) = rest.split_at(end.unwrap_or(rest.len()));
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        total += match number.split(':').collect::<Vec<_>>()[..] {
            [number] => number.parse::<f64>().ok()? * seconds_in(unit)?,
            [h, m, s] if unit.is_empty() => {
                let (h, m): (u32, u32) = (h.parse().ok()?, m.parse().ok()?);
                f64::from(h) * 3600.0 + f64::from(m) * 60.0 + s.parse::<f64>().ok()?
            }
            _ => return None,
        };
        rest = after.trim_start_matches([',', ' ']);
        if rest.is_empty() {
            return Duration::try_from_secs_f64(total).ok();
        }
    }
}

fn seconds_in(unit: &str) -> Option<f64> {
    let unit = unit.to_ascii_lowercase();
    Some(match unit.trim_end_matches('s') {
        "" | "sec" | "second" => 1.0,
        "m" if unit == "ms" => 0.001,
        "m" | "min" | "minute" => 60.0,
        "h" | "hour" => 3600.0,
        "d" | "day" => 86_400.0,
        _ => return None,
    })
}

fn cluster_event(object: &str, name: &str, text: &str) -> Option<EventKind> {
    let (reason, text) = text.split_once(':')?;
    Some(EventKind::Cluster {
        object: object.to_owned(),
        name: name.to_owned(),
        reason: reason.trim().to_owned(),
        text: text.trim().to_owned(),
    })
}

fn strip_start<'a>(text: &'a str, start: &str) -> Option<&'a str> {
    let head = text.get(..start.len())?;
    head.eq_ignore_ascii_case(start).then(|| text[start.len()..].trim())
}

fn sentence(text: &str) -> String {
    let text = text.strip_suffix('.').unwrap_or(text);
    text.trim_end().to_ascii_lowercase()
}

fn job_sentence(text: &str) -> Option<EventKind> {
    Some(match sentence(text).as_str() {
        "training job created" => EventKind::Created,
        "the training job is queuing and awaiting resource allocation" => EventKind::Queuing,
        "failed to be queued" => EventKind::QueueFailed,
        "the training job starts to run" | "training job is running" => EventKind::Running,
        "training job executed" => EventKind::Completed,
        "failed to run the training job" | "training job failed" => EventKind::Failed,
        "the training job is preempted" => EventKind::Preempted,
        "the training job has been restarted" => EventKind::Restarted,
        "the training job has been manually stopped" => EventKind::StoppedByUser,
        "the training job has been manually deleted" => EventKind::Deleted,
        "billing information synchronized" => EventKind::Billed,
        _ => return None,
    })
}

fn job_event(text: &str) -> Option<EventKind> {
    if let Some(kind) = job_sentence(text) {
        return Some(kind);
    }
    if let Some(cause) = strip_start(text, "Training job failures:") {
        let cause = cause.to_owned();
        return Some(EventKind::CreateFailed { cause });
    }
    // Two messages end with advice whose wording may change, so only their beginnings are compared.
    if strip_start(text, "Preparations timed out").is_some() {
        return Some(EventKind::PrepareTimedOut);
    }
    let suspended = "The system detects that your training job may be suspended";
    if strip_start(text, suspended).is_some() {
        return Some(EventKind::MaybeHanging);
    }
    let limit = strip_start(text, "The training job has been stopped.")?;
    let limit = strip_start(limit, "(Maximum running duration:")?;
    let limit = duration(limit.trim_end_matches(['.', ')']))?;
    Some(EventKind::AutoStopped { limit })
}

/// Parses a message without values. The user guide once writes "input" for an output.
fn task_sentence(task: &str, took: Option<Duration>, text: &str) -> Option<EventKind> {
    let task = task.to_owned();
    let (parameter, exit_code) = (None, None);
    Some(match sentence(text).as_str() {
        "the training environment is being pre-checked" => EventKind::PreCheckStarted { task },
        "pre-check completed" => EventKind::PreCheckDone { task, took },
        "the training code is being downloaded" => EventKind::CodeDownloading { task },
        "training code downloaded" => EventKind::CodeDownloaded { task, took },
        "the training input is being downloaded" => EventKind::InputDownloading { task },
        "the training job starts to run" | "training started" => EventKind::TaskStarted { task },
        "training job executed" => EventKind::TaskFinished { task, exit_code },
        "the training input is being uploaded" | "the training output is being uploaded" => {
            EventKind::OutputUploading { task, parameter }
        }
        _ => return None,
    })
}

fn task_event(task: String, took: Option<Duration>, text: &str) -> Option<EventKind> {
    if let Some(kind) = task_sentence(&task, took, text) {
        return Some(kind);
    }
    if let Some(error) = strip_start(text, "Pre-check failed.") {
        // The rest begins with `Error:`, or with `Exception:` in a later edition of the user guide.
        let error = strip_start(error, "Error:")
            .or_else(|| strip_start(error, "Exception:"))
            .unwrap_or(error)
            .to_owned();
        return Some(EventKind::PreCheckFailed { task, took, error });
    }
    if let Some(rest) = strip_start(text, "Failed to download the training code.") {
        let cause = cause(rest);
        return Some(EventKind::CodeDownloadFailed { task, took, cause });
    }
    if let Some((parameter, rest)) = parameter(text, "Failed to download the training input") {
        let cause = cause(rest.trim_start_matches('.').trim_start());
        return Some(EventKind::InputDownloadFailed { task, took, parameter, cause });
    }
    if let Some(rest) = strip_start(text, "Python dependency packages are being installed.") {
        let files = files(rest);
        return Some(EventKind::DependenciesInstalling { task, files });
    }
    if let Some(rest) = strip_start(text, "Python dependency packages installed.") {
        let files = files(rest);
        return Some(EventKind::DependenciesInstalled { task, took, files });
    }
    if let Some(rest) = strip_start(text, "Failed to install Python dependency packages.") {
        let (list, cause) = rest.split_once("Failure cause:").unwrap_or((rest, ""));
        return Some(EventKind::DependenciesFailed {
            task,
            took,
            files: files(list),
            cause: cause.trim().to_owned(),
        });
    }
    if let Some(rest) = strip_start(text, "Training finished.") {
        let code = strip_start(rest, "Exit code").unwrap_or_default();
        let exit_code = code.trim_end_matches('.').trim().parse().ok();
        return Some(EventKind::TaskFinished { task, exit_code });
    }
    channel_event(task, took, text)
}

fn channel_event(task: String, took: Option<Duration>, text: &str) -> Option<EventKind> {
    let starts = ["Training input", "Training output", "Upload training output"];
    let (start, (parameter, rest)) =
        starts.iter().find_map(|start| Some((*start, parameter(text, start)?)))?;
    let end = rest.strip_suffix('.').unwrap_or(rest).trim();
    let end = end.to_ascii_lowercase();
    Some(match (start, end.as_str()) {
        ("Training input", "downloaded") => EventKind::InputDownloaded { task, took, parameter },
        ("Training output", "uploading") => {
            EventKind::OutputUploading { task, parameter: Some(parameter) }
        }
        ("Training output", "uploaded") | ("Upload training output", "finished") => {
            EventKind::OutputUploaded { task, took, parameter }
        }
        _ => return None,
    })
}

fn cause(text: &str) -> String {
    let cause = strip_start(text, "Failure cause:").unwrap_or(text);
    cause.to_owned()
}

/// Parses `<start> (parameter: x) <rest>` or `<start> (parameter name: x) <rest>`.
fn parameter<'a>(text: &'a str, start: &str) -> Option<(String, &'a str)> {
    let inside = strip_start(text, start)?.strip_prefix('(')?;
    let value =
        strip_start(inside, "parameter:").or_else(|| strip_start(inside, "parameter name:"))?;
    let (name, rest) = value.split_once(')')?;
    Some((name.trim().to_owned(), rest.trim_start()))
}

fn files(rest: &str) -> Vec<String> {
    let list = strip_start(rest, "Import the following files:").unwrap_or(rest);
    list.split([',', '\n'])
        .map(|file| file.trim().trim_end_matches('.'))
        .filter(|file| !file.is_empty())
        .map(str::to_owned)
        .collect()
}
