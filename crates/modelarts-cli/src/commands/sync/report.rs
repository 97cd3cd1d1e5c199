//! Output of `modelarts sync`.

use modelarts_obs::sync::{Amount, Progress, SkipReason, Skipped, Summary, SyncEvent};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    output::{Document, bytes},
    progress,
    terminal::{Emphasis, Terminal},
};

/// Maximum number of left-out files that the text lists.
const MAX_LEFT_OUT: usize = 20;

/// Result of a synchronization.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SyncReport {
    /// Source, as given.
    source: String,
    /// Target, as given.
    target: String,
    /// `upload`, `download` or `copy`.
    direction: &'static str,
    /// `true` if nothing was changed, and the other fields have what would be.
    dry_run: bool,
    /// Files that were transferred.
    transferred: FilesAndBytes,
    /// Files that the target had already.
    unchanged: FilesAndBytes,
    /// Number of files that were deleted at the target.
    deleted: u64,
    /// Files that were transferred or deleted.
    changes: Vec<Change>,
    /// Files and directories that were left out.
    left_out: Vec<LeftOut>,
    #[serde(skip)]
    verbs: (&'static str, &'static str),
    #[serde(skip)]
    summary: Summary,
    #[serde(skip)]
    pub(super) is_finished: bool,
}

/// A number of files and their size.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct FilesAndBytes {
    /// Number of files.
    files: u64,
    /// Size in bytes.
    bytes: u64,
}

/// A file that was transferred or deleted.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Change {
    /// Path relative to source and target.
    path: String,
    /// `transfer` or `delete`.
    action: &'static str,
    /// Size in bytes; null for a deletion.
    bytes: Option<u64>,
}

/// A file or directory that was left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LeftOut {
    /// Path relative to the source.
    path: String,
    /// Reason, such as `credentials` or `ignored`.
    reason: String,
    /// Reason as a clause.
    detail: String,
}

/// A line of the format `ndjson`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum SyncLine {
    /// Source and target were listed.
    Planned {
        /// Files at the source, and their size.
        total: FilesAndBytes,
    },
    /// A file or directory is left out.
    LeftOut {
        /// The file with the reason.
        #[serde(flatten)]
        left_out: LeftOut,
    },
    /// A part of a large file is at the target.
    Advanced {
        /// Path relative to source and target.
        path: String,
        /// Size of the part in bytes.
        bytes: u64,
        /// Files and bytes at the target, unchanged ones included.
        done: FilesAndBytes,
        /// Files at the source, and their size.
        total: FilesAndBytes,
    },
    /// A file is at the target.
    Transferred {
        /// Path relative to source and target.
        path: String,
        /// Size of the file in bytes.
        bytes: u64,
        /// Files and bytes at the target, unchanged ones included.
        done: FilesAndBytes,
        /// Files at the source, and their size.
        total: FilesAndBytes,
    },
    /// A file could not be transferred.
    Failed {
        /// Path relative to the source.
        path: String,
        /// Reason as a clause.
        reason: String,
    },
    /// A file was deleted at the target.
    Deleted {
        /// Path relative to the target.
        path: String,
    },
    /// The synchronization is complete.
    Finished {
        /// Files that were transferred.
        transferred: FilesAndBytes,
        /// Files that the target had already.
        unchanged: FilesAndBytes,
        /// Number of files that were deleted.
        deleted: u64,
        /// Number of files and directories that were left out.
        left_out: u64,
    },
}

impl From<Amount> for FilesAndBytes {
    fn from(amount: Amount) -> Self {
        Self { files: amount.files, bytes: amount.bytes }
    }
}

impl LeftOut {
    pub(crate) fn new(skipped: &Skipped) -> Self {
        // The reason is a name, or an object whose only key is the name.
        let reason = match serde_json::to_value(&skipped.reason) {
            Ok(Value::String(name)) => name,
            Ok(Value::Object(fields)) => fields.keys().next().cloned().unwrap_or_default(),
            _ => String::new(),
        };
        Self { path: skipped.path.clone(), reason, detail: skipped.reason.to_string() }
    }
}

