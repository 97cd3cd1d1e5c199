//! Staging of the directories of a job, with progress on stderr.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use modelarts_ext::{CreateJob, validation::Warning};
use modelarts_obs::{
    CreateJobExt, Progress, Staging, SyncEvent,
    staging::{DataVersioning, StageJob, StagedDir, StagedPart},
    sync::{Amount, Summary},
};

use crate::{
    commands::create::draft::{Draft, data_versions::record_uses, path_below},
    confirmation::confirm,
    failure::Failure,
    output::one_line,
    progress::{ProgressBars, TransferBar, amount, count, left_out_in_words},
    state::written,
    terminal::{Emphasis, Terminal},
};

/// Width of the label column of the lines on stderr.
const LABEL: usize = 13;
/// Minimum size of a file that is sent in parts, and the size of the parts, in bytes.
const MULTIPART_FROM: u64 = 16 << 20;
const PART: u64 = 8 << 20;

/// Prints a line on stderr that reports a finished step.
pub(crate) fn done(label: &str, text: &str) {
    let sign = Terminal::styled("✓", Emphasis::Good);
    note!("{sign} {label:<LABEL$}{text}");
}

fn print_warnings(warnings: &[Warning]) {
    let text = match warnings.len() {
        0 => "no errors".to_owned(),
        1 => "no errors, 1 warning:".to_owned(),
        count => format!("no errors, {count} warnings:"),
    };
    done("Checked", &text);
    for warning in warnings {
        note!("  {}", Terminal::styled(warning, Emphasis::Waiting));
    }
}

impl Draft {
    pub(crate) fn stage(&self, staging: &Staging) -> StageJob {
        let mut stage = self.job.clone().stage(staging).data_version(self.versioning);
        if let Some((directory, boot_file)) = &self.code {
            stage = stage.code(directory, boot_file.as_deref());
            // The results of this program are no part of the code, also if it is called again.
            let results = written();
            let results = results.iter().filter_map(|file| path_below(file, directory));
            stage = results.fold(stage, StageJob::exclude);
        }
        for (name, directory) in &self.data {
            stage = stage.data(name, directory);
        }
        for name in &self.outputs {
            stage = stage.output(name);
        }
        stage.on_checked(print_warnings)
    }

    /// Asks on a terminal before new versions of data are made that `--data-version new` requests.
    /// `yes` replaces the answer.
    pub(crate) async fn confirm_versions(
        &self,
        staging: &Staging,
        terminal: Terminal,
        yes: bool,
    ) -> Result<(), Failure> {
        if self.versioning != DataVersioning::New || yes || !terminal.interactive {
            return Ok(());
        }
        for (name, directory) in &self.data {
            let requests = Arc::<AtomicU64>::default();
            let counted = Arc::clone(&requests);
            let stage = staging.data(directory).version(self.versioning).dry_run(true);
            let planned = stage.on_progress(move |progress| {
                let requests = match &progress.event {
                    SyncEvent::Transferred { bytes, .. } if *bytes >= MULTIPART_FROM => {
                        2 + bytes.div_ceil(PART)
                    }
                    SyncEvent::Transferred { .. } | SyncEvent::Skipped(_) => 1,
                    _ => 0,
                };
                counted.fetch_add(requests, Ordering::Relaxed);
            });
            let planned = planned.await?;
            if planned.is_new_version {
                let summary = planned.summary;
                let requests = count(requests.load(Ordering::Relaxed), "request");
                let (sent, copied) = (amount(summary.transferred), amount(summary.unchanged));
                let what = format!("make a version of {name}: send {sent}, copy {copied} in OBS");
                confirm(terminal, yes, format!("{what}, {requests}"))?;
            }
        }
        Ok(())
    }

    /// Looks up the settings of the job on the service, checks the job, and prints the warnings.
    pub(crate) async fn looked_up(&self) -> Result<CreateJob, Failure> {
        let job = self.job.clone().look_up().await?;
        let checked = job.check().into_result("the job");
        print_warnings(&checked.map_err(|error| self.refusal(error))?);
        Ok(job)
    }

    /// Checks the job and sends its directories. Returns the job with the addresses of the
    /// directories, and the address of the code if code was sent.
    pub(crate) async fn upload(
        &self,
        staging: &Staging,
        terminal: Terminal,
    ) -> Result<(CreateJob, Option<String>), Failure> {
        record_uses(&self.job.body(), staging).await;
        if !self.needs_staging() {
            return Ok((self.looked_up().await?, None));
        }
        let bars = Bars::new(terminal);
        let drawn = bars.clone();
        let stage = self.stage(staging);
        let stage = stage.on_progress(move |part, progress| match part {
            StagedPart::Data(name) => drawn.update(name, progress),
            _ => drawn.update("Code", progress),
        });
        let staged = stage.upload().await;
        bars.clear();
        let staged = staged.map_err(|error| self.refusal(error))?;
        if let Some(code) = &staged.code {
            let directory = self.code.as_ref().map(|(directory, _)| directory.as_path());
            done("Code", &sent(code, directory));
            note_grown(code);
        }
        for (name, data) in &staged.data {
            let version = match (&data.version, data.is_new_version) {
                (None, _) => ", not versioned".to_owned(),
                (Some(id), false) => format!(", version {id}"),
                (Some(id), true) => match data.summary.unchanged.files {
                    0 => format!(", new version {id}"),
                    copied => format!(", {copied} copied, new version {id}"),
                },
            };
            let sent = sent(data, None);
            done(name, &format!("{}{version})", sent.trim_end_matches(')')));
            note_grown(data);
        }
        Ok((staged.job, staged.code.as_ref().map(StagedDir::url)))
    }
}

/// Names the files that were written while they were sent.
fn note_grown(directory: &StagedDir) {
    for path in &directory.summary.grown {
        let path = one_line(path.clone());
        note!("  {path} became longer meanwhile; what it had at first was sent");
    }
}

/// Formats the size, what is left out of the local directory `code`, the address and the transfer
/// result of a staged directory.
fn sent(directory: &StagedDir, code: Option<&Path>) -> String {
    let transferred = directory.summary.transferred;
    let all = total(&directory.summary);
    let state = match transferred.files {
        0 => "unchanged, not sent".to_owned(),
        count if count == all.files => "sent".to_owned(),
        _ => format!("{} sent", amount(transferred)),
    };
    let left_out = code.map(|code| left_out_in_words(code, &directory.summary.skipped));
    let all = format!("{}{}", amount(all), left_out.unwrap_or_default());
    format!("{all} → {} ({state})", directory.url())
}

/// Returns the number and the size of the files at the target of a synchronization.
pub(crate) fn total(summary: &Summary) -> Amount {
    let (sent, unchanged) = (summary.transferred, summary.unchanged);
    Amount::new(sent.files + unchanged.files, sent.bytes + unchanged.bytes)
}

/// Progress bars of the directories of a job. Clones share the bars.
#[derive(Clone)]
pub(crate) struct Bars {
    screen: ProgressBars,
    by_name: Arc<Mutex<BTreeMap<String, TransferBar>>>,
}

impl Bars {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self { screen: ProgressBars::new(terminal, true), by_name: Arc::default() }
    }

    pub(crate) fn update(&self, label: &str, progress: &Progress) {
        let mut bars = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = bars.entry(label.to_owned()).or_insert_with(|| self.screen.transfer(label));
        bar.update(progress);
        if let SyncEvent::Finished(_) = progress.event {
            bar.clear();
        }
    }

    pub(crate) fn clear(&self) {
        let bars = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        bars.values().for_each(TransferBar::clear);
    }
}
