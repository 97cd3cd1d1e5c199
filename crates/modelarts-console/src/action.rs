//! `Action`: actions on jobs that need a confirmation.

use modelarts_ext::{Job, types::Phase};

/// Maximum length of the description of a job, in characters.
pub(crate) const MAX_DESCRIPTION: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Stop,
    Delete,
}

impl Action {
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Self::Stop => "Stop",
            Self::Delete => "Delete",
        }
    }

    /// Returns the name of the action in addresses and fields.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Delete => "delete",
        }
    }

    pub(crate) fn effect(self) -> &'static str {
        match self {
            Self::Stop => {
                "The job ends, and cannot be continued. Its events, logs and outputs remain."
            }
            Self::Delete => {
                "The job, its events and its logs are deleted, and it is stopped if it runs. Its \
                 outputs in OBS remain. This cannot be undone."
            }
        }
    }

    pub(crate) fn effect_on_all(self) -> &'static str {
        match self {
            Self::Stop => {
                "The jobs end, and cannot be continued. Their events, logs and outputs remain."
            }
            Self::Delete => {
                "The jobs, their events and their logs are deleted, and those that run are \
                 stopped. Their outputs in OBS remain. This cannot be undone."
            }
        }
    }
}

/// Returns `true` unless the job has ended or is being stopped. In an unknown phase, the service
/// decides.
pub(crate) fn can_stop(job: &Job) -> bool {
    !job.is_final() && job.phase() != Phase::Terminating
}
