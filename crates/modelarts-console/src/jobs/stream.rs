//! Stream of the changes of a list, as server-sent events.
//!
//! `rows` contains the ids of all rows, and the HTML of those that have changed. `counts` contains
//! the HTML of this part of the page. `interrupted` contains the reason why the service does not
//! return the list, and `resumed` ends the interruption. A page that reconnects with the position of
//! other rows receives all rows.

use std::{collections::HashMap, sync::Arc, time::Duration};

use axum::{
    http::HeaderMap,
    response::{Response, sse::Event},
};
use futures::{StreamExt, stream};
use modelarts_ext::types::Phase;
use serde_json::json;
use tokio::{sync::watch, time::Instant};

use crate::{
    jobs::{
        query::{Counts, Query},
        view::{ListView, position},
    },
    live::{
        lists::{Interruption, ListParts, ListState, ListWatch, RenderedPart},
        pool::Viewer,
    },
    page::{last_position, message, send_events, signal},
    problem::Problem,
    site::{State, UserRequest},
};

/// Maximum age of the numbers of jobs while the phases in the rows do not change.
const COUNTS_AGE: Duration = Duration::from_secs(30);

/// Hashes of the parts that were sent to a page, and the interruption that was sent.
#[derive(Default)]
struct Sent {
    rows: u64,
    /// Hashes of the rows by the ids of their jobs.
    row_versions: HashMap<String, u64>,
    counts: u64,
    interruption: Option<Interruption>,
}

pub(super) async fn stream(headers: HeaderMap, request: UserRequest) -> Result<Response, Problem> {
    let UserRequest { state, fields, .. } = request;
    let query = Query::parse(&fields).map_err(Problem::invalid)?;
    let sent = Sent::at(last_position(&headers, &fields).unwrap_or_default());
    let poll = |watch| poll(state.clone(), query.clone(), watch);
    let viewer = state.watches.list(&query.address(), poll);
    let mut receiver = viewer.subscribe();
    receiver.mark_changed();
    let mut closed = state.closed.clone();
    let closing = async move {
        // An error means that the server has ended.
        let _ = closed.wait_for(|closed| *closed).await;
    };
    let events = stream::unfold((viewer, receiver, sent), changes)
        .flat_map(|events| stream::iter(events.into_iter().map(Ok)))
        .take_until(closing);
    Ok(send_events(events))
}

/// A page with a list: its viewer of the poller, the receiver of states, and the sent parts.
type Page = (Viewer<ListWatch>, watch::Receiver<Option<ListState>>, Sent);

/// Waits for the next change, and returns its events; `None` if the poller has ended.
async fn changes((viewer, mut receiver, mut sent): Page) -> Option<(Vec<Event>, Page)> {
    loop {
        receiver.changed().await.ok()?;
        let events = match &*receiver.borrow_and_update() {
            Some(state) => sent.events(state),
            None => Vec::new(),
        };
        if !events.is_empty() {
            return Some((events, (viewer, receiver, sent)));
        }
    }
}

impl Sent {
    /// Parses a position. An invalid part becomes 0, so that the part is sent.
    fn at(text: &str) -> Self {
        let (rows, counts) = text.split_once('.').unwrap_or_default();
        let [rows, counts] = [rows, counts].map(|hex| u64::from_str_radix(hex, 16).unwrap_or(0));
        Self { rows, counts, ..Self::default() }
    }

    /// Returns the events that update a page to this state.
    fn events(&mut self, state: &ListState) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(ListParts { rows, counts }) = &state.parts {
            if self.rows != rows.version {
                self.rows = rows.version;
                let ids: Vec<&String> = rows.rows.iter().map(|(id, _)| id).collect();
                let is_new = |(id, row): &&(String, RenderedPart)| {
                    self.row_versions.get(id) != Some(&row.version)
                };
                let new: String =
                    rows.rows.iter().filter(is_new).map(|(_, row)| &*row.html).collect();
                events.push(self.event("rows", &json!({ "ids": ids, "html": new }).to_string()));
            }
            let versions = rows.rows.iter().map(|(id, row)| (id.clone(), row.version));
            self.row_versions = versions.collect();
            if self.counts != counts.version {
                self.counts = counts.version;
                events.push(self.event("counts", &counts.html));
            }
        }
        if self.interruption != state.interruption {
            self.interruption.clone_from(&state.interruption);
            events.push(match &state.interruption {
                Some(interruption) => self.event("interrupted", &interruption.reason),
                None => signal("resumed").id(self.position()),
            });
        }
        events
    }

    fn event(&self, name: &str, data: &str) -> Event {
        message(name, data).id(self.position())
    }

    fn position(&self) -> String {
        position(self.rows, self.counts)
    }
}

async fn poll(state: State, query: Query, watch: Arc<ListWatch>) {
    let mut poller = Poller { counts: None, counted: Instant::now(), phases: Vec::new() };
    loop {
        let read = poller.read(&state, &query).await;
        watch.send_modify(|known| {
            *known = Some(match read {
                Ok(state) => state,
                Err(problem) => interrupted(known.take().unwrap_or_default(), &problem),
            });
        });
        tokio::time::sleep(state.settings.interval).await;
    }
}

/// Returns the state after the service failed to return the list. The reason stays while the cause
/// is the same: the message has a request id, and a page should not report every request.
fn interrupted(known: ListState, problem: &Problem) -> ListState {
    let cause = (problem.status, problem.code.clone());
    let same = known.interruption.filter(|known| known.cause == cause);
    let interruption = same.unwrap_or_else(|| Interruption { cause, reason: problem.sentence() });
    ListState { interruption: Some(interruption), ..known }
}

/// Poller of a list, with the numbers of jobs that it has read.
struct Poller {
    counts: Option<Counts>,
    counted: Instant,
    /// Ids and phases of the rows at the time of the last count.
    phases: Vec<(String, Phase)>,
}

impl Poller {
    async fn read(&mut self, state: &State, query: &Query) -> Result<ListState, Problem> {
        state.compare_clocks().await;
        let listing = query.read(state).await?;
        let view = |counts| ListView::new(state, query, Some(&listing), counts);
        let rows = view(None).rows_part()?;
        // Counting the jobs takes at least eight requests, so they are counted only if a number may
        // have changed. Other values of the rows, such as running times, change with each poll.
        let jobs = listing.jobs.iter();
        let phases: Vec<_> = jobs.map(|job| (job.id().to_owned(), job.phase())).collect();
        let is_old = self.counts.is_none() || self.counted.elapsed() > COUNTS_AGE;
        if is_old || self.phases != phases {
            self.counts = Some(match (query.count(state).await, self.counts.take()) {
                (Ok(counts), _) | (Err(_), Some(counts)) => counts,
                (Err(problem), None) => return Err(problem),
            });
            self.counted = Instant::now();
            self.phases = phases;
        }
        let counts = view(self.counts.as_ref()).summary_part()?;
        Ok(ListState { parts: Some(ListParts { rows, counts }), interruption: None })
    }
}
