//! Command `modelarts sync`, which copies directories to and from OBS.

pub(crate) mod cp;
pub(crate) mod objects;
mod report;

pub(crate) use report::{LeftOut, SyncLine, SyncReport, left_out_lines};

use std::path::{Path, PathBuf};

use clap::Args;
use futures::StreamExt;
use modelarts_obs::{
    DirectorySync, Obs, ObsPath,
    sync::{Summary, SyncEvent},
};

use crate::{
    confirmation::confirm,
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    output::Format,
    progress::{ProgressBars, count, note_failed},
    session::Session,
    terminal,
};

/// Maximum number of concurrent requests.
const MAX_TRANSFERS: u16 = 1_000;

const LONG_HELP: &str = "\
Contents are compared by size and checksum, so a second call transfers only what has changed, and \
a call that was interrupted continues. Files of a directory go directly below the target, without \
the name of the directory.

Files that may hold credentials (.env, *.pem, clouds.yaml and the like), .git, __pycache__, \
node_modules, virtual environments, hidden files of the home directory and what .modelartsignore \
matches are never sent; the output names each of them.

Examples:
  modelarts sync ./data obs://my-bucket/data
  modelarts sync obs://my-bucket/out/job-7 ./model
  modelarts sync obs://my-bucket/data obs://other-bucket/data
  modelarts sync ./data obs://my-bucket/data --delete --dry-run";

#[derive(Debug, Args)]
#[command(after_long_help = LONG_HELP)]
pub(crate) struct Sync {
    /// Source: a directory, a file, or an address such as obs://my-bucket/data.
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Target: a directory, or an address such as obs://my-bucket/data.
    #[arg(value_name = "TARGET")]
    target: String,
    /// Deletes files at the target that the source does not have, after a confirmation.
    #[arg(long)]
    delete: bool,
    /// Prints the files that would be transferred and deleted, and changes nothing.
    #[arg(short = 'n', long)]
    dry_run: bool,
    /// Leaves out matches of .gitignore, unless the directory has a .modelartsignore.
    #[arg(long)]
    gitignore: bool,
    /// Maximum number of concurrent requests. Default: 16, and more while this is faster.
    #[arg(long, value_name = "REQUESTS", value_parser = transfers, allow_negative_numbers = true)]
    transfers: Option<u16>,
    /// Deletes without a confirmation.
    #[arg(short, long)]
    yes: bool,
}

fn transfers(text: &str) -> Result<u16, String> {
    let number = text.parse().ok();
    let number = number.filter(|number| (1..=MAX_TRANSFERS).contains(number));
    number.ok_or_else(|| format!("it must be a whole number from 1 to {MAX_TRANSFERS}"))
}

impl Sync {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let direction = Direction::new(&self.source, &self.target)?;
        if self.gitignore && !matches!(direction, Direction::Up(..)) {
            return Err(Failure::usage("--gitignore: SOURCE must be a directory of this machine"));
        }
        if self.delete && !self.dry_run && !self.yes && !session.terminal.interactive {
            // Without a terminal no question is possible, so the files need not be counted first.
            let action = format!("delete files at {}", self.target);
            confirm(session.terminal, false, action)?;
        }
        let obs = Obs::new(session.client().await?)?;
        let mut sync = direction.sync(&obs).delete(self.delete).gitignore(self.gitignore);
        if let Some(transfers) = self.transfers {
            sync = sync.transfers(usize::from(transfers));
        }
        if self.delete && !self.dry_run && !self.yes {
            let planned: Summary = sync.clone().dry_run(true).await?;
            if planned.deleted > 0 {
                let files = count(planned.deleted, "file");
                let action = format!("delete {files} at {}", self.target);
                confirm(session.terminal, false, action)?;
            }
        }
        let places = (self.source.as_str(), self.target.as_str());
        let sync = sync.dry_run(self.dry_run);
        report_of(session, places, self.dry_run, direction.words(), sync).await
    }
}

