//! `Lists`: one poller for each list of jobs, for all pages that show it.

use std::collections::HashMap;

use axum::http::StatusCode;
use parking_lot::Mutex;
use tokio::sync::watch;

/// A part of a page.
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

/// Parts of the page of a list.
#[derive(Clone, Debug)]
pub(crate) struct ListParts {
    /// Rows of the table.
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

/// Sends the states of a list; `None` before the first one.
pub(crate) type ListSender = watch::Sender<Option<ListState>>;
/// Receives the states of a list.
pub(crate) type ListReceiver = watch::Receiver<Option<ListState>>;

/// The pollers of lists, by the search and the page.
#[derive(Default)]
pub(crate) struct Lists(Mutex<HashMap<String, ListSender>>);

impl Lists {
    /// Returns the states of a list. `start` starts its poller, if it has none.
    pub(crate) fn subscribe(&self, key: &str, start: impl FnOnce(ListSender)) -> ListReceiver {
        let mut senders = self.0.lock();
        if let Some(sender) = senders.get(key) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        senders.insert(key.to_owned(), sender.clone());
        start(sender);
        receiver
    }

    /// Removes a list that no page shows. Returns `false` if one does.
    pub(crate) fn remove_unused(&self, key: &str) -> bool {
        let mut senders = self.0.lock();
        let is_used = senders.get(key).is_some_and(|sender| sender.receiver_count() > 0);
        if !is_used {
            senders.remove(key);
        }
        !is_used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_one_list_share_a_poller_until_the_last_one_closes() {
        let lists = Lists::default();
        let mut started = 0;
        let first = lists.subscribe("a", |_| started += 1);
        let second = lists.subscribe("a", |_| started += 1);
        let other = lists.subscribe("b", |_| started += 1);
        assert_eq!(started, 2);
        drop((first, other));
        assert!(!lists.remove_unused("a"));
        assert!(lists.remove_unused("b"));
        drop(second);
        assert!(lists.remove_unused("a"));
        let _again = lists.subscribe("a", |_| started += 1);
        assert_eq!(started, 3);
    }
}
