//! Stream of the phases, events and log lines of a job.
//!
//! [`JobHandle::follow`] polls the phase, the events and the logs, and sorts the items of each poll
//! by time ([`Updates`]). Tasks that appear while the job runs are included.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # let job = hello(&emulator, &client, "follow")?.submit().await?;
//! # job.wait().await?.success()?;
//! use futures::TryStreamExt;
//! use modelarts_ext::{LogItem, jobs::follow::JobUpdate};
//!
//! let mut updates = job.follow();
//! while let Some(update) = updates.try_next().await? {
//!     match update {
//!         JobUpdate::Phase(job) => println!("now {}", job.phase()),
//!         JobUpdate::Event(event) => println!("{event}"),
//!         JobUpdate::Log { task, item: LogItem::Line(line) } => println!("{task}: {line}"),
//!         other => println!("{other:?}"),
//!     }
//! }
//! # Ok(()) }) }
//! ```
//!
//! [`JobHandle::updates`] has settings, such as the pause between two polls.
//!
//! Events that appear more than two minutes late ([`Updates::lateness`]) are returned after the end
//! of the job. [`Events::follow`](crate::jobs::events::Events::follow) follows only events, and
//! [`Logs::follow`](crate::jobs::logs::Logs::follow) the log of one task.

// A round polls the details of the job, then its events, then its logs.

mod update;

pub use update::JobUpdate;

use std::time::Duration;

use futures::{StreamExt, stream};
use modelarts_api::{BoxFuture, types::Phase};

use crate::{
    error::{Error, ErrorKind},
    jobs::{
        events::{event::Event, follow::EventFollower},
        follow::update::merge,
        job::{Job, JobHandle},
        logs::{follow::LogFollower, line_splitter::LogItem},
        polling::{
            REQUESTS_IN_FLIGHT,
            follower::{Batch, Follower},
            rounds::{EndStatus, EndWatch, SourcePolls},
        },
    },
    pagination::page::PageStream,
};

/// Maximum number of events in memory. A round exceeds the maximum by at most one page.
const MAX_EVENTS: usize = 10_000;

/// Settings of a stream of the phases, events and log lines of a job.
///
/// Items of one poll (about 10,000 events, and 5 MB of each log) are sorted by time:
///
/// - Events are sorted by their times. A late event is returned when it appears.
/// - Lines of a task keep their order, and are sorted among those of other tasks by the times that
///   they begin with; a line without a time follows the line before it.
/// - Lines with a time zone (`2026-01-15T08:30:07Z ...`) are sorted among the events by their
///   times. All other lines come as late as possible: before the event that ends their task, or at
///   the end.
/// - The final phase is returned after the first poll that reads all events and logs completely
///   after the end of the job. Items that appear later, such as late events, follow it.
///
/// Items of a later poll come later, regardless of their times.
#[derive(Clone, Debug)]
#[must_use]
pub struct Updates {
    job: JobHandle,
    interval: Duration,
    lateness: Duration,
    quiet: Duration,
    logs: bool,
    interruptions: bool,
    tail: Option<usize>,
}

impl JobHandle {
    /// Follows phases, events and log lines in one stream, every 5 seconds. Tests on the emulator
    /// can set a shorter pause: `job.updates().interval(Duration::from_millis(50)).follow()`.
    #[must_use]
    pub fn follow(&self) -> PageStream<JobUpdate> {
        self.updates().follow()
    }

    /// Returns the settings for following the phases, events and log lines of the job.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// use std::time::Duration;
    /// use futures::TryStreamExt;
    ///
    /// let updates = job.updates().without_logs().interval(Duration::from_secs(20));
    /// let mut updates = updates.follow();
    /// while let Some(update) = updates.try_next().await? {
    ///     println!("{update:?}");
    /// }
    /// # Ok(()) }
    /// ```
    pub fn updates(&self) -> Updates {
        Updates {
            job: self.clone(),
            interval: Duration::from_secs(5),
            lateness: Duration::from_secs(120),
            quiet: Duration::from_secs(30),
            logs: true,
            interruptions: false,
            tail: None,
        }
    }
}

impl Updates {
    /// Sets the pause between two polls. The default is 5 seconds.
    pub fn interval(mut self, interval: Duration) -> Self {
        self.interval = interval;
        self
    }

    /// Sets the maximum delay of events, like
    /// [`Events::lateness`](crate::jobs::events::Events::lateness). The default is 2 minutes.
    pub fn lateness(mut self, lateness: Duration) -> Self {
        self.lateness = lateness;
        self
    }

    /// Sets the quiet time: the maximum time without new items for which the stream waits for
    /// missing items, after the end of the job. The default is 30 seconds.
    pub fn quiet(mut self, quiet: Duration) -> Self {
        self.quiet = quiet;
        self
    }