/// Runs a synchronization from a source to a target, and prints its report.
async fn report_of(
    session: &Session,
    places: (&str, &str),
    dry_run: bool,
    words: Words,
    sync: DirectorySync,
) -> Result<ExitStatus, Failure> {
    let transfer = transfer(session, places, dry_run, words, sync);
    let Some(ended) = Interrupt::new().unless(transfer).await else {
        terminal::note("interrupted; the same command continues from here");
        return Err(Failure::Status(ExitStatus::Interrupted));
    };
    let (report, failed) = ended?;
    if session.output.format != Format::Ndjson {
        session.output.document(&report)?;
    }
    if note_failed("not transferred", &failed) {
        return Ok(ExitStatus::Success);
    }
    terminal::note("the same command transfers the other files");
    Ok(ExitStatus::Refused)
}

/// Files that were not transferred, with the reasons.
type FailedFiles = Vec<(String, String)>;

/// Runs a synchronization. The format `ndjson` prints each event.
async fn transfer(
    session: &Session,
    (source, target): (&str, &str),
    dry_run: bool,
    words: Words,
    sync: DirectorySync,
) -> Result<(SyncReport, FailedFiles), Failure> {
    let is_stream = session.output.format == Format::Ndjson;
    let bars = ProgressBars::new(session.terminal, !is_stream && !dry_run);
    let bar = bars.transfer("Sync");
    let mut report = SyncReport::new(source, target, dry_run, words);
    let mut failed = Vec::new();
    let mut events = sync.stream();
    while let Some(progress) = events.next().await {
        let progress = match progress {
            // The files are named at the end.
            Err(_) if !failed.is_empty() && report.is_finished => break,
            progress => progress?,
        };
        bar.update(&progress);
        if is_stream && let Some(line) = SyncLine::new(&progress) {
            session.output.item(&line)?;
        }
        match progress.event {
            SyncEvent::Transferred { path, bytes } => report.transferred(path, bytes),
            SyncEvent::Deleted { path } => report.deleted(path),
            SyncEvent::Failed { path, reason } => failed.push((path, reason)),
            SyncEvent::Finished(summary) => report.finish(summary),
            _ => {}
        }
    }
    bar.clear();
    Ok((report, failed))
}

/// Name of a direction, and the verb of its transfer in the present and the past.
type Words = (&'static str, &'static str, &'static str);

enum Direction {
    Up(PathBuf, ObsPath),
    Down(ObsPath, PathBuf),
    Copy(ObsPath, ObsPath),
}

impl Direction {
    fn new(source: &str, target: &str) -> Result<Self, Failure> {
        match (address("SOURCE", source)?, address("TARGET", target)?) {
            (Some(source), Some(target)) => Ok(Self::Copy(source, target)),
            (Some(source), None) => Ok(Self::Down(source, PathBuf::from(target))),
            (None, Some(target)) => {
                let path = Path::new(source);
                if let Err(error) = path.metadata() {
                    return Err(Failure::usage(format_args!(
                        "SOURCE {source}: {error}; it must be a directory, a file or an obs:// \
                         address"
                    )));
                }
                Ok(Self::Up(path.to_owned(), target))
            }
            (None, None) => Err(Failure::usage(
                "SOURCE and TARGET are paths of this machine; at least one must be an address such \
                 as obs://my-bucket/data",
            )),
        }
    }

    fn sync(&self, obs: &Obs) -> DirectorySync {
        match self {
            Self::Up(source, target) => obs.sync_up(source, target),
            Self::Down(source, target) => obs.sync_down(source, target),
            Self::Copy(source, target) => obs.copy(source, target),
        }
    }

    fn words(&self) -> Words {
        match self {
            Self::Up(..) => ("upload", "send", "sent"),
            Self::Down(..) => ("download", "receive", "received"),
            Self::Copy(..) => ("copy", "copy", "copied"),
        }
    }
}

/// Parses an address in OBS. Returns `None` if the text is a path of this machine.
fn address(name: &str, text: &str) -> Result<Option<ObsPath>, Failure> {
    let Some((scheme, path)) = text.split_once("://") else {
        return match text.is_empty() {
            true => Err(Failure::usage(format_args!("{name} must not be empty"))),
            false => Ok(None),
        };
    };
    match scheme {
        "obs" => {
            text.parse().map(Some).map_err(|error| Failure::usage(format_args!("{name}: {error}")))
        }
        _ => Err(Failure::usage(format_args!(
            "{name} {text}: it must be a path of this machine or an obs:// address, such as \
             obs://{path}"
        ))),
    }
}
