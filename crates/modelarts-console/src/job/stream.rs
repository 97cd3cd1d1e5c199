//! Stream of the changes of a job, as server-sent events.
//!
//! | event | data |
//! |---|---|
//! | `reset` | none: the rows of the page are no longer valid, and all rows follow |
//! | `head` | HTML of the header of the job |
//! | `events` | HTML of rows of the table of events |
//! | `log` | JSON: number of lines of each task and in total, and whether the log is complete |
//! | `interrupted`, `resumed` | reason as text; none |
//! | `vanished` | none: the job was deleted |
//! | `end` | none: the job has ended, and everything was read |
//!
//! The id of each event is a [`Position`]. A page that reconnects with a position receives only
//! later events. If the position is of another series of events or lines, `reset` is sent first.

use std::{collections::VecDeque, convert::Infallible, time::Duration};

use axum::{
    Router,
    extract::Path,
    http::HeaderMap,
    response::{Response, sse::Event as Message},
    routing::get,
};
use futures::stream;
use tokio::sync::watch;

use crate::{
    access::visitor::Visitor,
    job::{
        events::{EventFilter, render_rows},
        followed::Position,
        frame::{Tab, render_head},
        logs::lines::LogCounts,
    },
    live::{
        job::{JobState, JobWatch},
        log::{LogState, LogWatch},
        pool::Viewer,
    },
    page::{last_position, message, send_events, signal},
    problem::Problem,
    site::{State, UserRequest},
};

/// Pause before a browser reconnects.
const RETRY: Duration = Duration::from_secs(1);

pub(crate) fn routes() -> Router<State> {
    Router::new().route("/jobs/{id}/stream", get(open))
}

async fn open(
    Path(id): Path<String>,
    headers: HeaderMap,
    request: UserRequest,
) -> Result<Response, Problem> {
    let UserRequest { state, visitor, fields } = request;
    let handle = state.handle(&id)?;
    let view = fields.get("view").unwrap_or(Tab::Overview.name());
    let tab = Tab::ALL.into_iter().find(|tab| tab.name() == view).ok_or_else(|| {
        Problem::invalid("`view` must be overview, events, logs, values, outputs, usage or request")
    })?;
    let job = state.watches.job(&handle);
    let log = (tab == Tab::Logs).then(|| state.watches.log(&handle));
    let changes = Changes {
        job: job.changes(),
        log: log.as_ref().map(|log| log.changes()),
        closed: state.closed.clone(),
    };
    let pages = PageStream {
        filter: EventFilter::parse(&fields),
        position: last_position(&headers, &fields).and_then(Position::parse),
        state,
        visitor,
        tab,
        job,
        log,
        shown: Shown::default(),
    };
    let messages = stream::unfold(
        (pages, changes, VecDeque::new()),
        |(mut page, mut changes, mut queue)| async move {
            while queue.is_empty() {
                changes.mark();
                queue = page.messages();
                if queue.is_empty() && !changes.wait().await {
                    return None;
                }
            }
            let message = queue.pop_front()?;
            Some((Ok::<_, Infallible>(message), (page, changes, queue)))
        },
    );
    Ok(send_events(messages))
}

struct Changes {
    job: watch::Receiver<JobState>,
    log: Option<watch::Receiver<LogState>>,
    closed: watch::Receiver<bool>,
}

impl Changes {
    /// Marks the current states as seen.
    fn mark(&mut self) {
        self.job.mark_unchanged();
        if let Some(log) = &mut self.log {
            log.mark_unchanged();
        }
    }

    /// Waits for a change. Returns `false` if the stream must end.
    async fn wait(&mut self) -> bool {
        let log = async {
            match &mut self.log {
                Some(log) => log.changed().await.is_ok(),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.closed.wait_for(|closed| *closed) => false,
            changed = self.job.changed() => changed.is_ok(),
            changed = log => changed,
        }
    }
}

struct PageStream {
    state: State,
    visitor: Visitor,
    /// Tab that the page shows.
    tab: Tab,
    filter: EventFilter,
    job: Viewer<JobWatch>,
    log: Option<Viewer<LogWatch>>,
    /// Position of the page; `None` if the page has no rows, or if its position is unknown.
    position: Option<Position>,
    shown: Shown,
}

/// States that the page already shows.
#[derive(Default)]
struct Shown {
    /// Message about the interruption.
    problem: Option<String>,
    is_vanished: bool,
    has_ended: bool,
    /// State in the last message about the log: `true` if the log had ended; `None` before the
    /// first message.
    log_has_ended: Option<bool>,
}

impl PageStream {
    /// Returns the messages that update the page to the current state.
    fn messages(&mut self) -> VecDeque<Message> {
        let job = self.job.state();
        let log = self.log.as_ref().map(|log| log.state());
        let now = Position::of(&job, log.as_ref());
        let known = self.position.filter(|known| {
            known.epoch == now.epoch
                && known.events <= now.events
                && (self.tab != Tab::Logs
                    || known.log_epoch == now.log_epoch && known.lines <= now.lines)
        });
        let mut messages = Vec::new();
        if known.is_none() {
            messages.push(signal("reset").retry(RETRY));
        }
        let known = known.unwrap_or_default();
        if let Some(read) = &job.job
            && known.head != now.head
        {
            match render_head(&self.state, &self.visitor, read) {
                Ok(head) => messages.push(message("head", &head)),
                Err(problem) => tracing::error!(?problem, "the header of a job"),
            }
        }
        if self.tab == Tab::Events {
            let new = &job.events[known.events..];
            match render_rows(&self.filter, known.events, new) {
                Ok(rows) if rows.is_empty() => {}
                Ok(rows) => messages.push(message("events", &rows)),
                Err(problem) => tracing::error!(?problem, "rows of events"),
            }
        }
        if let Some(log) = &log
            && (known.lines != now.lines
                || known == Position::default()
                || self.shown.log_has_ended != Some(log.has_ended))
            && let Ok(counts) = serde_json::to_string(&LogCounts::of(log))
        {
            self.shown.log_has_ended = Some(log.has_ended);
            messages.push(message("log", &counts));
        }
        self.position = Some(now);
        self.add_states(&job, log.as_ref(), &mut messages);
        let id = now.to_string();
        let messages = messages.into_iter();
        messages.map(|message| message.id(&id)).collect()
    }

    /// Adds the messages about interruptions and about the end of the job.
    fn add_states(&mut self, job: &JobState, log: Option<&LogState>, messages: &mut Vec<Message>) {
        let log_problem = log.and_then(|log| log.problem.as_ref());
        let problem = job.interruption.as_ref().or(log_problem);
        let text = problem.map(Problem::sentence);
        if text != self.shown.problem {
            messages.push(match &text {
                Some(text) => message("interrupted", text),
                None => signal("resumed"),
            });
            self.shown.problem = text;
        }
        if job.is_vanished && !self.shown.is_vanished {
            messages.push(signal("vanished"));
        }
        let has_ended = job.has_ended && log.is_none_or(|log| log.has_ended);
        if has_ended && !self.shown.has_ended {
            messages.push(signal("end"));
        }
        (self.shown.is_vanished, self.shown.has_ended) = (job.is_vanished, has_ended);
    }
}
