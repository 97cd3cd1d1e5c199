//! Loop of rounds of polls, until a job has ended and all its sources were read completely.

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};

use crate::{
    error::Error,
    jobs::{
        job::{Job, JobHandle},
        polling::{
            poller::{PollInterval, Poller},
            rounds::{EndStatus, EndWatch, SourcePolls},
        },
    },
    pagination::page::PageStream,
};

/// New items, and `true` if more items are available without a pause.
pub(crate) type Batch<T> = (Vec<T>, bool);

pub(crate) trait Follower: Send + Sized + 'static {
    type Item: Send + 'static;

    /// `true` if the details are polled before each part, because a part may be a whole log.
    const POLLS_PER_PART: bool = true;

    fn read(
        &mut self,
        end_watch: &mut EndWatch,
    ) -> impl Future<Output = Result<Batch<Self::Item>, Error>> + Send;

    fn polls(&mut self) -> Vec<&mut SourcePolls>;

    /// Returns `true` if items are missing that must exist after the end of the job.
    fn lacks_items(&self, job: &Job) -> bool;

    fn connection_items(&mut self, _end_watch: &EndWatch) -> Vec<Self::Item> {
        Vec::new()
    }

    fn finish_round(&mut self, _end_watch: &EndWatch, _status: EndStatus) -> Vec<Self::Item> {
        Vec::new()
    }

    /// Returns the items until [`EndWatch`] finds the end. Awaits missing items for up to `quiet`.
    fn stream(self, job: JobHandle, interval: Duration, quiet: Duration) -> PageStream<Self::Item> {
        let state = FollowState {
            follower: self,
            poller: Poller::new(job.client().clock(), PollInterval::fixed(interval), None),
            end_watch: EndWatch::new(job, quiet),
            details_are_next: true,
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
    poller: Poller,
    end_watch: EndWatch,
    /// `true` if the details are read next, `false` if a part of the sources is read next.
    details_are_next: bool,
}

impl<F: Follower> FollowState<F> {
    /// Reads the next part of a round. Returns the new items, and `true` if the loop continues.
    async fn next(&mut self) -> Result<Batch<F::Item>, Error> {
        if self.details_are_next {
            self.poller.round(self.end_watch.poll()).await.transpose()?;
            self.details_are_next = false;
            let items = self.follower.connection_items(&self.end_watch);
            if !items.is_empty() {
                // The other sources may fail for as long as the details, so they are read later.
                return Ok((items, true));
            }
        }
        let (mut items, more) = self.follower.read(&mut self.end_watch).await?;
        self.end_watch.has_news |= !items.is_empty();
        self.details_are_next = F::POLLS_PER_PART || !more;
        if more {
            return Ok((items, true));
        }
        let job = self.end_watch.job.as_ref();
        let lacks_items = job.is_some_and(|job| self.follower.lacks_items(job));
        let status = self.end_watch.end_round(self.follower.polls(), lacks_items);
        items.extend(self.follower.finish_round(&self.end_watch, status));
        let retry_after = self.end_watch.take_retry_after(self.follower.polls());
        self.poller.end_round(self.end_watch.clock().now(), true, retry_after);
        Ok((items, !status.is_over))
    }
}
