//! Follows the events of a job.

use futures::{StreamExt, TryStreamExt, stream};
use modelarts_api::types::SortOrder;

use crate::{
    error::Error,
    jobs::{
        events::{Events, dedup::Deduplicator, event::Event},
        polling::end::{EndWatch, Polls},
    },
    pagination::page::{self, Page, PageStream},
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
        self.follow_instead();
        match self.check() {
            Ok(()) => follow(self),
            Err(error) => page::refused(error),
        }
    }

    /// Drops what is only for reading once.
    pub(crate) fn follow_instead(&mut self) {
        self.order = SortOrder::Asc;
        self.reading.resume = None;
    }

    /// The events that a poll asks for: those of a window of time, of which some may be
    /// missing, or all of them for the `last` poll.
    fn polled(&self, seen: &Deduplicator, last: bool) -> Self {
        let mut polled = self.clone();
        if !last {
            polled.reading.lenient = true;
            polled.range = seen.window(polled.range);
        }
        polled
    }
}

/// Polls the events of a job, again and again.
pub(crate) struct Follower {
    events: Events,
    seen: Deduplicator,
    pub(crate) polls: Polls,
    poll: Option<Poll>,
    /// The last poll has ended with an error of the list, so that pages of the next
    /// one are no progress until it is complete.
    begun_again: bool,
}

/// A poll that is under way.
struct Poll {
    /// The events behind the last page that has come.
    rest: Events,
    /// `None`: the last request failed.
    pages: Option<PageStream<Page<Event>>>,
}

impl Follower {
    pub(crate) fn new(events: Events) -> Self {
        Self {
            seen: Deduplicator::new(events.lateness),
            events,
            polls: Polls::default(),
            poll: None,
            begun_again: false,
        }
    }

    /// Returns whether a poll is under way.
    pub(crate) fn is_polling(&self) -> bool {
        self.poll.is_some()
    }

    /// The new events of one more page. `None`: that is all for this poll. After a failed
    /// request the poll goes on behind the last page that came. A list that ended with an
    /// error of its own is begun again, because the rest of it cannot be complete.
    pub(crate) async fn next(&mut self, ending: &EndWatch) -> Result<Option<Vec<Event>>, Error> {
        let mut poll = self.poll.take().unwrap_or_else(|| self.begin(ending));
        let mut pages = match poll.pages.take() {
            Some(pages) => pages,
            None => poll.rest.clone().pages(),
        };
        match pages.try_next().await {
            Ok(Some(page)) => {
                if !self.begun_again {
                    self.polls.progress();
                }
                self.poll = Some(Poll {
                    rest: poll.rest.resume(page.position),
                    pages: Some(pages),
                });
                Ok(Some(self.seen.new_among(page.items)))
            }
            Ok(None) => {
                self.begun_again = false;
                self.polls.complete();
                self.seen.complete();
                Ok(None)
            }
            Err(error) => {
                if error.position().is_some() {
                    self.begun_again = true;
                } else {
                    self.poll = Some(poll);
                }
                Err(error)
            }
        }
    }

    fn begin(&mut self, ending: &EndWatch) -> Poll {
        self.polls.begin(ending);
        self.seen.begin(ending.job.client().clock().now());
        // The last poll is one of all events, so that nothing is missing in the end, whatever
        // the times of the events are.
        let last = self.polls.may_be_last(ending);
        Poll {
            rest: self.events.polled(&self.seen, last),
            pages: None,
        }
    }
}

struct State {
    follower: Follower,
    ending: EndWatch,
    /// The next request is sent without a pause.
    at_once: bool,
}

impl State {
    /// What is new, as far as one answer goes, and whether to go on.
    async fn next(&mut self) -> Result<(Vec<Event>, bool), Error> {
        let clock = self.ending.job.client().clock().clone();
        let polls = &mut self.follower.polls;
        if !std::mem::take(&mut self.at_once) {
            let interval = self.follower.events.interval;
            clock.sleep(self.ending.pause(interval, [polls])).await;
        }
        if !self.follower.is_polling() {
            self.ending.poll().await?;
        }
        match self.follower.next(&self.ending).await {
            Ok(Some(new)) => {
                if !new.is_empty() {
                    self.ending.news();
                }
                self.at_once = true;
                return Ok((new, true));
            }
            Ok(None) => {}
            // Deleting a job deletes its events.
            Err(error) if error.is_gone() => self.ending.mark_gone(),
            Err(error) => self.follower.polls.fail(error, &*clock)?,
        }
        let end = self.ending.settle([&mut self.follower.polls]);
        Ok((Vec::new(), !end.is_over))
    }
}

fn follow(events: Events) -> PageStream<Event> {
    let state = State {
        ending: EndWatch::new(events.job.clone(), events.quiet),
        follower: Follower::new(events),
        at_once: true,
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
