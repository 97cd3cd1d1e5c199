//! Events of a job, read once or followed.
//!
//! The service reports what happens to a job as sentences, worded differently in its documents and
//! its answers, without ids and without a cursor, and late. [`Event::kind`] reads the sentence, so
//! that no program has to; [`Events::follow`] polls windows of time and gives each event once.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # let job = hello(&emulator, &client, "events")?.submit().await?;
//! # job.wait().await?;
//! use modelarts_ext::EventKind;
//!
//! let events = job.events().collect(100).await?;
//! for event in &events {
//!     println!("{event}");
//! }
//! assert!(events.iter().any(|event| event.kind() == EventKind::Completed));
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! Events that appear more than two minutes after their own time are found only when the job has
//! ended ([`Events::lateness`]), and following goes on until half a minute after the end has brought
//! nothing new ([`Events::quiet`]). Answers that fail do not count as nothing new: what is followed
//! is complete when it ends without an error.

// `Events` reads them page by page. `follow` polls windows of time and leaves out, with `dedup`,
// the events that an earlier window gave. `parse` reads the text of an event to its `kind`.

mod dedup;
pub(crate) mod event;
pub(crate) mod follow;
pub(crate) mod kind;
mod parse;
#[cfg(test)]
mod parse_tests;

pub use event::Event;
pub use kind::EventKind;

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt};
use modelarts_api::{
    BoxFuture, Offset,
    types::{EventLevel, EventSource, SortOrder},
};

use crate::{
    clock::epoch_millis,
    error::Error,
    jobs::job::Job,
    pagination::{
        offset::DetectedOffset,
        options::{ReadOptions, require_not_blank},
        page::{Page, PageStream},
        position::Position,
        source::{RawPage, Source},
        stream,
    },
};

const OPERATION: &str = "ListTrainingJobEvents";
/// The largest page that the service makes.
const MAX_LIMIT: u32 = 100;
/// The longest pattern that the service takes, in characters.
const MAX_PATTERN: usize = 256;

/// The events of a job, the oldest first.
#[derive(Clone, Debug)]
#[must_use]
pub struct Events {
    job: Job,
    level: Option<EventLevel>,
    source: Option<EventSource>,
    pattern: Option<String>,
    range: Option<(SystemTime, SystemTime)>,
    order: SortOrder,
    options: ReadOptions,
    interval: Duration,
    lateness: Duration,
    quiet: Duration,
}

impl Job {
    /// The events of the job: what happened, when.
    pub fn events(&self) -> Events {
        Events {
            job: self.clone(),
            level: None,
            source: None,
            pattern: None,
            range: None,
            order: SortOrder::Asc,
            options: ReadOptions::new(MAX_LIMIT),
            interval: Duration::from_secs(5),
            lateness: Duration::from_secs(120),
            quiet: Duration::from_secs(30),
        }
    }
}

impl Events {
    /// Only events of this level.
    pub fn level(mut self, level: EventLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Only events from this source.
    pub fn source(mut self, source: EventSource) -> Self {
        self.source = Some(source);
        self
    }

    /// Only events whose message contains this text, of up to 256 characters.
    pub fn pattern(mut self, text: impl Into<String>) -> Self {
        self.pattern = Some(text.into());
        self
    }

    /// Only events between two times, both included. The service compares whole seconds.
    pub fn between(mut self, start: SystemTime, end: SystemTime) -> Self {
        self.range = Some((start, end));
        self
    }

    /// Begins with the newest event. Following does not regard it.
    pub fn newest_first(mut self) -> Self {
        self.order = SortOrder::Desc;
        self
    }

    /// How many events are asked for at a time: 1 to 100, and 100 if nothing is said.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.options.size = rows;
        self
    }

    /// How many pages are asked for at the same time, after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.options.in_flight = pages;
        self
    }

    /// Sets the unit of offsets: [`Offset::Record`] or [`Offset::PageIndex`]. Sources disagree
    /// (`openapi/SOURCES.md`, "Without a number"); without this call, the first two pages show it,
    /// and the client remembers it.
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.options.meaning = Some(meaning);
        self
    }

    /// Goes on behind a page of the same events. Following does not regard it.
    pub fn resume(mut self, position: Position) -> Self {
        self.options.resume = Some(position);
        self
    }

    /// How long [`follow`](Self::follow) waits between two looks. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// How much later than its own time an event may appear and still be found by
    /// [`follow`](Self::follow) while the job runs. Default 2 minutes.
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// How long [`follow`](Self::follow) stays after the job has ended and nothing
    /// new has come. Billing is reported late. Default 30 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// The events that there are now.
    #[must_use]
    pub fn stream(self) -> PageStream<Event> {
        stream::rows(self.pages())
    }

    /// The same as [`stream`](Self::stream).
    #[must_use]
    pub fn items(self) -> PageStream<Event> {
        self.stream()
    }

    /// The first `max` events, and never more: the number is the bound of what this
    /// takes in memory.
    ///
    /// # Errors
    /// As the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<Event>, Error> {
        self.stream().take(max).try_collect().await
    }

    /// The pages of the events that there are now.
    #[must_use]
    pub fn pages(self) -> PageStream<Page<Event>> {
        match self.check() {
            Ok(()) => self.unchecked_pages(),
            Err(error) => stream::error_stream(error),
        }
    }

    /// The same without the check of the settings: following checks them once.
    fn unchecked_pages(self) -> PageStream<Page<Event>> {
        let options = self.options.clone();
        stream::pages(Arc::new(self), options)
    }

    fn check(&self) -> Result<(), Error> {
        self.options.check(OPERATION, MAX_LIMIT)?;
        if let Some(pattern) = &self.pattern {
            require_not_blank("pattern", pattern)?;
            let length = pattern.chars().count();
            if length > MAX_PATTERN {
                return Err(Error::invalid(format!(
                    "pattern: {length} characters; it must be {MAX_PATTERN} at the most"
                )));
            }
        }
        if let Some((start, end)) = self.range
            && end < start
        {
            return Err(Error::invalid("between: the end is before the start"));
        }
        Ok(())
    }
}

impl Source for Events {
    type Item = Event;

    fn operation(&self) -> &'static str {
        OPERATION
    }

    fn is_unique(&self) -> bool {
        false
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Event>, Error>> {
        let client = self.job.client();
        Box::pin(async move {
            let answer = client
                .call(|api| {
                    let mut call = api
                        .list_training_job_events()
                        .project_id(client.project().clone())
                        .training_job_id(self.job.training_job_id().clone())
                        .offset(offset)
                        .limit(i64::from(limit))
                        .order(self.order);
                    if let Some(level) = &self.level {
                        call = call.level(level.clone());
                    }
                    if let Some(source) = &self.source {
                        call = call.source(source.clone());
                    }
                    if let Some(pattern) = &self.pattern {
                        call = call.pattern(pattern.clone());
                    }
                    if let Some((start, end)) = self.range {
                        call = call
                            .start_time(epoch_millis(start).to_string())
                            .end_time(epoch_millis(end).to_string());
                    }
                    call.send()
                })
                .await?;
            let skipped = answer.skipped().rows;
            let call = answer.call();
            let answer = answer.into_inner();
            Ok(RawPage {
                items: answer.events.into_iter().map(Event::new).collect(),
                total: answer.total,
                count: None,
                limit: answer.limit,
                skipped,
                call,
            })
        })
    }

    fn key(&self, item: &Event) -> String {
        item.to_string()
    }

    fn detected_offset(&self) -> Option<&DetectedOffset> {
        Some(&self.job.client().offsets().events)
    }
}
