//! Look-ups in IAM: the project of a client, and the user of the credentials.

use crate::{
    client::{Client, resolve::ResolvedConfig},
    clock::{self, since},
    config::endpoints,
    credentials::identity::{CurrentUser, Identity},
    error::Error,
    transport::{Access, HttpTransport},
};

impl ResolvedConfig {
    pub(super) async fn look_up_project(&self) -> Result<String, Error> {
        let doing = "the project was being looked up";
        look_up(&self.transport, doing, || self.request_project()).await
    }

    async fn request_project(&self) -> Result<String, Error> {
        let Access { credentials, context, signing, .. } = &self.transport.access;
        let current = credentials.credentials(context).await?;
        if let Some(id) = credentials.project_id() {
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
        Identity::new(address, context, &current, signing)?.find_project(name).await
    }
}

/// Sends a request to IAM, and retries it within the retry policy and the overall time limit.
async fn look_up<T, F: Future<Output = Result<T, Error>>>(
    transport: &HttpTransport,
    doing: &str,
    request: impl Fn() -> F,
) -> Result<T, Error> {
    transport.require_runtime()?;
    let clock = &*transport.clock;
    let attempts = async {
        let (started, mut retries) = (clock.now(), 0);
        loop {
            let error = match request().await {
                Ok(found) => return Ok(found),
                Err(error) => error,
            };
            let elapsed = since(clock, started);
            let wait = transport.retry.delay(retries, error.retry_after(), elapsed);
            let Some(wait) = wait.filter(|_| error.is_retryable()) else {
                return Err(error);
            };
            tracing::debug!(%error, ?wait, "repeating the look-up in IAM");
            clock::pause(clock, wait).await;
            retries += 1;
        }
    };
    transport.deadline().limit(doing, attempts).await
}

impl Client {
    /// Looks up the user of the credentials, with one request to IAM that both clouds support.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # hello(&emulator, &client, "mine")?.submit().await?;
    /// use modelarts_ext::Filter;
    ///
    /// let user = client.current_user().await?;
    /// let mine = client.training_jobs().list().filter(Filter::user_id().is(user.id));
    /// for job in mine.collect(100).await? {
    ///     println!("{job}");
    /// #   assert_eq!(job.name(), "mine");
    /// }
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error for temporary keys, an unknown endpoint of IAM, or a failed request.
    pub async fn current_user(&self) -> Result<CurrentUser, Error> {
        let doing = "the user was being looked up";
        look_up(self.transport(), doing, || self.request_user()).await
    }

    async fn request_user(&self) -> Result<CurrentUser, Error> {
        let iam = self.iam_endpoint()?.ok_or_else(|| {
            Error::config(format!(
                "the address of IAM is not known; call iam_endpoint(), or region() with one of {}",
                endpoints::known_regions()
            ))
        })?;
        let Access { credentials, context, signing, .. } = &self.transport().access;
        let current = credentials.credentials(context).await?;
        Identity::new(&iam, context, &current, signing)?.find_user().await
    }
}
