//! Access to the stored state, for tests that compare it with the responses of the API.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use tokio_util::sync::CancellationToken;

use crate::{
    emulator::Emulator,
    files::confined_dir::{ConfinedDir, OnEscape, copy},
    job::worker::Worker,
};

/// A job in its stored form.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredJob {
    /// The id of the job.
    pub id: String,
    /// The name of the job, unique in the project.
    pub name: String,
    /// The phase of the job, for example `Running`.
    pub phase: &'static str,
    /// The names of the tasks: `worker-0` and so on.
    pub tasks: Vec<String>,
    /// Time at which the job reached its final phase, if it has, in whole seconds.
    pub ended: Option<SystemTime>,
    /// `true` if the job is settled, which means that its last event is written.
    pub settled: bool,
    /// `true` if a deletion was accepted; see [`Emulator::wait_until_gone`].
    pub deleted: bool,
    /// The messages of the events, in the order in which they were written.
    pub events: Vec<String>,
}

impl Emulator {
    /// Returns the ids of all jobs of all projects, in the order of creation.
    ///
    /// # Errors
    /// Returns an error if the database cannot be read.
    pub fn stored_ids(&self) -> io::Result<Vec<String>> {
        self.state.store.all_ids().map_err(io::Error::other)
    }

    /// Returns the job with this id, or `None` if it does not exist or cannot be read.
    ///
    /// # Errors
    /// Returns an error if the events of the job cannot be read.
    pub fn stored_job(&self, id: &str) -> io::Result<Option<StoredJob>> {
        let stored = self.state.store.read(id, |job| StoredJob {
            id: job.id.clone(),
            name: job.request.name.clone(),
            phase: job.state.phase(),
            tasks: job.tasks().collect(),
            ended: job.history.ended.map(SystemTime::from),
            settled: job.lifecycle.settled,
            deleted: job.lifecycle.deleted,
            events: Vec::new(),
        });
        let Some(mut job) = stored else {
            return Ok(None);
        };
        let events = self.state.store.events(id);
        let events = events.map_err(|error| io::Error::other(format!("{error:?}")))?;
        job.events = events
            .into_iter()
            .map(|event| event.kind.message(self.state.settings.wording))
            .collect();
        Ok(Some(job))
    }

    /// Returns the outputs of the workers of a job: the name of each, the directory of the worker,
    /// and the directory below it to which the code writes. It has what could not be copied to OBS,
    /// too. It may not exist.
    #[must_use]
    pub fn output_directories(&self, id: &str) -> Vec<(String, PathBuf, PathBuf)> {
        let request = self.state.store.read(id, |job| Arc::clone(&job.request));
        let workers = request.iter().flat_map(|request| Worker::all(id, request));
        let directories = workers.flat_map(|worker| {
            let directory = self.state.work.runner.files().worker_directory(&worker);
            let outputs = worker.request.outputs.iter();
            let outputs = outputs.map(|output| {
                let path = output.local_dir.host_path(&directory);
                (output.name.clone(), directory.clone(), path)
            });
            outputs.collect::<Vec<_>>()
        });
        directories.collect()
    }

    /// Copies an output of [`output_directories`](Self::output_directories) to a directory as the
    /// platform copies it to OBS: links lead where the code finds their files. Files that are up to
    /// date, and links out of the directory of the worker, are left out.
    ///
    /// # Errors
    /// Returns an error if a directory does not exist, or a file cannot be copied.
    pub fn copy_output(worker: &Path, output: &Path, to: &Path) -> io::Result<()> {
        let below = output.strip_prefix(worker).map_err(io::Error::other)?;
        let (from, to) = (ConfinedDir::open(worker)?, ConfinedDir::open(to)?);
        let interrupt = CancellationToken::new();
        copy((&from, below), (&to, Path::new("")), OnEscape::Skip, &interrupt).map(drop)
    }

    /// Returns the log of the task with the rank `task`, as far as it is written.
    ///
    /// # Errors
    /// Returns an error if the job or the task does not exist, or the file cannot be read.
    pub async fn stored_log(&self, id: &str, task: u32) -> io::Result<Vec<u8>> {
        let request = self.state.store.read(id, |job| Arc::clone(&job.request));
        let request = request.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let worker = Worker::all(id, &request).nth(task as usize);
        let worker = worker.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
        let tail = self.state.work.runner.log_tail(worker, u64::MAX).await?;
        Ok(tail.map_or_else(Vec::new, |tail| tail.content))
    }
}
