//! Execution of the trials of a search, which replaces the single run of a job.

use fastrand::Rng;
use futures::{FutureExt, StreamExt, future::FusedFuture, stream::FuturesUnordered};
use serde_json::{Map, Value};
use tokio::sync::watch;
use uuid::Uuid;

use crate::{
    execution::driver::{Driver, Ending},
    job::{
        Job, TaskFailure,
        event::EventKind,
        state::StopReason,
        worker::{Worker, WorkerTrial},
    },
    logs::LOG_CHUNK,
    runner::launcher::Exit,
    tuning::{
        settings::Tuning,
        trial::{RewardScraper, Trial, TrialStatus},
    },
};

impl Driver {
    /// Runs all trials. Each run of the job starts again with the first trial.
    pub(super) async fn run_search(&self, tuning: &Tuning) -> Ending {
        tracing::info!(job = self.id, "the points of this search are chosen at random");
        self.state.store.update(&self.id, |job| job.trials.clear());
        for worker in &self.workers {
            let task = worker.task();
            self.note(EventKind::TaskStarted { task });
        }
        let (ending, failure) = self.run_trials(tuning).await;
        if let Ending::Stopped(StopReason::Suspend, _) = ending {
            return ending;
        }
        let exit_code = failure.as_ref().map_or(0, |failure| failure.exit_code);
        for worker in &self.workers {
            let task = worker.task();
            self.note(EventKind::TaskFinished { task, exit_code });
        }
        ending.with_failure(failure)
    }

    /// Runs all trials, several at a time. Returns the last failure if no trial succeeded.
    async fn run_trials(&self, tuning: &Tuning) -> (Ending, Option<TaskFailure>) {
        let mut rng = Rng::with_seed(tuning.seed);
        let mut trials = FuturesUnordered::new();
        let (end_trials, ended) = watch::channel(false);
        let mut started = 0;
        let mut halt = None;
        let mut failure = None;
        let mut any_success = false;

        let interruption = self.interruption();
        tokio::pin!(interruption);
        let interrupt = self.state.work.copy_cancellation.child_token();
        let monitor = self.monitor(false, &interrupt).fuse();
        tokio::pin!(monitor);
        loop {
            while halt.is_none() && started < tuning.samples && trials.len() < tuning.concurrent {
                let values = tuning.space.values(|| rng.f64());
                trials.push(self.run_trial(tuning, started, values, ended.clone()));
                started += 1;
            }
            tokio::select! {
                biased;
                done = trials.next() => match done {
                    Some((task, Exit::Lost(loss))) => {
                        halt.get_or_insert(Ending::of_loss(loss, task));
                    }
                    Some((_, Exit::Code(0))) => any_success = true,
                    Some((task, Exit::Code(exit_code))) => {
                        failure = Some(TaskFailure { task, exit_code });
                    }
                    None => break,
                },
                ending = &mut interruption, if halt.is_none() => halt = Some(ending),
                _ = &mut monitor => {}
            }
            if halt.is_some()
                && !end_trials.send_replace(true)
                && let Some(Ending::Stopped(why, _)) = halt
            {
                self.begin_stop(why);
            }
        }
        // A copy that is still running could overwrite newer files.
        interrupt.cancel();
        if !monitor.is_terminated() {
            monitor.await;
        }
        let ending = halt.unwrap_or(Ending::Exited(None));
        (ending, failure.filter(|_| !any_success))
    }

    /// Runs a trial, and returns its task and exit. The exit code of a stopped trial is 0.
    async fn run_trial(
        &self,
        tuning: &Tuning,
        index: usize,
        values: Map<String, Value>,
        mut ended: watch::Receiver<bool>,
    ) -> (String, Exit) {
        let id = Uuid::new_v4().simple().to_string()[..8].to_owned();
        let worker = &self.workers[index % self.workers.len()];
        let worker = worker.with_trial(WorkerTrial { id: id.clone(), values: values.clone() });
        let started = self.now();
        let mut run = self.state.work.runner.start(worker.clone()).await;
        let trial = Trial::new(id.clone(), index, run.pid(), values, started);
        let store = &self.state.store;
        store.update(&self.id, |job| job.trials.push(trial));
        let mut scraper = RewardScraper::new(&tuning.rewards);
        let mut look = self.state.work.runner.next_poll(&worker);
        let stop = async {
            tokio::select! {
                // The search has ended. An error means that the sender has been dropped.
                _ = ended.wait_for(|ended| *ended) => {}
                () = self.trial_stop_request(&id) => {}
            }
        };
        tokio::pin!(stop);
        let exit = loop {
            tokio::select! {
                biased;
                exit = run.wait() => break Some(exit),
                () = &mut stop => {
                    run.terminate(self.grace_period()).await;
                    break None;
                }
                () = look.as_mut() => {
                    self.read_rewards(tuning, &worker, &mut scraper, false).await;
                    look = self.state.work.runner.next_poll(&worker);
                }
            }
        };
        self.read_rewards(tuning, &worker, &mut scraper, true).await;
        let now = self.now();
        self.update_trial(&id, |trial| {
            trial.ended = Some(now);
            trial.status = match exit {
                Some(Exit::Code(0)) | None => TrialStatus::Terminated,
                Some(_) => TrialStatus::Error,
            };
        });
        (worker.task(), exit.unwrap_or(Exit::Code(0)))
    }

    /// Completes when a stop of the trial is requested, or when the job has been removed.
    async fn trial_stop_request(&self, id: &str) {
        let asked = |trial: &Trial| trial.id == id && trial.stop;
        let look =
            |job: Option<&Job>| job.is_none_or(|job| job.trials.iter().any(asked)).then_some(());
        self.state.store.wait(&self.id, look).await;
    }

    fn update_trial(&self, id: &str, change: impl FnOnce(&mut Trial)) {
        self.state.store.update(&self.id, |job| {
            if let Some(trial) = job.trials.iter_mut().find(|trial| trial.id == id) {
                trial.changed = true;
                change(trial);
            }
        });
    }

    async fn read_rewards(
        &self,
        tuning: &Tuning,
        worker: &Worker,
        scraper: &mut RewardScraper<'_>,
        last: bool,
    ) {
        let Some(trial) = &worker.trial else { return };
        let id = &trial.id;
        loop {
            let new = self.state.work.runner.log_part(worker.clone(), scraper.position, LOG_CHUNK);
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
}
