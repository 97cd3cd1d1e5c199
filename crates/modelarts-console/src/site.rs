//! `Site`: the state that all requests share.

use std::{net::SocketAddr, ops::Deref, sync::Arc, time::Duration};

use axum::extract::{FromRequest, Request};
use modelarts_ext::{Client, Job, JobHandle, client::CurrentUser};
use modelarts_obs::Staging;
use tokio::sync::{OnceCell, watch};

use crate::{
    access::{
        keys::Access,
        visitor::{Fields, Visitor},
    },
    administration::Administration,
    choices::Choices,
    drafts::Drafts,
    facts::Facts,
    live::Watches,
    problem::Problem,
    service_clock::ServiceClock,
};

pub(crate) struct Site {
    pub(crate) settings: Settings,
    pub(crate) client: Client,
    /// Control routes of the emulator; `None` if the service is not an emulator on this machine.
    pub(crate) emulator: Option<Administration>,
    /// Staging for code and data that users drop on the form.
    pub(crate) staging: Staging,
    /// Files that were dropped on the form.
    pub(crate) drafts: Drafts,
    pub(crate) access: Access,
    pub(crate) cached: Cached,
    pub(crate) watches: Watches,
    /// Becomes `true` when the server ends, which must end all streams.
    pub(crate) closed: watch::Receiver<bool>,
}

pub(crate) struct Settings {
    /// Name of the service for the header of the page.
    pub(crate) service: String,
    /// Name of the context, for commands that the page shows.
    pub(crate) context: Option<String>,
    /// Flavor of new forms.
    pub(crate) flavor: Option<String>,
    pub(crate) is_read_only: bool,
    pub(crate) interval: Duration,
    /// Address on which the page is served.
    pub(crate) address: SocketAddr,
    /// Name of the session cookie. It contains the port, because all ports of a host share their
    /// cookies.
    pub(crate) cookie: String,
}

/// Cached values of the service.
pub(crate) struct Cached {
    pub(crate) choices: Choices,
    /// Stages, diagnoses, tags and usage of jobs.
    pub(crate) facts: Facts,
    pub(crate) clock: ServiceClock,
    /// User of the credentials, after the first look-up.
    pub(crate) user: OnceCell<CurrentUser>,
}

/// Advice about an address for which no job exists.
const ABSENT: &str = "it may have been deleted; search for it in the list of jobs";

pub(crate) fn absent(id: &str) -> Problem {
    Problem::not_found(format!("the project has no job with the id {id}")).with_advice(ABSENT)
}

impl Site {
    /// Returns the handle of the job with this id. A malformed id is a problem with status 404.
    pub(crate) fn handle(&self, id: &str) -> Result<JobHandle, Problem> {
        let handle = self.client.training_jobs().job(id);
        handle.map_err(|error| Problem::not_found(error.to_string()).with_advice(ABSENT))
    }

    /// Reads the job with an id from an address. The status is 404 if the job does not exist.
    pub(crate) async fn job(&self, id: &str) -> Result<Job, Problem> {
        match self.handle(id)?.get().await {
            Err(error) if error.is_not_found() => {
                let mut problem = absent(id);
                problem.code = error.code().map(str::to_owned);
                problem.request_id = error.request_id().map(str::to_owned);
                Err(problem)
            }
            read => Ok(read?),
        }
    }

    /// Returns a problem if the page permits no changes.
    pub(crate) fn check_writable(&self) -> Result<(), Problem> {
        match self.settings.is_read_only {
            false => Ok(()),
            true => Err(Problem::forbidden("this page is read-only")
                .with_advice("start it without --read-only to change jobs")),
        }
    }

    /// Compares the clocks, unless the last comparison is recent.
    pub(crate) async fn compare_clocks(&self) {
        self.cached.clock.compare(&self.client, self.emulator.as_ref()).await;
    }
}

/// Shared reference to the site, which each handler receives.
#[derive(Clone)]
pub(crate) struct State(pub(crate) Arc<Site>);

impl Deref for State {
    type Target = Site;

    fn deref(&self) -> &Site {
        &self.0
    }
}

/// Request of a user, with the fields of the query or of the form.
pub(crate) struct UserRequest {
    pub(crate) state: State,
    pub(crate) visitor: Visitor,
    pub(crate) fields: Fields,
}

impl FromRequest<State> for UserRequest {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &State) -> Result<Self, Problem> {
        let visitor = request.extensions().get::<Visitor>().cloned().unwrap_or_default();
        let fields = Fields::of_request(request, state).await?;
        Ok(Self { state: state.clone(), visitor, fields })
    }
}
