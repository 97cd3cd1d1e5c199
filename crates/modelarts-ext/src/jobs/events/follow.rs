//! Follows the events of a job: polls them by windows of time until the job is over.

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::types::SortOrder;

use crate::{
    error::Error,
    jobs::{
        events::{Events, dedup::Deduplicator, event::Event},
        polling::rounds::{EndWatch, SourcePolls},
    },
    pagination::{
        page::{Page, PageStream},
        stream::error_stream,
    },
};

impl Events {
    /// The events that there are, and those that come, until the job has ended and
    /// been [`quiet`](Self::quiet).
    ///
    /// The service has no cursor for events. So each poll asks for a window of
    /// time that reaches back as far as [`lateness`](Self::lateness) before the
    /// newest event seen, and what was seen is known by count, because two
    /// events may be equal. An event that appears later than that is found by the last
    /// poll, which asks for all events once more. Events come in the order of their time,
    /// but for late ones, which come when they are found.
    ///
    /// A job that is started again after it had ended is followed on. Answers that fail
    /// in passing do not end it either, and do not count as quiet. When the events, or the
    /// details of the job, bring nothing but such answers for 15 minutes, the stream ends
    /// with the error. That includes a last poll that brings fewer events than the service
    /// counts.
    #[must_use]
    pub fn follow(mut self) -> PageStream<Event> {
        self.reset_for_following();
        match self.check() {
            Ok(()) => follow(self),
            Err(error) => error_stream(error),
        }
    }

    /// Resets order and position, which do not apply to following.
    pub(crate) fn reset_for_following(&mut self) {
        self.order = SortOrder::Asc;
        self.options.resume = None;
    }
}

/// The repeated polls of the events of a job.
pub(crate) struct EventFollower {
    events: Events,
    deduplicator: Deduplicator,
    pub(crate) polls: SourcePolls,
    poll: Option<Poll>,
    /// The last poll has ended with an error of the list, so that pages of the next
    /// one are no progress until it is complete.
    list_restarted: bool,
}

/// A poll that is under way.
struct Poll {
    /// The events behind the last page that has come.
    rest: Events,
    /// `None`: the last request failed.
    pages: Option<PageStream<Page<Event>>>,
}

impl EventFollower {
    pub(crate) fn new(events: Events) -> Self {
        Self {
            deduplicator: Deduplicator::new(events.lateness),
            events,
            polls: SourcePolls::default(),
            poll: None,
            list_restarted: false,
        }
    }

    /// Returns whether a poll is under way.
    pub(crate) fn is_polling(&self) -> bool {
        self.poll.is_some()
    }

    /// The new events of one more page. `None`: that is all for this poll. After a failed
    /// request the poll goes on behind the last page that came. A list that ended with an
    /// error of its own is begun again, because the rest of it cannot be complete.
    pub(crate) async fn next(&mut self, end_watch: &EndWatch) -> Result<Option<Vec<Event>>, Error> {
        let mut poll = self
            .poll
            .take()
            .unwrap_or_else(|| self.begin_poll(end_watch));
        let mut pages = match poll.pages.take() {
            Some(pages) => pages,
            None => poll.rest.clone().unchecked_pages(),
        };
        match pages.try_next().await {
            Ok(Some(page)) => {
                if !self.list_restarted {
                    self.polls.progress();
                }
                self.poll = Some(Poll {
                    rest: poll.rest.resume(page.position),
                    pages: Some(pages),
                });
                Ok(Some(self.deduplicator.take_new(page.items)))
            }
            Ok(None) => {
                self.list_restarted = false;
                self.polls.complete();
                self.deduplicator.complete_poll();
                Ok(None)
            }
            Err(error) => {
                if error.position().is_some() {
                    self.list_restarted = true;
                } else {
                    self.poll = Some(poll);
                }
                Err(error)
            }
        }
    }

    fn begin_poll(&mut self, end_watch: &EndWatch) -> Poll {
        let is_last = self.polls.begin(end_watch);
        let now = end_watch.job.client().clock().now();
        let mut rest = self.events.clone();
        let window = self.deduplicator.begin_poll(now, rest.range);
        // The last poll is one of all events, so that nothing is missing in the end, whatever
        // the times of the events are. Of those of a window some may be missing.
        if !is_last {
            rest.options.allow_early_end = true;
            rest.range = window;
        }
        Poll { rest, pages: None }
    }
}

struct FollowState {
    follower: EventFollower,
    end_watch: EndWatch,
    /// The next request is sent without a pause.
    skip_pause: bool,
}

impl FollowState {
    /// The new events of one answer, and whether to go on.
    async fn next(&mut self) -> Result<(Vec<Event>, bool), Error> {
        let clock = self.end_watch.job.client().clock().clone();
        let polls = &mut self.follower.polls;
        if !std::mem::take(&mut self.skip_pause) {
            let interval = self.follower.events.interval;
            clock.sleep(self.end_watch.pause(interval, [polls])).await;
        }
        if !self.follower.is_polling() {
            self.end_watch.poll().await?;
        }
        match self.follower.next(&self.end_watch).await {
            Ok(Some(new)) => {
                if !new.is_empty() {
                    self.end_watch.saw_news();
                }
                self.skip_pause = true;
                return Ok((new, true));
            }
            Ok(None) => {}
            // Deleting a job deletes its events.
            Err(error) if error.is_gone() => self.end_watch.mark_gone(),
            Err(error) => self.follower.polls.fail(error, &*clock)?,
        }
        let status = self.end_watch.end_round([&mut self.follower.polls]);
        Ok((Vec::new(), !status.is_over))
    }
}

fn follow(events: Events) -> PageStream<Event> {
    let state = FollowState {
        end_watch: EndWatch::new(events.job.clone(), events.quiet),
        follower: EventFollower::new(events),
        skip_pause: true,
    };
    stream::try_unfold(Some(state), |state| async move {
        let Some(mut state) = state else {
            return Ok::<_, Error>(None);
        };
        let (events, more) = state.next().await?;
        let events = stream::iter(events.into_iter().map(Ok));
        Ok(Some((events, more.then_some(state))))
    })
    .try_flatten()
    .boxed()
}
