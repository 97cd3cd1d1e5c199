//! Takes one job from Creating to its end: waits, runs, writes events, moves the state.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tokio::sync::watch;

use crate::clock::Moment;
use crate::core::Core;
use crate::events::EventKind;
use crate::lifecycle::{State, Stop};
use crate::request::{JobRequest, LogExport};
use crate::runner::{Run, Worker};
use crate::store::{RecordEnd, TaskFailure};

/// How the life of a job ended, before the final event says so.
#[derive(Debug)]
enum Ending {
    /// All workers ended; the first that did not end with 0, if there is one.
    Exited(Option<TaskFailure>),
    /// Somebody ended it. The worker and its exit code, if it ran.
    Stopped(Stop, Option<TaskFailure>),
    /// Its code or its data could not be brought in.
    Unprepared(String),
}

/// Drives the job until nothing will happen to it any more.
pub(crate) async fn drive(core: Arc<Core>, id: String) {
    let job = core
        .store
        .read(&id, |job| (Arc::clone(&job.request), job.stop_requests()));
    let Some((request, stop)) = job else {
        return;
    };
    let workers = (0..request.node_count)
        .map(|index| Worker {
            job_id: id.clone(),
            request: Arc::clone(&request),
            index,
        })
        .collect();
    let driver = Driver {
        core: Arc::clone(&core),
        id: id.clone(),
        request,
        workers,
        stop,
    };
    let ending = match driver.live().await {
        Ok(ending) => ending,
        Err(stop) => Ending::Stopped(stop, None),
    };
    driver.finish(ending).await;
    core.store.update(&id, |job| job.settled = true);
}

struct Driver {
    core: Arc<Core>,
    id: String,
    request: Arc<JobRequest>,
    workers: Vec<Worker>,
    stop: watch::Receiver<Option<Stop>>,
}

impl Driver {
    /// From Creating to the end of the code. An error is a request to stop that came before
    /// the code was started.
    async fn live(&self) -> Result<Ending, Stop> {
        let timing = self.core.timing.clone();
        self.pause(timing.creating).await?;
        self.advance(State::Queuing, EventKind::Queuing)?;
        self.pause(timing.queuing).await?;
        for worker in &self.workers {
            let pod = worker.pod();
            let image = self.request.image().to_owned();
            self.note(EventKind::PodPulled {
                pod: pod.clone(),
                image,
            });
            self.note(EventKind::PodCreated { pod: pod.clone() });
            self.note(EventKind::PodStarted { pod });
        }
        for worker in &self.workers {
            if let Err(cause) = self.prepare(worker).await? {
                return Ok(Ending::Unprepared(cause));
            }
        }
        self.pause(timing.starting).await?;
        self.advance(State::Running, EventKind::Running)?;
        let limit = self.request.auto_stop();
        // The limit counts from Running, also on a clock that leaps.
        let mut out_of_time = match limit {
            Some(limit) => self.core.clock.sleep(limit),
            None => Box::pin(std::future::pending()),
        };
        self.pause(timing.first_step).await?;
        let mut runs = Vec::new();
        for worker in &self.workers {
            let task = worker.task();
            self.note(EventKind::TaskStarted { task: task.clone() });
            runs.push((task, self.core.runner.start(worker.clone()).await));
        }
        Ok(self.run(runs, &mut out_of_time).await)
    }

    /// Brings code and inputs to one worker. The inner error is the cause of a failure.
    async fn prepare(&self, worker: &Worker) -> Result<Result<(), String>, Stop> {
        let runner = Arc::clone(&self.core.runner);
        let task = worker.task();
        if self.request.code_dir.is_some() {
            self.note(EventKind::CodeDownloading { task: task.clone() });
            let begin = self.now();
            let result = runner.download_code(worker.clone()).await;
            let seconds = self.now().seconds_since(begin);
            let task = task.clone();
            match result {
                Ok(()) => self.note(EventKind::CodeDownloaded { task, seconds }),
                Err(error) => {
                    let cause = error.to_string();
                    self.note(EventKind::CodeDownloadFailed {
                        task,
                        seconds,
                        cause,
                    });
                    return Ok(Err(format!(
                        "the training code cannot be downloaded: {error}"
                    )));
                }
            }
        }
        for (index, input) in self.request.inputs.iter().enumerate() {
            self.stopped()?;
            self.note(EventKind::InputDownloading { task: task.clone() });
            let begin = self.now();
            let result = runner.download_input(worker.clone(), index).await;
            let seconds = self.now().seconds_since(begin);
            let (task, parameter) = (task.clone(), input.name.clone());
            match result {
                Ok(()) => self.note(EventKind::InputDownloaded {
                    task,
                    seconds,
                    parameter,
                }),
                Err(error) => {
                    let cause = error.to_string();
                    self.note(EventKind::InputDownloadFailed {
                        task,
                        seconds,
                        parameter,
                        cause,
                    });
                    let (name, obs) = (&input.name, &input.obs);
                    return Ok(Err(format!(
                        "the training input {name} cannot be downloaded from {obs}: {error}"
                    )));
                }
            }
        }
        self.stopped()?;
        Ok(Ok(()))
    }

