//! Loop that follows a job: rounds of polls with pauses between them, until the job has ended and
//! its sources were read to their ends.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    error::Error,
    jobs::{
        job::{Job, JobHandle},
        polling::rounds::{EndStatus, EndWatch, SourcePolls},
    },
    pagination::page::PageStream,
};

/// New items, and `true` if more items are available without a pause.
pub(crate) type Part<T> = (Vec<T>, bool);

/// Follower of a source: the events of a job, a log, or the whole job.
pub(crate) trait Follower: Send + Sized + 'static {
    type Item: Send + 'static;

    /// `true` if the details of the job are polled before each part of a round; otherwise they are
    /// polled only before the first part. A round can take long, because it may read a whole log.
    const POLLS_PER_PART: bool = true;

    /// Reads the next part of a round.
    fn read(
        &mut self,
        end_watch: &mut EndWatch,
    ) -> impl Future<Output = Result<Part<Self::Item>, Error>> + Send;

    /// Returns the poll states of all sources of this follower.
    fn polls(&mut self) -> Vec<&mut SourcePolls>;

    /// Returns `true` if items are missing that the end of this job implies.
    fn lacks_items(&self, job: &Job) -> bool;

    /// Returns items about the connection, after a poll of the details of the job.
    fn connection_items(&mut self, _end_watch: &EndWatch) -> Vec<Self::Item> {
        Vec::new()
    }

    /// Returns the last items of a round.
    fn finish_round(&mut self, _end_watch: &EndWatch, _status: EndStatus) -> Vec<Self::Item> {
        Vec::new()
    }

    /// Returns a stream of the items. The stream ends when the job has ended and each source was
    /// read after its end. If items are missing, it continues until all sources have been quiet for
    /// the given time.
    fn stream(self, job: JobHandle, interval: Duration, quiet: Duration) -> PageStream<Self::Item> {
        let state = FollowState {
            follower: self,
            end_watch: EndWatch::new(job, quiet),
            interval,
            pause: None,
            in_round: false,
            is_polled: false,
        };
        stream::try_unfold(Some(state), |state| async move {
            let Some(mut state) = state else {
                return Ok::<_, Error>(None);
            };
            let (items, more) = state.next().await?;
            let items = stream::iter(items.into_iter().map(Ok));
            Ok(Some((items, more.then_some(state))))
        })
        .try_flatten()
        .boxed()
    }
}

struct FollowState<F> {
    follower: F,
    end_watch: EndWatch,
    interval: Duration,
    /// The pause before the next round; `None` before the first round.
    pause: Option<Duration>,
    /// `true` if the current round has more parts.
    in_round: bool,
    /// `true` if the details were polled for the current part.
    is_polled: bool,
}

impl<F: Follower> FollowState<F> {
    /// Reads the next part of a round. Returns the new items, and `true` if the loop continues.
    async fn next(&mut self) -> Result<Part<F::Item>, Error> {
        if let Some(pause) = self.pause.take() {
            self.end_watch.clock().sleep(pause).await;
        }
        let is_polled = std::mem::take(&mut self.is_polled);
        if !is_polled && (F::POLLS_PER_PART || !self.in_round) {
            self.end_watch.poll().await?;
            let items = self.follower.connection_items(&self.end_watch);
            if !items.is_empty() {
                // The other sources may fail for as long as the details, so they are read later.
                self.is_polled = true;
                return Ok((items, true));
            }
        }
        let (mut items, more) = self.follower.read(&mut self.end_watch).await?;
        self.in_round = more;
        self.end_watch.has_news |= !items.is_empty();
        if more {
            return Ok((items, true));
        }
        let job = self.end_watch.job.as_ref();
        let lacks_items = job.is_some_and(|job| self.follower.lacks_items(job));
        let polls = self.follower.polls();
        let status = self.end_watch.end_round(polls, lacks_items);
        items.extend(self.follower.finish_round(&self.end_watch, status));
        self.pause = Some(self.end_watch.pause(self.interval, self.follower.polls()));
        Ok((items, !status.is_over))
    }
}
