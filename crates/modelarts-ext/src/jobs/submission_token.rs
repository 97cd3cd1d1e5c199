//! Environment variable of a job with the token of its submission.

use modelarts_api::types::TrainingJob;

/// Name of the environment variable with the [token](crate::CreateJob::token) of a job.
///
/// The container and [`Job::raw`](crate::Job::raw) have the variable. Details, copies and request
/// bodies do not, and [`CreateJob::env`](crate::CreateJob::env) does not set it.
pub const SUBMISSION_TOKEN: &str = "MODELARTS_SUBMISSION_TOKEN";

/// Removes the token from the details of a job, and returns it.
pub(super) fn take(details: &mut TrainingJob) -> Option<String> {
    let program = details.algorithm.as_deref_mut().map(|program| &mut program.environments);
    let tasks = details.tasks.iter_mut();
    let tasks = tasks.filter_map(|task| Some(&mut task.algorithm.as_deref_mut()?.environments));
    let variables = program.into_iter().chain(tasks);
    variables.filter_map(|variables| variables.remove(SUBMISSION_TOKEN)).last()
}
