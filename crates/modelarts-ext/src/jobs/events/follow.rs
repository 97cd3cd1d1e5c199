//! Stream of the events of a job, built from polls of time windows until the job has ended.

use futures::TryStreamExt;
use modelarts_api::types::{Language, Phase, SortOrder};

use crate::{
    error::Error,
    jobs::{
        events::{Events, dedup::Deduplicator, event::Event, kind::EventKind},
        job::Job,
        polling::{
            follower::{Batch, Follower},
            rounds::{EndWatch, SourcePolls},
        },
    },
    pagination::page::{Page, PageStream, error_stream},
    timestamp::Timestamp,
};

impl Events {
    /// Returns a stream of the existing and all new events, until the job has ended.
    ///
    /// The stream ends with the first poll after the end of the job that reads all events. If these
    /// events lack the event of the end, the stream continues until that event appears, or until no
    /// new event has appeared for the [`quiet`](Self::quiet) time. With conditions such as
    /// [`level`](Self::level), or in a language other than English, each of these polls makes one
    /// more call, to search for that event. The stream does not wait for the billing event, unless
    /// [`until_billed`](Self::until_billed) is set. After a restart of the program, the stream
    /// continues with the events that [`seen`](Self::seen) does not contain.
    ///
    /// Each poll requests a time window that begins [`lateness`](Self::lateness) before the newest
    /// event, and omits the events that were already returned. The polls after the end of the job
    /// request all events. Late events are returned by the first poll that finds them.
    /// [`resume`](Self::resume) and [`newest_first`](Self::newest_first) have no effect.
    ///
    /// The stream continues after a restart of the job. Transient errors do not end the stream,
    /// unless the requests for events or for the details of the job fail for 15 minutes, or a last
    /// poll returns too few events for that time. Throttling only slows the stream.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// use futures::TryStreamExt;
    ///
    /// let mut events = job.events().follow();
    /// while let Some(event) = events.try_next().await? {
    ///     println!("{event}");
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn follow(self) -> PageStream<Event> {
        if let Err(error) = self.check() {
            return error_stream(error);
        }
        let query = &self.query;
        let (job, interval, quiet) = (query.job.clone(), query.interval, query.quiet);
        EventFollower::new(self).stream(job, interval, quiet)
    }
}

pub(crate) struct EventFollower {
    events: Events,
    deduplicator: Deduplicator,
    final_events: FinalEvents,
    pub(crate) polls: SourcePolls,
    rest: Option<Events>,
    pages: Option<PageStream<Page<Event>>>,
    /// `true` after an error that restarted the list. Only a complete poll then counts as progress.
    list_restarted: bool,
}

impl EventFollower {
    pub(crate) fn new(mut events: Events) -> Self {
        events.query.order = SortOrder::Asc;
        events.options.resume = None;
        let mut deduplicator = Deduplicator::new(events.query.lateness);
        let mut final_events = FinalEvents::default();
        let seen = std::mem::take(&mut events.query.seen);
        final_events.record(&seen);
        deduplicator.take_new(seen);
        Self {
            deduplicator,
            final_events,
            events,
            polls: SourcePolls::default(),
            rest: None,
            pages: None,
            list_restarted: false,
        }
    }

    /// Returns the new events of the next page, or `None` at the end of the poll.
    async fn next(&mut self, end_watch: &EndWatch) -> Result<Option<Vec<Event>>, Error> {
        let rest = match self.rest.take() {
            Some(rest) => rest,
            None => {
                self.read_hidden_end(end_watch).await?;
                self.begin_poll(end_watch)
            }
        };
        let pages = self.pages.take();
        let mut pages = pages.unwrap_or_else(|| rest.clone().pages());
        match pages.try_next().await {
            Ok(Some(page)) => {
                if !self.list_restarted {
                    self.polls.progress();
                }
                self.rest = Some(rest.resume(page.position));
                self.pages = Some(pages);
                let new = self.deduplicator.take_new(page.items);
                self.final_events.record(&new);
                Ok(Some(new))
            }
            Ok(None) => {
                self.list_restarted = false;
                self.polls.complete();
                self.deduplicator.complete_poll();
                Ok(None)
            }
            Err(error) => {
                self.list_restarted |= error.position().is_some();
                self.rest = Some(rest).filter(|_| error.position().is_none());
                Err(error)
            }
        }
    }

    /// Reads the newest events of all kinds in English, if the list may lack the event of the end.
    async fn read_hidden_end(&mut self, end_watch: &EndWatch) -> Result<(), Error> {
        if let Some(job) = &end_watch.job
            && job.is_final()
            && self.events.query.may_hide_end()
            && self.lacks_items(job)
        {
            let newest = end_watch.handle.events().newest_first().language(Language::EnUs);
            if let Some(page) = newest.pages().try_next().await? {
                self.final_events.record(&page.items);
            }
        }
        Ok(())
    }

