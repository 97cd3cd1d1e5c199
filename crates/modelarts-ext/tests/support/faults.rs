//! Emulator faults, and names of the operations that they affect.

use modelarts_emulator::faults::Fault;

pub(crate) const LIST: &str = "ListTrainingJobs";
pub(crate) const SHOW: &str = "ShowTrainingJobDetails";
pub(crate) const CREATE: &str = "CreateTrainingJob";
pub(crate) const STOP: &str = "StopTrainingJob";
pub(crate) const DELETE: &str = "DeleteTrainingJob";

/// Returns a response fault with this status and without an error code.
pub(crate) fn status(status: u16, retry_after: Option<u64>) -> Fault {
    Fault::Status { status, retry_after, error_code: None, error_msg: None }
}