    /// Waits for the workers. The first that does not end with 0 ends the others, and so does a
    /// request to stop.
    async fn run(
        &self,
        mut runs: Vec<(String, Box<dyn Run>)>,
        out_of_time: &mut crate::clock::Sleep,
    ) -> Ending {
        let grace = self.core.timing.grace;
        let mut ended = vec![None; runs.len()];
        let mut failure: Option<TaskFailure> = None;
        let mut stop = None;
        {
            let mut waiting: FuturesUnordered<_> = runs
                .iter_mut()
                .enumerate()
                .map(|(index, (task, run))| async move { (index, task.clone(), run.wait().await) })
                .collect();
            let mut requests = self.stop.clone();
            while failure.is_none() && stop.is_none() {
                tokio::select! {
                    // A code that has ended has ended, whatever else is asked.
                    biased;
                    exited = waiting.next() => {
                        let Some((index, task, exit_code)) = exited else { break };
                        ended[index] = Some(exit_code);
                        self.note(EventKind::TaskFinished { task: task.clone(), exit_code });
                        if exit_code != 0 {
                            failure = Some(TaskFailure { task, exit_code });
                        }
                    }
                    why = asked_to_stop(&mut requests) => stop = Some(why),
                    () = &mut *out_of_time => {
                        stop = Some(Stop::AfterHours(self.request.auto_stop_hours.unwrap_or_default()));
                    }
                }
            }
        }
        if let Some(why) = stop {
            // For auto stop nobody has changed the state yet.
            let now = self.now();
            self.core.store.update(&self.id, |job| {
                job.advance(State::Terminating, now);
                job.ask_to_stop(why);
            });
            self.terminate_job();
        }
        let rest = runs
            .iter_mut()
            .enumerate()
            .filter(|(index, _)| ended[*index].is_none())
            .map(|(_, (task, run))| async move { (task.clone(), run.terminate(grace).await) });
        let mut rest: FuturesUnordered<_> = rest.collect();
        while let Some((task, exit_code)) = rest.next().await {
            self.note(EventKind::TaskFinished {
                task: task.clone(),
                exit_code,
            });
            failure.get_or_insert(TaskFailure { task, exit_code });
        }
        match stop {
            Some(why) => Ending::Stopped(why, failure),
            None => Ending::Exited(failure),
        }
    }

    /// From the end of the code to the last event.
    async fn finish(&self, ending: Ending) {
        let timing = self.core.timing.clone();
        if let Ending::Stopped(Stop::Shutdown, _) = ending {
            return;
        }
        let ran = self.core.store.read(&self.id, |job| job.started.is_some()) == Some(true);
        if ran {
            self.settle(timing.before_upload).await;
            self.upload().await;
        }
        let (mut state, kind) = match &ending {
            Ending::Exited(None) => (State::Completed, Some(EventKind::Completed)),
            Ending::Exited(Some(_)) => {
                self.settle(timing.after_upload).await;
                self.terminate_job();
                (State::Failed, Some(EventKind::Failed))
            }
            Ending::Unprepared(cause) => {
                let cause = cause.clone();
                (State::CreateFailed, Some(EventKind::CreateFailed { cause }))
            }
            Ending::Stopped(why, _) => (State::Terminated, stop_event(*why)),
        };
        if !matches!(ending, Ending::Unprepared(_)) {
            self.settle(timing.finishing).await;
        }
        let now = self.now();
        self.core.store.update(&self.id, |job| {
            let mut kind = kind;
            // Terminated by somebody while the outputs were on their way.
            if job.state == State::Terminating && state != State::Terminated {
                state = State::Terminated;
                kind = job.stop_reason().and_then(stop_event);
            }
            if let Some(record) = job.records.last_mut() {
                record.end = Some(record_end(&ending, now));
            }
            if let (State::Failed, Ending::Exited(failure)) = (state, &ending) {
                job.failure.clone_from(failure);
            }
            if let Some(kind) = kind {
                job.note(kind, now);
            }
            job.advance(state, now);
        });
        if ran {
            self.settle(timing.billing).await;
            if !self.hurried() {
                self.note(EventKind::Billed);
            }
        }
    }

