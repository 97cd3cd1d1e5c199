//! Command `modelarts download`, which receives the outputs of a job.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use clap::Args;
use futures::stream;
use modelarts_ext::Job;
use modelarts_obs::{JobExt, Summary, SyncEvent};
use schemars::JsonSchema;
use serde::Serialize;

#[cfg(unix)]
use crate::local_jobs::{
    self,
    storage::{Delivery, How},
};
use crate::{
    commands::create::{Bars, OUTPUT_DIRECTORY, done, ignore_outputs, total},
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    job_reference::JobArgument,
    output::{self, Column, Row, obs_address},
    progress::{amount, note_failed},
    session::Session,
    terminal::{Terminal, note},
    wording::near_or,
};

#[derive(Debug, Args)]
pub(crate) struct Download {
    #[command(flatten)]
    job: JobArgument,
    /// Name of the output. Default: all outputs.
    // The global argument for the format has the id `output`.
    #[arg(id = "output_name", value_name = "OUTPUT")]
    output: Option<String>,
    /// Directory that receives a directory for each output. Default: modelarts-output/NAME.
    #[arg(value_name = "TO")]
    to: Option<PathBuf>,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

/// An output that was received.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OutputRow {
    /// Name of the output.
    name: String,
    /// Address of the output, or its directory on this machine.
    source: String,
    /// Directory that has the files.
    directory: String,
    /// Number of files of the output.
    files: u64,
    /// Size of the files in bytes.
    bytes: u64,
    /// Number of files that the directory had already, with the same contents.
    unchanged: u64,
}

impl Row for OutputRow {
    const LIST: &'static str = "outputs";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("OUTPUT", |row| row.name.clone()),
        Column::new("FILES", |row| row.files.to_string()),
        Column::new("SIZE", |row| output::bytes(row.bytes)),
        Column::wide("UNCHANGED", |row| row.unchanged.to_string()),
        Column::wide("SOURCE", |row| row.source.clone()),
        Column::new("DIRECTORY", |row| row.directory.clone()),
    ];
}

impl OutputRow {
    pub(crate) fn new(name: String, source: String, directory: &Path, summary: &Summary) -> Self {
        let all = total(summary);
        Self {
            name,
            source,
            directory: directory.display().to_string(),
            files: all.files,
            bytes: all.bytes,
            unchanged: summary.unchanged.files,
        }
    }
}

impl Download {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let job = self.job.find(session.client().await?).await?;
        let (output, to) = self.places(&job)?;
        if !job.is_final() {
            note(format_args!("{} has not ended; its outputs may lack files", job.name()));
        }
        let directory = to.unwrap_or_else(|| {
            ignore_outputs();
            Path::new(OUTPUT_DIRECTORY).join(job.name())
        });
        let received = receive(session, &job, output.as_deref(), &directory);
        let Some(received) = Interrupt::new().unless(received).await else {
            note("interrupted; the same command continues from here");
            return Err(Failure::Status(ExitStatus::Interrupted));
        };
        let received = received?;
        let is_whole = received.note_failed();
        let rows = stream::iter([Ok(received.rows)]);
        session.output.list_or_note(rows, "the job has no outputs").await?;
        match is_whole {
            true => Ok(ExitStatus::Success),
            false => {
                note("the same command receives the other files when the reasons are removed");
                Ok(ExitStatus::Refused)
            }
        }
    }

    /// Returns the output and the directory. A single argument that is a path and no name of an
    /// output is the directory.
    fn places(&self, job: &Job) -> Result<(Option<String>, Option<PathBuf>), Failure> {
        let Some(output) = &self.output else {
            return Ok((None, None));
        };
        let names: Vec<&str> = job.outputs().map(|(name, _)| name).collect();
        if names.contains(&output.as_str()) {
            return Ok((Some(output.clone()), self.to.clone()));
        }
        let is_path = output.contains(['/', '.']);
        if is_path && self.to.is_none() {
            return Ok((None, Some(output.into())));
        }
        let advice = near_or(output, names.iter().copied(), || match names.as_slice() {
            [] => "the job has no outputs".to_owned(),
            names => format!("these are: {}", names.join(", ")),
        });
        Err(Failure::usage(format_args!(
            "OUTPUT {output}: it must be the name of an output of {}; {advice}; a directory for \
             all outputs has a slash: ./{output}",
            job.name()
        )))
    }
}

/// Outputs of a job that were received.
#[derive(Debug, Default)]
pub(crate) struct Received {
    pub(crate) rows: Vec<OutputRow>,
    /// Files and outputs that were not received, with the reasons.
    pub(crate) failed: Vec<(String, String)>,
}

