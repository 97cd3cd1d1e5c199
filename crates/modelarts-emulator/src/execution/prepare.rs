//! What happens between the nodes and the start of the code: containers, pre-check, code, inputs,
//! packages.

use std::sync::Arc;

use futures::FutureExt;

use crate::{
    execution::{
        copies::Limit,
        driver::{Driver, Ending},
    },
    job::{event::EventKind, worker::Worker},
};

impl Driver {
    /// Makes all workers ready; unless the job is new, without what lies in their directories.
    pub(crate) async fn prepare(&self, new: bool) -> Result<(), Ending> {
        let limit = self.core.clock.limit(self.core.timing.preparing).shared();
        for worker in &self.workers {
            let pod = worker.pod();
            let image = worker.request.image().to_owned();
            self.note(EventKind::PodPulled {
                pod: pod.clone(),
                image,
            });
            self.note(EventKind::PodCreated { pod: pod.clone() });
            self.note(EventKind::PodStarted { pod });
            if !new && let Err(error) = self.core.runner.renew(worker.clone()).await {
                let cause = format!("the container cannot be made again: {error}");
                return Err(Ending::Unprepared(cause));
            }
        }
        if self.request.retry.times > 0 {
            self.pre_check()?;
        }
        for worker in &self.workers {
            self.bring_in(worker, &limit).await?;
        }
        Ok(())
    }

    /// Only jobs that may run again are checked, as the user guide on fault tolerance says.
    fn pre_check(&self) -> Result<(), Ending> {
        for worker in &self.workers {
            let task = worker.task();
            let begin = self.now();
            self.note(EventKind::PreCheckStarted { task: task.clone() });
            let checked = self.core.runner.pre_check(worker);
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

    /// Brings code, inputs and packages to one worker.
    async fn bring_in(&self, worker: &Worker, limit: &Limit) -> Result<(), Ending> {
        let runner = Arc::clone(&self.core.runner);
        let task = worker.task();
        if worker.request.code_dir.is_some() {
            self.note(EventKind::CodeDownloading { task: task.clone() });
            let begin = self.now();
            tokio::select! {
                biased;
                ending = self.cut_short(limit) => return Err(ending),
                () = self.core.clock.sleep(runner.download_time(worker)) => {}
            }
            let copy = self.in_time(limit, |interrupt| {
                runner.download_code(worker.clone(), interrupt)
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
            self.stopped()?;
            self.note(EventKind::InputDownloading { task: task.clone() });
            let begin = self.now();
            let copy = self.in_time(limit, |interrupt| {
                runner.download_input(worker.clone(), index, interrupt)
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
            self.stopped()?;
            // No document has an event for it.
            let copy = self.in_time(limit, |interrupt| {
                runner.prefetch_output(worker.clone(), index, interrupt)
            });
            if let Err(error) = copy.await? {
                let (name, place) = (&output.name, &output.source);
                return Err(Ending::Unprepared(format!(
                    "the training output {name} cannot be downloaded from {place}: {error}"
                )));
            }
        }
        self.install(worker, limit).await?;
        self.stopped()?;
        Ok(())
    }

    /// Installs packages. Where that fails the code runs without them: it will say what it misses.
    async fn install(&self, worker: &Worker, limit: &Limit) -> Result<(), Ending> {
        for file in self.core.runner.requirements(worker) {
            self.stopped()?;
            let task = worker.task();
            let files = file.clone();
            self.note(EventKind::DependenciesInstalling {
                task: task.clone(),
                files: files.clone(),
            });
            let begin = self.now();
            let runner = &self.core.runner;
            let installation = self.in_time(limit, |interrupt| {
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
