//! Changes to existing jobs: description, priority, deletion of several jobs.

use modelarts_api::types;
use serde_json::json;

use crate::{
    error::{
        Error,
        violation::{Actual, Violation},
    },
    jobs::{
        job::{Job, JobHandle},
        training_jobs::TrainingJobs,
    },
    validation::{
        json_path::Located,
        limits::{self, INVALID},
        report::Report,
    },
};

/// The maximum number of jobs that the service deletes with one call.
const BATCH_SIZE: usize = 100;

impl JobHandle {
    /// Sets the description: up to 256 characters; an empty one removes it. Possible in every
    /// phase.
    ///
    /// # Errors
    /// A description that is too long (nothing is sent then); a rejection by the service.
    pub async fn set_description(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send_change(json!({"description": text.into()})).await
    }

    /// Sets the priority, 1 to 3, of a job that is pending in a dedicated pool. Huawei Cloud only.
    /// 0 is an error here but a warning when a job is created, where some documents admit it
    /// (`openapi/SOURCES.md`, D-68).
    ///
    /// # Errors
    /// Another priority (nothing is sent then); a rejection by the service.
    pub async fn set_priority(&self, priority: u8) -> Result<(), Error> {
        let policy = json!({"schedule_policy": {"priority": priority}});
        self.send_change(json!({"spec": policy})).await
    }

    async fn send_change(&self, change: serde_json::Value) -> Result<(), Error> {
        const SCHEMA: &str = "ChangeTrainingJobDescriptionRequest";
        let mut report = Report::default();
        limits::check(SCHEMA, &Located::root(&change), &mut report);
        if !report.is_ok() {
            return Err(Error::broken_rules("the change", report.violations));
        }
        let body: types::ChangeTrainingJobDescriptionRequest = serde_json::from_value(change)
            .map_err(|error| Error::invalid(format!("no change: {error}")))?;
        self.client()
            .call(|api| {
                api.change_training_job_description()
                    .project_id(self.client().project_id())
                    .training_job_id(self.training_job_id().clone())
                    .body(body)
                    .send()
            })
            .await?;
        Ok(())
    }
}

impl TrainingJobs {
    /// Deletes jobs of one workspace, up to 100 with each call. Huawei Cloud only
    /// (`openapi/SOURCES.md`, S, W): on other clouds, use [`JobHandle::delete`].
    ///
    /// # Errors
    /// A rejection by the service. Earlier calls have deleted their jobs; for the jobs of the
    /// rejected call, the result is unknown.
    pub async fn delete_many(&self, jobs: impl IntoIterator<Item = &Job>) -> Result<(), Error> {
        let jobs: Vec<_> = jobs
            .into_iter()
            .map(|job| {
                let kind = &job.details().kind;
                let kind = kind.as_ref().map_or("job", |kind| kind.as_str());
                json!({"kind": kind, "metadata": {"id": job.id()}})
            })
            .collect();
        if jobs.is_empty() {
            return Err(Error::broken_rules(
                "the call",
                vec![Violation::new(
                    "jobs",
                    Actual::Missing,
                    "must name at least one job",
                    Some(INVALID),
                    "name a job to delete",
                )],
            ));
        }
        let (client, deadline) = (self.client(), self.client().deadline());
        let batches = async {
            for jobs in jobs.chunks(BATCH_SIZE) {
                let body: types::BatchDeleteTrainingJobRequest =
                    serde_json::from_value(json!({"jobs": jobs}))
                        .map_err(|error| Error::invalid(format!("no request: {error}")))?;
                client
                    .call(|api| {
                        api.batch_delete_training_job()
                            .project_id(client.project_id())
                            .body(body)
                            .send()
                    })
                    .await?;
            }
            Ok(())
        };
        let deleted = deadline.run(&**client.clock(), batches).await;
        deleted.unwrap_or_else(|| {
            Err(deadline
                .timeout_error("jobs were being deleted")
                .with_uncertainty())
        })
    }
}
