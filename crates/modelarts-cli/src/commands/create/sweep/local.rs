//! `Local`: the service of trials on this machine, their records, and the delivery of their outputs.

use std::{cell::Cell, path::Path};

use futures::future::join_all;
use modelarts_ext::{Job, jobs::wait::Waited};
use serde_json::Value;

use crate::{
    commands::{
        create::{
            draft::Draft,
            local::{Ending, LocalService, deliver},
            outputs::OUTPUT_DIRECTORY,
        },
        jobs::download::Received,
    },
    local_jobs::{self, KILLED, RunFacts, record, storage::StoredOutputs},
    terminal::note,
};

/// Embedded service of the trials.
pub(super) struct Local<'a> {
    service: &'a LocalService,
    /// `false` if outputs stay in the storage.
    is_delivered: Cell<bool>,
}

impl<'a> Local<'a> {
    pub(super) fn new(service: &'a LocalService) -> Self {
        Self { service, is_delivered: Cell::new(true) }
    }

    /// Records a trial that has started, as if the program were killed before its end.
    pub(super) async fn record_start(&self, job: &Job, draft: &Draft) {
        let stored = Some(self.service.outputs(job));
        record_trial(job, draft, None, stored, Some(KILLED)).await;
    }

    /// Delivers the outputs of a new trial, and records it. Returns `true` if none is missing.
    pub(super) async fn deliver(
        &self,
        job: &Job,
        draft: &Draft,
        metric: Option<(String, Value)>,
        stopped_by: Option<&str>,
    ) -> bool {
        let stored = self.service.outputs(job);
        let received = deliver(&stored, Path::new(OUTPUT_DIRECTORY).join(job.name())).await;
        let is_whole = received.note_failed();
        record_trial(job, draft, metric, (!is_whole).then_some(stored), stopped_by).await;
        self.is_delivered.set(self.is_delivered.get() && is_whole);
        is_whole
    }

    /// Stops trials as the service does, and waits for their ends.
    pub(super) async fn stop(&self, is_of: impl Fn(&str) -> bool) -> Vec<Waited> {
        // The response to a creation may not have been read.
        let jobs = self.service.client.training_jobs().list();
        let jobs = jobs.collect(usize::MAX).await.unwrap_or_default();
        let ends = jobs.iter().filter(|job| is_of(job.name())).map(async |job| {
            // The job may have ended.
            let _ = job.terminate().await;
            job.wait().await.ok()
        });
        join_all(ends).await.into_iter().flatten().collect()
    }

    /// Says where the outputs are that the user does not wait for.
    pub(super) fn leave(&self) {
        self.is_delivered.set(false);
        note(format_args!(
            "ended at once; the files of the trials are in {}; `modelarts download --local TRIAL` \
             delivers the outputs of each",
            self.service.storage.path.display()
        ));
    }

    /// Returns the end of the service. After a signal, the user does not wait for processes.
    pub(super) fn ending(&self, is_interrupted: bool) -> Ending {
        match (self.is_delivered.get(), is_interrupted) {
            (true, _) => Ending::Delivered,
            (false, true) => Ending::AtOnce,
            (false, false) => Ending::Kept,
        }
    }
}

async fn record_trial(
    job: &Job,
    draft: &Draft,
    metric: Option<(String, Value)>,
    stored: Option<StoredOutputs>,
    stopped_by: Option<&str>,
) {
    let environment = &draft.job.body()["algorithm"]["environments"];
    let outputs = &Path::new(OUTPUT_DIRECTORY).join(job.name());
    let (inherited, stopped_by) = (&draft.inherited, stopped_by.map(str::to_owned));
    record(job, RunFacts { environment, inherited, outputs, metric, stored, stopped_by }).await;
}

/// Delivers outputs that an earlier call could not deliver. Returns `true` if none is missing.
pub(super) fn deliver_again(job: &Job) -> bool {
    let directory = Path::new(OUTPUT_DIRECTORY).join(job.name());
    match local_jobs::deliver(job, None, &directory) {
        Ok(outputs) => outputs.into_iter().collect::<Received>().note_failed(),
        Err(failure) => {
            note(failure);
            false
        }
    }
}
