//! `Cause` and `Confidence`: the conclusion of a diagnosis.

use std::fmt;

use serde::{Serialize, Serializer};

/// Defines the causes from one list: the variants, their names, and the list of all.
macro_rules! causes {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// Cause of the state of a job: of its failure, its stop, or its wait.
        ///
        /// A cause is printed and serialized as its name, such as `out_of_memory`. Names are
        /// stable; later versions may add causes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Cause {
            $($(#[$doc])* $variant,)*
        }

        impl Cause {
            /// All causes of this version.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// Returns the name of the cause, such as `out_of_memory`.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

causes! {
    /// The task exceeded the memory of its flavor.
    OutOfMemory = "out_of_memory",
    /// The task exceeded the memory of an accelerator.
    DeviceOutOfMemory = "device_out_of_memory",
    /// The task exceeded the shared memory (`/dev/shm`), which processes of data loaders use.
    SharedMemoryExhausted = "shared_memory_exhausted",
    /// A disk of the task is full.
    NoSpaceLeft = "no_space_left",
    /// A Python module or a library that the code imports is missing or has an unsuitable version.
    MissingModule = "missing_module",
    /// A file, a directory or an object in OBS does not exist.
    FileNotFound = "file_not_found",
    /// The user of the container may not access a local file.
    PermissionDenied = "permission_denied",
    /// OBS denied the access to a bucket or an object.
    ObsPermission = "obs_permission",
    /// The script rejected its command line arguments.
    BadArgument = "bad_argument",
    /// The image has no Python interpreter.
    ImageWithoutPython = "image_without_python",
    /// The image lacks a command that was started.
    CommandNotFound = "command_not_found",
    /// A command exists but cannot be executed.
    CommandNotExecutable = "command_not_executable",
    /// A collective operation between workers timed out (NCCL, HCCL or Gloo).
    CommunicationTimeout = "communication_timeout",
    /// A connection between workers failed (NCCL, HCCL or Gloo).
    CommunicationFailed = "communication_failed",
    /// Not all workers joined the process group in time.
    RendezvousTimeout = "rendezvous_timeout",
    /// An accelerator reported an error.
    DeviceError = "device_error",
    /// The code requires an accelerator that the image or the flavor does not provide.
    DeviceUnavailable = "device_unavailable",
    /// The task could not reach an address in the network.
    NetworkUnreachable = "network_unreachable",
    /// The script ended with an exception that has no more specific cause.
    ScriptError = "script_error",
    /// A signal ended the process.
    KilledBySignal = "killed_by_signal",
    /// The code directory could not be downloaded.
    CodeDownloadFailed = "code_download_failed",
    /// An input could not be downloaded.
    InputDownloadFailed = "input_download_failed",
    /// Python packages could not be installed.
    DependencyInstallFailed = "dependency_install_failed",
    /// The check of the environment before the run failed.
    PreCheckFailed = "pre_check_failed",
    /// The image could not be pulled.
    ImagePullFailed = "image_pull_failed",
    /// The job could not be created.
    CreateFailed = "create_failed",
    /// The preparation of the job took too long.
    PreparationTimeout = "preparation_timeout",
    /// The job could not be queued, or waited too long after a restart.
    QueueFailed = "queue_failed",
    /// A job of higher priority took the nodes of the job.
    Preempted = "preempted",
    /// The cluster removed the task from its node, such as for the use of the disk.
    Evicted = "evicted",
    /// A node or an accelerator of the job failed.
    NodeFault = "node_fault",
    /// The job showed no activity.
    Hang = "hang",
    /// The job failed in each of its restarts, for a reason that is not known.
    RestartsExhausted = "restarts_exhausted",
    /// A user stopped the job.
    TerminatedByUser = "terminated_by_user",
    /// The job reached its maximum running duration.
    AutoStop = "auto_stop",
    /// The job waits for resources.
    WaitingForResources = "waiting_for_resources",
    /// The job is being prepared: its image, code, inputs and packages.
    Preparing = "preparing",
    /// The job is running.
    Running = "running",
    /// The job is being stopped.
    Terminating = "terminating",
    /// The job completed.
    Completed = "completed",
    /// The cause is not known.
    Unknown = "unknown",
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Confidence of a diagnosis in its cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Confidence {
    /// The evidence shows no cause.
    Unknown,
    /// The evidence fits the cause, and might fit others.
    Likely,
    /// The evidence states the cause.
    Certain,
}

impl fmt::Display for Confidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unknown => "unknown",
            Self::Likely => "likely",
            Self::Certain => "certain",
        })
    }
}
