//! Trials on this machine: their service, their records, and the delivery of their outputs.

use std::{cell::Cell, path::Path};

use futures::future::join_all;
use modelarts_emulator::jobs::Container;
use modelarts_ext::{Job, jobs::wait::Waited};
use serde_json::Value;

use super::{
    Site, Sweep, TrialRow,
    report::Metric,
    space::{Dimension, Trial},
};
use crate::{
    commands::{
        create::{
            check::require_sound_file,
            draft::Draft,
            local::{Ending, LocalService, deliver, run_name},
            outputs::{OUTPUT_DIRECTORY, ignore_outputs},
        },
        jobs::download::Received,
    },
    context::Context,
    exit_status::ExitStatus,
    failure::Failure,
    follow::Interrupt,
    local_jobs::{self, KILLED, RunFacts, record, restore, storage::StoredOutputs},
    session::Session,
    terminal::note,
};

/// Embedded service of the trials.
pub(super) struct Local<'a> {
    service: &'a LocalService,
    /// `false` if outputs stay in the storage.
    is_delivered: Cell<bool>,
}

impl Local<'_> {
    /// Records a trial that has started, as if the program were killed before its end.
    pub(super) async fn record_start(&self, job: &Job, draft: &Draft) {
        let stored = Some(self.service.outputs(job));
        record_trial(job, draft, None, stored, Some(KILLED)).await;
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

impl Sweep {
    pub(super) async fn run_here(
        &self,
        session: &Session,
        base: Option<&Value>,
        dimensions: &[Dimension],
    ) -> Result<ExitStatus, Failure> {
        // A signal during the start must not leave files of the emulator behind.
        let mut interrupt = Interrupt::new();
        let pool = self.job.parameters.text("pool");
        let name = run_name(&self.job, base);
        let place = (Path::new(OUTPUT_DIRECTORY), name.as_str());
        let service = LocalService::start(place, pool, true, Container::Auto).await?;
        let client = &service.client;
        let local = Local { service: &service, is_delivered: Cell::new(true) };
        let staging = service.staging.clone();
        let site = Site { session, client, staging, local: Some(local) };
        let result = async {
            let draft = Draft::new(&self.job, base, &client.training_jobs(), &Context::default())?;
            let mut draft = Draft { bucket: None, ..draft };
            require_sound_file(&draft, client).await?;
            LocalService::require_python(&draft).await?;
            service.adapt(&mut draft).await?;
            let trials = self.trials(&draft, dimensions)?;
            // A trial that was stopped runs again, and does not write over its outputs.
            let directory = |name: &str| Path::new(OUTPUT_DIRECTORY).join(name);
            let mut names = trials.iter().map(|trial| &trial.name);
            names.try_for_each(|name| local_jobs::set_aside(name, &directory(name)))?;
            // Trials of an earlier call are adopted like those of the service.
            let is_trial = |name: &str| trials.iter().any(|trial| trial.name == name);
            let environment = &draft.job.body()["algorithm"]["environments"];
            restore(service.emulator(), is_trial, environment).await;
            ignore_outputs();
            self.run_on(&site, draft, trials, &mut interrupt).await
        };
        let result = result.await;
        let is_delivered = site.local.as_ref().is_none_or(|local| local.is_delivered.get());
        let ending = match (is_delivered, interrupt.is_received()) {
            (true, _) => Ending::Delivered,
            (false, true) => Ending::AtOnce,
            (false, false) => Ending::Kept,
        };
        drop(site);
        service.end(ending).await;
        result
    }

    /// Delivers the outputs of a new trial, and records it. Returns `true` if none is missing.
    pub(super) async fn deliver(
        &self,
        local: &Local<'_>,
        draft: &Draft,
        job: &Job,
        metric: Metric,
        stopped_by: Option<&str>,
    ) -> bool {
        let stored = local.service.outputs(job);
        let received = deliver(&stored, Path::new(OUTPUT_DIRECTORY).join(job.name())).await;
        let is_whole = received.note_failed();
        let metric = self.metric.clone().zip(serde_json::to_value(metric).ok());
        record_trial(job, draft, metric, (!is_whole).then_some(stored), stopped_by).await;
        local.is_delivered.set(local.is_delivered.get() && is_whole);
        is_whole
    }

    /// Returns the row of a trial whose outputs are still in the storage.
    pub(super) fn incomplete(&self, trial: &Trial, waited: &Waited, metric: Metric) -> TrialRow {
        let advice = format!("outputs incomplete: modelarts download --local {}", trial.name);
        let mut row = TrialRow::new(trial, waited, metric, self.best, Some(advice));
        row.status = ExitStatus::from(waited.outcome()).with_incomplete_outputs();
        row
    }

    /// Stops the trials that run as the service does, and delivers their outputs. `rest` returns the
    /// trial of a name if it has no row yet.
    pub(super) async fn stop_here<'t>(
        &self,
        site: &Site<'_>,
        local: &Local<'_>,
        draft: &Draft,
        rest: impl Fn(&str) -> Option<&'t Trial>,
        interrupt: &mut Interrupt,
    ) {
        let signal = interrupt.take().unwrap_or("a signal");
        note("the trials are stopped, and their outputs are delivered; Ctrl-C ends at once");
        // The response to a creation may not have been read.
        let jobs = site.client.training_jobs().list().collect(usize::MAX).await.unwrap_or_default();
        let ends = jobs.iter().filter_map(|job| {
            let trial = rest(job.name())?;
            Some(async move {
                // The job may have ended.
                let stopped = !job.is_final() && job.terminate().await.is_ok();
                let waited = job.wait().await.ok()?;
                let stopped_by = stopped.then_some(signal);
                Some(self.ended(site, trial, &waited, true, draft, stopped_by).await)
            })
        });
        match interrupt.unless(join_all(ends)).await {
            Some(rows) => rows.iter().flatten().for_each(|row| note(row.line())),
            None => {
                local.is_delivered.set(false);
                note(format_args!(
                    "ended at once; the files of the trials are in {}; `modelarts download --local \
                     TRIAL` delivers the outputs of each",
                    local.service.storage.path.display()
                ));
            }
        }
    }
}
