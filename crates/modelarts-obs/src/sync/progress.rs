//! Progress and summary of a synchronization.

use std::fmt;

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use modelarts_ext::Error;
use parking_lot::Mutex;
use serde::Serialize;

/// Number of files or objects, with their total size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Amount {
    /// Number of files or objects.
    pub files: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

impl Amount {
    /// Creates an amount of `files` files with `bytes` bytes in total.
    #[must_use]
    pub const fn new(files: u64, bytes: u64) -> Self {
        Self { files, bytes }
    }

    pub(crate) fn add(&mut self, bytes: u64) {
        self.files += 1;
        self.bytes += bytes;
    }
}

/// State of a synchronization after an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Progress {
    /// Event that changed the state.
    pub event: SyncEvent,
    /// Files that are complete at the target, including unchanged files. The bytes include the
    /// transferred parts of incomplete files.
    pub done: Amount,
    /// Files at the source, except files that are left out. 0 before
    /// [`Planned`](SyncEvent::Planned).
    pub total: Amount,
}

/// Event of a synchronization. Paths are relative to the directory, with slashes as separators.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SyncEvent {
    /// A file, or a directory with all its contents, is not transferred.
    Skipped(Skipped),
    /// The source and the target are listed, so the total is known.
    Planned,
    /// A part of a large file was transferred, by this call or an earlier call.
    Advanced {
        /// Path of the file.
        path: String,
        /// Size of the part, in bytes.
        bytes: u64,
    },
    /// A file was transferred completely.
    Transferred {
        /// Path of the file.
        path: String,
        /// Size of the file, in bytes.
        bytes: u64,
    },
    /// A file could not be transferred. The synchronization continues with the others, and ends
    /// with an error after [`Finished`](Self::Finished).
    Failed {
        /// Path of the file.
        path: String,
        /// Reason as a clause.
        reason: String,
    },
    /// A file that the source does not have was deleted at the target.
    Deleted {
        /// Path of the file.
        path: String,
    },
    /// The synchronization has ended. This is the last event; an error follows it if files could
    /// not be transferred.
    Finished(Summary),
}

/// File or directory that is not transferred, with the reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// Path relative to the directory, with slashes as separators.
    pub path: String,
    /// Reason why the path is not transferred.
    pub reason: SkipReason,
}

/// Reason why a file or a directory is not transferred. `Display` writes it as a phrase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum SkipReason {
    /// The target has the same contents.
    Unchanged,
    /// A pattern of an ignore file matches.
    Ignored {
        /// Pattern as written in the ignore file.
        pattern: String,
        /// Path of the ignore file: `.gitignore` or `.modelartsignore`, with its directory.
        file: String,
    },
    /// Path that the caller excluded ([`DirectorySync::exclude`](crate::DirectorySync::exclude)),
    /// or data directory of a job inside its code directory.
    Excluded,
    /// Data of a git repository: `.git`.
    Repository,
    /// Virtual environment of Python: a directory with `pyvenv.cfg`.
    VirtualEnvironment,
    /// Compiled Python: `__pycache__`.
    PythonCache,
    /// Installed packages of Node.js: `node_modules`.
    NodeModules,
    /// Credentials or a private key, according to the name, such as `.env*`, `clouds.yaml`,
    /// `*.pem`.
    Credentials,
    /// Data directory of an emulator, with the keys of its users, or the parent of this directory.
    Emulator,
    /// A private key, according to the contents of the file.
    PrivateKey,
    /// A hidden file or directory of the home directory, which may belong to another program:
    /// settings, caches, keys. Hidden files of other directories are transferred.
    HiddenInHome,
    /// The file to which the standard output or error of this program is redirected.
    OwnOutput,
    /// `nohup.out` or `*.log` at the top of a code directory, to which a program may be writing.
    Log,
    /// File of an incomplete download: `.*.modelarts-part`.
    UnfinishedDownload,
    /// A link at the target, which is not deleted.
    Link,
    /// A link to a directory that contains the link.
    LinkLoop,
    /// Neither a file nor a directory, but a socket, a named pipe or a device.
    SpecialFile,
    /// An object without contents that stands for a directory.
    DirectoryMarker,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unchanged => "unchanged",
            Self::Ignored { pattern, file } => {
                return write!(f, "the pattern {pattern} of {file} matches");
            }
            Self::Excluded => "excluded by the caller",
            Self::Repository => "data of a repository",
            Self::VirtualEnvironment => "a virtual environment",
            Self::PythonCache => "compiled Python",
            Self::NodeModules => "installed packages",
            Self::Credentials => "may hold credentials",
            Self::Emulator => "data of an emulator",
            Self::PrivateKey => "a private key",
            Self::HiddenInHome => "hidden, in the home directory",
            Self::OwnOutput => "output of this program",
            Self::Log => "a log",
            Self::UnfinishedDownload => "an unfinished download",
            Self::Link => "a link",
            Self::LinkLoop => "a link to a directory that contains the link",
            Self::SpecialFile => "neither a file nor a directory",
            Self::DirectoryMarker => "stands for a directory",
        })
    }
}

/// Result of a synchronization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Summary {
    /// Files that were transferred.
    pub transferred: Amount,
    /// Files that the target already had with the same contents.
    pub unchanged: Amount,
    /// Number of files that were deleted at the target.
    pub deleted: u64,
    /// Files and directories that were left out, except unchanged files.
    pub skipped: Vec<Skipped>,
    /// Paths of files that became longer while they were sent. Their objects have what the files
    /// had when they were listed.
    pub grown: Vec<String>,
}

