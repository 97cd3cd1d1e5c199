//! What the processes of a worker use, measured.

use std::collections::HashSet;

use parking_lot::Mutex;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

/// The use of one worker at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usage {
    /// Time on processors since the start, in milliseconds, of the processes that live.
    pub(crate) cpu_millis: u64,
    /// Resident memory, in bytes.
    pub(crate) memory: u64,
}

/// Measures processes.
#[derive(Debug)]
pub(crate) struct Meter(Mutex<System>);

impl Default for Meter {
    fn default() -> Self {
        Self(Mutex::new(System::new()))
    }
}

impl Meter {
    /// The use of a process and all that descend from it; nothing if it has gone.
    pub(crate) fn measure(&self, leader: u32) -> Option<Usage> {
        let mut system = self.0.lock();
        let what = ProcessRefreshKind::nothing().with_cpu().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::All, true, what);
        let leader = Pid::from_u32(leader);
        system.process(leader)?;
        let mut family = HashSet::from([leader]);
        // A child may be listed before its parent, so once more until nobody joins.
        loop {
            let before = family.len();
            for (pid, process) in system.processes() {
                if process.thread_kind().is_none()
                    && process
                        .parent()
                        .is_some_and(|parent| family.contains(&parent))
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
