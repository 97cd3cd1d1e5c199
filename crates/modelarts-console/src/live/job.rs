//! `JobWatch`: phase and events of a job, followed by one poller.

use std::{collections::HashMap, hash::BuildHasher, mem, sync::Arc, time::Duration};

use futures::StreamExt;
use modelarts_ext::{
    Error, Event, Job, JobHandle,
    jobs::follow::{JobUpdate, Updates},
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::problem::Problem;

const CHUNK: usize = 4096;

/// Phase and events of one job, followed for all pages that show it.
pub(crate) struct JobWatch {
    handle: JobHandle,
    state: watch::Sender<JobState>,
    /// Number of occurrences of each event in the state.
    counts: Mutex<HashMap<Event, usize>>,
    /// Number of feeds that currently replace the polls of this watch.
    leaders: watch::Sender<usize>,
}

/// A stream of job updates that a watch records. Several streams of a job may overlap, and each
/// stream begins with all events.
pub(crate) struct Feed<'a> {
    watch: &'a JobWatch,
    /// Number of occurrences of each event in the stream.
    seen: HashMap<Event, usize>,
    /// Reason why the stream currently cannot read the job.
    interruption: Option<Problem>,
    /// `true` if the watch waits for the end of this feed instead of polling.
    is_leading: bool,
}

#[derive(Clone)]
pub(crate) struct JobState {
    /// Random number that identifies this event series.
    pub(crate) epoch: u64,
    /// Job as last read; `None` before the first read.
    pub(crate) job: Option<Job>,
    /// Number of changes of `job`.
    pub(crate) head: u64,
    /// Events in the order of arrival. Events are only appended.
    pub(crate) events: Arc<Vec<Event>>,
    /// `true` if the job was deleted or never existed.
    pub(crate) is_vanished: bool,
    /// Reason why the job currently cannot be read.
    pub(crate) interruption: Option<Problem>,
    /// `true` if the job has ended and all its events were read.
    pub(crate) has_ended: bool,
    /// `true` after the first poll, successful or not.
    is_loaded: bool,
}

/// Reason why the stream of a job ended.
enum End {
    Ended,
    Vanished,
    Failed(Error),
}

impl JobWatch {
    pub(crate) fn new(handle: JobHandle) -> Self {
        Self {
            handle,
            state: watch::Sender::new(JobState {
                epoch: random_epoch(),
                job: None,
                head: 0,
                events: Arc::default(),
                is_vanished: false,
                interruption: None,
                has_ended: false,
                is_loaded: false,
            }),
            counts: Mutex::default(),
            leaders: watch::Sender::new(0),
        }
    }

    /// Returns the current state. A copy is cheap, because the events are shared.
    pub(crate) fn state(&self) -> JobState {
        self.state.borrow().clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<JobState> {
        self.state.subscribe()
    }

    /// Waits for the first poll, and returns the state.
    pub(crate) async fn loaded(&self) -> JobState {
        self.wait_for(|state| state.is_loaded).await
    }

    pub(crate) async fn wait_for(&self, condition: impl Fn(&JobState) -> bool) -> JobState {
        let mut changes = self.changes();
        // The sender is a field of this value, so the wait never fails.
        let found = changes.wait_for(|state| condition(state)).await;
        found.map_or_else(|_| self.state(), |state| state.clone())
    }

    fn change(&self, change: impl FnOnce(&mut JobState)) {
        self.state.send_modify(change);
    }

    /// Returns a feed for another stream of updates of this job. Once the stream has had all events
    /// so far, it replaces the polls of this watch, so that the job is not polled twice.
    pub(crate) fn feed(&self) -> Feed<'_> {
        Feed { watch: self, seen: HashMap::new(), interruption: None, is_leading: false }
    }

    /// Waits until a feed replaces the polls, or, if `is_leading` is `false`, until no feed does.
    async fn wait_for_leader(&self, is_leading: bool) {
        let mut leaders = self.leaders.subscribe();
        // The sender is a field of this value, so the wait never fails.
        let _ = leaders.wait_for(|count| (*count > 0) == is_leading).await;
    }

    /// Follows the job until it has vanished.
    pub(crate) async fn poll(self: Arc<Self>, interval: Duration) {
        loop {
            self.wait_for_leader(false).await;
            let updates = self.handle.updates().interval(interval);
            let end = tokio::select! {
                end = self.follow(updates.without_logs()) => end,
                () = self.wait_for_leader(true) => continue,
            };
            match end {
                End::Ended => self.change(|state| {
                    state.has_ended = true;
                    state.is_loaded = true;
                }),
                End::Vanished => return self.vanish(),
                End::Failed(error) if error.is_not_found() => return self.vanish(),
                End::Failed(error) => self.interrupt(error),
            }
            if !self.wait_for_restart(slow(interval)).await {
                return self.vanish();
            }
            self.change(|state| state.has_ended = false);
        }
    }

