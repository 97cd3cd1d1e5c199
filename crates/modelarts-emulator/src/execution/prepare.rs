//! Preparation of a job on its nodes: containers, pre-check, code, inputs, packages.

use futures::FutureExt;

use crate::{
    execution::{
        driver::{Driver, Ending},
        interruption::PrepareLimit,
    },
    job::{event::EventKind, worker::Worker},
    runner::worker_files::Transfer,
};

impl Driver {
    /// Prepares all workers. A job that ran before gets new containers.
    pub(crate) async fn prepare(&self, first: bool) -> Result<(), Ending> {
        let limit = self.state.clock.limit(self.state.timing.preparing).shared();
        for worker in &self.workers {
            let pod = worker.pod();
            let image = worker.request.image().to_owned();
            self.note(EventKind::PodPulled {
                pod: pod.clone(),
                image,
            });
            self.note(EventKind::PodCreated { pod: pod.clone() });
            self.note(EventKind::PodStarted { pod });
            if !first && let Err(error) = self.state.runner.renew(worker.clone()).await {
                let cause = format!("the container cannot be made again: {error}");
                return Err(Ending::Unprepared(cause));
            }
        }
        if self.request.retry.times > 0 {
            self.pre_check()?;
        }
        for worker in &self.workers {
            self.download_all(worker, &limit).await?;
        }
        Ok(())
    }

    /// Checks the nodes. Only jobs that may run again have a pre-check (SOURCES D-152).
    fn pre_check(&self) -> Result<(), Ending> {
        for worker in &self.workers {
            let task = worker.task();
            let begin = self.now();
            self.note(EventKind::PreCheckStarted { task: task.clone() });
            let checked = self.state.runner.pre_check(worker);
            let seconds = self.now().seconds_since(begin);
            if let Err(error) = checked {
                let cause = format!("the pre-check of {task} failed: {error}");
                self.note(EventKind::PreCheckFailed {
                    task,
                    seconds,
                    error,
                });
                return Err(Ending::PreCheckFailed(cause));
            }
            self.note(EventKind::PreCheckDone { task, seconds });
        }
        Ok(())
    }

    /// Downloads code, inputs and packages to one worker.
    async fn download_all(&self, worker: &Worker, limit: &PrepareLimit) -> Result<(), Ending> {
        let runner = &self.state.runner;
        let task = worker.task();
        if worker.request.code_dir.is_some() {
            self.note(EventKind::CodeDownloading { task: task.clone() });
            let begin = self.now();
            tokio::select! {
                biased;
                ending = self.wait_for_interruption(limit) => return Err(ending),
                () = self.state.clock.sleep(runner.download_time(worker)) => {}
            }
            let copy = self.copy_in_time(limit, |interrupt| {
                runner.copy(worker.clone(), Transfer::Code, interrupt)
            });
            let result = copy.await?;
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
                    return Err(Ending::Unprepared(format!(
                        "the training code cannot be downloaded: {error}"
                    )));
                }
            }
        }
        for (index, input) in worker.request.inputs.iter().enumerate() {
            self.check_not_stopped()?;
            self.note(EventKind::InputDownloading { task: task.clone() });
            let begin = self.now();
            let copy = self.copy_in_time(limit, |interrupt| {
                runner.copy(worker.clone(), Transfer::Input(index), interrupt)
            });
            let result = copy.await?;
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
                    let (name, place) = (&input.name, &input.source);
                    return Err(Ending::Unprepared(format!(
                        "the training input {name} cannot be downloaded from {place}: {error}"
                    )));
                }
            }
        }
        for (index, output) in worker.request.outputs.iter().enumerate() {
            if !output.prefetch {
                continue;
            }
            self.check_not_stopped()?;
            // The catalogue has no event for this copy (SOURCES F1).
            let copy = self.copy_in_time(limit, |interrupt| {
                runner.copy(worker.clone(), Transfer::StoredOutput(index), interrupt)
            });
            if let Err(error) = copy.await? {
                let (name, place) = (&output.name, &output.source);
                return Err(Ending::Unprepared(format!(
                    "the training output {name} cannot be downloaded from {place}: {error}"
                )));
            }
        }
        self.install(worker, limit).await?;
        self.check_not_stopped()?;
        Ok(())
    }

    /// Installs packages. If that fails, the code runs without them and fails at its imports.
    async fn install(&self, worker: &Worker, limit: &PrepareLimit) -> Result<(), Ending> {
        for file in self.state.runner.requirements(worker) {
            self.check_not_stopped()?;
            let task = worker.task();
            let files = file.clone();
            self.note(EventKind::DependenciesInstalling {
                task: task.clone(),
                files: files.clone(),
            });
            let begin = self.now();
            let runner = &self.state.runner;
            let installation = self.copy_in_time(limit, |interrupt| {
                runner.install(worker.clone(), file, interrupt)
            });
            let result = installation.await?;
            let seconds = self.now().seconds_since(begin);
            self.note(match result {
                Ok(()) => EventKind::DependenciesInstalled {
                    task,
                    seconds,
                    files,
                },
                Err(error) => EventKind::DependenciesFailed {
                    task,
                    seconds,
                    files,
                    cause: error.to_string(),
                },
            });
        }
        Ok(())
    }
}
