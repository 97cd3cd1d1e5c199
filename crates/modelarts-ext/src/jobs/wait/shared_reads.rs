//! Reads of jobs that the waits of a client share. A few tasks read the jobs, so that no wait holds
//! up others while a program does not poll it. A wait that is alone reads its job, and waits that
//! queue up are answered by searches.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

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
    /// Receives the job, or `None` if its phases are those that are known.
    answer: oneshot::Sender<Result<Option<Job>, Error>>,
    span: Span,
}

impl QueuedWait {
    fn answer(self, answer: Result<Option<Job>, Error>) {
        // The wait may have been dropped.
        let _ = self.answer.send(answer);
    }
}

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
    match (answered.await, known) {
        (Ok(Ok(None)), Some(known)) => Ok(known.clone()),
        (Ok(Ok(Some(job))), _) => Ok(job),
        (Ok(Err(error)), _) => Err(error),
        // The runtime of the task has ended.
        (Ok(Ok(None)) | Err(_), _) => handle.get_small().await,
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
        loop {
            let mut waits = {
                let mut queue = self.reads.queue();
                let waits = queue.next();
                if waits.is_empty() {
                    queue.tasks -= 1;
                    self.is_over = true;
                    return;
                }
                waits
            };
            let span = waits[0].span.clone();
            match waits.pop() {
                Some(wait) if waits.is_empty() => {
                    let read = wait.handle.get_small().instrument(span).await;
                    wait.answer(read.map(Some));
                }
                last => {
                    waits.extend(last);
                    self.search(waits).instrument(span).await;
                }
            }
        }
    }

    async fn search(&self, waits: Vec<QueuedWait>) {
        let ids: BTreeSet<&str> = waits.iter().map(|wait| wait.handle.id()).collect();
        let ids = ids.into_iter().map(str::to_owned).collect();
        let client = waits[0].handle.client().clone();
        let rows = match find_ids(&client, waits[0].workspace.as_deref(), ids).await {
            Err(error) if error.is_retryable() => {
                waits.into_iter().for_each(|wait| wait.answer(Err(error.clone())));
                return;
            }
            rows => rows.ok().flatten(),
        };
        // An error of the search is not that of the jobs, which can perhaps be read.
        self.reads.queue().has_no_search |= rows.is_none();
        let rows = rows.into_iter().flatten();
        let rows: HashMap<String, Phases> =
            rows.map(|job| (job.id().to_owned(), phases(&job))).collect();
        let mut changed = Vec::new();
        for mut wait in waits {
            match rows.get(wait.handle.id()) == wait.known.as_ref() {
                true => wait.answer(Ok(None)),
                false => {
                    wait.known = None;
                    changed.push(wait);
                }
            }
        }
        self.reads.push(&Handle::current(), changed);
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

    type Answered = oneshot::Receiver<Result<Option<Job>, Error>>;

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
