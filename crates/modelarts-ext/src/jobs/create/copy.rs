//! Copies of jobs: the request that creates a job like an existing one.

use modelarts_api::request_path::create_training_job::{
    FTJOB_CONFIG,
    algorithm::engine,
    ftjob_config,
    metadata::training_experiment_reference as experiment,
    spec::{SCHEDULE_POLICY, schedule_policy},
};
use serde_json::Value;

use crate::{
    error::Error,
    jobs::{
        create::{
            CreateJob,
            conversion::Conversion,
            json_edit::{get, remove},
        },
        job::JobHandle,
    },
    validation::json_path::has_content,
};

impl JobHandle {
    /// Starts a new job with the settings of this one and another name, to be changed and
    /// submitted. Reads the details of the job with one call.
    ///
    /// All settings are kept, including undocumented fields: [`check`](CreateJob::check) warns
    /// about those, and [`without_field`](CreateJob::without_field) removes them. Dropped are
    /// values that the service sets itself (status, ids, times, addresses), and empty ones: null,
    /// empty text, empty lists. Code and engine are kept beside the id of an algorithm, because
    /// they may be the job's own.
    ///
    /// The details of a fine-tuning job have neither `train_type` nor `spec.asset_id`: set them
    /// again with [`fine_tuning`](CreateJob::fine_tuning) and [`asset`](CreateJob::asset).
    ///
    /// # Errors
    /// Those of [`TrainingJobs::get`](crate::jobs::TrainingJobs::get).
    pub async fn copy_as(&self, name: impl Into<String>) -> Result<CreateJob, Error> {
        let job = self.get().await?;
        // The response types have only the documented fields.
        let details = serde_json::from_slice(job.raw())
            .map_err(|error| Error::invalid(format!("the job is not understood: {error}")))?;
        Ok(CreateJob::from_body(self.client().clone(), request_from_details(&details)).name(name))
    }
}

/// Converts the details of a job into the request for a copy.
pub(super) fn request_from_details(details: &Value) -> Value {
    let mut body = Conversion::of_answer().convert_body(details);
    // Only custom images have a user.
    if get(&body, engine::IMAGE_URL).is_none() {
        remove(&mut body, engine::RUN_USER);
    }
    // An experiment has an id if it exists, or a name if it is new.
    if get(&body, experiment::ID).is_some() {
        remove(&mut body, experiment::NAME);
        remove(&mut body, experiment::DESCRIPTION);
    }
    // The default, as older interfaces return it.
    if get(&body, schedule_policy::PRIORITY) == Some(&0.into()) {
        remove(&mut body, schedule_policy::PRIORITY);
    }
    if !get(&body, SCHEDULE_POLICY).is_some_and(has_content) {
        remove(&mut body, SCHEDULE_POLICY);
    }
    // Plain jobs are returned with an empty search configuration.
    let settings = [
        ftjob_config::FT_JOB_UUID,
        ftjob_config::FT_TRAIN_TYPE,
        ftjob_config::MODEL_TYPE,
        ftjob_config::TASK_ENV,
        ftjob_config::CHECKPOINT_CONFIG,
    ];
    if settings.iter().all(|field| get(&body, field).is_none()) {
        remove(&mut body, FTJOB_CONFIG);
    }
    body
}
