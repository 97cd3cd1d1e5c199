//! Header of a job: its name, its phase, and its changes.

use askama::Template;
use modelarts_ext::Job;

use crate::{
    access::visitor::Visitor,
    action::{Action, can_stop},
    display,
    page::fragment,
    problem::Problem,
    site::State,
};

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
    /// Time of the creation, RFC 3339.
    created: String,
    ran: Option<String>,
    /// `true` if the job can be stopped.
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
    let created = job.created_at();
    fragment(&Head {
        id: job.id().to_owned(),
        name: display::name(job).to_owned(),
        style,
        symbol,
        detail: detail.filter(|detail| detail != phase.as_str()),
        created: created.map(|time| time.to_string()).unwrap_or_default(),
        ran: job.time_run().map(display::duration),
        can_stop: can_stop(job),
        phase: phase.to_string(),
        csrf: visitor.csrf.clone(),
        is_read_only: state.settings.is_read_only,
    })
}