    /// Excludes the logs from the stream.
    pub fn without_logs(mut self) -> Self {
        self.logs = false;
        self
    }

    /// Adds items to the stream when the job cannot be read, and when it can be read again.
    pub fn report_interruptions(mut self) -> Self {
        self.interruptions = true;
        self
    }

    /// Begins each existing log with its last lines, at most this number, like
    /// [`Logs::tail_lines`](crate::jobs::logs::Logs::tail_lines).
    pub fn tail_lines(mut self, lines: usize) -> Self {
        self.tail = Some(lines);
        self
    }

    /// Returns a stream of the existing and all new items, until the job has ended.
    ///
    /// The stream ends with the first poll after the end of the job that reads all events and logs.
    /// A missing event of the end or a missing log extends it by up to the [`quiet`](Self::quiet)
    /// time. It does not await the billing event, and continues if the job restarts.
    ///
    /// Transient errors do not end the stream, unless requests for the details, the events or a log
    /// fail for 15 minutes. Throttling only slows the stream.
    #[must_use]
    pub fn follow(self) -> PageStream<JobUpdate> {
        let (job, interval, quiet) = (self.job.clone(), self.interval, self.quiet);
        JobFollower::new(self).stream(job, interval, quiet)
    }
}

struct JobFollower {
    settings: Updates,
    events: EventFollower,
    logs: Vec<LogFollower>,
    phase: Option<Phase>,
    is_interrupted: bool,
    /// Events that may be later than lines that are still unread.
    held_events: Vec<Event>,
    max_events: usize,
}

impl Follower for JobFollower {
    type Item = JobUpdate;

    /// Reads events first, so that the lines that precede an event are available with the event.
    async fn read(&mut self, end_watch: &mut EndWatch) -> Result<Batch<JobUpdate>, Error> {
        let mut more_events = true;
        while more_events && self.held_events.len() < self.max_events {
            let (new, more) = self.events.read(end_watch).await?;
            self.held_events.extend(new);
            more_events = more;
        }
        // Late events are returned when they appear, sorted among the events of the same poll.
        self.held_events.sort_by_key(Event::time);
        let (lines, more_lines) = self.read_logs(end_watch).await?;
        let mut updates = Vec::new();
        if !end_watch.has_ended() {
            updates.extend(self.phase_change(end_watch));
        }
        let events = match more_lines {
            true => Vec::new(),
            false => std::mem::take(&mut self.held_events),
        };
        updates.extend(merge(events, lines));
        Ok((updates, more_events || more_lines))
    }

    fn polls(&mut self) -> Vec<&mut SourcePolls> {
        let logs = self.logs.iter_mut().map(|log| &mut log.polls);
        std::iter::once(&mut self.events.polls).chain(logs).collect()
    }

    fn lacks_items(&self, job: &Job) -> bool {
        self.events.lacks_items(job) || self.logs.iter().any(|log| log.lacks_log(job))
    }

    fn connection_items(&mut self, end_watch: &EndWatch) -> Vec<JobUpdate> {
        let interruption = end_watch.interruption.as_ref();
        if !self.settings.interruptions || interruption.is_some() == self.is_interrupted {
            return Vec::new();
        }
        self.is_interrupted = interruption.is_some();
        let item = interruption
            .cloned()
            .map_or(JobUpdate::Resumed, |error| JobUpdate::Interrupted { error });
        vec![item]
    }

    fn finish_round(&mut self, end_watch: &EndWatch, status: EndStatus) -> Vec<JobUpdate> {
        let mut updates = Vec::new();
        if status.is_over {
            for log in &mut self.logs {
                let task = log.task().to_owned();
                for item in log.finish(end_watch.is_gone) {
                    let task = task.clone();
                    updates.push(JobUpdate::Log { task, item });
                }
            }
        }
        if status.all_read && end_watch.has_ended() {
            updates.extend(self.phase_change(end_watch));
        }
        if end_watch.is_gone {
            updates.push(JobUpdate::Vanished);
        }
        updates
    }
}

impl JobFollower {
    fn new(settings: Updates) -> Self {
        let events = settings.job.events().lateness(settings.lateness);
        Self {
            events: EventFollower::new(events),
            logs: Vec::new(),
            phase: None,
            is_interrupted: false,
            held_events: Vec::new(),
            max_events: MAX_EVENTS,
            settings,
        }
    }

    fn phase_change(&mut self, end_watch: &EndWatch) -> Option<JobUpdate> {
        let job = end_watch.job.as_ref()?;
        let phase = Some(job.phase());
        let changed = self.phase != phase;
        self.phase = phase;
        changed.then(|| JobUpdate::Phase(Box::new(job.clone())))
    }