/// Collector of the events of all tasks of a synchronization.
pub(crate) struct Reporter {
    sender: Option<UnboundedSender<Result<Progress, Error>>>,
    state: Mutex<SyncState>,
}

#[derive(Default)]
struct SyncState {
    done: Amount,
    total: Amount,
    summary: Summary,
    /// First error of a file, and the number of files with errors.
    failed: Option<(Error, u64)>,
}

/// Events of a synchronization, in order.
pub(crate) type Events = UnboundedReceiver<Result<Progress, Error>>;

impl Reporter {
    /// Creates a reporter that sends no events, and only keeps the summary.
    pub(crate) fn silent() -> Self {
        Self { sender: None, state: Mutex::default() }
    }

    pub(crate) fn with_events() -> (Self, Events) {
        let (sender, events) = unbounded();
        let reporter = Self { sender: Some(sender), state: Mutex::default() };
        (reporter, events)
    }

    /// Changes the state and sends the event. The lock is held until the event is sent, so that the
    /// events are in the order of the changes.
    fn report(&self, change: impl FnOnce(&mut SyncState) -> Option<SyncEvent>) {
        let mut state = self.state.lock();
        if let Some(event) = change(&mut state)
            && let Some(sender) = &self.sender
        {
            let progress = Progress { event, done: state.done, total: state.total };
            // The stream may have been dropped.
            let _ = sender.unbounded_send(Ok(progress));
        }
    }

    /// Sets the total, and reports that both sides are listed.
    pub(crate) fn planned(&self, total: Amount) {
        self.report(|state| {
            state.total = total;
            Some(SyncEvent::Planned)
        });
    }

    /// Reports a file that is left out. `planned` is its size, if it is part of the total.
    pub(crate) fn skipped(&self, path: &str, reason: SkipReason, planned: Option<u64>) {
        self.report(|state| {
            if let Some(size) = planned {
                state.total.files -= 1;
                state.total.bytes -= size;
            }
            let skipped = Skipped { path: path.to_owned(), reason };
            state.summary.skipped.push(skipped.clone());
            Some(SyncEvent::Skipped(skipped))
        });
    }

    pub(crate) fn unchanged(&self, path: &str, size: u64) {
        self.report(|state| {
            state.done.add(size);
            state.summary.unchanged.add(size);
            Some(SyncEvent::Skipped(Skipped {
                path: path.to_owned(),
                reason: SkipReason::Unchanged,
            }))
        });
    }

    pub(crate) fn advanced(&self, path: &str, bytes: u64) {
        self.report(|state| {
            state.done.bytes += bytes;
            Some(SyncEvent::Advanced { path: path.to_owned(), bytes })
        });
    }

    /// Subtracts the reported bytes of a transfer that starts again.
    pub(crate) fn restarted(&self, bytes: u64) {
        self.report(|state| {
            state.done.bytes -= bytes;
            None
        });
    }

    /// Reports a transferred file. `advanced` is the part of its size that was reported before.
    pub(crate) fn transferred(&self, path: &str, size: u64, advanced: u64) {
        self.report(|state| {
            state.done.files += 1;
            state.done.bytes += size - advanced;
            state.summary.transferred.add(size);
            Some(SyncEvent::Transferred { path: path.to_owned(), bytes: size })
        });
    }

    /// Records a file that became longer while it was sent.
    pub(crate) fn grown(&self, path: &str) {
        self.state.lock().summary.grown.push(path.to_owned());
    }

    /// Reports a file that could not be transferred, of which `error` is the reason.
    pub(crate) fn failed(&self, path: &str, error: Error) {
        self.report(|state| {
            let reason = error.to_string();
            let (first, count) = state.failed.take().unwrap_or((error, 0));
            state.failed = Some((first, count + 1));
            Some(SyncEvent::Failed { path: path.to_owned(), reason })
        });
    }

    /// Returns `true` if a file could not be transferred.
    pub(crate) fn has_failures(&self) -> bool {
        self.state.lock().failed.is_some()
    }

    pub(crate) fn deleted(&self, path: &str) {
        self.report(|state| {
            state.summary.deleted += 1;
            Some(SyncEvent::Deleted { path: path.to_owned() })
        });
    }

    /// Sends the final event or the error, and returns the summary. Errors of single files follow
    /// the final event.
    pub(crate) fn finish(&self, result: Result<(), Error>) -> Result<Summary, Error> {
        let fail = |error: Error| {
            if let Some(sender) = &self.sender {
                let _ = sender.unbounded_send(Err(error.clone()));
            }
            Err(error)
        };
        if let Err(error) = result {
            return fail(error);
        }
        let (mut summary, mut failed) = (Summary::default(), None);
        self.report(|state| {
            let skipped = &mut state.summary.skipped;
            skipped.sort_by(|a, b| a.path.cmp(&b.path));
            summary = state.summary.clone();
            failed = state.failed.take();
            Some(SyncEvent::Finished(summary.clone()))
        });
        match failed {
            None => Ok(summary),
            Some((error, 1)) => fail(error),
            Some((error, count)) => {
                let message = format!("{count} files were not transferred; the first: {error}");
                fail(Error::new(error.kind(), message).with_source(error))
            }
        }
    }
}
