//! Look-up of the algorithm, the flavor and the engine of a job, before it is checked and sent.

use modelarts_api::types::ShowTrainingJobEnginesResponse;
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    config::cloud::Cloud,
    error::{Error, ErrorKind},
    jobs::create::{CreateJob, Validation},
    transport::deadline::Deadline,
    validation::{
        draft::Draft,
        known_engines::{KnownEngines, engine_advice},
        specs::{AlgorithmSpec, FlavorSpec},
    },
};

const DOING: &str = "algorithm and flavor were being looked up";

impl CreateJob {
    /// Reads the algorithm, the flavor and the preset engine of the job, so that
    /// [`check`](Self::check) can validate the job against them. Call this method before work that
    /// a rejected job would waste, such as an upload.
    ///
    /// Makes at most three read calls, and none for known specs or [without
    /// look-up](Self::without_look_up). Subscribed algorithms and flavors of dedicated pools cannot
    /// be looked up. [`unread`](Self::unread) returns the errors of failed calls.
    ///
    /// Clones of the returned job keep the specs, so [`submit`](Self::submit) does not read them
    /// again. A clone with another algorithm or [`flavor`](Self::flavor) needs a new look-up, which
    /// `submit` performs and [`check`](Self::check) does not.
    ///
    /// # Errors
    /// Returns an error for missing or rejected credentials, or if the calls exceed
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). An
    /// algorithm or flavor that does not exist is a violation of [`check`](Self::check).
    pub async fn look_up(mut self) -> Result<Self, Error> {
        let deadline = self.client.deadline();
        self.read_specs(true, &deadline).await?;
        Ok(self)
    }

    /// Reads the specs. Keeps all errors but rejected credentials, because retries lock the key.
    pub(super) async fn read_specs(
        &mut self,
        engines: bool,
        deadline: &Deadline,
    ) -> Result<(), Error> {
        if self.validation != Validation::Full {
            return Ok(());
        }
        deadline.limit(DOING, self.read(engines)).await
    }

    async fn read(&mut self, engines: bool) -> Result<(), Error> {
        let body = self.body();
        let draft = Draft::new(&body, self.cloud);
        self.unread.clear();
        if engines {
            let read = self.read_engines(draft).await;
            self.keep_failure(read)?;
        }
        let read = self.read_algorithm(draft).await;
        self.keep_failure(read)?;
        let read = self.read_flavor(draft).await;
        self.keep_failure(read)
    }

    fn keep_failure(&mut self, read: Result<(), Error>) -> Result<(), Error> {
        let Err(error) = read else {
            return Ok(());
        };
        if error.kind() == ErrorKind::Credentials || error.status() == Some(401) {
            return Err(error);
        }
        tracing::warn!(%error, "the job is not checked against its algorithm, flavor or engine");
        self.unread.push(error);
        Ok(())
    }

    async fn read_algorithm(&mut self, draft: Draft<'_>) -> Result<(), Error> {
        let is_unknown = |id: &&str| self.specs.algorithm.of(Some(id)).is_none();
        let Some(id) = draft.algorithm_id().filter(is_unknown) else {
            return Ok(());
        };
        let client = &self.client;
        let answer = client
            .call(|api| {
                api.show_algorithm_by_uuid().project_id(client.project_id()).algorithm_id(id).send()
            })
            .await
            .and_then(|answer| {
                answer.require_match(client.transport(), "metadata.id", id, |algorithm| {
                    algorithm.metadata.as_ref()?.id.as_deref()
                })
            });
        let spec = match answer {
            Ok(answer) => AlgorithmSpec::from(answer.into_inner()),
            // A 404 without an error code comes from a gateway that does not know this path.
            Err(error) if error.is_not_found() && error.code().is_some() => {
                AlgorithmSpec::missing()
            }
            Err(error) => return Err(error),
        };
        self.specs.algorithm.set(Some(id), spec);
        Ok(())
    }

    async fn read_flavor(&mut self, draft: Draft<'_>) -> Result<(), Error> {
        let is_unknown = |id: &&str| self.specs.flavor.of(Some(id)).is_none();
        let Some(id) = draft.flavor_id().filter(is_unknown) else {
            return Ok(());
        };
        let project = self.client.project_id();
        let answer =
            self.client.call(|api| api.show_training_job_flavors().project_id(project).send());
        let answer = answer.await?;
        if let Some(spec) = FlavorSpec::look_up(&answer, id) {
            self.specs.flavor.set(Some(id), spec);
        }
        Ok(())
    }

    async fn read_engines(&mut self, draft: Draft<'_>) -> Result<(), Error> {
        if self.specs.engines.is_none() && KnownEngines::are_used_by(draft) {
            let engines = engines(&self.client).await?;
            self.specs.engines = KnownEngines::new(engines.into_inner());
        }
        Ok(())
    }
}

async fn engines(client: &Client) -> Result<Response<ShowTrainingJobEnginesResponse>, Error> {
    let project = client.project_id();
    let call = client.call(|api| api.show_training_job_engines().project_id(project).send());
    call.await
}

/// Adds similar engines to the error for an unknown engine. Engines are read only for this error.
pub(super) async fn explain_engine(error: Error, client: &Client, body: &Value) -> Error {
    match engines(client).await {
        Ok(engines) => match engine_advice(&engines.items, Draft::new(body, Cloud::default())) {
            Some(advice) => error.with_hint(&advice),
            None => error,
        },
        Err(failed) => {
            tracing::debug!(error = %failed, "the engines cannot be read");
            error
        }
    }
}
