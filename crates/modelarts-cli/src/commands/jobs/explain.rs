//! Command `modelarts explain`, which states why a job failed or waits.

use std::{fmt::Write, path::Path, time::Duration};

use clap::Args;
use modelarts_ext::{
    Job,
    jobs::diagnosis::{Confidence, Diagnosis, Evidence, PlatformDiagnosis},
    types::Phase,
};
use modelarts_obs::{Obs, staging::left_out, sync::Skipped};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    commands::jobs::results::local_time,
    exit_status::ExitStatus,
    failure::Failure,
    job_reference::JobArgument,
    output::{self, Document},
    session::Session,
    terminal::{Emphasis, Terminal},
};

/// Maximum time for the service's own diagnosis, which is read from OBS.
const PLATFORM_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct Explain {
    #[command(flatten)]
    job: JobArgument,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

/// Diagnosis of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DiagnosisDocument {
    /// Id of the job.
    id: String,
    /// Name of the job.
    name: String,
    /// Phase, such as `Failed`.
    phase: String,
    /// Task that failed, if the evidence shows one.
    task: Option<String>,
    /// Exit code of this task.
    exit_code: Option<i64>,
    /// Cause, such as `out_of_memory`; `unknown` if the evidence does not show one.
    cause: String,
    /// `certain`, `likely` or `unknown`.
    confidence: String,
    /// The cause as a clause.
    summary: String,
    /// Facts that the diagnosis is based on.
    evidence: Vec<EvidenceItem>,
    /// Next steps, a sentence each.
    advice: Vec<String>,
    /// Documents about the cause.
    links: Vec<LinkItem>,
    #[serde(skip)]
    typed_phase: Phase,
    #[serde(skip)]
    emphasis: Emphasis,
}

/// A fact that a diagnosis is based on.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvidenceItem {
    /// Time of the fact, RFC 3339.
    time: Option<String>,
    /// Task, such as `worker-0`.
    task: Option<String>,
    /// The fact as a line.
    summary: String,
    /// The line for people, with the time in their time zone.
    #[serde(skip)]
    text: String,
    /// `source`, such as `log`, and the values of this source, such as `line` and `text`.
    #[serde(flatten)]
    fact: Map<String, Value>,
}

/// A document about a cause.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LinkItem {
    /// Title of the document.
    title: String,
    /// Address of the document.
    url: String,
}

impl EvidenceItem {
    fn new(evidence: &Evidence) -> Self {
        let fact = match serde_json::to_value(&evidence.fact) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        Self {
            time: evidence.time.map(|time| time.to_string()),
            task: evidence.task.clone(),
            summary: evidence.to_string(),
            text: local_text(evidence),
            fact,
        }
    }
}

/// Formats a fact as a line, with its time in the time zone of the user.
fn local_text(evidence: &Evidence) -> String {
    let Some(time) = evidence.time else {
        return evidence.to_string();
    };
    let mut untimed = evidence.clone();
    untimed.time = None;
    format!("{} {untimed}", local_time(time))
}

impl DiagnosisDocument {
    fn new(diagnosis: &Diagnosis) -> Self {
        let links = diagnosis
            .links
            .iter()
            .map(|link| LinkItem { title: link.title.to_owned(), url: link.url.to_owned() });
        Self {
            id: diagnosis.id.clone(),
            name: diagnosis.name.clone(),
            phase: diagnosis.phase.to_string(),
            task: diagnosis.task.clone(),
            exit_code: diagnosis.exit_code,
            cause: diagnosis.cause.to_string(),
            confidence: diagnosis.confidence.to_string(),
            summary: diagnosis.summary.clone(),
            evidence: diagnosis.evidence.iter().map(EvidenceItem::new).collect(),
            advice: diagnosis.advice.clone(),
            links: links.collect(),
            typed_phase: diagnosis.phase.clone(),
            emphasis: match diagnosis.confidence {
                Confidence::Certain => Emphasis::Good,
                Confidence::Likely => Emphasis::Waiting,
                _ => Emphasis::Dim,
            },
        }
    }
}

