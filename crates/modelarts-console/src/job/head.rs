//! Header of a job: its name, its phase, and its changes.

use askama::Template;
use modelarts_ext::{Job, types::Phase};

use crate::{access::visitor::Visitor, display, page::fragment, problem::Problem, site::State};

/// Change of a job that needs a confirmation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Stop,
    Delete,
}

impl Action {
    /// Returns the verb.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Stop => "Stop",
            Self::Delete => "Delete",
        }
    }

    /// Returns the end of the address.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Delete => "delete",
        }
    }

    /// Returns the effect of the change.
    pub(crate) fn effect(self) -> &'static str {
        match self {
            Self::Stop => {
                "The job ends, and cannot be continued. Its events, logs and outputs remain."
            }
            Self::Delete => {
                "The job, its events and its logs are deleted, and it is stopped if it runs. Its \
                 outputs in OBS remain."
            }
        }
    }
}

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
    let created = job.created_at();
    fragment(&Head {
        id: job.id().to_owned(),
        name: display::name(job).to_owned(),
        style,
        symbol,
        detail: detail.filter(|detail| detail != phase.as_str()),
        created: created.map(|time| time.to_string()).unwrap_or_default(),
        ran: job.time_run().map(display::duration),
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
