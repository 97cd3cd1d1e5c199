//! The events of a job: read, and followed as they come.

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, SystemTime},
};

use futures::{StreamExt, TryStreamExt, future, stream};
use modelarts_api::{
    BoxFuture,
    types::{EventLevel, EventSource, SortOrder, TrainingJobEvent},
};

use crate::{
    clock::{epoch_millis, since},
    error::Error,
    event_kind::EventKind,
    job::Job,
    list::pagination,
    page::{self, Batch, Page, Results, Source},
    patience::Patience,
};

/// The largest page that the service makes.
const MAX_LIMIT: u32 = 100;
/// The longest pattern that the service takes, in characters.
const MAX_PATTERN: usize = 256;

/// Something that happened to a job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    time: String,
    level: EventLevel,
    source: EventSource,
    message: String,
}

impl Event {
    fn new(row: TrainingJobEvent) -> Self {
        Self {
            time: row.time.unwrap_or_default(),
            level: row.level.unwrap_or(EventLevel::Info),
            source: row.source.unwrap_or_else(|| "".into()),
            message: row.message.unwrap_or_default(),
        }
    }

    /// When it happened, to the second. `None` when the service's text is no time.
    #[must_use]
    pub fn time(&self) -> Option<SystemTime> {
        let time: jiff::Timestamp = self.time.parse().ok()?;
        Some(time.into())
    }

    /// When it happened, as the service writes it (RFC 3339).
    #[must_use]
    pub fn time_text(&self) -> &str {
        &self.time
    }

    /// How serious it is.
    #[must_use]
    pub fn level(&self) -> &EventLevel {
        &self.level
    }

    /// Who reports it: the job, one of its tasks, or the cluster.
    #[must_use]
    pub fn source(&self) -> &EventSource {
        &self.source
    }

    /// What happened, as the service says it.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What happened, read from the message.
    #[must_use]
    pub fn kind(&self) -> EventKind {
        EventKind::parse(&self.message)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {:<7} {:<4} {}",
            self.time, self.level, self.source, self.message
        )
    }
}

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
    limit: u32,
    interval: Duration,
    lateness: Duration,
    quiet: Duration,
}

impl Events {
    pub(crate) fn new(job: Job) -> Self {
        Self {
            job,
            level: None,
            source: None,
            pattern: None,
            range: None,
            order: SortOrder::Asc,
            limit: MAX_LIMIT,
            interval: Duration::from_secs(5),
            lateness: Duration::from_secs(120),
            quiet: Duration::from_secs(30),
        }
    }

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

    /// Only events between two times.
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
        self.limit = rows;
        self
    }

    /// How long [`follow`](Self::follow) waits between two looks. Default 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// How much later than its own time an event may appear and still be found by
    /// [`follow`](Self::follow). Default 2 minutes.
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
    pub fn stream(self) -> Results<Event> {
        page::rows(self.pages())
    }

    /// The pages of the events that there are now.
    #[must_use]
    pub fn pages(self) -> Results<Page<Event>> {
        let checked = self
            .check()
            .and_then(|()| pagination("ListTrainingJobEvents"));
        match checked {
            Ok(pagination) => {
                let limit = self.limit;
                page::pages(self, pagination, limit)
            }
            Err(error) => stream::once(future::err(error)).boxed(),
        }
    }

    /// The events that there are, and those that come, until the job has ended and
    /// been [`quiet`](Self::quiet).
    ///
    /// The service has no cursor for events. So each look asks for a window of
    /// time that reaches back as far as [`lateness`](Self::lateness) before the
    /// newest event seen, and what was seen in it is known by count, because two
    /// events may be equal. Answers that fail in passing do not end it.
    #[must_use]
    pub fn follow(mut self) -> Results<Event> {
        if let Err(error) = self.check() {
            return stream::once(future::err(error)).boxed();
        }
        self.order = SortOrder::Asc;
        let follower = Follower {
            last: self.job.client().clock().now(),
            job_ended: self.job.is_final(),
            events: self,
            seen: Seen::default(),
            patience: Patience::default(),
            first: true,
        };
        stream::try_unfold(Some(follower), |state| async move {
            let Some(mut follower) = state else {
                return Ok(None);
            };
            let (events, more) = follower.look().await?;
            let events = stream::iter(events.into_iter().map(Ok));
            Ok(Some((events, more.then_some(follower))))
        })
        .try_flatten()
        .boxed()
    }

    fn check(&self) -> Result<(), Error> {
        if !(1..=MAX_LIMIT).contains(&self.limit) {
            return Err(Error::invalid(format!(
                "page_size {}: it must be 1 to {MAX_LIMIT}",
                self.limit
            )));
        }
        if let Some(pattern) = &self.pattern {
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

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<Batch<Event>, Error>> {
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
            let dropped = answer.dropped().rows;
            let answer = answer.into_inner();
            Ok(Batch {
                items: answer.events.into_iter().map(Event::new).collect(),
                total: answer.total,
                limit: answer.limit,
                dropped,
            })
        })
    }

    fn id(_: &Event) -> Option<String> {
        None
    }
}

