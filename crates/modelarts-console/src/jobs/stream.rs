//! Stream of the changes of a list, as server-sent events.
//!
//! `rows` and `counts` have the HTML of these parts of the page, `interrupted` the reason why the
//! service does not return the list, and `resumed` is sent when it does again. Each event has the
//! whole part, so a page that connects again misses nothing, and its position only saves events.

use std::{convert::Infallible, time::Duration};

use axum::{
    extract::State as Shared,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt, stream};
use tokio::time::Instant;

use crate::{
    access::visitor::Fields,
    jobs::{
        query::{Counts, Query},
        view::{ListView, position},
    },
    live::lists::{Interruption, ListParts, ListReceiver, ListSender, ListState},
    problem::Problem,
    site::State,
};

/// Maximum age of the numbers of jobs while the rows do not change.
const COUNTS_AGE: Duration = Duration::from_secs(30);
/// Header with the position of a browser that connects again.
const LAST_EVENT_ID: &str = "last-event-id";

/// The versions of the parts that a page has.
#[derive(Default)]
struct Sent {
    rows: u64,
    counts: u64,
    interruption: Option<Interruption>,
}

pub(super) async fn stream(
    Shared(state): Shared<State>,
    headers: HeaderMap,
    fields: Fields,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let query = Query::parse(&fields).map_err(Problem::invalid)?;
    let header = headers.get(LAST_EVENT_ID).and_then(|id| id.to_str().ok());
    let sent = Sent::at(header.or(fields.get("last")).unwrap_or_default());
    let key = query.address();
    let mut receiver = state.lists.subscribe(&key, |sender| {
        tokio::spawn(poll(state.clone(), query, key.clone(), sender));
    });
    receiver.mark_changed();
    let mut closed = state.closed.clone();
    let closing = async move {
        // An error means that the server has ended.
        let _ = closed.wait_for(|closed| *closed).await;
    };
    let events = stream::unfold((receiver, sent), changes)
        .flat_map(|events| stream::iter(events.into_iter().map(Ok)))
        .take_until(closing);
    Ok(Sse::new(events).keep_alive(KeepAlive::default()))
}

/// Returns the events of the next change.
async fn changes(
    (mut receiver, mut sent): (ListReceiver, Sent),
) -> Option<(Vec<Event>, (ListReceiver, Sent))> {
    loop {
        receiver.changed().await.ok()?;
        let events = match &*receiver.borrow_and_update() {
            Some(state) => sent.events(state),
            None => Vec::new(),
        };
        if !events.is_empty() {
            return Some((events, (receiver, sent)));
        }
    }
}

impl Sent {
    /// Reads a position; one that cannot be read counts as none.
    fn at(text: &str) -> Self {
        let (rows, counts) = text.split_once('.').unwrap_or_default();
        let [rows, counts] = [rows, counts].map(|hex| u64::from_str_radix(hex, 16).unwrap_or(0));
        Self {
            rows,
            counts,
            interruption: None,
        }
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
                // A browser ignores events without data.
                None => self.event("resumed", "{}"),
            });
        }
        events
    }

    fn event(&self, name: &str, data: &str) -> Event {
        let id = position(self.rows, self.counts);
        // A carriage return ends a line of the stream, and means nothing in HTML.
        let data = data.replace('\r', " ");
        Event::default().event(name).id(id).data(data)
    }
}

/// Reads a list until no page shows it.
async fn poll(state: State, query: Query, key: String, sender: ListSender) {
    let mut poller = Poller {
        counts: None,
        counted: Instant::now(),
        rows: 0,
    };
    loop {
        let read = poller.read(&state, &query).await;
        sender.send_modify(|known| {
            *known = Some(match read {
                Ok(state) => state,
                Err(problem) => interrupted(known.take().unwrap_or_default(), &problem),
            });
        });
        let _ = tokio::time::timeout(state.interval, sender.closed()).await;
        if sender.is_closed() && state.lists.remove_unused(&key) {
            return;
        }
    }
}

/// Returns the state after the service did not return the list. A reason remains while the cause is
/// the same: the message has the id of the request, and a page should not report each one.
fn interrupted(known: ListState, problem: &Problem) -> ListState {
    let cause = (problem.status, problem.code.clone());
    let same = known.interruption.filter(|known| known.cause == cause);
    let interruption = same.unwrap_or_else(|| {
        let advice = problem.advice.as_ref().map(|advice| format!("; {advice}"));
        Interruption {
            cause,
            reason: format!("{}{}", problem.message, advice.unwrap_or_default()),
        }
    });
    ListState {
        interruption: Some(interruption),
        ..known
    }
}

/// What a poller has read.
struct Poller {
    counts: Option<Counts>,
    counted: Instant,
    /// Version of the rows for which the jobs were counted.
    rows: u64,
}

impl Poller {
    async fn read(&mut self, state: &State, query: &Query) -> Result<ListState, Problem> {
        let listing = query.read(state).await?;
        let view = |counts| ListView::new(query, Some(&listing), counts, state.is_read_only);
        let rows = view(None).rows_part()?;
        // Eight requests count the jobs, so they are sent only if a number may have changed.
        let is_old = self.counts.is_none() || self.counted.elapsed() > COUNTS_AGE;
        if is_old || self.rows != rows.version {
            self.counts = Some(match (query.count(state).await, self.counts.take()) {
                (Ok(counts), _) | (Err(_), Some(counts)) => counts,
                (Err(problem), None) => return Err(problem),
            });
            self.counted = Instant::now();
            self.rows = rows.version;
        }
        let counts = view(self.counts.as_ref()).summary_part()?;
        Ok(ListState {
            parts: Some(ListParts { rows, counts }),
            interruption: None,
        })
    }
}
