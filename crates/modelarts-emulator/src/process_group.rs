//! A process group: everything a worker starts, unless it runs away on purpose.

use rustix::io::Result;
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// Sends a signal to every process of the group.
///
/// # Errors
/// If the group has gone.
pub(crate) fn signal(group: Pid, signal: Signal) -> Result<()> {
    kill_process_group(group, signal)
}

/// Whether a process of the group still lives.
///
/// Zombies do not count: a dead orphan stays one until process 1 collects it, which in containers
/// may be never.
pub(crate) fn lives(group: Pid) -> bool {
    test_kill_process_group(group).is_ok() && members_live(group).unwrap_or(true)
}

/// Looks through `/proc`; nothing if there is none, as on macOS, where zombies do not answer the
/// test above anyway.
fn members_live(group: Pid) -> Option<bool> {
    let group = group.as_raw_nonzero().to_string();
    let mut seen = false;
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Ok(stat) = std::fs::read_to_string(entry.path().join("stat")) else {
            continue;
        };
        // "pid (name) state ppid pgrp ..."; the name may hold blanks and parentheses.
        let mut fields = stat
            .rsplit(')')
            .next()
            .unwrap_or_default()
            .split_whitespace();
        let state = fields.next();
        let pgrp = fields.nth(1);
        seen = true;
        if pgrp == Some(group.as_str()) && !matches!(state, Some("Z" | "X")) {
            return Some(true);
        }
    }
    seen.then_some(false)
}
