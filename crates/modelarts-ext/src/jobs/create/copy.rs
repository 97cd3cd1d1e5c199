//! Copies of jobs: requests that create a job with the settings of an existing one.

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
    /// Returns a builder with the settings of this job and another name. Reads the details of the
    /// job with one call.
    ///
    /// All settings are kept, including undocumented fields: [`check`](CreateJob::check) warns
    /// about those, and [`without_field`](CreateJob::without_field) removes them. Values that the
    /// service sets itself (status, ids, times, addresses) and empty values (null, empty strings,
    /// empty lists) are dropped. Code and engine are kept in addition to the id of an algorithm,
    /// because they may override those of the algorithm.
    ///
    /// The outputs and the export path of the logs are kept as well: a copy writes to the same
    /// directories of OBS as this job, and overwrites files of the same names. To keep both
    /// results, replace each output:
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// let copy = job.copy_as("bert-2").await?;
    /// let copy = copy
    ///     .without_output("train_url")
    ///     .output("train_url", "obs://bucket/model-2/");
    /// # let _ = copy;
    /// # Ok(()) }
    /// ```
    ///
    /// The details of a fine-tuning job contain neither `train_type` nor `spec.asset_id`: set them
    /// again with [`fine_tuning`](CreateJob::fine_tuning) and [`asset`](CreateJob::asset).
    ///
    /// # Errors
    /// Same as [`TrainingJobs::get`](crate::jobs::TrainingJobs::get).
    pub async fn copy_as(&self, name: impl Into<String>) -> Result<CreateJob, Error> {
        let job = self.get().await?;
        // The raw response is converted, because the response types lack undocumented fields.
        let details = serde_json::from_slice(job.raw())
            .map_err(|error| Error::invalid(format!("the job is not understood: {error}")))?;
        Ok(CreateJob::from_body(self.client().clone(), request_from_details(&details)).name(name))
    }
}

/// Converts the details of a job into the request that creates a copy.
pub(super) fn request_from_details(details: &Value) -> Value {
    let mut body = Conversion::of_answer().convert_body(details);
    // The user id applies only to custom images.
    if get(&body, engine::IMAGE_URL).is_none() {
        remove(&mut body, engine::RUN_USER);
    }
    // A reference to an experiment contains either the id of an existing experiment or the name of
    // a new one.
    if get(&body, experiment::ID).is_some() {
        remove(&mut body, experiment::NAME);
        remove(&mut body, experiment::DESCRIPTION);
    }
    // Older interfaces return the default priority as 0.
    if get(&body, schedule_policy::PRIORITY) == Some(&0.into()) {
        remove(&mut body, schedule_policy::PRIORITY);
    }
    if !get(&body, SCHEDULE_POLICY).is_some_and(has_content) {
        remove(&mut body, SCHEDULE_POLICY);
    }
    // For jobs without a search, the service returns an empty search configuration.
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
