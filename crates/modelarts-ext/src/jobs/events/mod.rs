//! Events of a job, read once or as a stream that follows the job.
//!
//! Events are sentences, which [`Event::kind`] parses. Events have no ids and appear with a delay,
//! so [`Events::follow`] polls overlapping time windows, and returns each event once.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # let job = hello(&emulator, &client, "events")?.submit().await?;
//! # job.wait().await?.success()?;
//! use modelarts_ext::EventKind;
//!
//! let events = job.events().collect(100).await?;
//! for event in &events {
//!     println!("{event}");
//! }
//! assert!(events.iter().any(|event| event.kind() == EventKind::Completed));
//! # Ok(()) }) }
//! ```
//!
//! Events that appear more than two minutes late ([`Events::lateness`]) are returned after the end
//! of the job. A stream that ends without an error has returned all events that the service had at
//! the last poll, unless the job was deleted.

// `follow` polls time windows, `dedup` removes the events of earlier windows, and `parse`
// determines the `kind` of an event from its message.

mod dedup;
pub(crate) mod event;
pub(crate) mod follow;
pub(crate) mod kind;
mod parse;
#[cfg(test)]
mod parse_tests;

pub use event::Event;
pub use kind::EventKind;

use std::time::Duration;

use modelarts_api::{
    BoxFuture,
    types::{EventLevel, EventSource, Language, SortOrder},
};

use crate::{
    error::Error,
    jobs::job::JobHandle,
    pagination::{
        list::List,
        options::require_not_blank,
        source::{Counts, ListInfo, RawPage, Source},
    },
    timestamp::Timestamp,
};

const MAX_PATTERN: usize = 256;

/// List of the events of a job, oldest first, read once or [followed](Self::follow). The page size
/// is 1 to 100 events, by default 100.
pub type Events = List<Event, EventQuery>;

/// Conditions of a list of events, and settings for following it, set by the methods of [`Events`].
#[derive(Clone, Debug)]
pub struct EventQuery {
    job: JobHandle,
    level: Option<EventLevel>,
    source: Option<EventSource>,
    pattern: Option<String>,
    range: Option<(Timestamp, Timestamp)>,
    order: SortOrder,
    language: Option<Language>,
    interval: Duration,
    lateness: Duration,
    quiet: Duration,
    seen: Vec<Event>,
    until_billed: bool,
}

impl JobHandle {
    /// Returns the list of events of the job. Sources disagree about the unit of the offsets
    /// (`openapi/SOURCES.md`, "Without a number"); the client detects and stores the unit.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// for event in job.events().newest_first().collect(10).await? {
    ///     println!("{event}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn events(&self) -> Events {
        List::new(Box::new(EventQuery {
            job: self.clone(),
            level: None,
            source: None,
            pattern: None,
            range: None,
            order: SortOrder::Asc,
            language: None,
            interval: Duration::from_secs(5),
            lateness: Duration::from_secs(120),
            quiet: Duration::from_secs(30),
            seen: Vec::new(),
            until_billed: false,
        }))
    }
}

impl Events {
    /// Limits the list to events of this level.
    pub fn level(mut self, level: EventLevel) -> Self {
        self.query.level = Some(level);
        self
    }

    /// Limits the list to events of this source.
    pub fn source(mut self, source: EventSource) -> Self {
        self.query.source = Some(source);
        self
    }

    /// Limits the list to events whose message contains this string of up to 256 characters.
    pub fn pattern(mut self, text: impl Into<String>) -> Self {
        self.query.pattern = Some(text.into());
        self
    }

    /// Limits the list to events between two times, inclusive, compared in whole seconds.
    pub fn between(mut self, start: impl Into<Timestamp>, end: impl Into<Timestamp>) -> Self {
        self.query.range = Some((start.into(), end.into()));
        self
    }

    /// Sorts the events from newest to oldest. [`follow`](Self::follow) ignores the order.
    pub fn newest_first(mut self) -> Self {
        self.query.order = SortOrder::Desc;
        self
    }

    /// Sets the language of the messages. Default: the language of the client.
    /// [`follow`](Self::follow) recognizes the event of the end only in English.
    pub fn language(mut self, language: Language) -> Self {
        self.query.language = Some(language);
        self
    }

