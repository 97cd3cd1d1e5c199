//! Handlers of the operations, grouped by resource.
//!
//! A handler takes an authenticated request, [`ApiCall`], and returns its response or error.
//! Handlers are independent of HTTP routes: the server calls [`execute`] with the operation.

mod algorithms;
pub(crate) mod call;
mod catalog;
mod document_list;
mod experiments;
pub(crate) mod jobs;
mod publication;
mod templates;

use crate::{
    catalog::operations::Operation,
    handlers::call::{ApiCall, ApiResult},
};

#[rustfmt::skip]
pub(crate) async fn execute(operation: Operation, call: &ApiCall<'_>) -> ApiResult {
    use Operation as O;
    match operation {
        O::CreateTrainingJob => jobs::create(call),
        O::ListTrainingJobs => jobs::list(call),
        O::ShowTrainingJobDetails => jobs::show(call),
        O::ChangeTrainingJobDescription => jobs::change(call),
        O::DeleteTrainingJob => jobs::delete(call),
        O::StopTrainingJob => jobs::stop(call),
        O::BatchDeleteTrainingJob => jobs::batch_delete(call),
        O::ListTrainingJobEvents => jobs::events(call),
        O::ListTrainingJobTasks => jobs::tasks(call),
        O::ListTrainingJobStages => jobs::list_stages(call),
        O::ValidateTrainingJobName => jobs::check_name(call),
        O::ShowTrainingJobLogsPreview => jobs::logs::preview(call).await,
        O::ShowObsUrlOfTrainingJobLogs => jobs::logs::link(call).await,
        O::ShowTrainingJobLogsFromAom => jobs::logs::lines(call).await,
        O::ShowTrainingJobMetrics => jobs::logs::metrics(call),
        O::ShowTrainingJobRoutePlan => jobs::route_plan(call),
        O::NotifyTrainingJobInformation => jobs::reports::add(call),
        O::CreateSaveImageJob => jobs::images::create(call),
        O::ShowSaveImageJob => jobs::images::show(call),
        O::ShowTrainingJobEngines => catalog::engines(),
        O::ShowTrainingJobFlavors => catalog::flavors(call),
        O::ShowTrainingFlavorMaxAvailableResource => catalog::pool_flavor(call),
        O::ShowTrainingQuotas => catalog::quotas(call),
        O::ModifyTrainingQuotas => catalog::modify_quotas(call),
        O::ListEventCategories => catalog::event_categories(call),
        O::ShowSearchAlgorithms => jobs::trials::algorithms(),
        O::ShowAutoSearchTrials => jobs::trials::list(call),
        O::ShowAutoSearchPerTrial => jobs::trials::show(call),
        O::ShowAutoSearchTrialEarlyStop => jobs::trials::stop(call),
        O::ShowAutoSearchParamsAnalysis => jobs::trials::analysis(call),
        O::ShowAutoSearchParamAnalysisResultPath => jobs::trials::chart_path(call),
        O::ShowAutoSearchYamlTemplatesInfo => templates::list(),
        O::ShowAutoSearchYamlTemplateContent => templates::show(call),
        O::CreateAlgorithm => algorithms::create(call),
        O::ListAlgorithms => algorithms::list(call),
        O::ShowAlgorithmByUuid => algorithms::show(call),
        O::ChangeAlgorithm => algorithms::change(call),
        O::DeleteAlgorithm => algorithms::delete(call),
        O::CreateAlgorithmVersionToGallery => publication::create(call),
        O::CreateTrainingExperiment => experiments::create(call),
        O::ListTrainingExperiments => experiments::list(call),
        O::ShowTrainingExperimentDetails => experiments::show(call),
        O::ChangeTrainingExperiment => experiments::change(call),
        O::DeleteTrainingExperiment => experiments::delete(call),
        O::CheckTrainingExperiment => experiments::check(call),
        O::CreateTrainJobTags => jobs::tags::create(call),
        O::DeleteTrainJobTags => jobs::tags::delete(call),
        O::ShowTrainJobTags => jobs::tags::show(call),
        O::ListTrainingJobTags => jobs::tags::list(call),
        O::ListTrainingJobsByTags => jobs::tags::find(call, true),
        O::CountTrainingJobsByTags => jobs::tags::find(call, false),
    }
}
