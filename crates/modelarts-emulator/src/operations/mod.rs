//! What each operation does.

mod algorithms;
mod catalog;
mod experiments;
mod images;
mod jobs;
pub(crate) mod logs;
mod publication;
mod reports;
mod route_plan;
pub(crate) mod tags;
mod templates;
mod trials;

use std::collections::BTreeSet;

use axum::http::HeaderName;

use crate::answer::Answer;
use crate::call::{Call, Outcome};
use crate::operation::Operation;
use crate::rules;

/// Executes an operation.
#[rustfmt::skip]
pub(crate) async fn execute(operation: Operation, call: &Call<'_>) -> Outcome {
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
        O::ListTrainingJobStages => jobs::stages(call),
        O::ValidateTrainingJobName => jobs::name(call),
        O::ShowTrainingJobLogsPreview => logs::preview(call).await,
        O::ShowObsUrlOfTrainingJobLogs => logs::link(call).await,
        O::ShowTrainingJobLogsFromAom => logs::lines(call).await,
        O::ShowTrainingJobMetrics => logs::metrics(call),
        O::ShowTrainingJobRoutePlan => route_plan::show(call),
        O::NotifyTrainingJobInformation => reports::add(call),
        O::CreateSaveImageJob => images::create(call),
        O::ShowSaveImageJob => images::show(call),
        O::ShowTrainingJobEngines => catalog::engines(),
        O::ShowTrainingJobFlavors => catalog::flavors(call),
        O::ShowTrainingFlavorMaxAvailableResource => catalog::pool_flavor(call),
        O::ShowTrainingQuotas => catalog::quotas(call),
        O::ModifyTrainingQuotas => catalog::modify_quotas(call),
        O::ListEventCategories => catalog::event_categories(call),
        O::ShowSearchAlgorithms => trials::algorithms(),
        O::ShowAutoSearchTrials => trials::list(call),
        O::ShowAutoSearchPerTrial => trials::show(call),
        O::ShowAutoSearchTrialEarlyStop => trials::stop(call),
        O::ShowAutoSearchParamsAnalysis => trials::analysis(call),
        O::ShowAutoSearchParamAnalysisResultPath => trials::picture(call),
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
        O::CreateTrainJobTags => tags::create(call),
        O::DeleteTrainJobTags => tags::delete(call),
        O::ShowTrainJobTags => tags::show(call),
        O::ListTrainingJobTags => tags::list(call),
        O::ListTrainingJobsByTags => tags::find(call, true),
        O::CountTrainingJobsByTags => tags::find(call, false),
    }
}

/// An answer that names the fields of the request without an effect.
fn naming(answer: Answer, ignored: &BTreeSet<String>) -> Answer {
    match rules::ignored_header(ignored) {
        Some(fields) => {
            tracing::warn!(?fields, "the request has fields without an effect here");
            answer.header(HeaderName::from_static(rules::IGNORED), fields)
        }
        None => answer,
    }
}
