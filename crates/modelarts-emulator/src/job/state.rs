//! The states of a job and the transitions between them.

use serde::{Deserialize, Serialize};

/// State of a job. Each state corresponds to a pair of `status.phase` and `status.secondary_phase`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum JobState {
    #[default]
    Creating,
    Queuing,
    Running,
    Terminating,
    Completed,
    Failed,
    Terminated,
    /// The creation failed. The emulator has no other secondary phase of `Abnormal`.
    CreateFailed,
}

impl JobState {
    pub(crate) const fn phase(self) -> &'static str {
        match self {
            Self::Creating => "Creating",
            Self::Queuing => "Pending",
            Self::Running => "Running",
            Self::Terminating => "Terminating",
            Self::Completed => "Completed",
            Self::Failed => "Failed",
            Self::Terminated => "Terminated",
            Self::CreateFailed => "Abnormal",
        }
    }

    pub(crate) const fn secondary_phase(self) -> &'static str {
        match self {
            Self::Queuing => "Queuing",
            Self::CreateFailed => "CreateFailed",
            _ => self.phase(),
        }
    }

    pub(crate) const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Terminated | Self::CreateFailed)
    }

    /// Returns `true` if a stop has an effect. In Terminating, it has none (SOURCES D-153).
    pub(crate) const fn may_be_terminated(self) -> bool {
        matches!(self, Self::Creating | Self::Queuing | Self::Running)
    }

    pub(super) const fn may_become(self, next: Self) -> bool {
        matches!(
            (self, next),
            (Self::Creating, Self::Queuing)
                | (Self::Creating | Self::Queuing, Self::CreateFailed)
                | (Self::Queuing, Self::Running)
                | (Self::Queuing, Self::Failed)
                | (Self::Running, Self::Completed)
                | (Self::Running, Self::Failed)
                | (Self::Running, Self::Queuing)
                | (Self::Creating | Self::Queuing | Self::Running, Self::Terminating)
                | (Self::Terminating, Self::Terminated)
        )
    }
}

pub(crate) const PHASES: [&str; 8] = [
    "Creating",
    "Pending",
    "Running",
    "Failed",
    "Completed",
    "Terminating",
    "Terminated",
    "Abnormal",
];

/// Failures after which a job runs again, on which guides disagree (`openapi/SOURCES.md`, D-152).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum RestartOn {
    /// Faults of the machine, but not exit codes, as in the guide on fault tolerance.
    Fault,
    /// Any failure, including an exit code other than 0, as in the guide to creating jobs.
    #[default]
    AnyFailure,
}

/// Reason for ending a job before its code ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum StopReason {
    ByUser,
    /// Maximum running duration in hours, `spec.auto_stop`.
    AfterHours(u32),
    Deleted,
    Shutdown,
    /// End of an emulator that leaves its running jobs to the next emulator.
    Suspend,
    /// Request `POST /_emulator/reset`, which grants no grace period.
    Reset,
}

impl StopReason {
    /// Returns `true` if the steps after the end of the code are performed without delays.
    pub(crate) const fn is_urgent(self) -> bool {
        self.urgency() > 0
    }

    /// Returns `true` if the emulator ends. The next emulator continues the job, or terminates it.
    pub(crate) const fn is_end_of_emulator(self) -> bool {
        matches!(self, Self::Shutdown | Self::Suspend)
    }

    /// Returns the urgency, from 0. A reason replaces an earlier reason that is less urgent.
    pub(super) const fn urgency(self) -> u8 {
        match self {
            Self::ByUser | Self::AfterHours(_) => 0,
            Self::Deleted | Self::Shutdown | Self::Suspend => 1,
            Self::Reset => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [JobState; 8] = [
        JobState::Creating,
        JobState::Queuing,
        JobState::Running,
        JobState::Terminating,
        JobState::Completed,
        JobState::Failed,
        JobState::Terminated,
        JobState::CreateFailed,
    ];

    #[test]
    fn final_states_are_final_and_all_others_end() {
        for state in ALL {
            assert_eq!(
                ALL.iter().all(|next| !state.may_become(*next)),
                state.is_final(),
                "{state:?}"
            );
            assert!(PHASES.contains(&state.phase()));
            assert_eq!(state.may_be_terminated(), state.may_become(JobState::Terminating));
        }
    }

    #[test]
    fn phases_of_final_states_are_those_of_the_description() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi/waiters.yaml");
        let waiters = std::fs::read_to_string(file).unwrap();
        let waiters: serde_json::Value = serde_saphyr::from_str(&waiters).unwrap();
        let mut waiters = waiters.as_array().unwrap().iter();
        let ended = waiters.find(|waiter| waiter["name"] == "TrainingJobEnded");
        let outcomes = ended.unwrap()["outcomes"].as_array().unwrap();
        for state in ALL {
            let ends = outcomes.iter().any(|it| it["value"] == state.phase());
            assert_eq!(state.is_final(), ends, "{state:?}");
        }
    }

    #[test]
    fn every_state_can_be_reached() {
        let mut reached = vec![JobState::Creating];
        while let Some(next) = ALL
            .iter()
            .find(|next| !reached.contains(next) && reached.iter().any(|s| s.may_become(**next)))
        {
            reached.push(*next);
        }
        assert_eq!(reached.len(), ALL.len());
    }
}
