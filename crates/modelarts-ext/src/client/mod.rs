//! The client.

pub(crate) mod builder;
pub(crate) mod resolve;
pub(crate) mod response;

use std::{
    fmt,
    future::Future,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_api::{Context, ResponseValue, types};

use crate::transport::deadline::Deadline;
use crate::{
    client::{
        builder::ClientBuilder,
        response::{Answer, convert},
    },
    clock::Clock,
    config::cloud::Cloud,
    error::{Error, ErrorKind},
    jobs::job::TrainingJobs,
    pagination::offset::DetectedOffsets,
    transport::{HttpTransport, call::Record, retry::RetryPolicy},
};

/// A connection to the training management of one project. Clones share it.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    api: modelarts_api::Client,
    http: reqwest::Client,
    sender: HttpTransport,
    project_id: types::ProjectId,
    cloud: Cloud,
    offsets: DetectedOffsets,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("endpoint", &self.0.sender.endpoint.as_str())
            .field("project_id", &self.0.project_id.as_str())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Begins to set up a client.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    /// A client for what the environment says; see [`ClientBuilder::from_env`].
    ///
    /// # Errors
    /// What is missing or wrong, naming the variables.
    pub fn from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().build()
    }

    /// As [`from_env`](Self::from_env), and the id of the project is looked up when the
    /// environment does not say it; see [`ClientBuilder::connect`].
    ///
    /// # Errors
    /// What is missing or wrong, naming the variables, and why IAM did not say the id.
    pub async fn connect_from_env() -> Result<Self, Error> {
        ClientBuilder::from_env().connect().await
    }

    /// The training jobs of the project.
    #[must_use]
    pub fn training_jobs(&self) -> TrainingJobs {
        TrainingJobs::new(self.clone())
    }

    /// The project that the client works in.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.0.project_id
    }

    /// The project, checked already.
    pub(crate) fn project(&self) -> &types::ProjectId {
        &self.0.project_id
    }

    /// The address of the service.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        self.0.sender.endpoint.as_str()
    }

    /// The generated client: every operation of the description. What is called
    /// here is signed and retried too.
    #[must_use]
    pub fn api(&self) -> &modelarts_api::Client {
        &self.0.api
    }

    /// The same client with another time limit for each call.
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        let mut sender = self.0.sender.clone();
        sender.timeout = timeout;
        Self::assemble(
            self.0.http.clone(),
            sender,
            self.0.project_id.clone(),
            self.0.cloud,
            self.0.offsets.clone(),
        )
    }

    /// Calls a generated operation, with errors and facts of this crate.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// let project = client.project_id();
    /// let job = client
    ///     .call(|api| {
    ///         api.show_training_job_details()
    ///             .project_id(project)
    ///             .training_job_id("cf63aba9-63b1-4219-b717-708a2665100b")
    ///             .send()
    ///     })
    ///     .await?;
    /// println!("{:?} {:?}", job.request_id(), job.kind);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Everything that [`Error`] can tell.
    pub async fn call<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a modelarts_api::Client) -> F,
    ) -> Result<Answer<T>, Error>
    where
        F: Future<Output = Result<ResponseValue<T>, modelarts_api::Error<types::ApiError>>>,
    {
        self.call_on_record(&Arc::default(), operation).await
    }

    /// As [`call`](Self::call), with a record that tells what was done until then when the call
    /// is dropped before its end.
    pub(crate) async fn call_on_record<'a, T, F>(
        &'a self,
        record: &Arc<Record>,
        operation: impl FnOnce(&'a modelarts_api::Client) -> F,
    ) -> Result<Answer<T>, Error>
    where
        F: Future<Output = Result<ResponseValue<T>, modelarts_api::Error<types::ApiError>>>,
    {
        let result = record.scope(|| operation(&self.0.api)).await;
        let mut facts = record.take();
        match result {
            // Only the absence of something to decode is sent as 204.
            Ok(_) if facts.status == Some(204) && facts.body.is_some() => {
                Err(Error::new(ErrorKind::NotReady, "not ready yet")
                    .with_status(204)
                    .in_call(facts.call()))
            }
            Ok(value) => {
                // It is for errors.
                facts.canonical_request = None;
                Ok(Answer {
                    value: Box::new(value.into_inner()),
                    facts: Arc::new(facts),
                })
            }
            Err(error) => Err(convert(error, &facts)),
        }
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.0.sender.clock
    }

    /// The time limit of a method that makes several calls, which begins now.
    pub(crate) fn deadline(&self) -> Deadline {
        self.0.sender.deadline()
    }

    /// The cloud by whose rules jobs are checked and logs are read: the one that the builder or
    /// `MODELARTS_CLOUD` names, else that of the endpoint.
    pub fn cloud(&self) -> Cloud {
        self.0.cloud
    }

    /// What was found out about offsets.
    pub(crate) fn offsets(&self) -> &DetectedOffsets {
        &self.0.offsets
    }

    /// What time it is at the service when it is `here` by the clock of the client.
    pub(crate) fn time_there(&self, here: SystemTime) -> SystemTime {
        self.0.sender.time_there(here)
    }

    /// Closes the connections that are kept open.
    pub(crate) fn reset_connections(&self) {
        self.0.sender.connector.reset();
    }

    /// Whether one more retry can be paid, and pays it.
    pub(crate) fn pay_retry(&self) -> bool {
        self.0.sender.pay_retry()
    }

    pub(crate) fn retry_policy(&self) -> &RetryPolicy {
        &self.0.sender.retry
    }

    pub(crate) fn assemble(
        http: reqwest::Client,
        sender: HttpTransport,
        project_id: types::ProjectId,
        cloud: Cloud,
        offsets: DetectedOffsets,
    ) -> Self {
        let base = sender.endpoint.as_str().trim_end_matches('/').to_owned();
        let context = Context::new(Arc::new(sender.clone()));
        Self(Arc::new(Shared {
            api: modelarts_api::Client::new_with_client(&base, http.clone(), context),
            http,
            sender,
            project_id,
            cloud,
            offsets,
        }))
    }
}