    /// Sets the pause of [`follow`](Self::follow) between two polls. The default is 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.query.interval = interval;
        self
    }

    /// Sets the maximum delay of events after their times. While the job runs,
    /// [`follow`](Self::follow) only finds events within this delay. The default is 2 minutes.
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.query.lateness = lateness;
        self
    }

    /// Sets the quiet time: the maximum time without new events for which [`follow`](Self::follow)
    /// waits for the event of the end, after the end of the job. The default is 30 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.query.quiet = quiet;
        self
    }

    /// Adds events that [`follow`](Self::follow) does not return again, because the program has
    /// processed them, such as those that it stored as JSON before it was restarted.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "seen")?.submit().await?;
    /// # let place = tempfile::tempdir()?;
    /// # let file = place.path().join("events.jsonl");
    /// use std::{fs, io::Write};
    ///
    /// use futures::TryStreamExt;
    /// use modelarts_ext::Event;
    ///
    /// # for number_of_events in [2, usize::MAX] {
    /// let stored = fs::read_to_string(&file).unwrap_or_default();
    /// let seen: Vec<Event> = stored.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
    /// let mut store = fs::File::options().create(true).append(true).open(&file)?;
    /// let mut events = job.events().seen(seen).follow();
    /// # let mut events = job
    /// #     .events()
    /// #     .interval(std::time::Duration::from_millis(20))
    /// #     .seen(stored.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>()?)
    /// #     .follow();
    /// # let mut processed = 0;
    /// while let Some(event) = events.try_next().await? {
    ///     println!("{event}");
    ///     writeln!(store, "{}", serde_json::to_string(&event)?)?;
    /// #   processed += 1;
    /// #   if processed == number_of_events { break; }
    /// }
    /// # }
    /// # let mut lines: Vec<String> = fs::read_to_string(&file)?.lines().map(str::to_owned).collect();
    /// # let all = lines.len();
    /// # lines.sort();
    /// # lines.dedup();
    /// # assert_eq!((lines.len(), all > 2), (all, true));
    /// # Ok(()) }) }
    /// ```
    pub fn seen(mut self, events: impl IntoIterator<Item = Event>) -> Self {
        self.query.seen.extend(events);
        self
    }

    /// Makes [`follow`](Self::follow) wait for the billing event too, which comes after the event
    /// of the end, for up to the [`quiet`](Self::quiet) time.
    pub fn until_billed(mut self) -> Self {
        self.query.until_billed = true;
        self
    }
}

impl EventQuery {
    /// Returns `true` if the list may lack the event of the end, or return it in another language.
    fn may_hide_end(&self) -> bool {
        let language = self.job.client().transport().language;
        self.level.is_some()
            || self.source.is_some()
            || self.pattern.is_some()
            || self.range.is_some()
            || language.is_some_and(|language| language != Language::EnUs)
    }
}

impl Source for EventQuery {
    type Item = Event;

    fn info(&self) -> ListInfo {
        ListInfo {
            operation: "ListTrainingJobEvents",
            unique: false,
            filtered: false,
            detected_offset: Some(self.job.client().offsets().events.clone()),
        }
    }

    fn check(&self) -> Result<(), Error> {
        if let Some(pattern) = &self.pattern {
            require_not_blank("pattern", pattern)?;
            let length = pattern.chars().count();
            if length > MAX_PATTERN {
                return Err(Error::invalid(format!(
                    "pattern: {length} characters; must be at most {MAX_PATTERN}"
                )));
            }
        }
        if self.range.is_some_and(|(start, end)| end < start) {
            return Err(Error::invalid("between: the end is before the start"));
        }
        Ok(())
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
                    if let Some(language) = self.language {
                        call = call.x_language(language);
                    }
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
                            .start_time(start.as_epoch_millis().to_string())
                            .end_time(end.as_epoch_millis().to_string());
                    }
                    call.send()
                })
                .await?;
            answer.into_page(|answer| {
                let counts = Counts::new(answer.total, None, answer.limit);
                (answer.events.into_iter().map(Event::new).collect(), counts)
            })
        })
    }

    fn key(&self, item: &Event) -> String {
        item.to_string()
    }
}