    fn begin_poll(&mut self, end_watch: &EndWatch) -> Events {
        let may_be_last = self.polls.begin(end_watch);
        let now = end_watch.handle.client().clock().now();
        let mut rest = self.events.clone().end_short();
        let window = self.deduplicator.begin_poll(now.into(), rest.query.range);
        // A list of a time window may lack events, so an early end is allowed.
        if !may_be_last {
            rest.query.range = window;
            rest = rest.allow_early_end();
        }
        rest
    }
}

impl Follower for EventFollower {
    type Item = Event;
    const POLLS_PER_PART: bool = false;

    async fn read(&mut self, end_watch: &mut EndWatch) -> Result<Batch<Event>, Error> {
        match self.next(end_watch).await {
            Ok(Some(new)) => return Ok((new, true)),
            Ok(None) => {}
            // Deleting a job deletes its events.
            Err(error) if error.is_gone() => end_watch.is_gone = true,
            Err(error) => self.polls.fail(error, end_watch)?,
        }
        Ok((Vec::new(), false))
    }

    fn polls(&mut self) -> Vec<&mut SourcePolls> {
        vec![&mut self.polls]
    }

    fn lacks_items(&self, job: &Job) -> bool {
        let events = &self.final_events;
        let is_billed = events.billed_at.is_some() && events.billed_at >= events.restarted_at;
        (self.events.query.until_billed && !is_billed) || events.lack(job.phase())
    }
}

#[derive(Debug, Default)]
pub(super) struct FinalEvents {
    restarted_at: Option<Timestamp>,
    ends: Vec<(Option<Timestamp>, EventKind)>,
    billed_at: Option<Timestamp>,
}

impl FinalEvents {
    pub(super) fn record(&mut self, events: &[Event]) {
        for event in events {
            // Messages about tasks and cluster objects begin with a bracket.
            if event.message().starts_with('[') {
                continue;
            }
            match event.kind() {
                EventKind::Restarted => self.restarted_at = self.restarted_at.max(event.time()),
                EventKind::Billed => self.billed_at = self.billed_at.max(event.time()),
                kind if kind.is_final() || kind == EventKind::Preempted => {
                    self.ends.push((event.time(), kind));
                }
                _ => {}
            }
        }
    }

    /// Returns `true` unless an event since the last restart shows the end with this final phase.
    pub(super) fn lack(&self, phase: Phase) -> bool {
        let shows_end = |kind: &EventKind| match phase {
            Phase::Completed => *kind == EventKind::Completed,
            Phase::Terminated => matches!(
                kind,
                EventKind::StoppedByUser | EventKind::AutoStopped { .. } | EventKind::Deleted
            ),
            // No document states the event of an abnormal job, or of a job that was preempted.
            _ => *kind != EventKind::Completed,
        };
        let mut ends = self.ends.iter();
        !ends.any(|(time, kind)| *time >= self.restarted_at && shows_end(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns an event at this second of a minute.
    fn event(second: u32, message: &str) -> Event {
        let time = format!("2026-01-15T16:30:{second:02}+08:00");
        let row = serde_json::json!({"time": time, "message": message});
        Event::new(serde_json::from_value(row).unwrap())
    }

    const STOPPED: &str = "The training job has been manually stopped.";
    const PREEMPTED: &str = "The training job is preempted.";

    #[test]
    fn each_final_phase_has_its_events() {
        let all = [
            ("Training job executed.", &[Phase::Completed][..]),
            ("Training job failed.", &[Phase::Failed, Phase::Abnormal]),
            (PREEMPTED, &[Phase::Failed, Phase::Abnormal]),
            (STOPPED, &[Phase::Failed, Phase::Abnormal, Phase::Terminated]),
            ("Training job is running.", &[]),
            ("[worker-0] Training finished. Exit code 0.", &[]),
            ("Billing information synchronized.", &[]),
        ];
        let phases = [Phase::Completed, Phase::Failed, Phase::Abnormal, Phase::Terminated];
        for (message, ended) in all {
            let mut events = FinalEvents::default();
            events.record(&[event(1, message)]);
            for phase in &phases {
                let lacks = events.lack(phase.clone());
                assert_eq!(lacks, !ended.contains(phase), "{message} {phase}");
            }
        }
    }

    #[test]
    fn an_end_before_a_restart_does_not_count() {
        let mut events = FinalEvents::default();
        events.record(&[event(1, "Training job failed.")]);
        assert!(!events.lack(Phase::Failed));
        events.record(&[event(9, "The training job has been restarted.")]);
        assert!(events.lack(Phase::Failed));
        // An end after the restart counts.
        events.record(&[event(20, "Training job failed.")]);
        assert!(!events.lack(Phase::Failed));
    }
}
