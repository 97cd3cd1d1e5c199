//! Events of a job, read once or followed.
//!
//! The service reports events as sentences, with wordings that differ between documents and
//! responses, with delay, and without ids or a cursor. [`Event::kind`] parses the sentence;
//! [`Events::follow`] polls windows of time and returns each event once.
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
//! ended ([`Events::lateness`]), and following continues until half a minute after the end has
//! brought nothing new ([`Events::quiet`]). Failed requests do not count as quiet, so a stream that
//! ends without an error is complete.

// `Events` reads them page by page. `follow` polls windows of time and removes, with `dedup`, the
// events of earlier windows. `parse` parses the text of an event into its `kind`.

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
/// The largest page of the service.
const MAX_LIMIT: u32 = 100;
/// The longest pattern that the service accepts, in characters.
const MAX_PATTERN: usize = 256;

/// The events of a job, oldest first.
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
    /// Returns the events of the job.
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
    /// Lists only events of this level.
    pub fn level(mut self, level: EventLevel) -> Self {
        self.level = Some(level);
        self
    }

    /// Lists only events of this source.
    pub fn source(mut self, source: EventSource) -> Self {
        self.source = Some(source);
        self
    }

    /// Lists only events whose message contains this text, of up to 256 characters.
    pub fn pattern(mut self, text: impl Into<String>) -> Self {
        self.pattern = Some(text.into());
        self
    }

    /// Lists only events between two times, both included. The service compares whole seconds.
    pub fn between(mut self, start: SystemTime, end: SystemTime) -> Self {
        self.range = Some((start, end));
        self
    }

    /// Sorts in descending order: newest first. Following ignores it.
    pub fn newest_first(mut self) -> Self {
        self.order = SortOrder::Desc;
        self
    }

    /// Sets the number of events of each request, 1 to 100. Default 100.
    pub fn page_size(mut self, rows: u32) -> Self {
        self.options.size = rows;
        self
    }

    /// Sets the number of pages that are requested concurrently after the first one. Default 4.
    pub fn in_flight(mut self, pages: usize) -> Self {
        self.options.in_flight = pages;
        self
    }

    /// Sets the unit of offsets: [`Offset::Record`] or [`Offset::PageIndex`]. Default: detected
    /// from the first two pages and stored in the client, because sources disagree
    /// (`openapi/SOURCES.md`, "Without a number").
    pub fn offset_is(mut self, meaning: Offset) -> Self {
        self.options.meaning = Some(meaning);
        self
    }

    /// Continues behind a page of the same events. Following ignores it.
    pub fn resume(mut self, position: Position) -> Self {
        self.options.resume = Some(position);
        self
    }

    /// Sets the pause of [`follow`](Self::follow) between two polls. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the delay with which an event may appear after its own time to be found by
    /// [`follow`](Self::follow) while the job runs. Default 2 minutes.
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Sets the time without new events after the end of the job at which [`follow`](Self::follow)
    /// ends. Billing is reported late. Default 30 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// Returns a stream of the existing events.
    #[must_use]
    pub fn stream(self) -> PageStream<Event> {
        stream::rows(self.pages())
    }

    /// The same as [`stream`](Self::stream).
    #[must_use]
    pub fn items(self) -> PageStream<Event> {
        self.stream()
    }

    /// Returns the first `max` events at most, which bounds the memory that the list takes.
    ///
    /// # Errors
    /// Those of the stream.
    pub async fn collect(self, max: usize) -> Result<Vec<Event>, Error> {
        self.stream().take(max).try_collect().await
    }

    /// Returns a stream of the pages of the existing events.
    #[must_use]
    pub fn pages(self) -> PageStream<Page<Event>> {
        match self.check() {
            Ok(()) => self.unchecked_pages(),
            Err(error) => stream::error_stream(error),
        }
    }

    /// Like [`pages`](Self::pages), without the check of the settings: following checks them once.
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
            let (answer, call) = answer.into_parts();
            Ok(RawPage {
                items: answer.events.into_iter().map(Event::new).collect(),
                total: answer.total,
                count: None,
                limit: answer.limit,
                skipped: call.skipped.rows,
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
