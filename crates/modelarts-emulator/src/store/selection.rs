//! Selection of the jobs of a list: tests of their properties, and the page.

use rusqlite::Row;

use crate::{
    clock::timestamp::Timestamp,
    job::{Job, address::Host},
};

/// A condition on a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    Contains(String),
    In(Vec<String>),
    NotIn(Vec<String>),
}

impl Test {
    pub(crate) fn passes(&self, own: &str) -> bool {
        match self {
            Self::Contains(part) => own.contains(part.as_str()),
            Self::In(values) => values.iter().any(|value| value == own),
            Self::NotIn(values) => values.iter().all(|value| value != own),
        }
    }
}

/// A property by which jobs are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    // Shared by all jobs of a group:
    Workspace,
    UserId,
    Kind,
    RuntimeType,
    Phase,
    // Specific to each job:
    Id,
    Name,
    AlgorithmName,
}

/// The selected jobs, and the page of them.
#[derive(Debug, Default)]
pub(crate) struct Selection {
    /// All tests have to pass.
    pub(crate) tests: Vec<(Key, Test)>,
    /// Required keys of tags, each with one of its values, or with any value if there are none.
    pub(crate) tags: Vec<(String, Vec<String>)>,
    /// If given, at least one of them has to match.
    pub(crate) hosts: Option<Vec<Host>>,
    /// Created at this time or later.
    pub(crate) from: Option<Timestamp>,
    /// Created at this time or earlier.
    pub(crate) to: Option<Timestamp>,
    /// The oldest first; jobs of the same millisecond in the order of creation.
    pub(crate) ascending: bool,
    pub(crate) skip: u64,
    pub(crate) limit: u64,
}

impl Selection {
    pub(crate) fn since(&self) -> i64 {
        self.from.map_or(i64::MIN, Timestamp::millis)
    }

    /// The order in SQL.
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

    /// The value of a job: that of the column, but with the default type of runtime, which is
    /// stored as an empty text.
    pub(crate) fn of(self, job: &Job) -> &str {
        let request = &job.request;
        match self {
            Self::Workspace => &request.workspace_id,
            Self::UserId => &job.user_id,
            Self::Kind => request.text("/kind"),
            Self::RuntimeType => request.runtime_type(),
            Self::Phase => job.state.phase(),
            Self::Id => &job.id,
            Self::Name => &request.name,
            Self::AlgorithmName => &request.algorithm_name,
        }
    }

    /// The column, of a group or of a job.
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

/// True if a job, with the columns of the keys in `row`, passes all tests.
pub(super) fn passes_all(tests: &[&(Key, Test)], row: &Row<'_>) -> rusqlite::Result<bool> {
    for (key, test) in tests {
        if !test.passes(row.get_ref(key.column())?.as_str()?) {
            return Ok(false);
        }
    }
    Ok(true)
}