/// Returns a line for each path that is left out, up to a number of them.
pub(crate) fn left_out_lines(left_out: &[LeftOut]) -> Vec<String> {
    let line = |LeftOut { path, detail, .. }: &LeftOut| format!("left out  {path}: {detail}");
    let mut lines: Vec<String> = left_out.iter().take(MAX_LEFT_OUT).map(line).collect();
    if let Some(more @ 1..) = left_out.len().checked_sub(MAX_LEFT_OUT) {
        lines.push(format!("left out  {more} more; -o json has all"));
    }
    lines
}

impl SyncLine {
    /// Returns the line of an event; `None` for unchanged files and events of unknown kinds.
    pub(super) fn new(progress: &Progress) -> Option<Self> {
        let (done, total) = (progress.done.into(), progress.total.into());
        Some(match &progress.event {
            SyncEvent::Skipped(skipped) if skipped.reason == SkipReason::Unchanged => return None,
            SyncEvent::Skipped(skipped) => Self::LeftOut { left_out: LeftOut::new(skipped) },
            SyncEvent::Planned => Self::Planned { total },
            SyncEvent::Advanced { path, bytes } => {
                Self::Advanced { path: path.clone(), bytes: *bytes, done, total }
            }
            SyncEvent::Transferred { path, bytes } => {
                Self::Transferred { path: path.clone(), bytes: *bytes, done, total }
            }
            SyncEvent::Failed { path, reason } => {
                Self::Failed { path: path.clone(), reason: reason.clone() }
            }
            SyncEvent::Deleted { path } => Self::Deleted { path: path.clone() },
            SyncEvent::Finished(summary) => Self::Finished {
                transferred: summary.transferred.into(),
                unchanged: summary.unchanged.into(),
                deleted: summary.deleted,
                left_out: progress::left_out(summary).count() as u64,
            },
            _ => return None,
        })
    }
}

impl SyncReport {
    /// Creates the report of a transfer that has not begun.
    pub(super) fn new(
        source: &str,
        target: &str,
        dry_run: bool,
        (direction, verb, past): (&'static str, &'static str, &'static str),
    ) -> Self {
        Self {
            source: source.to_owned(),
            target: target.to_owned(),
            direction,
            dry_run,
            verbs: (verb, past),
            ..Self::default()
        }
    }

    pub(super) fn transferred(&mut self, path: String, bytes: u64) {
        self.changes.push(Change { path, action: "transfer", bytes: Some(bytes) });
    }

    pub(super) fn deleted(&mut self, path: String) {
        self.changes.push(Change { path, action: "delete", bytes: None });
    }

    pub(super) fn finish(&mut self, summary: Summary) {
        self.is_finished = true;
        self.transferred = summary.transferred.into();
        self.unchanged = summary.unchanged.into();
        self.deleted = summary.deleted;
        self.left_out = progress::left_out(&summary).map(LeftOut::new).collect();
        // Transfers end in any order.
        self.changes.sort_by(|one, other| one.path.cmp(&other.path));
        self.summary = summary;
    }
}

impl Document for SyncReport {
    fn text(&self, wide: bool, _width: Option<u16>) -> String {
        let mut lines = Vec::new();
        let (verb, past) = self.verbs;
        if self.dry_run || wide {
            for change in &self.changes {
                let action = match change.action {
                    "delete" => Terminal::styled("delete  ", Emphasis::Bad),
                    _ => format!("{verb:8}"),
                };
                let size = change.bytes.map(|size| format!("  {}", bytes(size)));
                lines.push(format!("{action}  {}{}", change.path, size.unwrap_or_default()));
            }
        }
        lines.extend(left_out_lines(&self.left_out));
        let summary = match self.dry_run {
            true => format!("dry run: {}", progress::plan(&self.summary, verb)),
            false => progress::summary(&self.summary, past),
        };
        lines.push(format!("{} → {}  {summary}", self.source, self.target));
        lines.join("\n")
    }
}
