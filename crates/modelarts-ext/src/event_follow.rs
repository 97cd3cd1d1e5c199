//! Follows the events of a job.

use std::time::SystemTime;

use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    ending::Ending,
    error::Error,
    event::Event,
    events::Events,
    page::{Page, Results},
    patience::Patience,
    seen::Seen,
};

/// Looks for new events, again and again.
pub(crate) struct Follower {
    events: Events,
    seen: Seen,
    /// The window that is being read.
    window: Option<Results<Page<Event>>>,
}

impl Follower {
    pub(crate) fn new(events: Events) -> Self {
        Self {
            seen: Seen::new(events.lateness),
            events,
            window: None,
        }
    }

    /// Whether a look is not at its end.
    pub(crate) fn is_looking(&self) -> bool {
        self.window.is_some()
    }

    /// The new events of one more page. `None`: that is all for this look.
    pub(crate) async fn next(&mut self, now: SystemTime) -> Result<Option<Vec<Event>>, Error> {
        let mut window = match self.window.take() {
            Some(window) => window,
            None => {
                let mut events = self.events.clone();
                events.range = self.seen.begin(now, events.range);
                events.pages()
            }
        };
        let page = window.try_next().await?;
        Ok(page.map(|page| {
            self.window = Some(window);
            self.seen.new_among(page.items)
        }))
    }
}

struct State {
    follower: Follower,
    ending: Ending,
    patience: Patience,
    /// Whether a look is under way.
    looking: bool,
    first: bool,
}

impl State {
    /// What is new, as far as one answer goes, and whether to go on.
    async fn next(&mut self) -> Result<(Vec<Event>, bool), Error> {
        let clock = self.ending.job.client().clock().clone();
        if !std::mem::replace(&mut self.looking, true) {
            if !std::mem::take(&mut self.first) {
                let pause = self.patience.pause(self.follower.events.interval);
                clock.sleep(pause).await;
            }
            self.ending.look(&mut self.patience).await?;
        }
        match self.follower.next(clock.now()).await {
            Ok(Some(new)) => {
                if !new.is_empty() {
                    self.ending.news();
                }
                return Ok((new, true));
            }
            Ok(None) => self.patience.restore(),
            // Deleting a job deletes its events.
            Err(error) if error.is_gone() => self.ending.vanish(),
            Err(error) => self.patience.bear(error, &*clock)?,
        }
        self.looking = false;
        Ok((Vec::new(), !self.ending.is_over()))
    }
}

pub(crate) fn follow(events: Events) -> Results<Event> {
    let state = State {
        ending: Ending::new(events.job.clone(), events.quiet),
        follower: Follower::new(events),
        patience: Patience::default(),
        looking: false,
        first: true,
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
