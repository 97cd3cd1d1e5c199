//! Look-up of the project in IAM.

use std::time::SystemTime;

use crate::{
    client::resolve::ResolvedConfig, clock::since, config::regions, credentials::identity,
    error::Error, transport::HttpTransport,
};

impl ResolvedConfig {
    /// Looks up the project, within the time limit of several calls.
    pub(super) async fn look_up_project(&self) -> Result<String, Error> {
        let doing = "the project was being looked up";
        self.transport.require_runtime()?;
        let deadline = self.transport.deadline();
        let found = self.find_project();
        deadline.limit(&*self.transport.clock, doing, found).await
    }

    /// Looks up the project, within the number of attempts and the time of the retry policy.
    async fn find_project(&self) -> Result<String, Error> {
        let mut attempts = IamAttempts::new(&self.transport);
        loop {
            match self.request_project().await {
                Ok(id) => return Ok(id),
                Err(error) => attempts.pause(error).await?,
            }
        }
    }

    async fn request_project(&self) -> Result<String, Error> {
        let access = &self.transport.access;
        let credentials = access.credentials.credentials(&access.context).await?;
        if let Some(id) = access.credentials.project_id() {
            return Ok(id);
        }
        let Some(address) = &self.location.iam_endpoint()? else {
            return Err(Error::config(format!(
                "no project id, and where IAM is to look it up is not known; call project_id(), \
                 or region() with one of {}, or iam_endpoint()",
                regions::known_regions()
            )));
        };
        let region = self.location.region.as_deref();
        let name = self.project.name.as_deref().or(region);
        let signing = &access.signing;
        identity::find_project(address, &access.context, &credentials, signing, name).await
    }
}

/// Attempts of a look-up in IAM, within the number and the time of the retry policy.
pub(super) struct IamAttempts<'a> {
    transport: &'a HttpTransport,
    started: SystemTime,
    retries: usize,
}

impl<'a> IamAttempts<'a> {
    pub(super) fn new(transport: &'a HttpTransport) -> Self {
        Self { transport, started: transport.clock.now(), retries: 0 }
    }

    /// Waits before the next attempt.
    ///
    /// # Errors
    /// Returns the error if there is no further attempt.
    pub(super) async fn pause(&mut self, error: Error) -> Result<(), Error> {
        let (clock, policy) = (&*self.transport.clock, &self.transport.retry);
        let elapsed = since(clock, self.started);
        let wait = policy.delay(self.retries, error.retry_after(), elapsed);
        let Some(wait) = wait.filter(|_| error.is_retryable()) else {
            return Err(error);
        };
        tracing::debug!(%error, ?wait, "repeating the look-up in IAM");
        clock.sleep(wait).await;
        self.retries += 1;
        Ok(())
    }
}
