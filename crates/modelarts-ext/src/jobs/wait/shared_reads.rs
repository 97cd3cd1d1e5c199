//! Reads of jobs that the waits of a client share. A few tasks read the jobs, so that no wait holds
//! up others while a program does not poll it. A wait that is alone reads its job, and waits that
//! queue up are answered by searches.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures::future::{Either, select};
use modelarts_api::types::{Phase, SecondaryPhase};
use tokio::{runtime::Handle, sync::oneshot};
use tracing::{Instrument, Span};

use crate::{
    error::Error,
    jobs::{
        filter::MAX_VALUES,
        job::{Job, JobHandle},
        polling::REQUESTS_IN_FLIGHT,
        wait::round::{Pace, find_ids},
    },
};

/// Maximum time in the queue, after which a wait reads its job itself.
const QUEUE_TIMEOUT: Duration = Duration::from_secs(2 * 60);

pub(super) type Phases = (Phase, Option<SecondaryPhase>);

pub(super) fn phases(job: &Job) -> Phases {
    (job.phase(), job.secondary_phase().cloned())
}

/// Queue of the waits whose polls are due.
#[derive(Default)]
pub(super) struct SharedReads(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    waits: VecDeque<QueuedWait>,
    /// Number of tasks that read jobs.
    tasks: usize,
    /// `true` if the service rejects searches by id.
    has_no_search: bool,
}

struct QueuedWait {
    handle: JobHandle,
    workspace: Option<String>,
    /// Phases that the wait knows. `None` if it needs the details of the job in any case.
    known: Option<Phases>,
    answer: oneshot::Sender<Answer>,
    span: Span,
}

/// The job, or `None` if its phases are those that are known.
type Answer = Result<Option<Job>, Error>;

/// Reads a job. If many waits of the client are due, they share searches, and only jobs whose
/// phases are not those of the `known` job are read with their details.
pub(super) async fn read(handle: &JobHandle, known: Option<&Job>) -> Result<Job, Error> {
    let Ok(runtime) = Handle::try_current() else {
        return handle.get_small().await;
    };
    let (answer, answered) = oneshot::channel();
    let wait = QueuedWait {
        handle: handle.clone(),
        workspace: known.and_then(|job| job.workspace()).map(str::to_owned),
        known: known.map(phases),
        answer,
        span: Span::current(),
    };
    let reads = handle.client().transport().shared.extension::<Arc<SharedReads>>();
    reads.push(&runtime, [wait]);
    // The task may be in a runtime that the program has ended, or does not run any more.
    let limit = handle.client().clock().sleep(QUEUE_TIMEOUT);
    match (select(answered, limit).await, known) {
        (Either::Left((Ok(Ok(None)), _)), Some(known)) => Ok(known.clone()),
        (Either::Left((Ok(Ok(Some(job))), _)), _) => Ok(job),
        (Either::Left((Ok(Err(error)), _)), _) => Err(error),
        _ => handle.get_small().await,
    }
}

