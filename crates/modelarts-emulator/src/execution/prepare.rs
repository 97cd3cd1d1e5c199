//! Preparation of a job on its nodes: containers, pre-check, code, inputs, packages.

use std::io;

use futures::FutureExt;
use tokio_util::sync::CancellationToken;

use crate::{
    execution::{
        copies::PrepareLimit,
        driver::{Driver, Ending},
    },
    job::{event::EventKind, worker::Worker},
    runner::worker_files::Transfer,
};

impl Driver {
    /// Prepares all workers. Except in the `first` round, recreates their containers.
    pub(crate) async fn prepare(&self, first: bool) -> Result<(), Ending> {
        let limit = self.state.clock.limit(self.state.settings.timing.preparing).shared();
        for worker in &self.workers {
            let pod = worker.pod();
            let image = worker.request.image().to_owned();
            self.note(EventKind::PodPulled { pod: pod.clone(), image });
            self.note(EventKind::PodCreated { pod: pod.clone() });
            self.note(EventKind::PodStarted { pod });
            if !first && let Err(error) = self.state.work.runner.renew(worker.clone()).await {
                let cause = format!("the container cannot be made again: {error}");
                return Err(Ending::Unprepared(cause));
            }
        }
        if self.request.retry.times > 0 {
            self.pre_check().await?;
        }
        for worker in &self.workers {
            self.download_all(worker, &limit).await?;
        }
        Ok(())
    }

    /// Runs the pre-check, which exists only for jobs that may be restarted (SOURCES D-152).
    async fn pre_check(&self) -> Result<(), Ending> {
        for worker in &self.workers {
            let task = worker.task();
            let begin = self.now();
            self.note(EventKind::PreCheckStarted { task: task.clone() });
            let checked = self.state.work.runner.pre_check(worker).await;
            let seconds = self.now().seconds_since(begin);
            if let Err(error) = checked {
                let cause = format!("the pre-check of {task} failed: {error}");
                self.note(EventKind::PreCheckFailed { task, seconds, error });
                return Err(Ending::PreCheckFailed(cause));
            }
            self.note(EventKind::PreCheckDone { task, seconds });
        }
        Ok(())
    }

    async fn download_all(&self, worker: &Worker, limit: &PrepareLimit) -> Result<(), Ending> {
        let runner = &self.state.work.runner;
        let task = || worker.task();
        if worker.request.code_dir.is_some() {
            let download = |interrupt: CancellationToken| async move {
                tokio::select! {
                    // `copy_in_time` determines when the preparation ends, and interrupts the copy.
                    biased;
                    () = interrupt.cancelled() => {}
                    _ = self.preparation_end(limit) => interrupt.cancelled().await,
                    () = self.state.clock.sleep(runner.download_time(worker)) => {}
                }
                runner.copy(worker.clone(), Transfer::Code, interrupt).await
            };
            let start = EventKind::CodeDownloading { task: task() };
            let end = |seconds, result: Result<(), String>| match result {
                Ok(()) => EventKind::CodeDownloaded { task: task(), seconds },
                Err(cause) => EventKind::CodeDownloadFailed { task: task(), seconds, cause },
            };
            self.copy_with_events(limit, download, start, end).await?.map_err(|error| {
                Ending::Unprepared(format!("the training code cannot be downloaded: {error}"))
            })?;
        }
        for (index, input) in worker.request.inputs.iter().enumerate() {
            let (name, place) = (&input.name, &input.source);
            let download =
                |interrupt| runner.copy(worker.clone(), Transfer::Input(index), interrupt);
            let start = EventKind::InputDownloading { task: task() };
            let end = |seconds, result: Result<(), String>| {
                let (task, parameter) = (task(), name.clone());
                match result {
                    Ok(()) => EventKind::InputDownloaded { task, seconds, parameter },
                    Err(cause) => {
                        EventKind::InputDownloadFailed { task, seconds, parameter, cause }
                    }
                }
            };
            self.copy_with_events(limit, download, start, end).await?.map_err(|error| {
                Ending::Unprepared(format!(
                    "the training input {name} cannot be downloaded from {place}: {error}"
                ))
            })?;
        }
        for (index, output) in worker.request.outputs.iter().enumerate() {
            if !output.prefetch {
                continue;
            }
            self.check_not_stopped()?;
            // The event catalogue contains no kind for this copy (SOURCES F1).
            let download =
                |interrupt| runner.copy(worker.clone(), Transfer::StoredOutput(index), interrupt);
            self.copy_in_time(limit, download).await?.map_err(|error| {
                let (name, place) = (&output.name, &output.source);
                Ending::Unprepared(format!(
                    "the training output {name} cannot be downloaded from {place}: {error}"
                ))
            })?;
        }
        for files in runner.requirements(worker).await {
            let install = |interrupt| runner.install(worker.clone(), files.clone(), interrupt);
            let start = EventKind::DependenciesInstalling { task: task(), files: files.clone() };
            let end = |seconds, result: Result<(), String>| {
                let (task, files) = (task(), files.clone());
                match result {
                    Ok(()) => EventKind::DependenciesInstalled { task, seconds, files },
                    Err(cause) => EventKind::DependenciesFailed { task, seconds, files, cause },
                }
            };
            // If the installation fails, the code runs without the packages, and its imports fail.
            let _ = self.copy_with_events(limit, install, start, end).await?;
        }
        self.check_not_stopped()?;
        Ok(())
    }

    /// Performs a copy or an installation, and records events of its start and its end.
    async fn copy_with_events<F: Future<Output = io::Result<()>>>(
        &self,
        limit: &PrepareLimit,
        copy: impl FnOnce(CancellationToken) -> F,
        start: EventKind,
        end: impl FnOnce(f64, Result<(), String>) -> EventKind,
    ) -> Result<Result<(), String>, Ending> {
        self.check_not_stopped()?;
        self.note(start);
        let begin = self.now();
        let result = self.copy_in_time(limit, copy).await?;
        let result = result.map_err(|error| error.to_string());
        self.note(end(self.now().seconds_since(begin), result.clone()));
        Ok(result)
    }
}
