//! Record of the process groups of an emulator, which the next emulator kills. A file per group
//! contains the start time of its leader, to distinguish a later group with the same number.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::{
    files::confined_dir::ConfinedDir,
    runner::process::process_table::{ProcessTable, Stat},
};

#[derive(Debug)]
pub(super) struct OrphanRecord(PathBuf);

impl OrphanRecord {
    /// Kills the recorded groups and marked processes that still run, and creates an empty record.
    pub(super) fn end_all(records: &Path, processes: &ProcessTable) -> io::Result<Self> {
        let directory = ConfinedDir::create(records)?;
        let directory = directory.root().to_owned();
        for entry in fs::read_dir(&directory)?.flatten() {
            let group = entry.file_name().to_string_lossy().parse().ok();
            let group = group.and_then(Pid::from_raw);
            let recorded = fs::read_to_string(entry.path()).unwrap_or_default();
            if let Some(group) = group
                && !recorded.is_empty()
                && started(group).as_deref() == Some(recorded.as_str())
            {
                tracing::warn!(?group, "ending a process group of an earlier emulator");
                // The group may have ended in the meantime.
                let _ = kill_process_group(group, Signal::KILL);
            }
            fs::remove_file(entry.path())?;
        }
        processes.end_strays();
        Ok(Self(directory))
    }

    pub(super) fn add(&self, group: Pid) {
        let start_time = started(group).unwrap_or_default();
        if let Err(error) = fs::write(self.path(group), start_time) {
            tracing::warn!(%error, "a process group cannot be recorded");
        }
    }

    pub(super) fn remove(&self, group: Pid) {
        // A reset of the emulator may have removed the directory.
        let _ = fs::remove_file(self.path(group));
    }

    fn path(&self, group: Pid) -> PathBuf {
        self.0.join(group.as_raw_nonzero().to_string())
    }
}

/// Returns the start time of a process in a stable format, or `None` if the process has ended.
fn started(process: Pid) -> Option<String> {
    start_time_from_proc(process).or_else(|| start_time_from_system(process))
}

/// Returns the start time of a process, in clock ticks since the start of the machine.
fn start_time_from_proc(process: Pid) -> Option<String> {
    Some(Stat::of(process)?.started.to_string())
}

/// Returns the start time of a process as calendar time in seconds, for systems without `/proc`.
fn start_time_from_system(process: Pid) -> Option<String> {
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
    use crate::runner::process::process_table::RUN_VARIABLE;

    /// Starts a process of an earlier emulator, marked in its environment or as a limit.
    fn sleeping(data_dir: &Path, by_limit: bool) -> Child {
        let worker = data_dir.join("jobs/id/worker-0");
        let mark = ProcessTable::new(&data_dir.join("jobs")).run_mark(&worker, None);
        let mut command = Command::new("sleep");
        command.arg("20").env_clear();
        if !by_limit {
            command.env(RUN_VARIABLE, &mark.variable);
        }
        let child = command.spawn().unwrap();
        if by_limit {
            mark.limit(Pid::from_child(&child));
        }
        child
    }

    #[test]
    fn both_sources_report_the_start_of_a_process() {
        let place = tempfile::tempdir().unwrap();
        let mut child = sleeping(place.path(), false);
        let process = Pid::from_child(&child);
        assert_eq!(started(process), start_time_from_proc(process));
        let text = start_time_from_system(process).unwrap();
        let start_time: u64 = text.strip_prefix("at ").unwrap().parse().unwrap();
        let now = std::time::UNIX_EPOCH.elapsed().unwrap().as_secs();
        assert!(now.abs_diff(start_time) < 60, "{text}, now {now}");
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(started(process), None);
    }

    #[test]
    fn unrecorded_processes_are_ended_and_no_others() {
        for by_limit in [false, true] {
            let own = tempfile::tempdir().unwrap();
            let other = tempfile::tempdir().unwrap();
            let mut left = sleeping(own.path(), by_limit);
            let mut foreign = sleeping(other.path(), by_limit);
            let processes = ProcessTable::new(&own.path().join("jobs"));
            OrphanRecord::end_all(&own.path().join("running"), &processes).unwrap();
            let is_foreign_alive = foreign.try_wait().unwrap().is_none();
            foreign.kill().unwrap();
            foreign.wait().unwrap();
            // A process that nobody kills ends by itself, without a signal.
            assert_eq!(left.wait().unwrap().signal(), Some(9), "by limit: {by_limit}");
            assert!(is_foreign_alive, "by limit: {by_limit}");
        }
    }
}
