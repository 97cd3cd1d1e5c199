//! Command `modelarts download`, which receives the outputs of a job.

use std::path::{Path, PathBuf};

use clap::Args;
use futures::stream;
use modelarts_ext::Job;
use modelarts_obs::{JobExt, Obs, Summary};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::create::{Bars, OUTPUT_DIRECTORY, ignore_outputs, total},
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    job_reference::JobArgument,
    output::{self, Column, Row, obs_address},
    progress::amount,
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

    /// Returns the name of the output, and its size with the directory, for a line on stderr.
    pub(crate) fn line(&self) -> (String, String) {
        let amount = amount(modelarts_obs::sync::Amount::new(self.files, self.bytes));
        (self.name.clone(), format!("{amount} → {}", self.directory))
    }

    pub(crate) fn into_directory(self) -> Option<(String, String)> {
        (self.files > 0).then_some((self.name, self.directory))
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
        let Some(rows) = Interrupt::new().unless(received).await else {
            note("interrupted; the same command continues from here");
            return Err(Failure::Status(ExitStatus::Interrupted));
        };
        let rows = stream::iter([Ok(rows?)]);
        session.output.list_or_note(rows, "the job has no outputs").await?;
        Ok(ExitStatus::Success)
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

async fn receive(
    session: &Session,
    job: &Job,
    only: Option<&str>,
    directory: &Path,
) -> Result<Vec<OutputRow>, Failure> {
    #[cfg(unix)]
    if session.has_records() {
        return receive_local(job, only, directory).await;
    }
    receive_outputs(job, only, directory, None, session.terminal).await
}

/// Downloads the outputs of a job, or only one, with progress bars.
pub(crate) async fn receive_outputs(
    job: &Job,
    only: Option<&str>,
    directory: &Path,
    obs: Option<&Obs>,
    terminal: Terminal,
) -> Result<Vec<OutputRow>, Failure> {
    let bars = Bars::new(terminal);
    let drawn = bars.clone();
    let mut download = job
        .download_outputs(directory)
        .on_progress(move |name, progress| drawn.update(name, progress));
    if let Some(only) = only {
        download = download.only(only);
    }
    if let Some(obs) = obs {
        download = download.obs(obs.clone());
    }
    let outputs = download.await;
    bars.clear();
    let rows = outputs?.into_iter().map(|output| {
        let source = obs_address(&output.path.to_string());
        OutputRow::new(output.name, source, &output.directory, &output.summary)
    });
    Ok(rows.collect())
}

/// Copies the outputs of a job that ran on this machine from the directory of `run --local`.
#[cfg(unix)]
async fn receive_local(
    job: &Job,
    only: Option<&str>,
    directory: &Path,
) -> Result<Vec<OutputRow>, Failure> {
    use crate::local_jobs::{OUTPUTS, obs_of, outputs};

    let here = outputs(job).unwrap_or_default();
    let mut rows = Vec::new();
    for (name, _) in job.outputs().filter(|(name, _)| only.is_none_or(|only| only == *name)) {
        let source = here.join(name);
        let target = directory.join(name);
        let is_same = std::fs::canonicalize(&target).ok() == std::fs::canonicalize(&source).ok();
        let is_empty = std::fs::read_dir(&source).is_ok_and(|mut files| files.next().is_none());
        if !source.is_dir() {
            return Err(Failure::NotFound(format!(
                "the output {name} of {} was in {}, and is not there any more",
                job.name(),
                source.display()
            )));
        }
        let (_root, obs) = obs_of(&here).map_err(Failure::local)?;
        let copy = obs.sync_down(format!("obs://{OUTPUTS}/{name}"), &target).dry_run(is_same);
        let summary = if is_empty { Summary::default() } else { copy.await? };
        rows.push(OutputRow::new(name.to_owned(), source.display().to_string(), &target, &summary));
    }
    Ok(rows)
}