impl Received {
    #[cfg(unix)]
    pub(crate) fn failed(reason: String) -> Self {
        Self { rows: Vec::new(), failed: vec![("outputs".to_owned(), reason)] }
    }

    /// Returns the directories with files, by the names of the outputs.
    pub(crate) fn directories(&self) -> BTreeMap<String, String> {
        let rows = self.rows.iter().filter(|row| row.files > 0);
        rows.map(|row| (row.name.clone(), row.directory.clone())).collect()
    }

    /// Prints a line on stderr for each output.
    pub(crate) fn print_lines(&self) {
        for row in &self.rows {
            let amount = amount(modelarts_obs::sync::Amount::new(row.files, row.bytes));
            done(&row.name, &format!("{amount} → {}", row.directory));
        }
    }

    /// Names the files that were not received on stderr. Returns `true` if there are none.
    pub(crate) fn note_failed(&self) -> bool {
        note_failed("not received", &self.failed)
    }
}

#[cfg(unix)]
impl FromIterator<Delivery> for Received {
    fn from_iter<T: IntoIterator<Item = Delivery>>(outputs: T) -> Self {
        let mut received = Self::default();
        for Delivery { name, source, directory, summary, failed } in outputs {
            let named = |(path, reason): (PathBuf, String)| {
                (Path::new(&name).join(path).display().to_string(), reason)
            };
            received.failed.extend(failed.into_iter().map(named));
            let source = source.display().to_string();
            received.rows.push(OutputRow::new(name.clone(), source, &directory, &summary));
        }
        received
    }
}

async fn receive(
    session: &Session,
    job: &Job,
    only: Option<&str>,
    directory: &Path,
) -> Result<Received, Failure> {
    #[cfg(unix)]
    if session.has_records() {
        return receive_local(job, only, directory);
    }
    receive_outputs(job, only, directory, session.terminal).await
}

/// Downloads the outputs of a job, or only one, with progress bars.
pub(crate) async fn receive_outputs(
    job: &Job,
    only: Option<&str>,
    directory: &Path,
    terminal: Terminal,
) -> Result<Received, Failure> {
    let bars = Bars::new(terminal);
    let drawn = bars.clone();
    let failed = Arc::<Mutex<Vec<(String, String)>>>::default();
    let seen = Arc::clone(&failed);
    let mut download = job.download_outputs(directory).on_progress(move |name, progress| {
        drawn.update(name, progress);
        if let SyncEvent::Failed { path, reason } = &progress.event {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.push((format!("{name}/{path}"), reason.clone()));
        }
    });
    if let Some(only) = only {
        download = download.only(only);
    }
    let outputs = download.each().await;
    bars.clear();
    let mut received = Received::default();
    let mut failed = std::mem::take(&mut *failed.lock().unwrap_or_else(PoisonError::into_inner));
    for output in outputs? {
        let prefix = format!("{}/", output.name);
        if let Some(error) = output.error
            && !failed.iter().any(|(path, _)| path.starts_with(&prefix))
        {
            failed.push((output.name.clone(), error.to_string()));
        }
        let source = obs_address(&output.path.to_string());
        let row = OutputRow::new(output.name, source, &output.directory, &output.summary);
        received.rows.push(row);
    }
    received.failed = failed;
    Ok(received)
}

/// Moves the outputs of a job that ran on this machine out of its storage, or copies them from the
/// directory that has them.
#[cfg(unix)]
fn receive_local(job: &Job, only: Option<&str>, to: &Path) -> Result<Received, Failure> {
    let mut moved = local_jobs::deliver(job, only, to)?;
    let here = local_jobs::outputs(job).unwrap_or_default();
    let mut outputs = Vec::new();
    for (name, _) in job.outputs().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let source = here.join(name);
        let known = moved.iter().position(|output| output.name == name);
        let known = known.map(|index| moved.swap_remove(index));
        outputs.push(match known {
            Some(known) if !source.is_dir() => known,
            None if !source.is_dir() => {
                return Err(Failure::NotFound(format!(
                    "the output {name} of {} was in {}, and is not there any more",
                    job.name(),
                    source.display()
                )));
            }
            known => {
                let mut copied = Delivery::new(name, source.clone(), to);
                copied.transfer(&source, How::Copy);
                copied.failed.extend(known.into_iter().flat_map(|known| known.failed));
                copied
            }
        });
    }
    Ok(outputs.into_iter().collect())
}
