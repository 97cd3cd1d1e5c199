//! Polls of a wait: its pauses, its deadline and the errors that it tolerated.

use std::{sync::Arc, time::Duration};

use crate::{
    client::Client,
    clock::Clock,
    error::Error,
    jobs::polling::{interval::PollInterval, tolerance::ErrorTolerance},
    transport::deadline::Deadline,
};

/// The polls of one wait.
pub(super) struct WaitPolls {
    pub(super) clock: Arc<dyn Clock>,
    pub(super) interval: PollInterval,
    pub(super) tolerance: ErrorTolerance,
    deadline: Deadline,
}

impl WaitPolls {
    pub(super) fn new(client: &Client, interval: PollInterval, timeout: Option<Duration>) -> Self {
        let clock = Arc::clone(client.clock());
        Self {
            deadline: Deadline::new(&*clock, timeout),
            clock,
            interval,
            tolerance: ErrorTolerance::default(),
        }
    }

    /// Pauses before the next poll, but not beyond the deadline.
    pub(super) async fn pause(&mut self) {
        if let Some(pause) = self.interval.pause() {
            let pause = self.tolerance.pause(pause);
            let left = self.deadline.left(&*self.clock);
            let pause = left.map_or(pause, |left| pause.min(left));
            self.clock.sleep(pause).await;
        }
    }

    /// Returns the result of `work`, or `None` if the deadline passes first.
    pub(super) async fn run<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.deadline.run(&*self.clock, work).await
    }

    /// Tolerates the error of a poll, or returns it.
    pub(super) fn tolerate(&mut self, error: Error) -> Result<(), Error> {
        self.tolerance.tolerate(error, &*self.clock)
    }
}
