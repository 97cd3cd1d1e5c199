//! Selection of the jobs of a list: tests of their properties, and the requested page.

use rusqlite::Row;

use crate::{
    clock::timestamp::Timestamp,
    job::{Job, address::Host},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Contains(String),
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Test {
    pub(crate) fn accepts(&self, own: &str) -> bool {
        match self {
            Self::Contains(part) => own.contains(part.as_str()),
            Self::In(values) => values.iter().any(|value| value == own),
            Self::NotIn(values) => values.iter().all(|value| value != own),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    // Properties shared by all jobs of a group:
    Workspace,
    UserId,
    Kind,
    RuntimeType,
    Phase,
    // Properties specific to each job:
    Id,
    Name,
    AlgorithmName,
}

/// Selection of jobs, with the requested page.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// Tests on properties. A job must pass all of them.
    pub(crate) tests: Vec<(Key, Test)>,
    /// Required tag keys, each with the accepted values; an empty list accepts any value.
    pub(crate) tags: Vec<(String, Vec<String>)>,
    /// Accepted hosts. If present, a job must match at least one of them.
    pub(crate) hosts: Option<Vec<Host>>,
    /// Earliest creation time, inclusive.
    pub(crate) from: Option<Timestamp>,
    /// Latest creation time, inclusive.
    pub(crate) to: Option<Timestamp>,
    /// `true` if the oldest jobs come first. The row id breaks ties, in the same direction.
    pub(crate) ascending: bool,
    pub(crate) skip: u64,
    pub(crate) limit: u64,
}

impl Selection {
    pub(crate) fn since(&self) -> i64 {
        self.from.map_or(i64::MIN, Timestamp::millis)
    }

    pub(super) fn order(&self) -> &'static str {
        if self.ascending { "ASC" } else { "DESC" }
    }

    pub(crate) fn until(&self) -> i64 {
        self.to.map_or(i64::MAX, Timestamp::millis)
    }
}

impl Key {
    pub(super) fn is_of_each_job(self) -> bool {
        matches!(self, Self::Id | Self::Name | Self::AlgorithmName)
    }

    /// Returns the value of a job. Its column is equal, but empty for an absent type of runtime.
    pub(crate) fn of(self, job: &Job) -> &str {
        let request = &job.request;
        match self {
            Self::Workspace => &request.workspace_id,
            Self::UserId => &job.owner.user_id,
            Self::Kind => request.text("/kind"),
            Self::RuntimeType => request.runtime_type(),
            Self::Phase => job.state.phase(),
            Self::Id => &job.id,
            Self::Name => &request.name,
            Self::AlgorithmName => &request.algorithm_name,
        }
    }

    pub(crate) fn column(self) -> &'static str {
        match self {
            Self::Workspace => "workspace",
            Self::UserId => "user_id",
            Self::Kind => "kind",
            Self::RuntimeType => "runtime",
            Self::Phase => "phase",
            Self::Id => "id",
            Self::Name => "name",
            Self::AlgorithmName => "algorithm",
        }
    }
}

/// Returns `true` if a job passes all tests; `row` contains the columns of the keys.
pub(super) fn passes_all(tests: &[&(Key, Test)], row: &Row<'_>) -> rusqlite::Result<bool> {
    for (key, test) in tests {
        if !test.accepts(row.get_ref(key.column())?.as_str()?) {
            return Ok(false);
        }
    }
    Ok(true)
}
