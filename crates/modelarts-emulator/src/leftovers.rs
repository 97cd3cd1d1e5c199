//! Process groups on record, so that the next start can end what this one may leave running.
//!
//! Each is a file in `running`, named by its number, made right after the start of the group, with
//! the moment in which its leader started as the kernel tells it: a number may be given again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal};

use crate::process_group;

/// The directory of the records.
#[derive(Clone, Debug)]
pub(crate) struct Leftovers(PathBuf);

impl Leftovers {
    /// Ends what is on record, and begins anew.
    pub(crate) fn end_all(data_dir: &Path) -> io::Result<Self> {
        let directory = data_dir.join("running");
        fs::create_dir_all(&directory)?;
        for entry in fs::read_dir(&directory)?.flatten() {
            let group = entry.file_name().to_string_lossy().parse().ok();
            let group = group.and_then(Pid::from_raw);
            let recorded = fs::read_to_string(entry.path()).unwrap_or_default();
            if let Some(group) = group
                && !recorded.is_empty()
                && started(group).as_deref() == Some(recorded.as_str())
            {
                tracing::warn!(
                    ?group,
                    "an earlier emulator has left it running: it is ended"
                );
                // It may have gone in this moment.
                let _ = process_group::signal(group, Signal::KILL);
            }
            fs::remove_file(entry.path())?;
        }
        Ok(Self(directory))
    }

    /// Puts a group on record.
    pub(crate) fn note(&self, group: Pid) {
        let moment = started(group).unwrap_or_default();
        if let Err(error) = fs::write(self.path(group), moment) {
            tracing::warn!(%error, "a process group is not on record");
        }
    }

    /// It has gone.
    pub(crate) fn forget(&self, group: Pid) {
        // Whoever resets the directory may be faster.
        let _ = fs::remove_file(self.path(group));
    }

    fn path(&self, group: Pid) -> PathBuf {
        self.0.join(group.as_raw_nonzero().to_string())
    }
}

/// When a process started, in the kernel's own words; nothing where there is no `/proc`.
fn started(process: Pid) -> Option<String> {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    let stat = fs::read_to_string(path).ok()?;
    // "pid (name) state …": the 22nd field, counted behind the name, which may hold blanks.
    let rest = stat.rsplit(')').next()?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}