    /// Copies outputs and logs back, whatever the exit code was.
    async fn upload(&self) {
        let runner = Arc::clone(&self.core.runner);
        for worker in &self.workers {
            let task = worker.task();
            for (index, output) in self.request.outputs.iter().enumerate() {
                let (parameter, task) = (output.name.clone(), task.clone());
                self.note(EventKind::OutputUploading {
                    task: task.clone(),
                    parameter: parameter.clone(),
                });
                let begin = self.now();
                let result = runner.upload_output(worker.clone(), index).await;
                let seconds = self.now().seconds_since(begin);
                match result {
                    Ok(()) => self.note(EventKind::OutputUploaded {
                        task,
                        seconds,
                        parameter,
                    }),
                    // The catalogue has no text for it.
                    Err(error) => {
                        tracing::warn!(job = self.id, output = parameter, %error, "an output is not uploaded");
                    }
                }
            }
            if let LogExport::To(path) = &self.request.log_export
                && let Err(error) = runner.export_log(worker.clone(), path.clone()).await
            {
                tracing::warn!(job = self.id, %error, "a log is not exported");
            }
        }
    }

    fn terminate_job(&self) {
        let job = format!("modelarts-job-{}", self.id);
        self.note(EventKind::TerminateJob { job });
    }

    /// Moves on and says so, unless somebody has asked to stop.
    fn advance(&self, state: State, kind: EventKind) -> Result<(), Stop> {
        let now = self.now();
        let advanced = self.core.store.update(&self.id, |job| {
            let advanced = job.advance(state, now);
            if advanced {
                job.note(kind, now);
            }
            advanced
        });
        match advanced {
            Some(true) => Ok(()),
            // Whoever was faster has left a reason; if not, somebody has taken the job away.
            _ => Err((*self.stop.borrow()).unwrap_or(Stop::Deleted)),
        }
    }

    fn note(&self, kind: EventKind) {
        let now = self.now();
        self.core.store.update(&self.id, |job| job.note(kind, now));
    }

    fn now(&self) -> Moment {
        Moment::now(self.core.clock.as_ref())
    }

    fn stopped(&self) -> Result<(), Stop> {
        match *self.stop.borrow() {
            Some(stop) => Err(stop),
            None => Ok(()),
        }
    }

    fn hurried(&self) -> bool {
        self.stop.borrow().is_some_and(Stop::in_a_hurry)
    }

    /// Waits, but not longer than until somebody asks to stop.
    async fn pause(&self, duration: Duration) -> Result<(), Stop> {
        let sleep = self.core.clock.sleep(duration);
        let mut requests = self.stop.clone();
        tokio::select! {
            biased;
            stop = asked_to_stop(&mut requests) => Err(stop),
            () = sleep => Ok(()),
        }
    }

    /// Waits after the end of the code: only a deletion or the end of the emulator cuts it short.
    async fn settle(&self, duration: Duration) {
        let sleep = self.core.clock.sleep(duration);
        let mut requests = self.stop.clone();
        let hurry = requests.wait_for(|stop| stop.is_some_and(Stop::in_a_hurry));
        tokio::select! {
            _ = hurry => {}
            () = sleep => {}
        }
    }
}

async fn asked_to_stop(requests: &mut watch::Receiver<Option<Stop>>) -> Stop {
    match requests.wait_for(Option::is_some).await {
        Ok(stop) => stop.unwrap_or(Stop::Deleted),
        // The job is no more.
        Err(_) => Stop::Deleted,
    }
}

fn stop_event(why: Stop) -> Option<EventKind> {
    match why {
        Stop::ByUser => Some(EventKind::StoppedByUser),
        Stop::AfterHours(hours) => Some(EventKind::AutoStopped { hours }),
        // Its event is written when the deletion is asked for.
        Stop::Deleted | Stop::Shutdown => None,
    }
}

fn record_end(ending: &Ending, at: Moment) -> RecordEnd {
    let (reason, task) = match ending {
        Ending::Exited(Some(failure)) | Ending::Stopped(_, Some(failure)) => (
            format!("exit with {}", failure.exit_code),
            Some(failure.task.clone()),
        ),
        Ending::Exited(None) => ("job completed".to_owned(), None),
        Ending::Stopped(_, None) | Ending::Unprepared(_) => ("terminated".to_owned(), None),
    };
    RecordEnd { at, reason, task }
}

/// Takes a deleted job away once nothing will happen to it any more.
pub(crate) async fn remove(core: Arc<Core>, id: String) {
    core.store
        .wait(&id, |job| job.is_none_or(|job| job.settled).then_some(()))
        .await;
    let mut closing = core.closing.subscribe();
    tokio::select! {
        () = core.clock.sleep(core.timing.deleting) => {}
        // Its directory stays where it is.
        _ = closing.wait_for(|closing| *closing) => return,
    }
    core.runner.remove(id.clone()).await;
    core.store.remove(&id);
}
