//! Conditions of lists.

use modelarts_ext::{Filter, types::Phase};

use crate::{prelude::*, workload::PAST};

/// A condition that the rows of a list meet.
#[derive(Clone, Debug)]
pub(crate) enum Condition {
    None,
    Workspace,
    /// Jobs whose names contain a text.
    Named(String),
    /// Jobs that have ended by themselves.
    Ended,
    /// Jobs that were created at this time or later.
    CreatedFrom(SystemTime),
}

impl Condition {
    pub(crate) fn draw(now: SystemTime, rng: &mut Rng) -> Self {
        match rng.u8(..8) {
            0 => Self::Named(format!("{PAST}{}", rng.u8(..10))),
            1 => Self::Named(one(rng, &KINDS).to_owned()),
            2 => Self::Ended,
            3 => Self::CreatedFrom(now - seconds(rng, 1200)),
            4 => Self::Workspace,
            _ => Self::None,
        }
    }

    /// Returns the workspace of the list.
    pub(crate) fn workspace(&self) -> &'static str {
        WORKSPACES[usize::from(matches!(self, Self::Workspace))]
    }

    /// Adds the condition to a list.
    pub(crate) fn apply(&self, list: ListJobs) -> ListJobs {
        match self {
            Self::None => list,
            Self::Workspace => list.workspace(self.workspace()),
            Self::Named(part) => list.filter(Filter::name().like(part)),
            Self::Ended => list.filter(Filter::phase().is_in([Phase::Completed, Phase::Failed])),
            Self::CreatedFrom(start) => {
                let end = *start + Duration::from_secs(7200);
                list.filter(Filter::create_time().between(*start, end))
            }
        }
    }

    /// Returns true if a row of the service meets the condition.
    pub(crate) fn matches(&self, row: &Value) -> bool {
        match self {
            Self::None | Self::Workspace => true,
            Self::Named(part) => metadata(row, "name").contains(part),
            Self::Ended => {
                let phase = row["status"]["phase"].as_str();
                matches!(phase, Some("Completed" | "Failed"))
            }
            Self::CreatedFrom(start) => {
                let start = start.duration_since(SystemTime::UNIX_EPOCH);
                let created = row["metadata"]["create_time"].as_u64().unwrap_or(0);
                start.is_ok_and(|start| u128::from(created) >= start.as_millis())
            }
        }
    }
}
