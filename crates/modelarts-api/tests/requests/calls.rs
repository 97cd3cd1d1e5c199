//! Repetition of the recorded calls of the SDK with the generated client.

use modelarts_api::{Client, types::*};

use crate::recorded_call::RecordedCall;

/// Defines `make` with one match arm per operation, which sets all arguments that the SDK accepts
/// for it.
macro_rules! calls {
    ($($operation:literal => $method:ident($($argument:ident: $kind:ty),* $(,)?);)*) => {
        /// Calls an operation with the arguments of the recorded call. Panics if the request cannot
        /// be built.
        pub async fn make(
            operation: &str,
            client: &Client,
            recorded: &RecordedCall<'_>,
        ) -> Result<(), modelarts_api::Error> {
            match operation {
                $($operation => {
                    let answer = client
                        .$method()
                        $(.$argument(recorded.take::<$kind>(stringify!($argument))))*
                        .send()
                        .await;
                    if let Err(modelarts_api::Error::Invalid(why)) = answer {
                        panic!("{operation}: {why}");
                    }
                    answer.map(drop)
                })*
                _ => panic!("{operation} is recorded and not called"),
            }
        }
    };
}

calls! {
    "BatchDeleteTrainingJob" => batch_delete_training_job(
        project_id: String,
        body: BatchDeleteTrainingJobRequest,
    );
    "ChangeAlgorithm" => change_algorithm(
        project_id: String,
        algorithm_id: String,
        body: AlgorithmRequest,
    );
    "ChangeTrainingExperiment" => change_training_experiment(
        project_id: String,
        experiment_id: String,
        body: ChangeTrainingExperimentRequest,
    );
    "ChangeTrainingJobDescription" => change_training_job_description(
        project_id: String,
        training_job_id: String,
        body: ChangeTrainingJobDescriptionRequest,
    );
    "CheckTrainingExperiment" => check_training_experiment(
        project_id: String,
        workspace_id: String,
        experiment_name: String,
    );
    "CountTrainingJobsByTags" => count_training_jobs_by_tags(
        project_id: String,
        limit: i64,
        offset: i64,
        body: ResourceInstancesRequest,
    );
    "CreateAlgorithm" => create_algorithm(project_id: String, body: AlgorithmRequest);
    "CreateAlgorithmVersionToGallery" => create_algorithm_version_to_gallery(
        project_id: String,
        body: CreateAlgorithmVersionToGalleryRequest,
    );
    "CreateSaveImageJob" => create_save_image_job(
        project_id: String,
        training_job_id: String,
        task_id: String,
        body: CreateSaveImageJobRequest,
    );
    "CreateTrainJobTags" => create_train_job_tags(
        project_id: String,
        training_job_id: String,
        body: CreateTrainJobTagsRequest,
    );
    "CreateTrainingExperiment" => create_training_experiment(
        project_id: String,
        body: CreateTrainingExperimentRequest,
    );
    "CreateTrainingJob" => create_training_job(project_id: String, body: CreateTrainingJobRequest);
    "DeleteAlgorithm" => delete_algorithm(project_id: String, algorithm_id: String);
    "DeleteTrainJobTags" => delete_train_job_tags(
        project_id: String,
        training_job_id: String,
        body: DeleteTrainJobTagsRequest,
    );
    "DeleteTrainingExperiment" => delete_training_experiment(
        project_id: String,
        experiment_id: String,
    );
    "DeleteTrainingJob" => delete_training_job(project_id: String, training_job_id: String);
    "ListAlgorithms" => list_algorithms(
        project_id: String,
        offset: i64,
        limit: i64,
        sort_by: String,
        order: String,
        group_by: String,
        searches: String,
        workspace_id: String,
    );
    "ListEventCategories" => list_event_categories(project_id: String, flavor_type: String);
    "ListFtArtifacts" => list_ft_artifacts(
        project_id: String,
        training_job_id: String,
        steps: i64,
        epoch: i64,
        loss: f64,
        status: String,
        order_by_create_time_asc: bool,
        limit: i64,
        offset: i64,
    );
    "ListTrainingExperiments" => list_training_experiments(
        project_id: String,
        workspace_id: String,
        limit: i64,
        offset: i64,
        sort_by: String,
        order: String,
    );
    "ListTrainingJobEvents" => list_training_job_events(
        project_id: String,
        training_job_id: String,
        offset: i64,
        limit: i64,
        order: String,
        start_time: String,
        end_time: String,
        x_language: String,
        level: String,
        pattern: String,
    );
    "ListTrainingJobStages" => list_training_job_stages(
        project_id: String,
        training_job_id: String,
    );
    "ListTrainingJobTags" => list_training_job_tags(project_id: String, limit: i64, offset: i64);
    "ListTrainingJobTasks" => list_training_job_tasks(
        project_id: String,
        training_job_id: String,
        schedule_count: i64,
    );
    "ListTrainingJobs" => list_training_jobs(project_id: String, body: ListTrainingJobsRequest);
    "ListTrainingJobsByTags" => list_training_jobs_by_tags(
        project_id: String,
        limit: i64,
        offset: i64,
        body: ResourceInstancesRequest,
    );
    "ModifyTrainingQuotas" => modify_training_quotas(
        project_id: String,
        body: ModifyTrainingQuotasRequest,
    );
    "NotifyTrainingJobInformation" => notify_training_job_information(
        project_id: String,
        training_job_id: String,
        task_id: String,
        report_type: String,
        body: NotifyTrainingJobInformationRequest,
    );
    "PublishFtArtifacts" => publish_ft_artifacts(
        project_id: String,
        training_job_id: String,
        body: PublishFtArtifactsRequest,
    );
    "ShowAlgorithmByUuid" => show_algorithm_by_uuid(project_id: String, algorithm_id: String);
    "ShowAutoSearchParamAnalysisResultPath" => show_auto_search_param_analysis_result_path(
        project_id: String,
        parameter_name: String,
        training_job_id: String,
    );
    "ShowAutoSearchParamsAnalysis" => show_auto_search_params_analysis(
        project_id: String,
        training_job_id: String,
    );
    "ShowAutoSearchPerTrial" => show_auto_search_per_trial(
        project_id: String,
        training_job_id: String,
        trial_id: String,
    );
    "ShowAutoSearchTrialEarlyStop" => show_auto_search_trial_early_stop(
        project_id: String,
        training_job_id: String,
        trial_id: String,
    );
    "ShowAutoSearchTrials" => show_auto_search_trials(
        project_id: String,
        training_job_id: String,
        limit: i64,
        offset: i64,
    );
    "ShowAutoSearchYamlTemplateContent" => show_auto_search_yaml_template_content(
        project_id: String,
        algorithm_type: String,
        algorithm_name: String,
    );
    "ShowAutoSearchYamlTemplatesInfo" => show_auto_search_yaml_templates_info(project_id: String);
    "ShowFtDetail" => show_ft_detail(project_id: String, training_job_id: String);
    "ShowFtMetrics" => show_ft_metrics(project_id: String, training_job_id: String);
    "ShowSaveImageJob" => show_save_image_job(
        project_id: String,
        training_job_id: String,
        task_id: String,
    );
    "ShowSearchAlgorithms" => show_search_algorithms(project_id: String);
    "ShowTrainJobTags" => show_train_job_tags(project_id: String, training_job_id: String);
    "ShowTrainingExperimentDetails" => show_training_experiment_details(
        project_id: String,
        experiment_id: String,
    );
    "ShowTrainingFlavorMaxAvailableResource" => show_training_flavor_max_available_resource(
        project_id: String,
        flavor_id: String,
        pool_id: String,
    );
    "ShowTrainingJobDetails" => show_training_job_details(
        project_id: String,
        training_job_id: String,
    );
    "ShowTrainingJobEngines" => show_training_job_engines(project_id: String);
    "ShowTrainingJobFlavors" => show_training_job_flavors(project_id: String, flavor_type: String);
    "ShowTrainingJobLogsFromAom" => show_training_job_logs_from_aom(
        project_id: String,
        training_job_id: String,
        task_id: String,
        base_line: String,
        lines: i64,
        order: String,
    );
    "ShowTrainingJobLogsPreview" => show_training_job_logs_preview(
        project_id: String,
        training_job_id: String,
        task_id: String,
    );
    "ShowTrainingJobMetrics" => show_training_job_metrics(
        project_id: String,
        training_job_id: String,
        task_id: String,
    );
    "ShowTrainingJobRoutePlan" => show_training_job_route_plan(
        project_id: String,
        training_job_id: String,
    );
    "ShowTrainingQuotas" => show_training_quotas(
        project_id: String,
        user_id: String,
        resource: String,
    );
    "StopTrainingJob" => stop_training_job(
        project_id: String,
        training_job_id: String,
        body: StopTrainingJobRequest,
    );
    "ValidateTrainingJobName" => validate_training_job_name(
        project_id: String,
        job_name: String,
        workspace_id: String,
    );
}
