//! Table of the operations that the emulator implements: names, methods and paths.

macro_rules! operations {
    ($($name:ident, $method:ident, $path:literal;)*) => {
        /// An operation of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Operation {
            $($name,)*
        }

        impl Operation {
            pub(crate) const ALL: &[Self] = &[$(Self::$name,)*];

            /// Returns the `operationId` of the OpenAPI description.
            pub(crate) const fn id(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($name),)*
                }
            }

            /// Returns the HTTP method.
            pub(crate) const fn method(self) -> &'static str {
                match self {
                    $(Self::$name => stringify!($method),)*
                }
            }

            /// Returns the path relative to `/v2/{project_id}`.
            pub(crate) const fn path(self) -> &'static str {
                match self {
                    $(Self::$name => $path,)*
                }
            }
        }
    };
}

/// Operations of OBS, by the names of the S3 API with the prefix `obs.`. They exist only with the
/// feature `obs`.
const OBS_OPERATIONS: &[&str] = if cfg!(feature = "obs") {
    &[
        "obs.ListBuckets",
        "obs.CreateBucket",
        "obs.HeadBucket",
        "obs.DeleteBucket",
        "obs.GetBucketLocation",
        "obs.GetBucketVersioning",
        "obs.ListObjects",
        "obs.ListObjectsV2",
        "obs.PutObject",
        "obs.GetObject",
        "obs.HeadObject",
        "obs.CopyObject",
        "obs.DeleteObject",
        "obs.DeleteObjects",
        "obs.CreateMultipartUpload",
        "obs.UploadPart",
        "obs.UploadPartCopy",
        "obs.CompleteMultipartUpload",
        "obs.AbortMultipartUpload",
        "obs.ListParts",
        "obs.ListMultipartUploads",
    ]
} else {
    &[]
};

/// Returns the names of all operations: the operationIds, then those of OBS.
pub(crate) fn operation_ids() -> impl Iterator<Item = &'static str> {
    let ids = Operation::ALL.iter().map(|operation| operation.id());
    ids.chain(OBS_OPERATIONS.iter().copied())
}

/// Returns the name of an operation of OBS from that of the S3 API.
#[cfg(feature = "obs")]
pub(crate) fn obs_operation(name: &str) -> Option<&'static str> {
    let mut names = OBS_OPERATIONS.iter().copied();
    names.find(|known| known.strip_prefix("obs.") == Some(name))
}

operations! {
    CreateTrainingJob, POST, "/training-jobs";
    ListTrainingJobs, POST, "/training-job-searches";
    ShowTrainingJobDetails, GET, "/training-jobs/{training_job_id}";
    ChangeTrainingJobDescription, PUT, "/training-jobs/{training_job_id}";
    DeleteTrainingJob, DELETE, "/training-jobs/{training_job_id}";
    StopTrainingJob, POST, "/training-jobs/{training_job_id}/actions";
    BatchDeleteTrainingJob, POST, "/training-jobs/batch-delete";
    ListTrainingJobEvents, GET, "/training-jobs/{training_job_id}/events";
    ListTrainingJobTasks, GET, "/training-jobs/{training_job_id}/tasks";
    ListTrainingJobStages, GET, "/training-jobs/{training_job_id}/stages";
    ShowTrainingJobLogsPreview, GET, "/training-jobs/{training_job_id}/tasks/{task_id}/logs/preview";
    ShowObsUrlOfTrainingJobLogs, GET, "/training-jobs/{training_job_id}/tasks/{task_id}/logs/url";
    ShowTrainingJobLogsFromAom, GET, "/training-jobs/{training_job_id}/logs/{task_id}";
    ShowTrainingJobMetrics, GET, "/training-jobs/{training_job_id}/metrics/{task_id}";
    ShowTrainingJobRoutePlan, GET, "/training-jobs/{training_job_id}/route_plan";
    NotifyTrainingJobInformation, POST, "/training-jobs/{training_job_id}/tasks/{task_id}/reports/{report_type}";
    CreateSaveImageJob, POST, "/training-jobs/{training_job_id}/tasks/{task_id}/save-image-job";
    ShowSaveImageJob, GET, "/training-jobs/{training_job_id}/tasks/{task_id}/save-image-job";
    ValidateTrainingJobName, GET, "/training-job-names";
    ShowTrainingJobEngines, GET, "/training-job-engines";
    ShowTrainingJobFlavors, GET, "/training-job-flavors";
    ShowTrainingFlavorMaxAvailableResource, GET, "/training-pool-flavors";
    ShowTrainingQuotas, GET, "/training-quotas";
    ModifyTrainingQuotas, PUT, "/training-quotas";
    ListEventCategories, GET, "/training-event-categories";
    ShowSearchAlgorithms, GET, "/search-algorithms";
    ShowAutoSearchTrials, GET, "/training-jobs/{training_job_id}/autosearch-trials";
    ShowAutoSearchPerTrial, GET, "/training-jobs/{training_job_id}/autosearch-trials/{trial_id}";
    ShowAutoSearchTrialEarlyStop, POST, "/training-jobs/{training_job_id}/autosearch-trial-earlystop/{trial_id}";
    ShowAutoSearchParamsAnalysis, GET, "/training-jobs/{training_job_id}/autosearch-parameter-analysis";
    ShowAutoSearchParamAnalysisResultPath, GET, "/training-jobs/{training_job_id}/autosearch-parameter-analysis/{parameter_name}";
    ShowAutoSearchYamlTemplatesInfo, GET, "/training-jobs/autosearch/yaml-templates";
    ShowAutoSearchYamlTemplateContent, GET, "/training-jobs/autosearch/yaml-templates/{algorithm_type}/{algorithm_name}";
    CreateAlgorithm, POST, "/algorithms";
    ListAlgorithms, GET, "/algorithms";
    ShowAlgorithmByUuid, GET, "/algorithms/{algorithm_id}";
    ChangeAlgorithm, PUT, "/algorithms/{algorithm_id}";
    DeleteAlgorithm, DELETE, "/algorithms/{algorithm_id}";
    CreateAlgorithmVersionToGallery, POST, "/gallery-algorithm-publication";
    CreateTrainingExperiment, POST, "/training-experiments";
    ListTrainingExperiments, GET, "/training-experiments";
    ShowTrainingExperimentDetails, GET, "/training-experiments/{experiment_id}";
    ChangeTrainingExperiment, PUT, "/training-experiments/{experiment_id}";
    DeleteTrainingExperiment, DELETE, "/training-experiments/{experiment_id}";
    CheckTrainingExperiment, GET, "/training-experiment-names";
    CreateTrainJobTags, POST, "/modelarts-training-job/{training_job_id}/tags/create";
    DeleteTrainJobTags, DELETE, "/modelarts-training-job/{training_job_id}/tags/delete";
    ShowTrainJobTags, GET, "/modelarts-training-job/{training_job_id}/tags";
    ListTrainingJobTags, GET, "/modelarts-training-job/tags";
    ListTrainingJobsByTags, POST, "/modelarts-training-job/resource-instances/filter";
    CountTrainingJobsByTags, POST, "/modelarts-training-job/resource-instances/count";
}
