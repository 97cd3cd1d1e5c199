//! Trials of a job, which replace its single run.

use std::sync::Arc;

use fastrand::Rng;
use futures::{FutureExt, StreamExt, future::FusedFuture, stream::FuturesUnordered};
use tokio::{sync::watch, task::JoinError};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::{
    execution::{
        driver::{Driver, Ending, stop_request},
        importance_chart,
    },
    job::{
        Job, TaskFailure,
        event::EventKind,
        request::{JobRequest, Parameter},
        state::StopReason,
        worker::Worker,
    },
    logs::LOG_CHUNK,
    runner::run::Exit,
    tuning::{
        search::{Point, SearchHistory, Searcher},
        settings::Tuning,
        trial::{RewardScraper, Trial, TrialStatus},
    },
};

/// A trial that has ended.
struct FinishedTrial {
    id: String,
    task: String,
    point: Point,
    exit_code: i32,
    node_fault: bool,
    reward: Option<f64>,
}

/// Reasons why no more trials are started.
enum Halt {
    Stopped(StopReason),
    Preempted,
    /// The node of this task died.
    NodeFault(String),
}

/// The state of a search, from which its algorithm chooses the next point.
struct SearchState {
    searcher: Box<dyn Searcher>,
    rng: Rng,
    results: Vec<(Point, f64)>,
    running: Vec<Point>,
    dimensions: usize,
}

impl SearchState {
    fn next_point(&mut self) -> Point {
        let known = SearchHistory {
            tried: &self.results,
            running: &self.running,
            dimensions: self.dimensions,
        };
        self.searcher.next(known, &mut self.rng)
    }
}

impl Driver {
    /// Runs all trials. Each run of the job starts them from the beginning.
    pub(super) async fn run_search(&self, tuning: &Tuning) -> Ending {
        self.state.store.update(&self.id, |job| job.trials.clear());
        for worker in &self.workers {
            let task = worker.task();
            self.note(EventKind::TaskStarted { task });
        }
        let mut failure = None;
        let mut succeeded = 0;
        let halt = self.run_trials(tuning, |trial| {
            if trial.exit_code == 0 {
                succeeded += 1;
            } else {
                failure = Some(TaskFailure {
                    task: trial.task.clone(),
                    exit_code: trial.exit_code,
                });
            }
        });
        let halt = halt.await;
        self.draw_charts().await;
        let failure = failure.filter(|_| succeeded == 0);
        let exit_code = failure.as_ref().map_or(0, |failure| failure.exit_code);
        for worker in &self.workers {
            let task = worker.task();
            self.note(EventKind::TaskFinished { task, exit_code });
        }
        match halt {
            None => Ending::Exited(failure),
            Some(Halt::Stopped(why)) => Ending::Stopped(why, failure),
            Some(Halt::Preempted) => Ending::Preempted,
            Some(Halt::NodeFault(task)) => Ending::NodeFault(task),
        }
    }

