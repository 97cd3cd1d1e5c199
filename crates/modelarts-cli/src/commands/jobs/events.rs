//! `modelarts events`.

use clap::{
    Args,
    builder::{PossibleValuesParser, TypedValueParser},
};
use futures::{Stream, StreamExt, TryStreamExt};
use modelarts_ext::{
    Error, Event, Job,
    jobs::follow::JobUpdate,
    types::{EventLevel, EventSource},
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    commands::jobs::results::local_time,
    exit_status::ExitStatus,
    failure::Failure,
    follow::{EventItem, Interrupt, note_connection, updates},
    job_reference::JobArgument,
    output::{Column, Row, Stdout},
    session::Session,
    terminal::{Emphasis, Terminal, note},
};

/// Maximum number of events that are printed at once.
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
    /// Only events of this source.
    #[arg(long, value_name = "SOURCE", ignore_case = true, value_parser = source())]
    source: Option<EventSource>,
    /// Prints each event as one line with the time, the source and the message of the service.
    #[arg(long)]
    raw: bool,
}

fn level() -> impl TypedValueParser<Value = EventLevel> {
    PossibleValuesParser::new(["Info", "Warning", "Error"])
        .map(|name| EventLevel::from(name).canonical())
}

fn source() -> impl TypedValueParser<Value = EventSource> {
    PossibleValuesParser::new(["Job", "Task", "Cluster"])
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
            emphasis: match event.level() {
                EventLevel::Error => Some(Emphasis::Bad),
                EventLevel::Warning => Some(Emphasis::Waiting),
                _ => None,
            },
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

    fn id(&self) -> Option<&str> {
        None
    }
}

impl Events {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        let client = session.client().await?;
        let job = self.job.find(client).await?;
        if !self.follow {
            let mut list = job.events();
            if let Some(level) = &self.level {
                list = list.level(level.clone());
            }
            if let Some(source) = &self.source {
                list = list.source(source.clone());
            }
            let count = self
                .print(session, list.pages().map_ok(|page| page.items))
                .await?;
            if count == 0 && session.output.is_text() {
                note("no events");
            }
            return Ok(ExitStatus::Success);
        }
        let mut interrupt = Interrupt::new();
        // A document has the events before Ctrl-C.
        let events = self.new_events(&job).take_until(interrupt.received());
        self.print(session, events).await?;
        Ok(match interrupt.is_received() {
            true => ExitStatus::Interrupted,
            false => ExitStatus::Success,
        })
    }

    /// Returns the existing and all new events that meet the conditions.
    fn new_events(&self, job: &Job) -> impl Stream<Item = Result<Vec<Event>, Error>> {
        let updates = updates(job).without_logs().follow();
        updates.ready_chunks(CHUNK).map(|updates| {
            let mut events = Vec::new();
            for update in updates {
                match update? {
                    JobUpdate::Event(event) if self.selects(&event) => events.push(event),
                    update => note_connection(&update),
                }
            }
            Ok(events)
        })
    }

    fn selects(&self, event: &Event) -> bool {
        self.level
            .as_ref()
            .is_none_or(|level| level == event.level())
            && self
                .source
                .as_ref()
                .is_none_or(|source| source == event.source())
    }

    /// Prints events as they arrive. Returns their number.
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
