//! `Call`: a call of the service, and the facts that the response shows.

use std::{
    cell::Cell,
    time::{Duration, Instant, SystemTime},
};

use modelarts_ext::{Client, Error, api, types};

use crate::{
    commands::setup::doctor::{report::Finding, storage::Origins},
    output,
};

/// Clock difference from which a warning is reported.
const SKEW_WARNING: Duration = Duration::from_secs(5 * 60);
/// Clock difference from which the service rejects requests.
const MAX_SKEW: Duration = Duration::from_secs(15 * 60);
/// Clock difference that the resolution of the header and the duration of a call can explain.
const SKEW_NOISE: Duration = Duration::from_secs(2);
/// Error code of the service for a project to which the credentials do not belong.
pub(super) const OTHER_PROJECT: &str = "ModelArts.2786";

/// A call of the service, with the facts that the response shows.
pub(super) struct Call {
    result: Result<Option<i64>, Error>,
    duration: Duration,
    /// Time of the service minus the time of this machine, in seconds; `None` if no response has a
    /// valid header `Date`.
    ahead: Option<i64>,
}

impl Call {
    /// Calls the service for a list of at most one job.
    pub(super) async fn send(client: &Client) -> Self {
        let date = Cell::new(None);
        let started = Instant::now();
        let project = client.project_id();
        let body = types::ListTrainingJobsRequest::builder().limit(1);
        let result = client
            .call(|api| {
                let sent = api.list_training_jobs().project_id(project).body(body).send();
                let date = &date;
                async move {
                    let result = sent.await;
                    let headers = match &result {
                        Ok(response) => Some(response.headers()),
                        Err(api::Error::Service(response)) => Some(response.headers()),
                        Err(api::Error::Unexpected(response)) => Some(&response.headers),
                        Err(_) => None,
                    };
                    let value = headers.and_then(|headers| headers.get("date")?.to_str().ok());
                    date.set(value.and_then(|value| {
                        let time = jiff::fmt::rfc2822::parse(value).ok()?.timestamp();
                        let now = jiff::Timestamp::try_from(SystemTime::now()).ok()?;
                        Some(time.as_second() - now.as_second())
                    }));
                    result
                }
            })
            .await;
        Self {
            result: result.map(|response| response.total),
            duration: started.elapsed(),
            ahead: date.get(),
        }
    }

    /// Returns the error if the service has rejected the credentials or the project.
    pub(super) fn rejection(&self) -> Option<&Error> {
        let error = self.result.as_ref().err()?;
        (error.is_auth() || error.code() == Some(OTHER_PROJECT)).then_some(error)
    }

    pub(super) fn service(&self, client: &Client, origins: &Origins) -> Finding {
        let time = format!("responds in {} ms", self.duration.as_millis());
        match &self.result {
            Ok(Some(jobs)) => Finding::ok(format_args!("{time}; the project has {jobs} jobs")),
            Ok(None) => Finding::ok(time),
            Err(_) if self.rejection().is_some() => Finding::ok(time),
            Err(error) if error.status().is_some() => Finding::error(error),
            Err(error) => Finding::error(error).with_advice(match origins.is_emulator {
                true => "the emulator has ended; start it with `modelarts dev`".to_owned(),
                false => format!(
                    "check the network, the proxy in HTTPS_PROXY, and the endpoint {}",
                    client.endpoint().trim_end_matches('/')
                ),
            }),
        }
    }

    pub(super) fn clock(&self) -> Finding {
        let Some(ahead) = self.ahead else {
            return Finding::skipped("no response of the service has a time");
        };
        let skew = Duration::from_secs(ahead.unsigned_abs());
        if skew <= SKEW_NOISE {
            return Finding::ok("as that of the service");
        }
        let direction = if ahead > 0 { "behind" } else { "ahead of" };
        let found = format!("{} {direction} that of the service", output::duration(skew));
        let advice = "synchronize the clock of this machine, for example by `sudo timedatectl \
                      set-ntp true`; the clouds reject signatures that are more than 15 minutes \
                      off";
        match skew {
            _ if skew > MAX_SKEW => Finding::problem(found, advice),
            _ if skew > SKEW_WARNING => Finding::warning(found, advice),
            _ => Finding::ok(found),
        }
    }
}
