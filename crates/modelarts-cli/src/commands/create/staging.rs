//! Staging of the directories of a job, with progress on stderr.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use modelarts_ext::{CreateJob, validation::Warning};
use modelarts_obs::{
    CreateJobExt, Progress, Staging, SyncEvent,
    staging::{StageJob, StagedDir, StagedJob, StagedPart},
    sync::Summary,
};

use crate::{
    commands::create::draft::Draft,
    failure::Failure,
    output,
    terminal::{Emphasis, Terminal},
};

/// Width of the first column of the lines on stderr.
const LABEL: usize = 13;
/// Pause between two drawings of a progress bar without news.
const TICK: Duration = Duration::from_millis(120);
const BAR: &str = "{spinner} {prefix:12} {msg} {bytes}/{total_bytes} {bytes_per_sec} {eta}";

/// Prints a line about a finished step on stderr.
pub(crate) fn done(label: &str, text: &str) {
    let sign = Terminal::styled("✓", Emphasis::Good);
    note!("{sign} {label:<LABEL$}{text}");
}

/// Prints the warnings of the check on stderr.
pub(crate) fn print_warnings(warnings: &[Warning]) {
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
    /// Returns the job with its directories, for staging.
    pub(crate) fn stage(&self, staging: &Staging) -> StageJob {
        let mut stage = self.job.clone().stage(staging);
        if let Some((directory, boot_file)) = &self.code {
            stage = stage.code(directory, boot_file.as_deref());
        }
        for (name, directory) in &self.data {
            stage = stage.data(name, directory);
        }
        for name in &self.outputs {
            stage = stage.output(name);
        }
        stage.on_checked(print_warnings)
    }

    /// Checks the job and sends its directories. Returns the job with their addresses.
    pub(crate) async fn upload(
        &self,
        staging: &Staging,
        terminal: Terminal,
    ) -> Result<Staged, Failure> {
        if !self.needs_staging() {
            let (job, report) = self.job.clone().validate().await?;
            print_warnings(
                &report
                    .into_result("the job")
                    .map_err(|error| self.refusal(error))?,
            );
            return Ok(Staged { job, code: None });
        }
        let bars = Bars::new(terminal);
        let drawn = bars.clone();
        let stage = self.stage(staging);
        let stage = stage.on_progress(move |part, progress| drawn.show(part, progress));
        let staged = stage.upload().await;
        bars.clear();
        let staged = staged.map_err(|error| self.refusal(error))?;
        print_staged(&staged);
        Ok(Staged {
            code: staged.code.as_ref().map(StagedDir::url),
            job: staged.job,
        })
    }
}

/// A job whose directories are in OBS.
pub(crate) struct Staged {
    pub(crate) job: CreateJob,
    /// Address of the code, if it was staged.
    pub(crate) code: Option<String>,
}

fn print_staged(staged: &StagedJob) {
    if let Some(code) = &staged.code {
        done("Code", &sent(code));
    }
    for (name, data) in &staged.data {
        done(name, &sent(data));
    }
}

/// Returns the amounts of a directory and its address.
fn sent(directory: &StagedDir) -> String {
    let Summary {
        transferred,
        unchanged,
        ..
    } = &directory.summary;
    let files = transferred.files + unchanged.files;
    let state = match transferred.files {
        0 => "unchanged, not sent".to_owned(),
        count if count == files => "sent".to_owned(),
        count => format!("{} sent", files_text(count, transferred.bytes)),
    };
    let all = files_text(files, transferred.bytes + unchanged.bytes);
    format!("{all} → {} ({state})", directory.url())
}

/// Returns a number of files with their size: `3 files, 1.2 MiB`.
pub(crate) fn files_text(files: u64, bytes: u64) -> String {
    let unit = if files == 1 { "file" } else { "files" };
    format!("{files} {unit}, {}", output::bytes(bytes))
}

/// Progress bars of directories, on a terminal.
#[derive(Clone)]
pub(crate) struct Bars {
    /// `None` if stderr is not a terminal.
    drawn: Option<Arc<DrawnBars>>,
}

#[derive(Default)]
struct DrawnBars {
    all: MultiProgress,
    by_name: Mutex<BTreeMap<String, ProgressBar>>,
}

impl Bars {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self {
            drawn: terminal.stderr.then(Arc::default),
        }
    }

    fn show(&self, part: &StagedPart, progress: &Progress) {
        let label = match part {
            StagedPart::Data(name) => name.as_str(),
            _ => "Code",
        };
        self.update(label, progress);
    }

    /// Shows the progress of a directory.
    pub(crate) fn update(&self, label: &str, progress: &Progress) {
        let Some(drawn) = &self.drawn else {
            return;
        };
        let mut bars = drawn.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = bars.entry(label.to_owned()).or_insert_with(|| {
            let bar = drawn.all.add(ProgressBar::new(0));
            let style = ProgressStyle::with_template(BAR);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_prefix(label.to_owned());
            bar.enable_steady_tick(TICK);
            bar
        });
        let (done, total) = (progress.done, progress.total);
        bar.set_length(total.bytes);
        bar.set_position(done.bytes);
        bar.set_message(format!("{} of {} files", done.files, total.files));
        if let SyncEvent::Finished(_) = progress.event {
            bar.finish_and_clear();
        }
    }

    /// Removes the bars.
    pub(crate) fn clear(&self) {
        if let Some(drawn) = &self.drawn {
            // A terminal that is gone does not matter.
            let _ = drawn.all.clear();
        }
    }
}
