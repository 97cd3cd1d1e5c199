//! Look-ups in IAM: the project of a client, and the user of its credentials.

use std::time::SystemTime;

use serde::Serialize;

use crate::{
    client::{Client, resolve::ResolvedConfig},
    clock::since,
    config::endpoints,
    credentials::identity,
    error::Error,
    transport::HttpTransport,
};

impl ResolvedConfig {
    pub(super) async fn look_up_project(&self) -> Result<String, Error> {
        let doing = "the project was being looked up";
        self.transport.require_runtime()?;
        let deadline = self.transport.deadline();
        let found = self.find_project();
        deadline.limit(&*self.transport.clock, doing, found).await
    }

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
                endpoints::known_regions()
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

    /// Waits before the next attempt; returns the error if there is none.
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

/// User of IAM, from [`Client::current_user`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CurrentUser {
    /// The id of the user, for [`Filter::user_id`](crate::Filter::user_id).
    pub id: String,
    /// The name of the user. IAM returns it only for a token, not for an access key.
    pub name: Option<String>,
}

impl Client {
    /// Looks up the user whom the credentials belong to, with one request to IAM: that of the
    /// permanent access key, or of the token. Both clouds permit it to each user.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # #[tokio::main]
    /// # async fn main() -> Result {
    /// # let (emulator, client) = start().await?;
    /// # hello(&emulator, &client, "mine")?.submit().await?;
    /// use modelarts_ext::Filter;
    ///
    /// let user = client.current_user().await?;
    /// let mine = client.training_jobs().list().filter(Filter::user_id().is(user.id));
    /// for job in mine.collect(100).await? {
    ///     println!("{job}");
    /// #   assert_eq!(job.name(), "mine");
    /// }
    /// # emulator.shutdown().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Temporary keys (nothing is sent then): IAM has no operation that returns their user. An
    /// unknown address of IAM. A rejection by IAM.
    pub async fn current_user(&self) -> Result<CurrentUser, Error> {
        let transport = self.transport();
        transport.require_runtime()?;
        let found = self.find_current_user();
        transport.deadline().limit(&*transport.clock, "the user was being looked up", found).await
    }

    async fn find_current_user(&self) -> Result<CurrentUser, Error> {
        let transport = self.transport();
        let iam = self.iam_endpoint()?.ok_or_else(|| {
            Error::config(format!(
                "the address of IAM is not known; call iam_endpoint(), or region() with one of {}",
                endpoints::known_regions()
            ))
        })?;
        let mut attempts = IamAttempts::new(transport);
        loop {
            let access = &transport.access;
            let found = async {
                let credentials = access.credentials.credentials(&access.context).await?;
                identity::find_user(&iam, &access.context, &credentials, &access.signing).await
            };
            match found.await {
                Ok(user) => {
                    return Ok(CurrentUser { id: user.id, name: user.name });
                }
                Err(error) => attempts.pause(error).await?,
            }
        }
    }
}