    async fn read_logs(
        &mut self,
        end_watch: &EndWatch,
    ) -> Result<Batch<(String, Vec<LogItem>)>, Error> {
        let (mut lines, mut any_more) = (Vec::new(), false);
        if !self.settings.logs {
            return Ok((lines, any_more));
        }
        for task in end_watch.job.as_ref().map_or(&[][..], Job::tasks) {
            if !self.logs.iter().any(|log| log.task() == task) {
                let mut logs = end_watch.handle.logs(task);
                // All lines of a task that appears later are new.
                logs.tail = self.settings.tail.filter(|_| self.phase.is_none());
                self.logs.push(LogFollower::new(logs));
            }
        }
        let mut polls: Vec<BoxFuture<'_, _>> = Vec::new();
        for log in &mut self.logs {
            polls.push(Box::pin(log.poll(end_watch)));
        }
        let answers: Vec<_> = stream::iter(polls).buffered(REQUESTS_IN_FLIGHT).collect().await;
        for (log, answer) in self.logs.iter_mut().zip(answers) {
            match answer {
                Ok((items, more)) => {
                    any_more |= more;
                    if !items.is_empty() {
                        lines.push((log.task().to_owned(), items));
                    }
                }
                // The log of a task may be missing for reasons other than a deleted job.
                Err(error) if error.is_gone() => log.record_absence(),
                Err(error) => {
                    let failed = log.polls.fail(error, end_watch);
                    failed.map_err(|error| with_task(log.task(), error))?;
                }
            }
        }
        Ok((lines, any_more))
    }
}

/// Adds the name of the task to an error, because the logs of all tasks use the same operation.
fn with_task(task: &str, error: Error) -> Error {
    let kind = match error.kind() {
        // A `Service` error shows the service's own message, without the task.
        ErrorKind::Service => ErrorKind::Unexpected,
        kind => kind,
    };
    let mut log_error = Error::new(kind, format!("the log of {task} cannot be read: {error}"))
        .with_code(error.code().map(str::to_owned))
        .with_retry_after(error.retry_after());
    if let Some(status) = error.status() {
        log_error = log_error.with_status(status);
    }
    log_error.with_source(error)
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::SystemTime};

    use futures::TryStreamExt;
    use modelarts_emulator::{Emulator, clock::ManualClock, seeds::Seeds};
    use serde_json::json;

    use super::*;
    use crate::{client::Client, credentials::Credentials};

    #[tokio::test]
    async fn a_history_that_is_read_in_parts_is_complete() {
        // The clock is set to a day on which the logs of the job still exist.
        let clock = ManualClock::at(SystemTime::UNIX_EPOCH + Duration::from_secs(1_768_466_000));
        let emulator =
            Emulator::builder().clock(Arc::new(clock)).token("TOKEN").start().await.unwrap();
        let client = Client::builder()
            .endpoint(emulator.url())
            .project_id(emulator.project_id())
            .credentials(Credentials::token("TOKEN"))
            .build()
            .unwrap();
        let event = |number: u32| {
            json!({"time": format!("2026-01-15T08:30:{:02}Z", number / 2),
                   "message": format!("event {number}")})
        };
        let seed = json!({
            "name": "long", "created": "2026-01-15T08:30:00Z",
            "events": (0..45).map(event).collect::<Vec<_>>(),
            "logs": {"worker-0": "2026-01-15T08:30:02.5Z a\n2026-01-15T08:30:21.5Z b\n"},
        });
        let seeds = Seeds::from_json(&json!({"jobs": [seed]}).to_string()).unwrap();
        let id = emulator.seed(&seeds).await.unwrap().remove(0);
        let job = client.training_jobs().get(&id).await.unwrap();

        let mut follower = JobFollower::new(job.updates().quiet(Duration::ZERO));
        follower.events = EventFollower::new(job.events().page_size(4));
        follower.max_events = 10;
        let updates = follower.stream((&job).into(), Duration::from_secs(5), Duration::ZERO);
        let updates: Vec<JobUpdate> = updates.try_collect().await.unwrap();
        let texts = updates.iter().map(|update| match update {
            JobUpdate::Event(event) => event.message().to_owned(),
            JobUpdate::Phase(job) => job.phase().to_string(),
            JobUpdate::Log { item: LogItem::Line(line), .. } => {
                line.rsplit(' ').next().unwrap().to_owned()
            }
            other => format!("{other:?}"),
        });
        let mut expected: Vec<String> = (0..45).map(|number| format!("event {number}")).collect();
        // Both lines are returned in the first part, which does not have the events around the
        // second line.
        expected.insert(13, "b".to_owned());
        expected.insert(6, "a".to_owned());
        expected.push("Completed".to_owned());
        assert_eq!(texts.collect::<Vec<_>>(), expected);
    }
}
