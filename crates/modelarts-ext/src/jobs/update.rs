//! Changes to existing jobs: description, priority, deletion of several jobs.

use modelarts_api::types;
use serde_json::json;

use crate::{
    config::cloud::Cloud,
    error::Error,
    jobs::{
        job::JobHandle,
        training_jobs::{JobRef, TrainingJobs},
    },
    validation::{json_path::Located, limits, report::Report},
};

const BATCH_SIZE: usize = 100;

impl JobHandle {
    /// Sets the description, up to 256 characters; an empty one removes it.
    ///
    /// # Errors
    /// A description that is too long (nothing is sent then); a rejection by the service.
    pub async fn set_description(&self, text: impl Into<String>) -> Result<(), Error> {
        self.send_change(json!({"description": text.into()})).await
    }

    /// Sets the priority, 1 to 3, of a pending job in a dedicated pool (Huawei Cloud). 0 is an
    /// error here, but a warning for new jobs (`openapi/SOURCES.md`, D-68).
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
    /// Deletes jobs of one workspace, up to 100 with each call. Open Telekom Cloud has no such
    /// operation (`openapi/SOURCES.md`, S, W), so each job takes a call there.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// use modelarts_ext::Filter;
    ///
    /// let jobs = client.training_jobs();
    /// jobs.delete_many(["cf63aba9-63b1-4219-b717-708a2665100b"]).await?;
    /// let old = jobs.list().filter(Filter::name().like("try-")).collect(1000).await?;
    /// jobs.delete_many(&old).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// An invalid id (nothing is sent). A rejection, after which the jobs of the call are unknown,
    /// and later ones are not deleted.
    pub async fn delete_many(
        &self,
        jobs: impl IntoIterator<Item = impl Into<JobRef>>,
    ) -> Result<(), Error> {
        let jobs = jobs.into_iter().map(Into::into).map(|job: JobRef| {
            let id = self.job(job.id)?;
            let read = job.handle.as_ref().and_then(JobHandle::job);
            let kind = read.as_ref().and_then(|job| job.details().kind.as_ref());
            // A job that was not read counts as an ordinary job.
            let kind = kind.map_or("job", |kind| kind.as_str());
            Ok(json!({"kind": kind, "metadata": {"id": id.id()}}))
        });
        let jobs: Vec<_> = jobs.collect::<Result<_, Error>>()?;
        let (client, deadline) = (self.client(), self.client().deadline());
        let batches = async {
            if client.cloud() == Cloud::Otc {
                for id in jobs.iter().filter_map(|job| job["metadata"]["id"].as_str()) {
                    self.job(id)?.delete().await?;
                }
                return Ok(());
            }
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
            Err(deadline.timeout_error("jobs were being deleted").with_uncertainty())
        })
    }
}