    /// Keeps as many trials running as allowed, until all have run or the job is to end.
    async fn run_trials(
        &self,
        tuning: &Tuning,
        mut note: impl FnMut(&FinishedTrial),
    ) -> Option<Halt> {
        let mut search = SearchState {
            searcher: tuning.searcher(),
            rng: Rng::with_seed(tuning.seed),
            results: Vec::new(),
            running: Vec::new(),
            dimensions: tuning.space.dimensions(),
        };
        let mut running: Vec<String> = Vec::new();
        let mut trials = FuturesUnordered::new();
        let (end_trials, ended) = watch::channel(false);
        let mut started = 0;
        let mut halt = None;

        let mut requests = self.stop.clone();
        let preempted = self.slot.as_ref().map(|slot| slot.preemption());
        let preempted = async {
            match preempted {
                Some(preempted) => preempted.await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(preempted);
        let interrupt = self.state.copy_cancellation.child_token();
        let copies = self.copy_until_interrupted(&interrupt).fuse();
        tokio::pin!(copies);
        let time_limit =
            std::future::poll_fn(|context| self.time_limit.lock().as_mut().poll(context));
        tokio::pin!(time_limit);
        loop {
            while halt.is_none() && started < tuning.samples && running.len() < tuning.concurrent {
                let (point, updated) = self.choose(search).await;
                search = updated;
                let point = tuning.space.snap(&point);
                let id = Uuid::new_v4().simple().to_string()[..8].to_owned();
                running.push(id.clone());
                search.running.push(point.clone());
                trials.push(self.run_trial(tuning, started, id, point, ended.clone()));
                started += 1;
            }
            tokio::select! {
                biased;
                done = trials.next() => {
                    let Some(done) = done else {
                        // A copy that still runs could overwrite files of the last copy with older
                        // ones.
                        interrupt.cancel();
                        if !copies.is_terminated() {
                            copies.await;
                        }
                        return halt;
                    };
                    if let Some(at) = running.iter().position(|id| *id == done.id) {
                        running.remove(at);
                        search.running.remove(at);
                    }
                    note(&done);
                    if done.node_fault {
                        halt.get_or_insert(Halt::NodeFault(done.task.clone()));
                    }
                    if let Some(reward) = done.reward {
                        let sign = if tuning.leading_reward().more_is_better { 1.0 } else { -1.0 };
                        search.results.push((done.point, sign * reward));
                    }
                }
                why = stop_request(&mut requests), if halt.is_none() => {
                    halt = Some(Halt::Stopped(why));
                }
                () = &mut time_limit, if halt.is_none() => {
                    let hours = self.request.auto_stop_hours.unwrap_or_default();
                    halt = Some(Halt::Stopped(StopReason::AfterHours(hours)));
                }
                () = &mut preempted, if halt.is_none() => halt = Some(Halt::Preempted),
                () = &mut copies => {}
            }
            if halt.is_some() && !end_trials.send_replace(true) {
                // The search was interrupted.
                if let Some(Halt::Stopped(why)) = halt {
                    self.begin_stop(why);
                }
            }
        }
    }

    /// Chooses the point of the next trial on another thread, because it may take long.
    async fn choose(&self, mut search: SearchState) -> (Point, SearchState) {
        // The clock waits for the thread.
        let _busy = self.state.busy_guard();
        let chosen = tokio::task::spawn_blocking(move || (search.next_point(), search));
        match chosen.await.map_err(JoinError::try_into_panic) {
            Ok(chosen) => chosen,
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            // The runtime ends, and this task with it.
            Err(Err(_)) => std::future::pending().await,
        }
    }

    /// Runs one trial from its start to its end. Trials take turns on the workers.
    async fn run_trial(
        &self,
        tuning: &Tuning,
        index: usize,
        id: String,
        point: Point,
        mut ended: watch::Receiver<bool>,
    ) -> FinishedTrial {
        let values = tuning.space.values(&point);
        let worker = &self.workers[index % self.workers.len()];
        let worker = Worker {
            request: Arc::new(trial_request(&self.request, &id, &values)),
            trial: Some(id.clone()),
            ..worker.clone()
        };
        let started = self.now();
        let mut run = self.state.runner.start(worker.clone()).await;
        self.state.store.update(&self.id, |job| {
            job.trials.push(Trial {
                id: id.clone(),
                index,
                pid: run.pid(),
                values,
                status: TrialStatus::Running,
                started,
                ended: None,
                iterations: 0,
                reports: Vec::new(),
                stop: false,
                changed: true,
            });
        });
        let mut scraper = RewardScraper::new(&tuning.rewards);
        let mut look = self.state.runner.next_poll(&worker);
        let stop = self.trial_stop_request(&id);
        tokio::pin!(stop);
        let (exit, on_purpose) = loop {
            tokio::select! {
                biased;
                exit = run.wait() => break (exit, false),
                () = wait_for_end(&mut ended) => {
                    break (Exit::Code(run.terminate(self.grace_period()).await), true);
                }
                () = &mut stop => {
                    break (Exit::Code(run.terminate(self.grace_period()).await), true);
                }
                () = look.as_mut() => {
                    self.read_rewards(tuning, &worker, &mut scraper, false).await;
                    look = self.state.runner.next_poll(&worker);
                }
            }
        };
        self.read_rewards(tuning, &worker, &mut scraper, true).await;
        let now = self.now();
        let reward = self.update_trial(&id, |trial| {
            trial.ended = Some(now);
            trial.status = match (exit, on_purpose) {
                (Exit::Code(0), _) | (_, true) => TrialStatus::Terminated,
                _ => TrialStatus::Error,
            };
            trial.reward()
        });
        FinishedTrial {
            task: worker.task(),
            id: id.clone(),
            point,
            exit_code: match exit {
                Exit::Code(exit_code) if !on_purpose => exit_code,
                _ => 0,
            },
            node_fault: exit == Exit::NodeFault,
            reward: reward.flatten(),
        }
    }

    /// Copies outputs and logs when they are due, until interrupted.
    async fn copy_until_interrupted(&self, interrupt: &CancellationToken) {
        let mut progress = self.initial_progress();
        while !interrupt.is_cancelled() {
            tokio::select! {
                () = interrupt.cancelled() => {}
                () = self.next_check() => self.copy_due(&mut progress, self.now(), interrupt).await,
            }
        }
    }

    /// Completes on a request to stop the trial, or when the job has been removed.
    async fn trial_stop_request(&self, id: &str) {
        let asked = |trial: &Trial| trial.id == id && trial.stop;
        let look = |job: Option<&Job>| {
            job.is_none_or(|job| job.trials.iter().any(asked))
                .then_some(())
        };
        self.state.store.wait(&self.id, look).await;
    }

    /// Changes a trial.
    fn update_trial<R>(&self, id: &str, change: impl FnOnce(&mut Trial) -> R) -> Option<R> {
        let changed = self.state.store.update(&self.id, |job| {
            let trial = job.trials.iter_mut().find(|trial| trial.id == id)?;
            trial.changed = true;
            Some(change(trial))
        });
        changed.flatten()
    }

    /// Reads new rewards from the trial's log.
    async fn read_rewards(
        &self,
        tuning: &Tuning,
        worker: &Worker,
        scraper: &mut RewardScraper<'_>,
        last: bool,
    ) {
        let Some(id) = &worker.trial else { return };
        loop {
            let new = self
                .state
                .runner
                .log_part(worker.clone(), scraper.position, LOG_CHUNK);
            // After an error, the next check reads the same part again.
            let new = new.await.unwrap_or_default();
            scraper.position += new.len() as u64;
            let found = scraper.feed(&new, last && new.is_empty());
            if !found.is_empty() {
                let now = self.now();
                self.update_trial(id, |trial| {
                    for texts in found {
                        trial.report(texts, tuning.leading_reward().more_is_better, now);
                    }
                });
            }
            if new.is_empty() {
                return;
            }
        }
    }

    /// Stores the charts of the analysis in OBS.
    async fn draw_charts(&self) {
        let obs = self.state.offer.obs.clone();
        let request = Arc::clone(&self.request);
        let trials = self.state.store.read(&self.id, |job| job.trials.clone());
        let drawn = tokio::task::spawn_blocking(move || {
            importance_chart::draw_all(&obs, &request, &trials.unwrap_or_default())
        });
        if let Ok(Err(error)) = drawn.await {
            tracing::warn!(job = self.id, %error, "the analysis is not drawn");
        }
    }
}

/// Completes when all trials are to end, or the sender has been dropped.
async fn wait_for_end(ended: &mut watch::Receiver<bool>) {
    let _ = ended.wait_for(|ended| *ended).await;
}

/// The request of a job with the values of a trial, and with a directory for the trial in each
/// output.
fn trial_request(
    request: &JobRequest,
    id: &str,
    values: &serde_json::Map<String, serde_json::Value>,
) -> JobRequest {
    let mut request = request.clone();
    for (name, value) in values {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        match request
            .parameters
            .iter_mut()
            .find(|known| known.name == *name)
        {
            Some(known) => known.value = text,
            None => request.parameters.push(Parameter {
                name: name.clone(),
                value: text,
                description: String::new(),
                constraint: None,
            }),
        }
    }
    for output in &mut request.outputs {
        output.local_dir = output.local_dir.join(id);
    }
    request
}
