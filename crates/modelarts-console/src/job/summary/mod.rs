//! Timeline and diagnosis of a job, which the tabs Overview, Events and Logs show.

mod timeline;

use std::time::{Duration, SystemTime};

use askama::Template;
use modelarts_ext::{
    Job,
    jobs::{Cause, Diagnosis, diagnosis::Fact},
    types::Phase,
};

use crate::{
    facts::Summary, job::summary::timeline::JobRun, page::fragment, problem::Problem, site::State,
};

/// Maximum time for which a page waits for the diagnosis. Reading continues in the background, so
/// that the next page has the diagnosis.
const MAX_WAIT: Duration = Duration::from_secs(5);

#[derive(Template)]
#[template(path = "job/summary.html")]
struct SummaryView {
    id: String,
    runs: Vec<JobRun>,
    diagnosis: Option<DiagnosisView>,
    /// Reason of the phase, from the details of the job.
    why: Option<String>,
    /// Reason why the diagnosis is missing.
    problem: Option<Problem>,
    is_pending: bool,
    is_open: bool,
}

struct DiagnosisView {
    /// Style class of the diagnosis.
    style: &'static str,
    title: &'static str,
    found: Diagnosis,
}

/// Renders the timeline and the diagnosis of a job. If `is_open` is set, the evidence of a failure
/// is initially visible.
pub(crate) async fn render(state: &State, job: &Job, is_open: bool) -> Result<String, Problem> {
    let reading = tokio::spawn({
        let (state, job) = (state.clone(), job.clone());
        async move { state.cached.facts.summary(&job).await }
    });
    let reading = tokio::time::timeout(MAX_WAIT, reading);
    let (read, ()) = tokio::join!(reading, state.compare_clocks());
    let summary = match read {
        Ok(Ok(summary)) => Some(summary),
        _ => None,
    };
    let now = state.cached.clock.now();
    fragment(&view(job, summary.as_deref(), now, is_open))
}

fn view(job: &Job, summary: Option<&Summary>, now: SystemTime, is_open: bool) -> SummaryView {
    let stages = summary.map_or(&[][..], |summary| &summary.stages);
    let diagnosis = summary.and_then(|summary| summary.diagnosis.as_ref());
    let known = diagnosis.and_then(|diagnosis| diagnosis.as_ref().ok());
    let problem = diagnosis.and_then(|diagnosis| diagnosis.as_ref().err());
    SummaryView {
        why: job.status_reason(),
        id: job.id().to_owned(),
        runs: timeline::runs(job, stages, now),
        diagnosis: known.and_then(DiagnosisView::new),
        // A running job needs no diagnosis, so the problem is not shown.
        problem: problem.filter(|_| job.phase() != Phase::Running).cloned(),
        is_open: is_open && matches!(job.phase(), Phase::Failed | Phase::Abnormal),
        is_pending: summary.is_none() && job.phase() != Phase::Running,
    }
}

impl DiagnosisView {
    /// Creates the view. Returns `None` if the diagnosis adds no information to the phase.
    fn new(diagnosis: &Diagnosis) -> Option<Self> {
        let is_plain =
            matches!(diagnosis.cause, Cause::Running | Cause::Completed | Cause::Terminating);
        if is_plain {
            return None;
        }
        let (style, title) = match diagnosis.phase {
            Phase::Failed | Phase::Abnormal => ("bad", "Why it failed"),
            Phase::Terminated => ("quiet", "Why it was stopped"),
            Phase::Creating | Phase::Pending => ("warn", "Why it waits"),
            _ => ("warn", "Diagnosis"),
        };
        Some(Self { style, title, found: diagnosis.clone() })
    }
}
