//! `ListWatch`: a list of jobs that one poller follows for all pages that show it.

use axum::http::StatusCode;
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) struct RenderedPart {
    pub(crate) html: String,
    /// Hash of the displayed data, without job ages. Stable across restarts of the same version.
    pub(crate) version: u64,
}

/// Rows of a list in their order, with the ids of their jobs.
#[derive(Clone, Debug)]
pub(crate) struct RenderedRows {
    pub(crate) rows: Vec<(String, RenderedPart)>,
    /// Hash of all rows and their order.
    pub(crate) version: u64,
}

/// State of a list of jobs after the last poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListState {
    /// Rendered parts of the page; `None` if the service has not returned the list yet.
    pub(crate) parts: Option<ListParts>,
    /// Reason why the service currently does not return the list.
    pub(crate) interruption: Option<Interruption>,
}

#[derive(Clone, Debug)]
pub(crate) struct ListParts {
    pub(crate) rows: RenderedRows,
    /// Phases with the numbers of jobs, and links to other pages of the list.
    pub(crate) counts: RenderedPart,
}

/// Reason why the service does not return a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interruption {
    /// Status and error code of the problem.
    pub(crate) cause: (StatusCode, Option<String>),
    pub(crate) reason: String,
}

/// Sender of the states of a list; `None` before the first poll.
pub(crate) type ListWatch = watch::Sender<Option<ListState>>;
