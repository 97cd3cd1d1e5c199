//! Measurement of the usage of a worker's processes.

use std::{collections::HashSet, time::Instant};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Usage {
    /// Processor time of the live processes since their start, in milliseconds.
    pub(crate) cpu_millis: u64,
    /// Resident memory, in bytes.
    pub(crate) memory: u64,
}

/// Meter of processes. Reading the process table is slow, so concurrent callers share a reading.
#[derive(Debug)]
pub(crate) struct Meter(Mutex<Reading>);

#[derive(Debug, Default)]
struct Reading {
    system: System,
    begun: Option<Instant>,
}

impl Default for Meter {
    fn default() -> Self {
        // Keeps sysinfo from holding descriptors. On Linux, also raises the limit of open files.
        sysinfo::set_open_files_limit(0);
        Self(Mutex::default())
    }
}

impl Meter {
    /// Returns the usage of a process and all its descendants, or `None` if the process has ended.
    pub(crate) fn measure(&self, leader: u32) -> Option<Usage> {
        let asked = Instant::now();
        let mut reading = self.0.lock();
        if reading.begun.is_none_or(|begun| begun < asked) {
            reading.begun = Some(Instant::now());
            let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
            let system = &mut reading.system;
            system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        }
        let system = &reading.system;
        let leader = Pid::from_u32(leader);
        system.process(leader)?;
        let mut family = HashSet::from([leader]);
        // A child may be listed before its parent.
        loop {
            let before = family.len();
            for (pid, process) in system.processes() {
                if process.thread_kind().is_none()
                    && process.parent().is_some_and(|parent| family.contains(&parent))
                {
                    family.insert(*pid);
                }
            }
            if family.len() == before {
                break;
            }
        }
        let mut usage = Usage::default();
        for process in family.iter().filter_map(|pid| system.process(*pid)) {
            usage.cpu_millis += process.accumulated_cpu_time();
            usage.memory += process.memory();
        }
        Some(usage)
    }
}

#[cfg(test)]
mod tests {
    use std::{path::PathBuf, process::Command, time::Duration};

    use super::*;

    #[test]
    fn a_reading_started_after_the_call_is_shared() {
        let meter = Meter::default();
        // The reading is dated after the call and contains no process.
        meter.0.lock().begun = Instant::now().checked_add(Duration::from_secs(3600));
        assert_eq!(meter.measure(std::process::id()), None);
        meter.0.lock().begun = Some(Instant::now());
        assert!(meter.measure(std::process::id()).is_some());
    }

    /// Descriptors of other tests may be open at the same moment, but not each time.
    #[cfg(target_os = "linux")]
    #[test]
    fn no_descriptor_is_kept() {
        let mut child = Command::new("sleep").arg("1000").spawn().unwrap();
        let meter = Meter::default();
        meter.measure(child.id());
        let stat = PathBuf::from(format!("/proc/{}/stat", child.id()));
        let is_open = || {
            let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            descriptors
                .map(|descriptor| std::fs::read_link(descriptor.path()))
                .any(|target| target.is_ok_and(|target| target == stat))
        };
        let is_kept = (0..100).all(|_| is_open());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!is_kept);
    }
}
