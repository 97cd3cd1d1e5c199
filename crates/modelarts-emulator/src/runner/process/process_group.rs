//! A process group: all processes that a worker starts, except processes that leave it, see
//! [`process_table`](crate::runner::process::process_table).

use rustix::{
    io::Result,
    process::{Pid, Signal, kill_process_group, test_kill_process_group},
};

/// Sends a signal to every process of the group.
///
/// # Errors
/// If the group has gone.
pub(crate) fn signal(group: Pid, signal: Signal) -> Result<()> {
    kill_process_group(group, signal)
}

/// True if there is a process in the group. On Linux it may be a zombie, on macOS not.
pub(crate) fn exists(group: Pid) -> bool {
    test_kill_process_group(group).is_ok()
}
