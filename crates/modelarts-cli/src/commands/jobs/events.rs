//! Command `modelarts events`, which prints the events of a job.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use futures::{Stream, StreamExt, TryFutureExt, TryStreamExt, future, stream};
use modelarts_ext::{
    Error, Event, Job, Timestamp,
    jobs::{events::Events as List, follow::JobUpdate},
    types::{EventLevel, EventSource, Language},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::jobs::{
        arguments::{moment, whole_number},
        results::local_time,
    },
    exit_status::ExitStatus,
    failure::Failure,
    follow::{EventItem, Interrupt, note_connection, updates},
    job_reference::JobArgument,
    output::{Column, Row, Stdout, event_emphasis, until_error},
    session::Session,
    terminal::{Emphasis, Terminal, note},
};

const CHUNK: usize = 1_000;

#[derive(Debug, Args)]
pub(crate) struct Events {
    #[command(flatten)]
    job: JobArgument,
    /// Prints new events until the job ends.
    #[arg(short, long)]
    follow: bool,
    /// Only events of this level.
    #[arg(long, value_name = "LEVEL", ignore_case = true, value_parser = level())]
    level: Option<EventLevel>,
    /// Only events of this source: the job, one of its tasks, or the Kubernetes cluster.
    #[arg(long, value_name = "SOURCE", ignore_case = true, value_parser = source())]
    source: Option<EventSource>,
    /// Only the last events that meet the other conditions.
    #[arg(
        short = 'n',
        long,
        value_name = "EVENTS",
        value_parser = whole_number::<usize>,
        allow_negative_numbers = true
    )]
    tail: Option<usize>,
    /// Only events since this time: 10m, 2026-01-15T08:30:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment)]
    since: Option<Timestamp>,
    /// Only events up to this time: 10m, 2026-01-15T08:30:00Z.
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with = "follow")]
    until: Option<Timestamp>,
    /// Only events whose message contains this text.
    #[arg(long, value_name = "TEXT")]
    pattern: Option<String>,
    /// Order of the events: the oldest first, or the newest.
    #[arg(long, value_name = "ORDER", value_parser = ["asc", "desc"], conflicts_with = "follow")]
    order: Option<String>,
    /// Language of the messages.
    #[arg(
        long,
        value_name = "LANGUAGE",
        value_parser = PossibleValuesParser::new(["en-us", "zh-cn"])
            .map(|name| match name.as_str() {
                "zh-cn" => Language::ZhCn,
                _ => Language::EnUs,
            }),
        conflicts_with = "follow"
    )]
    language: Option<Language>,
    /// Prints each event as one line with its time, its source and its unchanged message.
    #[arg(long)]
    raw: bool,
    #[cfg(unix)]
    #[command(flatten)]
    pub(crate) local: crate::local_jobs::LocalFlag,
}

fn level() -> impl TypedValueParser<Value = EventLevel> {
    PossibleValuesParser::new(["Info", "Warning", "Error"])
        .map(|name| EventLevel::from(name).canonical())
}

fn source() -> impl TypedValueParser<Value = EventSource> {
    PossibleValuesParser::new(["Job", "Task", "K8S"])
        .map(|name| EventSource::from(name).canonical())
}

/// An event of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EventRow {
    /// `event`, the type of the item.
    #[serde(rename = "type")]
    item: &'static str,
    /// The event.
    #[serde(flatten)]
    event: EventItem,
    #[serde(skip)]
    time: String,
    #[serde(skip)]
    emphasis: Option<Emphasis>,
}

impl EventRow {
    fn new(event: &Event) -> Option<Self> {
        Some(Self {
            item: "event",
            event: EventItem::new(event)?,
            time: match event.time() {
                Some(time) => local_time(time),
                None => event.time_text().to_owned(),
            },
            emphasis: event_emphasis(event.level()),
        })
    }
}

impl Row for EventRow {
    const LIST: &'static str = "events";
    const COLUMNS: &'static [Column<Self>] = &[
        Column::new("TIME", |row| row.time.clone()),
        Column::new("LEVEL", |row| match row.emphasis {
            Some(emphasis) => Terminal::styled(&row.event.level, emphasis),
            None => row.event.level.clone(),
        }),
        Column::new("SOURCE", |row| row.event.source.clone()),
        Column::wide("KIND", |row| row.event.kind.clone()),
        Column::wide("TASK", |row| row.event.task.clone().unwrap_or_default()),
        Column::wide("SECONDS", |row| {
            let seconds = row.event.seconds.map(|seconds| seconds.to_string());
            seconds.unwrap_or_default()
        }),
        Column::wide("EXIT-CODE", |row| {
            let code = row.event.exit_code.map(|code| code.to_string());
            code.unwrap_or_default()
        }),
        Column::new("MESSAGE", |row| row.event.message.clone()),
    ];
}

/// First event that is printed while events are followed.
struct Start {
    /// Event before which no event is printed; `None` if all following events are printed.
    event: Option<Event>,
    is_included: bool,
}

impl Start {
    /// Creates the start from the last `tail` events; if `tail` is 0, `last` has the newest event.
    fn new(last: Vec<Event>, tail: usize) -> Self {
        Self { event: last.into_iter().next(), is_included: tail > 0 }
    }

