//! `ListWatch`: a list of jobs, followed for all pages that show it.

use axum::http::StatusCode;
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub(crate) struct RenderedPart {
    pub(crate) html: String,
    /// Equal for parts that look the same, also after a restart of the server.
    pub(crate) version: u64,
}

/// A list of jobs, as its poller read it last.
#[derive(Clone, Debug, Default)]
pub(crate) struct ListState {
    /// Parts of the page; `None` if the service has not returned the list yet.
    pub(crate) parts: Option<ListParts>,
    /// Reason why the service does not return the list now.
    pub(crate) interruption: Option<Interruption>,
}

#[derive(Clone, Debug)]
pub(crate) struct ListParts {
    pub(crate) rows: RenderedPart,
    /// Phases with the numbers of their jobs, and links to other pages of the list.
    pub(crate) counts: RenderedPart,
}

/// Reason why the service does not return a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interruption {
    /// Status and error code.
    pub(crate) cause: (StatusCode, Option<String>),
    pub(crate) reason: String,
}

/// States of a list, which its poller sends; `None` before the first one.
pub(crate) type ListWatch = watch::Sender<Option<ListState>>;
