//! Stream of the changes of a list, as server-sent events.
//!
//! `rows` and `counts` have the HTML of these parts of the page, `interrupted` the reason why the
//! service does not return the list, and `resumed` is sent when it does again. Each event has the
//! whole part, so a page that connects again misses nothing, and its position only saves events.

use std::{sync::Arc, time::Duration};

use axum::{
    http::HeaderMap,
    response::{Response, sse::Event},
};
use futures::{StreamExt, stream};
use modelarts_ext::types::Phase;
use tokio::{sync::watch, time::Instant};

use crate::{
    jobs::{
        query::{Counts, Query},
        view::{ListView, position},
    },
    live::{
        lists::{Interruption, ListParts, ListState, ListWatch},
        pool::Viewer,
    },
    page::{last_position, message, send_events, signal},
    problem::Problem,
    site::{State, UserRequest},
};

/// Maximum age of the numbers of jobs while no phase in the rows changes.
const COUNTS_AGE: Duration = Duration::from_secs(30);

/// The versions of the parts that a page has.
#[derive(Default)]
struct Sent {
    rows: u64,
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

/// A page that shows a list: its hold on the poller, the states, and what it has.
type Page = (Viewer<ListWatch>, watch::Receiver<Option<ListState>>, Sent);

/// Returns the events of the next change.
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
    /// Reads a position; one that cannot be read counts as none.
    fn at(text: &str) -> Self {
        let (rows, counts) = text.split_once('.').unwrap_or_default();
        let [rows, counts] = [rows, counts].map(|hex| u64::from_str_radix(hex, 16).unwrap_or(0));
        Self { rows, counts, interruption: None }
    }

    /// Returns the events that bring a page to this state.
    fn events(&mut self, state: &ListState) -> Vec<Event> {
        let mut events = Vec::new();
        if let Some(ListParts { rows, counts }) = &state.parts {
            if self.rows != rows.version {
                self.rows = rows.version;
                events.push(self.event("rows", &rows.html));
            }
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

/// Returns the state after the service did not return the list. A reason remains while the cause is
/// the same: the message has the id of the request, and a page should not report each one.
fn interrupted(known: ListState, problem: &Problem) -> ListState {
    let cause = (problem.status, problem.code.clone());
    let same = known.interruption.filter(|known| known.cause == cause);
    let interruption = same.unwrap_or_else(|| Interruption { cause, reason: problem.sentence() });
    ListState { interruption: Some(interruption), ..known }
}

/// Numbers that a poller has read.
struct Poller {
    counts: Option<Counts>,
    counted: Instant,
    /// Ids and phases of the rows for which the jobs were counted.
    phases: Vec<(String, Phase)>,
}

impl Poller {
    async fn read(&mut self, state: &State, query: &Query) -> Result<ListState, Problem> {
        state.compare_clocks().await;
        let listing = query.read(state).await?;
        let view = |counts| ListView::new(state, query, Some(&listing), counts);
        let rows = view(None).rows_part()?;
        // Eight requests count the jobs, so they are sent only if a number may have changed. Other
        // values of the rows, such as running times, change with each poll.
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
