//! `modelarts record`: records calls to the service in a file without names, and compares such a
//! file with the description.

mod compare;
mod create;
mod description;
mod recorder;
mod redaction;

pub(crate) use compare::Difference;

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use futures::stream;
use serde_json::{Value, json};

use crate::{
    commands::{
        api::DOCUMENT,
        record::{compare::differences, create::Create, recorder::Recorder, redaction::Redactor},
    },
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    session::Session,
};

/// Version of the file format.
const VERSION: u32 = 1;

const NOTES: &str = "\
A recording calls what reads: catalogues, lists, and a job in each phase with its events, logs
and metrics. FILE keeps what the description has: names of fields, values of enumerations, error
codes; also booleans and numbers of at most three digits. Placeholders replace everything else:
names, ids, keys, paths, addresses, times, texts of logs. Read FILE before you send it.

Differences between calls and the description are printed. With --compare, no account is needed,
and the exit code is 1 if there is a difference.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Record {
    /// File of the recording. An existing file is replaced.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Compares FILE with the description, without calls.
    #[arg(long, conflicts_with_all = ["jobs", "create"])]
    compare: bool,
    /// Job that is read: its name, its id or the first characters of its id; by default, the newest
    /// in each phase. May be repeated.
    #[arg(long = "job", value_name = "JOB")]
    jobs: Vec<String>,
    #[command(flatten)]
    create: Create,
}

impl Record {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        if self.compare {
            return compare(session, &self.file).await;
        }
        let shown = self.file.display();
        let parent = self.file.parent().filter(|path| *path != Path::new(""));
        if self.file.is_dir() || parent.is_some_and(|parent| !parent.is_dir()) {
            let rule = "it must be a file in a directory that exists";
            return Err(Failure::usage(format_args!("{shown}: {rule}")));
        }
        let job = self.create.plan(session).await?;
        let client = session.client().await?;
        // From here on, a signal is handled after the file is written and the job is deleted.
        let mut interrupt = Interrupt::new();
        let calls = Vec::new();
        let mut recorder = Recorder { client, calls };
        let read = interrupt.unless(recorder.read(&self.jobs)).await;
        let mut result = read.unwrap_or(Err(Failure::Status(ExitStatus::Interrupted)));
        if let (Ok(()), Some(job)) = (&result, job) {
            result = self.create.run(job, &mut recorder, &mut interrupt).await;
        }
        let Recorder { calls, .. } = recorder;
        let is_refused = |call: &&Value| call["status"].as_u64().is_none_or(|it| it >= 300);
        let refused = calls.iter().filter(is_refused).count();
        if refused == calls.len() {
            note!("nothing was recorded; {shown} was not written");
            return result.map(|()| ExitStatus::Refused);
        }
        let (found, mut redactor) = (differences(&calls), Redactor::default());
        let redacted = calls.iter().map(|call| redactor.call(call.clone()));
        let transcript = json!({
            "transcript_version": VERSION,
            "description": DOCUMENT["info"]["version"],
            "calls": redacted.collect::<Value>(),
        });
        fs::write(&self.file, format!("{transcript:#}\n"))
            .map_err(|error| Failure::local(format_args!("cannot write {shown}: {error}")))?;
        session.output.list(stream::iter([Ok(found)])).await?;
        let count = calls.len();
        note!("{count} calls, {refused} refused, in {shown}; read it before you send it");
        result.map(|()| ExitStatus::Success)
    }
}

async fn compare(session: &Session, file: &Path) -> Result<ExitStatus, Failure> {
    let refuse = |reason: String| Failure::usage(format_args!("{}: {reason}", file.display()));
    let text = fs::read_to_string(file).map_err(|error| refuse(error.to_string()))?;
    let transcript: Value = serde_json::from_str(&text).unwrap_or_default();
    let calls = transcript["calls"].as_array();
    let Some(calls) = calls.filter(|_| transcript["transcript_version"] == VERSION) else {
        let rule = format!("it must be JSON of `record`, with transcript_version {VERSION}");
        return Err(refuse(rule));
    };
    let found = differences(calls);
    note!("{} differences in {} calls", found.len(), calls.len());
    let status = match found.as_slice() {
        [] => ExitStatus::Success,
        _ => ExitStatus::Refused,
    };
    session.output.list(stream::iter([Ok(found)])).await?;
    Ok(status)
}