impl SharedReads {
    fn push(self: &Arc<Self>, runtime: &Handle, waits: impl IntoIterator<Item = QueuedWait>) {
        let mut queue = self.queue();
        for wait in waits {
            let limit = wait.handle.client().transport().rate_limit.as_ref();
            let limit = limit.map(|limit| limit.spacing().as_secs_f64().recip());
            let tasks = limit.map_or(REQUESTS_IN_FLIGHT, |limit| Pace::new(limit).in_flight);
            queue.waits.push_back(wait);
            if queue.tasks < tasks {
                queue.tasks += 1;
                runtime.spawn(ReadTask { reads: Arc::clone(self), is_over: false }.run());
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        // The queue is valid after each of its changes.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Removes the oldest wait, and others of its workspace that the same search can answer.
    fn next(&mut self) -> Vec<QueuedWait> {
        self.waits.retain(|wait| !wait.answer.is_closed());
        let Some(first) = self.waits.pop_front() else {
            return Vec::new();
        };
        let mut next = vec![first];
        if next[0].known.is_none() || self.has_no_search {
            return next;
        }
        let mut index = 0;
        while next.len() < MAX_VALUES && index < self.waits.len() {
            let wait = &self.waits[index];
            match wait.known.is_some() && wait.workspace == next[0].workspace {
                true => next.extend(self.waits.remove(index)),
                false => index += 1,
            }
        }
        next
    }
}

/// Task that reads jobs until the queue is empty.
struct ReadTask {
    reads: Arc<SharedReads>,
    is_over: bool,
}

impl ReadTask {
    async fn run(mut self) {
        let mut waits = self.next();
        while let Some(first) = waits.first() {
            let span = first.span.clone();
            let answers = self.read(waits).instrument(span).await;
            // The next waits are taken before the answers, because the runtime may stop with them.
            waits = self.next();
            for (wait, answer) in answers {
                // The wait may have been dropped.
                let _ = wait.answer.send(answer);
            }
        }
    }

    /// Takes the next waits. If there are none, the task is over.
    fn next(&mut self) -> Vec<QueuedWait> {
        let mut queue = self.reads.queue();
        let waits = queue.next();
        if waits.is_empty() {
            queue.tasks -= 1;
            self.is_over = true;
        }
        waits
    }

    async fn read(&self, mut waits: Vec<QueuedWait>) -> Vec<(QueuedWait, Answer)> {
        if let [_] = waits[..]
            && let Some(wait) = waits.pop()
        {
            let read = wait.handle.get_small().await;
            return vec![(wait, read.map(Some))];
        }
        let ids: BTreeSet<&str> = waits.iter().map(|wait| wait.handle.id()).collect();
        let ids = ids.into_iter().map(str::to_owned).collect();
        let client = waits[0].handle.client().clone();
        let rows = match find_ids(&client, waits[0].workspace.as_deref(), ids).await {
            Err(error) if error.is_retryable() => {
                return waits.into_iter().map(|wait| (wait, Err(error.clone()))).collect();
            }
            rows => rows.ok().flatten(),
        };
        // An error of the search is not that of the jobs, which can perhaps be read.
        self.reads.queue().has_no_search |= rows.is_none();
        let rows = rows.into_iter().flatten();
        let rows: HashMap<String, Phases> =
            rows.map(|job| (job.id().to_owned(), phases(&job))).collect();
        let is_known = |wait: &QueuedWait| rows.get(wait.handle.id()) == wait.known.as_ref();
        let (unchanged, changed): (Vec<_>, Vec<_>) = waits.into_iter().partition(is_known);
        let changed = changed.into_iter().map(|wait| QueuedWait { known: None, ..wait });
        self.reads.push(&Handle::current(), changed);
        unchanged.into_iter().map(|wait| (wait, Ok(None))).collect()
    }
}

impl Drop for ReadTask {
    fn drop(&mut self) {
        if !self.is_over {
            // The runtime has ended. Waits of other runtimes read their jobs themselves.
            let mut queue = self.reads.queue();
            queue.tasks -= 1;
            queue.waits.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{client::Client, credentials::Credentials};

    type Answered = oneshot::Receiver<Answer>;

    fn queued(client: &Client, id: &str, workspace: Option<&str>) -> (QueuedWait, Answered) {
        let (answer, answered) = oneshot::channel();
        let wait = QueuedWait {
            handle: client.training_jobs().job(id).unwrap(),
            workspace: workspace.map(str::to_owned),
            known: Some((Phase::Running, None)),
            answer,
            span: Span::none(),
        };
        (wait, answered)
    }

    fn client() -> Client {
        let builder = Client::builder().endpoint("https://modelarts.test").project_id("p");
        builder.credentials(Credentials::token("t")).build().unwrap()
    }

    /// Removes all waits from a queue, and returns the ids that are read together.
    fn batches(queue: &mut Queue) -> Vec<Vec<String>> {
        let next = || Some(queue.next()).filter(|waits| !waits.is_empty());
        let ids =
            |waits: Vec<QueuedWait>| waits.iter().map(|wait| wait.handle.id().to_owned()).collect();
        std::iter::from_fn(next).map(ids).collect()
    }

    #[test]
    fn a_search_answers_ten_waits_of_a_workspace() {
        let client = client();
        let fill = || {
            let mut queue = Queue::default();
            let ids = (0..12).map(|number| (format!("j{number}"), None));
            let ids = [("w".to_owned(), Some("7"))].into_iter().chain(ids);
            let waits = ids.map(|(id, workspace)| queued(&client, &id, workspace));
            let (waits, mut answered): (VecDeque<_>, Vec<_>) = waits.unzip();
            queue.waits = waits;
            // The wait for this job needs its details, and that for another one was dropped.
            queue.waits[4].known = None;
            answered.remove(6);
            (queue, answered)
        };
        let (mut queue, _answered) = fill();
        let together = ["j0", "j1", "j2", "j4", "j6", "j7", "j8", "j9", "j10", "j11"];
        assert_eq!(batches(&mut queue), [&["w"][..], &together, &["j3"]]);
        let (mut queue, _answered) = fill();
        queue.has_no_search = true;
        assert!(batches(&mut queue).iter().all(|batch| batch.len() == 1));
    }

    #[test]
    fn the_waits_of_an_ended_runtime_are_released() {
        let reads = Arc::new(SharedReads::default());
        let (wait, mut answered) = queued(&client(), "j", None);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        reads.push(runtime.handle(), [wait]);
        assert_eq!(reads.queue().tasks, 1);
        drop(runtime);
        assert_eq!(reads.queue().tasks, 0);
        assert!(matches!(answered.try_recv(), Err(oneshot::error::TryRecvError::Closed)));
    }
}
