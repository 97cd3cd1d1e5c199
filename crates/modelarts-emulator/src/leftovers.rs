//! What this emulator may leave running, and how the next start finds it.
//!
//! Process groups are on record: each is a file in `running`, named by its number, with the moment
//! in which its leader started as the kernel tells it, because a number may be given again. The
//! record is made before the code starts. Whatever is not on record, because it has left its group
//! or only installs packages, is known by its environment, which names the directory of its job.

use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::process::{Pid, Signal, kill_process};

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
        end_strays(&data_dir.join("jobs"));
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

/// How often to look for processes that start others while they are ended.
const LOOKS: u32 = 100;

/// Ends all processes of jobs whose directories are in `jobs`. Where there is no `/proc`, none are
/// found.
fn end_strays(jobs: &Path) {
    let mut mark = b"MA_LOG_DIR=".to_vec();
    mark.extend(jobs.as_os_str().as_bytes());
    mark.push(b'/');
    for _ in 0..LOOKS {
        let mut found = false;
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let process = entry.file_name().to_string_lossy().parse().ok();
            // That of another user cannot be read, that of a dead process is empty.
            let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
            let mut variables = environment.split(|byte| *byte == 0);
            if let Some(process) = process.and_then(Pid::from_raw)
                && variables.any(|variable| variable.starts_with(&mark))
            {
                found = true;
                tracing::warn!(?process, "an earlier emulator has left it: it is ended");
                // It may have gone in this moment.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        if !found {
            return;
        }
    }
    tracing::warn!("processes of an earlier emulator still run");
}

/// When a process started, always in the same words; nothing if it has gone.
fn started(process: Pid) -> Option<String> {
    told_by_proc(process).or_else(|| told_by_system(process))
}

/// In ticks since the machine started.
fn told_by_proc(process: Pid) -> Option<String> {
    let path = format!("/proc/{}/stat", process.as_raw_nonzero());
    let stat = fs::read_to_string(path).ok()?;
    // "pid (name) state …": the 22nd field, counted behind the name, which may hold blanks.
    let rest = stat.rsplit(')').next()?;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

/// In seconds of the calendar, where there is no `/proc`.
fn told_by_system(process: Pid) -> Option<String> {
    let number = sysinfo::Pid::from_u32(process.as_raw_nonzero().get().try_into().ok()?);
    let mut system = sysinfo::System::new();
    let only = sysinfo::ProcessesToUpdate::Some(&[number]);
    let nothing_more = sysinfo::ProcessRefreshKind::nothing();
    system.refresh_processes_specifics(only, true, nothing_more);
    let process = system.process(number)?;
    Some(format!("at {}", process.start_time()))
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    use super::*;

    fn sleeping(log_dir: &Path) -> Child {
        let mut command = Command::new("sleep");
        command.arg("1000").env("MA_LOG_DIR", log_dir);
        command.spawn().unwrap()
    }

    #[test]
    fn both_ways_tell_when_a_process_started() {
        let place = tempfile::tempdir().unwrap();
        let mut child = sleeping(place.path());
        let process = Pid::from_child(&child);
        assert_eq!(started(process), told_by_proc(process));
        let told = told_by_system(process).unwrap();
        let moment: u64 = told.strip_prefix("at ").unwrap().parse().unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        assert!(now.abs_diff(moment) < 60, "{told}, now {now}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(started(process), None);
    }

    #[test]
    fn what_runs_without_a_record_is_ended_and_nothing_else() {
        let own = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let mut left = sleeping(&own.path().join("jobs/id/worker-0/log"));
        let mut foreign = sleeping(&other.path().join("jobs/id/worker-0/log"));
        Leftovers::end_all(own.path()).unwrap();
        assert_eq!(left.wait().unwrap().signal(), Some(9));
        assert!(foreign.try_wait().unwrap().is_none());
        foreign.kill().unwrap();
        foreign.wait().unwrap();
    }
}