    /// Returns `true` if `next` is printed. Events must be passed in the order of their times.
    fn is_reached(&mut self, next: &Event) -> bool {
        let Some(event) = &self.event else {
            return true;
        };
        if event == next {
            self.event = None;
            return self.is_included;
        }
        let is_later = next.time() > event.time();
        if is_later {
            self.event = None;
        }
        is_later
    }
}

impl Events {
    pub(crate) fn follows(&self) -> bool {
        self.follow
    }

    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        if let (Some(since), Some(until)) = (self.since, self.until)
            && until < since
        {
            return Err(Failure::usage(format_args!(
                "--until {until}: it must not be before --since {since}"
            )));
        }
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        if !self.follow {
            let count = match (self.tail, self.since) {
                (None, None) => {
                    let pages = self.list(&job).pages().map_ok(|page| page.items);
                    self.print(session, pages).await?
                }
                (tail, _) => {
                    let last = self.last_events(&job, tail.unwrap_or(usize::MAX));
                    self.print(session, stream::once(last)).await?
                }
            };
            if count == 0 && session.output.is_text() {
                note("no events");
            }
            return Ok(ExitStatus::Success);
        }
        let mut interrupt = Interrupt::new();
        let events = async {
            let start = match self.tail {
                Some(tail) => Some(Start::new(self.last_events(&job, tail.max(1)).await?, tail)),
                None => None,
            };
            Ok(self.new_events(&job, start))
        };
        // A document contains the events that arrive before Ctrl-C or an error.
        let mut failure = None;
        let events = events.try_flatten_stream();
        let events = events.take_until(interrupt.received());
        self.print(session, until_error(events, &mut failure)).await?;
        if let Some(error) = failure {
            return Err(error.into());
        }
        Ok(match interrupt.is_received() {
            true => ExitStatus::Interrupted,
            false => ExitStatus::Success,
        })
    }

    fn is_descending(&self) -> bool {
        self.order.as_deref() == Some("desc")
    }

    /// Returns the list of existing events, with the conditions that the service evaluates.
    fn list(&self, job: &Job) -> List {
        let mut list = job.events();
        if let Some(level) = &self.level {
            list = list.level(level.clone());
        }
        if let Some(source) = &self.source {
            list = list.source(source.clone());
        }
        if let Some(pattern) = &self.pattern {
            list = list.pattern(pattern);
        }
        if let Some(language) = &self.language {
            list = list.language(*language);
        }
        if let Some(until) = self.until {
            let start = self.since.or(job.created_at()).unwrap_or(Timestamp::MIN);
            list = list.between(start.min(until), until);
        }
        if self.is_descending() {
            list = list.newest_first();
        }
        list
    }

    /// Returns the last events that meet the conditions, oldest first unless `--order` is `desc`.
    /// Reads only the end of the list.
    async fn last_events(&self, job: &Job, count: usize) -> Result<Vec<Event>, Error> {
        let newest = self.list(job).newest_first().stream();
        let in_time = newest.try_take_while(|event| future::ready(Ok(self.is_in_time(event))));
        let mut events: Vec<Event> = in_time.take(count).try_collect().await?;
        if !self.is_descending() {
            events.reverse();
        }
        Ok(events)
    }

    /// Returns the existing events from `start` on, then new events. All events meet the
    /// conditions.
    fn new_events(
        &self,
        job: &Job,
        mut start: Option<Start>,
    ) -> impl Stream<Item = Result<Vec<Event>, Error>> {
        let updates = updates(job).without_logs().follow();
        updates.ready_chunks(CHUNK).flat_map(move |updates| {
            let mut events = Vec::new();
            let mut failure = None;
            for update in updates {
                match update {
                    Ok(JobUpdate::Event(event)) if self.selects(&event) => {
                        if start.as_mut().is_none_or(|start| start.is_reached(&event)) {
                            events.push(event);
                        }
                    }
                    Ok(update) => note_connection(&update),
                    Err(error) => failure = Some(Err(error)),
                }
            }
            stream::iter([Ok(events)].into_iter().chain(failure))
        })
    }

    /// Returns `true` if an event is not older than `--since`, or if its time cannot be read.
    fn is_in_time(&self, event: &Event) -> bool {
        let time = event.time().zip(self.since);
        time.is_none_or(|(time, since)| time >= since)
    }

    fn selects(&self, event: &Event) -> bool {
        self.is_in_time(event)
            && self.level.as_ref().is_none_or(|level| level == event.level())
            && self.source.as_ref().is_none_or(|source| source == event.source())
            && self.pattern.as_ref().is_none_or(|text| event.message().contains(text.as_str()))
    }

    /// Prints events as they arrive. Returns the number of events.
    async fn print(
        &self,
        session: &Session,
        events: impl Stream<Item = Result<Vec<Event>, Error>>,
    ) -> Result<usize, Failure> {
        if !self.raw || !session.output.is_text() {
            let rows = events.map_ok(|events| events.iter().filter_map(EventRow::new).collect());
            return session.output.list(rows).await;
        }
        let mut stdout = Stdout::lock();
        let mut events = std::pin::pin!(events);
        let mut count = 0;
        while let Some(events) = events.try_next().await? {
            for event in &events {
                stdout.line(&event.to_string())?;
            }
            stdout.flush()?;
            count += events.len();
        }
        Ok(count)
    }
}