impl Document for DiagnosisDocument {
    fn text(&self, _wide: bool, _width: Option<u16>) -> String {
        let name = Terminal::styled(&self.name, Emphasis::Bold);
        let phase = output::phase(&self.typed_phase);
        let mut text = format!("{name}  {phase}: {}\n", self.summary);
        let confidence = Terminal::styled(&self.confidence, self.emphasis);
        let cause = match self.cause == self.confidence {
            true => confidence,
            false => format!("{} ({confidence})", self.cause),
        };
        let heading = |heading| Terminal::styled(heading, Emphasis::Bold);
        // Writing to a string does not fail.
        let _ = write!(text, "{}     {cause}", heading("Cause"));
        let evidence = self.evidence.iter().map(|it| it.text.clone()).collect();
        let links = self.links.iter().map(|it| format!("{}: {}", it.title, it.url)).collect();
        for (title, lines) in
            [("Evidence", evidence), ("Advice", self.advice.clone()), ("See", links)]
        {
            let lines: Vec<String> = lines;
            if !lines.is_empty() {
                let _ = write!(text, "\n{}", heading(title));
            }
            for line in lines {
                let _ = write!(text, "\n  {line}");
            }
        }
        text
    }

    fn id(&self) -> Option<&str> {
        Some(&self.id)
    }
}

/// Directory of the code in a container.
const CODE: &str = "/user-job-dir/";
/// Text before a path in an error of Python.
const MISSING: &str = "No such file or directory: '";

/// Returns advice on a file that the code did not find, and that exists here without having been
/// sent: in the current directory, or in one below it with the name of the code directory.
pub(crate) fn left_out_advice(diagnosis: &Diagnosis) -> Option<String> {
    if diagnosis.cause.to_string() != "file_not_found" {
        return None;
    }
    let here = std::env::current_dir().ok()?;
    let missing = |evidence: &Evidence| {
        let text = evidence.to_string();
        let (_, path) = text.split_once(CODE).or_else(|| text.split_once(MISSING))?;
        let path = path.split(['\'', '"', '\n']).next()?;
        let (directory, file) = match path.split_once('/').filter(|_| text.contains(CODE)) {
            Some((name, file)) if here.file_name().is_some_and(|current| current == name) => {
                (here.clone(), file)
            }
            Some((name, file)) => (here.join(name), file),
            // A relative path begins in the directory of the code.
            None => (here.clone(), path),
        };
        let skipped = left_out(&directory).ok()?;
        let is_at_or_above = |skipped: &&Skipped| Path::new(file).starts_with(&skipped.path);
        let skipped = skipped.into_iter().find(|skipped| is_at_or_above(&skipped))?;
        directory.join(file).exists().then(|| {
            format!(
                "{file} exists here, and is left out of the code: {}; a line !{} in \
                 .modelartsignore sends it, and --data sends a directory as an input.",
                skipped.reason, skipped.path
            )
        })
    };
    diagnosis.evidence.iter().find_map(missing)
}

/// Reads the service's own diagnosis of a job that has not completed. A job without one, and OBS
/// that cannot be read, add nothing.
async fn platform_diagnosis(job: &Job) -> PlatformDiagnosis {
    let is_read = matches!(job.phase(), Phase::Failed | Phase::Abnormal | Phase::Terminated);
    let Some(obs) = is_read.then(|| Obs::new(job.client())).and_then(Result::ok) else {
        return PlatformDiagnosis::default();
    };
    let read = tokio::time::timeout(PLATFORM_TIMEOUT, obs.platform_diagnosis(job)).await;
    match read {
        Ok(Ok(diagnosis)) => diagnosis,
        Ok(Err(error)) => {
            tracing::debug!(%error, "the service's own diagnosis cannot be read");
            PlatformDiagnosis::default()
        }
        Err(_) => PlatformDiagnosis::default(),
    }
}

impl Explain {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        let diagnosis = job.explain_with(&platform_diagnosis(&job).await).await?;
        let mut document = DiagnosisDocument::new(&diagnosis);
        document.advice.extend(left_out_advice(&diagnosis));
        #[cfg(unix)]
        if session.has_records()
            && let Some(summary) = crate::local_jobs::stopped_by(&job)
        {
            document.summary = summary;
        }
        session.output.document(&document)?;
        Ok(ExitStatus::Success)
    }
}
