//! A process group: all processes that a worker starts, except those that leave it, see
//! [`process_table`](crate::runner::process::process_table).

use rustix::{
    io::Result,
    process::{Pid, Signal, kill_process_group, test_kill_process_group},
};

/// Sends a signal to every process of the group.
///
/// # Errors
/// If the group no longer exists.
pub(crate) fn signal(group: Pid, signal: Signal) -> Result<()> {
    kill_process_group(group, signal)
}

/// True if the group has a process. On Linux zombies are included, on macOS they are not.
pub(crate) fn exists(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}
