//! Progress of transfers on stderr: bars on a terminal, lines elsewhere.

use std::{
    collections::BTreeMap,
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use indicatif::{
    HumanCount, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressFinish, ProgressStyle,
};
use modelarts_obs::sync::{Amount, Progress, SkipReason, Skipped, Summary, SyncEvent};

use crate::{
    output::{bytes, one_line},
    terminal::{self, Emphasis, Terminal},
};

/// Interval between progress lines if stderr is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);
/// Interval at which a bar without progress is redrawn.
const TICK: Duration = Duration::from_millis(120);
/// Width of the labels, which aligns the bars.
const LABEL: usize = 10;

/// Progress bars and lines on stderr. Clones share the screen.
#[derive(Clone, Debug)]
pub(crate) struct ProgressBars {
    bars: MultiProgress,
    terminal: Terminal,
    shown: bool,
}

/// Progress of one synchronization. Clones share the bar, which disappears when it is dropped.
#[derive(Clone, Debug)]
pub(crate) struct TransferBar {
    label: Arc<str>,
    screen: ProgressBars,
    bar: ProgressBar,
    state: Arc<Mutex<BarState>>,
}

#[derive(Debug)]
struct BarState {
    /// Files and bytes at the target after the last event.
    done: Amount,
    /// Part of `done` that the target already had, which does not count for the rate.
    unchanged: Amount,
    /// Time of the last printed line, or of the beginning.
    printed: Instant,
}

impl ProgressBars {
    /// Creates an empty screen. If `shown` is `false`, only [`line`](Self::line) prints, for
    /// formats that report the progress on stdout.
    pub(crate) fn new(terminal: Terminal, shown: bool) -> Self {
        let target = match terminal.redraws && shown {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        Self { bars: MultiProgress::with_draw_target(target), terminal, shown }
    }

    /// Adds the bar of a transfer, with a label such as `Code` or `Data`.
    pub(crate) fn transfer(&self, label: &str) -> TransferBar {
        let bar = ProgressBar::no_length()
            .with_finish(ProgressFinish::AndClear)
            .with_style(style("{spinner} {prefix} {wide_msg}"))
            .with_prefix(format!("{label:LABEL$}"))
            .with_message("comparing");
        let bar = self.bars.add(bar);
        if self.terminal.redraws && self.shown {
            bar.enable_steady_tick(TICK);
        }
        TransferBar {
            label: label.into(),
            screen: self.clone(),
            bar,
            state: Arc::new(Mutex::new(BarState {
                done: Amount::default(),
                unchanged: Amount::default(),
                printed: Instant::now(),
            })),
        }
    }

    /// Returns `true` if bars are drawn.
    pub(crate) fn is_drawn(&self) -> bool {
        self.terminal.redraws && self.shown
    }

    /// Adds a line with a label and a message, which is redrawn.
    pub(crate) fn spinner(&self, label: &str) -> ProgressBar {
        let bar = ProgressBar::no_length()
            .with_style(style("{spinner} {prefix}  {elapsed}  {wide_msg}"))
            .with_prefix(label.to_owned());
        let bar = self.bars.add(bar);
        bar.enable_steady_tick(TICK);
        bar
    }

    /// Prints a line on stderr, above the bars.
    pub(crate) fn line(&self, text: impl fmt::Display) {
        self.bars.suspend(|| terminal::note(text));
    }

    /// Returns the style of a bar that fits the width of the terminal.
    fn style(&self) -> ProgressStyle {
        style(match self.terminal.stderr_width {
            100.. => {
                "{spinner} {prefix} {bar:24} {msg}  {binary_bytes} of {binary_total_bytes}  \
                 {binary_bytes_per_sec}  {eta}"
            }
            72.. => "{spinner} {prefix} {msg}  {binary_bytes}  {binary_bytes_per_sec}  {eta}",
            _ => "{spinner} {prefix} {wide_msg}",
        })
    }
}

impl TransferBar {
    /// Shows the state of the synchronization. Can be called from any thread.
    pub(crate) fn update(&self, progress: &Progress) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let SyncEvent::Skipped(skipped) = &progress.event
            && skipped.reason == SkipReason::Unchanged
        {
            let bytes = progress.done.bytes.saturating_sub(state.done.bytes);
            state.unchanged.files += 1;
            state.unchanged.bytes += bytes;
        }
        state.done = progress.done;
        let done = without(progress.done, state.unchanged);
        let total = without(progress.total, state.unchanged);
        if progress.event == SyncEvent::Planned {
            self.bar.set_style(self.screen.style());
            self.bar.reset_elapsed();
        }
        let files = format!("{} of {} files", HumanCount(done.files), HumanCount(total.files));
        let is_late = state.printed.elapsed() >= LINE_INTERVAL;
        if is_late && self.screen.shown && !self.screen.terminal.redraws && total.files > 0 {
            state.printed = Instant::now();
            let (sent, all) = (bytes(done.bytes), bytes(total.bytes));
            self.screen.line(format_args!("{}: {files}, {sent} of {all}", self.label));
        }
        self.bar.set_length(total.bytes);
        self.bar.set_position(done.bytes);
        self.bar.set_message(files);
    }

    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the style of a template. All templates are valid constants, so the fallback is not used.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("━╸ ")
}

fn without(all: Amount, part: Amount) -> Amount {
    Amount::new(all.files.saturating_sub(part.files), all.bytes.saturating_sub(part.bytes))
}

/// Returns a number with its noun, such as `1 file` or `4,000 files`.
pub(crate) fn count(count: u64, name: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {name}{plural}", HumanCount(count))
}

/// Formats an amount, such as `12 files, 48.00 KiB`.
pub(crate) fn amount(amount: Amount) -> String {
    let bytes = bytes(amount.bytes);
    format!("{}, {bytes}", count(amount.files, "file"))
}

/// Formats the result of a synchronization, such as `2 files, 1.00 KiB sent, 10 unchanged, 1 left
/// out`. `verb` is the verb of the transfer in the past tense.
pub(crate) fn summary(summary: &Summary, verb: &str) -> String {
    parts(summary, verb, "deleted")
}

/// Formats the plan of a synchronization, such as `2 files, 1.00 KiB to send, 10 unchanged, 1 to
/// delete`. `verb` is the verb of the transfer.
pub(crate) fn plan(summary: &Summary, verb: &str) -> String {
    parts(summary, &format!("to {verb}"), "to delete")
}

fn parts(summary: &Summary, verb: &str, deleted: &str) -> String {
    let mut text = match summary.transferred.files {
        0 => format!("nothing {verb}"),
        _ => format!("{} {verb}", amount(summary.transferred)),
    };
    let others = [
        (summary.unchanged.files, "unchanged"),
        (summary.deleted, deleted),
        (left_out(summary).count() as u64, "left out"),
    ];
    for (count, name) in others.into_iter().filter(|(count, _)| *count > 0) {
        text += &format!(", {} {name}", HumanCount(count));
    }
    text
}

/// Maximum number of files that [`note_failed`] names.
const MAX_FAILED: usize = 20;

/// Names files that could not be transferred on stderr, with the reasons. Returns `true` if there
/// are none.
pub(crate) fn note_failed(state: &str, failed: &[(String, String)]) -> bool {
    for (path, reason) in failed.iter().take(MAX_FAILED) {
        let (path, reason) = (one_line(path.clone()), one_line(reason.clone()));
        note!("{}  {path}: {reason}", Terminal::styled(state, Emphasis::Bad));
    }
    if let Some(more @ 1..) = failed.len().checked_sub(MAX_FAILED) {
        note!("and {} more", count(more as u64, "file"));
    }
    failed.is_empty()
}

/// Number of paths that [`left_out_in_words`] names for each reason.
const NAMED: usize = 3;

/// Formats what is left out of a code directory, such as `, 1 left out by .gitignore (data/)`.
/// Caches and the outputs of jobs on this machine are not mentioned.
pub(crate) fn left_out_in_words(directory: &Path, skipped: &[Skipped]) -> String {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for Skipped { path, reason, .. } in skipped {
        let group = match reason {
            _ if path.starts_with("modelarts-output") => continue,
            SkipReason::Repository
            | SkipReason::VirtualEnvironment
            | SkipReason::PythonCache
            | SkipReason::NodeModules
            | SkipReason::Emulator
            | SkipReason::HiddenInHome
            | SkipReason::Unchanged => continue,
            SkipReason::Ignored { file, .. } => format!("left out by {file}"),
            SkipReason::Excluded => "left out as data or results".to_owned(),
            reason => format!("left out, {reason}"),
        };
        let slash = if directory.join(path).is_dir() { "/" } else { "" };
        groups.entry(group).or_default().push(one_line(format!("{path}{slash}")));
    }
    let words = groups.into_iter().map(|(group, paths)| {
        let more = if paths.len() > NAMED { ", …" } else { "" };
        let named = paths.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        format!(", {} {group} ({named}{more})", paths.len())
    });
    words.collect()
}

pub(crate) fn left_out(summary: &Summary) -> impl Iterator<Item = &modelarts_obs::sync::Skipped> {
    let skipped = summary.skipped.iter();
    skipped.filter(|skipped| skipped.reason != SkipReason::Unchanged)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        let one = Amount::new(1, 17);
        assert_eq!(amount(one), "1 file, 17 B");
        let many = Amount::new(4_000, 3 << 20);
        assert_eq!(amount(many), "4,000 files, 3.00 MiB");
    }

    #[test]
    fn parts_that_are_zero_are_not_in_a_summary() {
        let mut result = Summary::default();
        assert_eq!(summary(&result, "sent"), "nothing sent");
        result.unchanged.files = 2;
        result.deleted = 1;
        assert_eq!(summary(&result, "sent"), "nothing sent, 2 unchanged, 1 deleted");
        assert_eq!(plan(&result, "send"), "nothing to send, 2 unchanged, 1 to delete");
    }
}
