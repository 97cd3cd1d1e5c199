//! Messages of the emulator ([`Request`]) and of workers ([`Message`]), each a line of JSON on the
//! standard input or output of `srun`, which writes the rank of the worker before its lines.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    job::worker::WorkerTrial,
    runner::{launcher::Step, process::image_command::ImageCommand},
};

/// Job specification, in a file that only the user can read, because a request may contain secrets.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Specification {
    pub(super) job_id: String,
    /// Body of the request that created the job.
    pub(super) body: Value,
    pub(super) site: WorkerSite,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct WorkerSite {
    /// Directory that the emulator shares with all nodes. It contains the directories of workers.
    pub(super) shared: PathBuf,
    pub(super) obs: PathBuf,
    pub(super) datasets: Option<PathBuf>,
    pub(super) nfs: PathBuf,
    pub(super) log_cap: u64,
    pub(super) least_disk: u64,
    pub(super) install_packages: bool,
    pub(super) is_offline: bool,
    pub(super) image: Option<ImageCommand>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Host names of all workers, by rank. Sent first, to all workers.
    Hosts(Vec<String>),
    /// Request to the worker of this rank. The worker sends one reply with the same number.
    To { rank: u32, number: u64, command: Command },
    /// Ends the work that the request with this number started.
    Stop { number: u64, how: Stop },
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Command {
    Perform(Step),
    /// Finds the requirements files. The reply contains a list of their names.
    Requirements,
    /// Runs the code. The reply contains the exit code. `run` is the number of earlier runs.
    Run {
        run: usize,
        trial: Option<WorkerTrial>,
    },
    /// Measures the usage. The reply contains the usage, or null if the code is not running.
    Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stop {
    /// Interrupts a step, or sends SIGTERM to the code.
    Terminate,
    Kill,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// First message, which states that the worker is ready.
    Hello { host: String },
    /// Reply to a request: the result, or the error of the work.
    Reply { number: u64, result: Result<Value, String> },
}

/// Outcome of a run, which is known even if the connection to the worker is lost.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ExitRecord {
    pub(super) run: usize,
    pub(super) exit_code: i32,
}
