//! Handlers of the operations. They are independent of HTTP: the server calls [`execute`].

mod algorithms;
pub(crate) mod call;
mod catalog;
mod document_list;
mod experiments;
pub(crate) mod jobs;

use modelarts_api::Operation;

use crate::{
    api::{error::ApiError, response::Reply},
    handlers::call::ApiCall,
};

pub(crate) async fn execute(operation: &Operation, call: &ApiCall<'_>) -> Reply {
    match operation.id {
        "CreateTrainingJob" => jobs::create(call),
        "ListTrainingJobs" => jobs::list(call),
        "ShowTrainingJobDetails" => jobs::show(call),
        "ChangeTrainingJobDescription" => jobs::change(call),
        "DeleteTrainingJob" => jobs::delete(call),
        "StopTrainingJob" => jobs::stop(call),
        "BatchDeleteTrainingJob" => jobs::batch_delete(call),
        "ListTrainingJobEvents" => jobs::events(call),
        "ListTrainingJobTasks" => jobs::tasks(call),
        "ListTrainingJobStages" => jobs::list_stages(call),
        "ValidateTrainingJobName" => jobs::check_name(call),
        "ShowTrainingJobLogsPreview" => jobs::logs::preview(call).await,
        "ShowObsUrlOfTrainingJobLogs" => jobs::logs::link(call).await,
        "ShowTrainingJobLogsFromAom" => jobs::logs::lines(call).await,
        "ShowTrainingJobMetrics" => jobs::logs::metrics(call),
        "ShowTrainingJobRoutePlan" => jobs::route_plan(call),
        "NotifyTrainingJobInformation" => jobs::events::report(call),
        "CreateSaveImageJob" => jobs::images::create(call),
        "ShowSaveImageJob" => jobs::images::show(call),
        "ShowTrainingJobEngines" => catalog::engines(),
        "ShowTrainingJobFlavors" => catalog::flavors(call),
        "ShowTrainingFlavorMaxAvailableResource" => catalog::pool_flavor(call),
        "ShowTrainingQuotas" => catalog::quotas(call),
        "ModifyTrainingQuotas" => catalog::modify_quotas(call),
        "ListEventCategories" => catalog::event_categories(call),
        "ShowSearchAlgorithms" => jobs::trials::algorithms(),
        "ShowAutoSearchTrials" => jobs::trials::list(call),
        "ShowAutoSearchPerTrial" => jobs::trials::show(call),
        "ShowAutoSearchTrialEarlyStop" => jobs::trials::stop(call),
        "ShowAutoSearchParamsAnalysis" => jobs::trials::analysis(call),
        "ShowAutoSearchParamAnalysisResultPath" => jobs::trials::chart_path(call),
        "ShowAutoSearchYamlTemplatesInfo" => catalog::templates(),
        "ShowAutoSearchYamlTemplateContent" => catalog::template(call),
        "CreateAlgorithm" => algorithms::create(call),
        "ListAlgorithms" => algorithms::list(call),
        "ShowAlgorithmByUuid" => algorithms::show(call),
        "ChangeAlgorithm" => algorithms::change(call),
        "DeleteAlgorithm" => algorithms::delete(call),
        "CreateAlgorithmVersionToGallery" => algorithms::publish(call),
        "CreateTrainingExperiment" => experiments::create(call),
        "ListTrainingExperiments" => experiments::list(call),
        "ShowTrainingExperimentDetails" => experiments::show(call),
        "ChangeTrainingExperiment" => experiments::change(call),
        "DeleteTrainingExperiment" => experiments::delete(call),
        "CheckTrainingExperiment" => experiments::check(call),
        "CreateTrainJobTags" => jobs::tags::create(call),
        "DeleteTrainJobTags" => jobs::tags::delete(call),
        "ShowTrainJobTags" => jobs::tags::show(call),
        "ListTrainingJobTags" => jobs::tags::list(call),
        "ListTrainingJobsByTags" => jobs::tags::find(call, true),
        "CountTrainingJobsByTags" => jobs::tags::find(call, false),
        other => Err(ApiError::not_modelled(other)),
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::operations::modelled;

    /// The operations that the emulator implements are those with an arm in [`super::execute`].
    #[test]
    fn each_modelled_operation_has_a_handler() {
        let source = include_str!("mod.rs");
        let is_arm = |line: &&str| line.trim_start().starts_with('"') && line.contains("\" =>");
        let mut arms: Vec<&str> =
            source.lines().filter(is_arm).filter_map(|line| line.split('"').nth(1)).collect();
        arms.sort_unstable();
        let mut ids: Vec<&str> = modelled().map(|operation| operation.id).collect();
        ids.sort_unstable();
        assert_eq!(arms, ids);
    }
}
