//! `JobFrame`: common parts of the tabs of a job.

use modelarts_ext::Job;

use crate::{
    access::visitor::Visitor,
    display,
    job::{followed::FollowedJob, head, summary},
    page::{Layout, Section},
    problem::Problem,
    site::State,
};

/// Tab of the page of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Overview,
    Events,
    Logs,
    Usage,
    Request,
}

impl Tab {
    /// All tabs in their order.
    pub(crate) const ALL: [Self; 5] =
        [Self::Overview, Self::Events, Self::Logs, Self::Usage, Self::Request];

    /// Returns the title of the tab.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Overview => "Overview",
            Self::Events => "Events",
            Self::Logs => "Logs",
            Self::Usage => "Usage",
            Self::Request => "Request",
        }
    }

    /// Returns the end of the address of the tab, after `/jobs/{id}`.
    pub(crate) fn path(self) -> &'static str {
        match self {
            Self::Overview => "",
            Self::Events => "/events",
            Self::Logs => "/logs",
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

/// Values that `job/layout.html` needs: the header of a job and its tabs.
pub(crate) struct JobFrame {
    /// Id of the job.
    pub(crate) id: String,
    /// Current tab.
    pub(crate) tab: Tab,
    /// Rendered header.
    pub(crate) head: String,
    /// Rendered time line and diagnosis.
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
        // Rendering the summary compares the clocks, and the layout has the result.
        let frame = Self {
            id: job.id().to_owned(),
            tab,
            head: head::render(state, visitor, job)?,
            summary: summary::render(state, job, tab == Tab::Overview).await?,
        };
        Ok((Layout::new(state, visitor, Section::Jobs, &title), frame))
    }
}

/// Reads the job with the id of an address for a script of a page that is open. All open pages of
/// a job share the response for a short time, until the poller of the job finds a change.
///
/// # Errors
/// Those of [`Site::job`](crate::site::Site::job).
pub(crate) async fn load_shared(state: &State, id: &str) -> Result<Job, Problem> {
    let followed = FollowedJob::follow(state, id).await?;
    let version = format!("{} {}", followed.state.epoch, followed.state.head);
    state.cached.facts.details(&followed.job, &version).await
}
