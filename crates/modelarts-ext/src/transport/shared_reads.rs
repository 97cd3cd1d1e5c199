//! Reads of jobs that the waits of a client share: a wait that is alone reads its job, and waits
//! that queue up are answered by one search.
//!
//! This module must not depend on `jobs`: a [`Client`](crate::Client) contains it.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use futures::future::{Either, select};
use modelarts_api::types::{Phase, SecondaryPhase};
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};

use crate::error::Error;

/// Maximum number of reads in flight. Waits queue up only behind these.
const READS_IN_FLIGHT: usize = 8;

pub(crate) type Phases = (Phase, Option<SecondaryPhase>);

/// Phases of a job, or `None` if the search did not find the job.
pub(crate) type Found = Result<Option<Phases>, Error>;

#[derive(Debug)]
pub(crate) struct SharedReads {
    queue: Mutex<Queue>,
    permits: Semaphore,
    /// `true` if the service rejects searches by id.
    pub(crate) has_no_search: AtomicBool,
}

#[derive(Debug, Default)]
struct Queue {
    last: u64,
    waits: BTreeMap<u64, QueuedWait>,
}

#[derive(Debug)]
pub(crate) struct QueuedWait {
    workspace: Option<String>,
    pub(crate) id: String,
    found: oneshot::Sender<Found>,
}

impl QueuedWait {
    pub(crate) fn answer(self, found: Found) {
        // The wait may have been dropped.
        let _ = self.found.send(found);
    }
}

/// Turn of a wait whose poll is due.
#[derive(Debug)]
pub(crate) enum Turn<'a> {
    /// Another wait has searched for the job.
    Answered(Found),
    /// The wait reads its job, and those of other waits. If it is dropped, these read themselves.
    Reader { others: Vec<QueuedWait>, _permit: Option<SemaphorePermit<'a>> },
}

impl Default for SharedReads {
    fn default() -> Self {
        Self {
            queue: Mutex::default(),
            permits: Semaphore::new(READS_IN_FLIGHT),
            has_no_search: AtomicBool::new(false),
        }
    }
}

impl SharedReads {
    /// Waits for the turn of a job. A reader gets at most `most` other jobs of its workspace.
    pub(crate) async fn turn(&self, workspace: Option<&str>, id: &str, most: usize) -> Turn<'_> {
        loop {
            let (number, found) = self.enqueue(workspace, id);
            let permit = pin!(self.permits.acquire());
            let found = match select(found, permit).await {
                Either::Left((found, _)) => found,
                Either::Right((permit, found)) => match self.take(number, most) {
                    // The semaphore is never closed.
                    Some(others) => return Turn::Reader { others, _permit: permit.ok() },
                    None => {
                        drop(permit);
                        found.await
                    }
                },
            };
            // Without an answer, the reader was dropped.
            if let Ok(found) = found {
                return Turn::Answered(found);
            }
        }
    }

    fn enqueue(&self, workspace: Option<&str>, id: &str) -> (u64, oneshot::Receiver<Found>) {
        let (sender, receiver) = oneshot::channel();
        let workspace = workspace.map(str::to_owned);
        let mut queue = self.queue();
        queue.last += 1;
        let number = queue.last;
        queue.waits.insert(number, QueuedWait { workspace, id: id.to_owned(), found: sender });
        (number, receiver)
    }

    /// Removes a wait from the queue, and returns others of its workspace, oldest first. Returns
    /// `None` if a reader has taken the wait.
    fn take(&self, number: u64, most: usize) -> Option<Vec<QueuedWait>> {
        let mut queue = self.queue();
        let own = queue.waits.remove(&number)?;
        let numbers = queue.waits.iter().filter_map(|(number, wait)| {
            let is_dropped = wait.found.is_closed();
            (is_dropped || wait.workspace == own.workspace).then_some((*number, is_dropped))
        });
        let most = if self.has_no_search.load(Ordering::Relaxed) { 0 } else { most };
        let mut live = 0;
        let numbers = numbers.take_while(|(_, is_dropped)| {
            live += usize::from(!is_dropped);
            live <= most
        });
        let numbers: Vec<(u64, bool)> = numbers.collect();
        let waits = numbers
            .into_iter()
            .filter_map(|(number, is_dropped)| queue.waits.remove(&number).filter(|_| !is_dropped));
        Some(waits.collect())
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // The queue is valid after each of its changes.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, future::join_all, poll};

    use super::*;

    fn others(turn: Turn<'_>) -> Vec<QueuedWait> {
        match turn {
            Turn::Reader { others, .. } => others,
            Turn::Answered(found) => panic!("{found:?}"),
        }
    }

    fn ids(waits: &[QueuedWait]) -> Vec<&str> {
        waits.iter().map(|wait| &*wait.id).collect()
    }

    fn found(phase: &str) -> Phases {
        (Phase::from(phase.to_owned()), None)
    }

    #[tokio::test]
    async fn waits_behind_the_reads_in_flight_are_answered_by_one_of_them() {
        let reads = SharedReads::default();
        let readers = join_all((0..READS_IN_FLIGHT).map(|_| reads.turn(None, "first", 9))).await;
        let queued = ["a", "b", "c", "d"].map(|id| (id, None));
        let queued = queued.into_iter().chain([("other", Some("w")), ("e", None)]);
        let turns = queued.map(|(id, workspace)| reads.turn(workspace, id, 3).boxed_local());
        let mut turns: Vec<_> = turns.collect();
        for turn in &mut turns {
            assert!(poll!(turn).is_pending());
        }
        drop(turns.remove(1));
        let mut readers = readers.into_iter();
        assert!(readers.all(|reader| others(reader).is_empty()));
        // The first in the queue reads the next of its workspace that still wait.
        let waits = others(turns.remove(0).await);
        assert_eq!(ids(&waits), ["c", "d", "e"]);
        for wait in waits {
            let answer = if wait.id == "c" { None } else { Some(found("Running")) };
            wait.answer(Ok(answer));
        }
        assert_eq!(ids(&others(turns.remove(2).await)), [""; 0]);
        for expected in [None, Some(found("Running")), Some(found("Running"))] {
            let Turn::Answered(answer) = turns.remove(0).await else { panic!("not answered") };
            assert_eq!(answer.unwrap(), expected);
        }
        assert!(reads.queue().waits.is_empty());
    }

    #[tokio::test]
    async fn waits_of_a_dropped_reader_read_themselves() {
        let reads = SharedReads::default();
        let readers = join_all((0..READS_IN_FLIGHT).map(|_| reads.turn(None, "first", 9))).await;
        let mut turns = ["a", "b"].map(|id| reads.turn(None, id, 9).boxed_local());
        for turn in &mut turns {
            assert!(poll!(turn).is_pending());
        }
        drop(readers);
        let [first, second] = turns;
        let reader = first.await;
        assert!(matches!(&reader, Turn::Reader { others, .. } if ids(others) == ["b"]));
        drop(reader);
        assert!(others(second.await).is_empty());
    }
}
