//! `JobFrame`: parts that all tabs of a job share.

use askama::Template;
use modelarts_ext::Job;

use crate::{
    access::visitor::Visitor,
    action::{Action, can_stop},
    display,
    job::{followed::FollowedJob, summary},
    page::{Layout, Section, fragment},
    problem::Problem,
    site::State,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Overview,
    Events,
    Logs,
    Values,
    Outputs,
    Usage,
    Request,
}

impl Tab {
    pub(crate) const ALL: [Self; 7] = [
        Self::Overview,
        Self::Events,
        Self::Logs,
        Self::Values,
        Self::Outputs,
        Self::Usage,
        Self::Request,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Events => "Events",
            Self::Logs => "Logs",
            Self::Values => "Values",
            Self::Outputs => "Outputs",
            Self::Usage => "Usage",
            Self::Request => "Request",
        }
    }

    /// Returns the suffix of the tab's address, after `/jobs/{id}`.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Overview => "",
            Self::Events => "/events",
            Self::Logs => "/logs",
            Self::Values => "/values",
            Self::Outputs => "/outputs",
            Self::Usage => "/usage",
            Self::Request => "/request",
        }
    }

    /// Returns the name of the tab in addresses and scripts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Overview => "overview",
            tab => &tab.path()[1..],
        }
    }
}

/// Values for the template `job/layout.html`: the header of a job and its tabs.
pub(crate) struct JobFrame {
    pub(crate) id: String,
    pub(crate) tab: Tab,
    pub(crate) head: String,
    /// Stages and diagnosis; empty on tabs without them.
    pub(crate) summary: String,
}

impl JobFrame {
    /// Returns the layout and the frame of a tab of this job.
    pub(crate) async fn of(
        state: &State,
        visitor: &Visitor,
        job: &Job,
        tab: Tab,
    ) -> Result<(Layout, Self), Problem> {
        let title = format!("{} · {}", tab.title(), display::name(job));
        // The clocks are compared for the summary, too, so the layout is created afterwards.
        let frame = Self {
            id: job.id().to_owned(),
            tab,
            head: render_head(state, visitor, job)?,
            summary: match tab {
                Tab::Overview | Tab::Events | Tab::Logs => {
                    summary::render(state, job, tab == Tab::Overview).await?
                }
                _ => {
                    state.compare_clocks().await;
                    String::new()
                }
            },
        };
        Ok((Layout::new(state, visitor, Section::Jobs, &title), frame))
    }
}

#[derive(Template)]
#[template(path = "job/head.html")]
struct Head {
    id: String,
    name: String,
    phase: String,
    /// Style class of the phase, and its symbol.
    style: &'static str,
    symbol: &'static str,
    /// Detailed phase; `None` if it is missing or equals the phase.
    detail: Option<String>,
    /// Time of the creation, RFC 3339; empty if it is not known.
    created: String,
    ran: Option<String>,
    can_stop: bool,
    csrf: String,
    is_read_only: bool,
}

/// Renders the header of a job, which is the content of the element `job-head`. Sends no request,
/// so streams can render the header for each change.
pub(crate) fn render_head(state: &State, visitor: &Visitor, job: &Job) -> Result<String, Problem> {
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
        // The timeline shows how long a job has been running.
        ran: job.time_run().filter(|_| job.is_final()).map(display::duration),
        can_stop: can_stop(job),
        phase: phase.to_string(),
        csrf: visitor.csrf.clone(),
        is_read_only: state.settings.is_read_only,
    })
}

/// Reads the job with an id from an address, for a script of an open page. All open pages of a job
/// share the response until the job changes or the response is too old.
pub(crate) async fn load_shared(state: &State, id: &str) -> Result<Job, Problem> {
    let followed = FollowedJob::follow(state, id).await?;
    let version = format!("{} {}", followed.state.epoch, followed.state.head);
    state.cached.facts.details(&followed.job, &version).await
}
