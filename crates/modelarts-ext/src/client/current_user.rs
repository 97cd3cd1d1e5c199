//! `CurrentUser`: the user of IAM whom the credentials of a client belong to.

use serde::Serialize;

use crate::{
    client::{Client, look_up::IamAttempts},
    config::regions,
    credentials::identity,
    error::Error,
};

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
                regions::known_regions()
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
