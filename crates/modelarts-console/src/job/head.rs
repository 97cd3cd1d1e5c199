//! Header of a job: its name, its phase, and what can be done with it.

use askama::Template;
use modelarts_ext::{Job, types::Phase};

use crate::{access::visitor::Visitor, display, page::fragment, problem::Problem, site::State};

#[derive(Template)]
#[template(path = "job/head.html")]
struct Head {
    id: String,
    name: String,
    phase: String,
    /// Class of the style sheet, and symbol of the phase.
    style: &'static str,
    symbol: &'static str,
    /// Detailed phase, if it differs from the phase.
    detail: Option<String>,
    why: Option<String>,
    is_final: bool,
    /// `true` if the service accepts a stop now.
    can_stop: bool,
    csrf: String,
    is_read_only: bool,
}

/// Renders the header of a job, which is the content of the element `job-head`. It makes no call,
/// so streams may render it for each change.
pub(crate) fn render(state: &State, visitor: &Visitor, job: &Job) -> Result<String, Problem> {
    let phase = job.phase();
    let (style, symbol) = display::phase_style(&phase);
    let detail = job.secondary_phase().map(ToString::to_string);
    let name = match job.name() {
        "" => job.id(),
        name => name,
    };
    fragment(&Head {
        id: job.id().to_owned(),
        name: name.to_owned(),
        style,
        symbol,
        detail: detail.filter(|detail| *detail != phase.to_string()),
        why: job.status_reason(),
        is_final: job.is_final(),
        can_stop: can_stop(&phase),
        phase: phase.to_string(),
        csrf: visitor.csrf.clone(),
        is_read_only: state.is_read_only,
    })
}

/// Returns `true` if the service accepts the stop of a job in this phase.
pub(crate) fn can_stop(phase: &Phase) -> bool {
    matches!(phase, Phase::Creating | Phase::Pending | Phase::Running)
}