    /// Records the updates of a stream until it ends.
    async fn follow(&self, updates: Updates) -> End {
        let updates = updates.report_interruptions().follow();
        let mut updates = updates.ready_chunks(CHUNK);
        let mut feed = self.feed();
        while let Some(chunk) = updates.next().await {
            let is_complete = chunk.len() < CHUNK;
            let mut end = None;
            self.change(|state| {
                for update in chunk {
                    match update {
                        Ok(JobUpdate::Vanished) => end = Some(End::Vanished),
                        Ok(update) => feed.record(update, state),
                        Err(error) => end = Some(End::Failed(error)),
                    }
                }
                state.is_loaded |= is_complete && end.is_none();
            });
            if let Some(end) = end {
                return end;
            }
        }
        End::Ended
    }

    /// Polls a job that has ended or cannot be followed. Returns `true` if the job must be followed
    /// again, and `false` if it was deleted.
    async fn wait_for_restart(&self, pause: Duration) -> bool {
        loop {
            tokio::time::sleep(pause).await;
            match self.handle.get().await {
                Err(error) if error.is_not_found() => return false,
                Err(error) => self.interrupt(error),
                Ok(job) => {
                    let state = self.state();
                    let is_same = state.job.as_ref().map(Job::details) == Some(job.details());
                    let must_follow = !state.has_ended || !job.is_final();
                    if !is_same || state.interruption.is_some() {
                        self.change(|state| {
                            state.interruption = None;
                            if !is_same {
                                state.set_job(job);
                            }
                        });
                    }
                    if must_follow {
                        return true;
                    }
                }
            }
        }
    }

    fn interrupt(&self, error: Error) {
        self.change(|state| {
            state.interruption = Some(error.into());
            state.is_loaded = true;
        });
    }

    fn vanish(&self) {
        self.change(|state| {
            state.is_vanished = true;
            state.interruption = None;
            state.is_loaded = true;
        });
    }
}

impl Feed<'_> {
    /// Records updates of a stream, which may also contain updates that the watch does not need.
    pub(crate) fn take(&mut self, updates: Vec<JobUpdate>) {
        if updates.is_empty() {
            return;
        }
        // All events of one poll arrive together, so the feed now has all existing events.
        let has_events = updates.iter().any(|update| matches!(update, JobUpdate::Event(_)));
        let watch = self.watch;
        watch.change(|state| {
            for update in updates {
                self.record(update, state);
            }
            if has_events && !mem::replace(&mut self.is_leading, true) {
                state.interruption.clone_from(&self.interruption);
                watch.leaders.send_modify(|count| *count += 1);
            }
        });
    }

    fn record(&mut self, update: JobUpdate, state: &mut JobState) {
        match update {
            JobUpdate::Phase(job) => {
                self.interrupt(None, state);
                state.set_job(*job);
            }
            JobUpdate::Event(event) => self.add(event, state),
            JobUpdate::Interrupted { error } => self.interrupt(Some(error.into()), state),
            JobUpdate::Resumed => self.interrupt(None, state),
            _ => {}
        }
    }

    /// Adds an event, unless another stream has already added it.
    fn add(&mut self, event: Event, state: &mut JobState) {
        let seen = self.seen.entry(event.clone()).or_default();
        *seen += 1;
        let mut counts = self.watch.counts.lock();
        let count = counts.entry(event.clone()).or_default();
        if *count < *seen {
            *count += 1;
            Arc::make_mut(&mut state.events).push(event);
        }
    }

    fn interrupt(&mut self, interruption: Option<Problem>, state: &mut JobState) {
        state.interruption.clone_from(&interruption);
        self.interruption = interruption;
    }
}

impl Drop for Feed<'_> {
    fn drop(&mut self) {
        if self.is_leading {
            self.watch.leaders.send_modify(|count| *count -= 1);
        }
    }
}

impl JobState {
    /// Sets the job that was just read, and counts the change.
    fn set_job(&mut self, job: Job) {
        self.job = Some(job);
        self.head += 1;
    }
}

/// Returns a random number for a series. Positions contain it, so that positions of another poller
/// or of another run of the server are recognized.
pub(super) fn random_epoch() -> u64 {
    std::hash::RandomState::new().hash_one(())
}

/// Returns the pause between reads of a job that has ended or cannot be followed.
pub(super) fn slow(interval: Duration) -> Duration {
    interval * 4
}