/// Where a follower stands.
struct Follower {
    events: Events,
    seen: Seen,
    patience: Patience,
    job_ended: bool,
    /// When something new came last, or the job was seen to end.
    last: SystemTime,
    first: bool,
}

impl Follower {
    /// Looks once: what is new, and whether to look again.
    async fn look(&mut self) -> Result<(Vec<Event>, bool), Error> {
        let clock = self.events.job.client().clock().clone();
        if !std::mem::take(&mut self.first) {
            clock.sleep(self.events.interval).await;
        }
        // The job is looked at before its events: what it did before it ended is
        // then among the events of this look.
        let mut gone = false;
        if !self.job_ended {
            match self.events.job.refresh().await {
                Ok(()) => self.job_ended = self.events.job.is_final(),
                Err(error) if error.is_not_found() => gone = true,
                Err(error) => self.patience.bear(error, &*clock)?,
            }
            if self.job_ended {
                self.last = clock.now();
            }
        }
        let mut window = self.events.clone();
        if window.range.is_none() {
            window.range = self.seen.window(self.events.lateness, clock.now());
        }
        let new = match window.stream().try_collect::<Vec<_>>().await {
            Ok(rows) => {
                self.patience.restore();
                self.seen.new_among(rows, self.events.lateness)
            }
            // Deleting a job deletes its events.
            Err(error) if error.is_not_found() => return Ok((Vec::new(), false)),
            Err(error) => {
                self.patience.bear(error, &*clock)?;
                Vec::new()
            }
        };
        if !new.is_empty() {
            self.last = clock.now();
        }
        let quiet = self.job_ended && since(&*clock, self.last) >= self.events.quiet;
        Ok((new, !quiet && !gone))
    }
}

/// What was seen near the newest event, as a multiset.
#[derive(Default)]
struct Seen {
    counts: HashMap<Event, usize>,
    newest: Option<SystemTime>,
}

impl Seen {
    /// The time to ask for. Nothing seen: all of it.
    fn window(&self, lateness: Duration, now: SystemTime) -> Option<(SystemTime, SystemTime)> {
        let start = self.newest?.checked_sub(lateness)?;
        // The end must not cut off what the clock of the service calls the future.
        let end = now.max(self.newest?) + Duration::from_secs(24 * 3600);
        Some((start, end))
    }

    /// The rows of a window that were not there when it was looked at before.
    fn new_among(&mut self, rows: Vec<Event>, lateness: Duration) -> Vec<Event> {
        let mut counts: HashMap<Event, usize> = HashMap::new();
        let mut new = Vec::new();
        for row in rows {
            let count = counts.entry(row.clone()).or_default();
            *count += 1;
            if *count > self.counts.get(&row).copied().unwrap_or_default() {
                new.push(row);
            }
        }
        for (row, count) in counts {
            let known = self.counts.entry(row).or_default();
            *known = count.max(*known);
        }
        self.newest = self
            .counts
            .keys()
            .filter_map(Event::time)
            .chain(self.newest)
            .max();
        // What the next window cannot hold any more need not be known.
        if let Some(start) = self.newest.and_then(|newest| newest.checked_sub(lateness)) {
            self.counts
                .retain(|row, _| row.time().is_none_or(|time| time >= start));
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(second: u32, message: &str) -> Event {
        Event::new(
            serde_json::from_value(serde_json::json!({
                "time": format!("2026-01-15T16:30:{second:02}+08:00"),
                "level": "Info", "source": "Job", "message": message,
            }))
            .unwrap(),
        )
    }

    const LATENESS: Duration = Duration::from_secs(10);

    #[test]
    fn equal_events_are_told_apart_by_their_number() {
        let mut seen = Seen::default();
        let twice = vec![event(1, "a"), event(1, "a")];
        assert_eq!(seen.new_among(twice.clone(), LATENESS), twice);
        assert_eq!(seen.new_among(twice.clone(), LATENESS), []);
        let thrice = vec![event(1, "a"), event(1, "a"), event(1, "a")];
        assert_eq!(seen.new_among(thrice, LATENESS), [event(1, "a")]);
    }

    #[test]
    fn late_events_within_the_bound_are_new_once() {
        let mut seen = Seen::default();
        seen.new_among(vec![event(20, "b")], LATENESS);
        let rows = vec![event(12, "late"), event(20, "b")];
        assert_eq!(seen.new_among(rows.clone(), LATENESS), [event(12, "late")]);
        assert_eq!(seen.new_among(rows, LATENESS), []);
    }

    #[test]
    fn memory_is_bounded_by_the_window() {
        let mut seen = Seen::default();
        for second in 0..60 {
            seen.new_among(vec![event(second, "x")], LATENESS);
        }
        assert_eq!(seen.counts.len(), 11);
        let now = SystemTime::UNIX_EPOCH;
        let (start, end) = seen.window(LATENESS, now).unwrap();
        assert_eq!(Some(start), event(49, "").time());
        assert_eq!(
            Some(end),
            event(59, "").time().map(|t| t + Duration::from_secs(86400))
        );
    }

    #[test]
    fn an_event_reads_as_one_line() {
        assert_eq!(
            event(7, "Training job created.").to_string(),
            "2026-01-15T16:30:07+08:00 Info    Job  Training job created."
        );
    }
}
