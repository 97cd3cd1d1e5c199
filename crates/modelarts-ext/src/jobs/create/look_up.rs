//! Look-up of the algorithm, the flavor and the engine of a job, for its validation, and of the
//! engines, for the advice of an error.

use serde_json::Value;

use crate::{
    client::Client,
    config::cloud::Cloud,
    error::{Error, ErrorKind},
    jobs::create::CreateJob,
    validation::{
        algorithm_spec::AlgorithmSpec,
        draft::Draft,
        flavor_spec::FlavorSpec,
        known_engines::{KnownEngines, engine_advice},
    },
};

/// Name of the look-up step in errors.
pub(super) const LOOKING_UP: &str = "algorithm and flavor were being looked up";

impl CreateJob {
    /// Reads the algorithm and the flavor of the job from the service, so that
    /// [`check`](Self::check) can validate the job against them: their existence, channels,
    /// accepted kinds of data, constraints of hyper-parameters, and the type and number of nodes of
    /// the flavor. [`validate`](Self::validate) reads the engines, too.
    ///
    /// Makes at most two calls, both reads, and none for specs that are already set.
    /// [`submit`](Self::submit) does this by default. Not available for subscribed algorithms and
    /// for flavors of dedicated pools.
    ///
    /// Clones of the returned job have the specs, so [`submit`](Self::submit) does not look them up
    /// again. A clone with another algorithm or [`flavor`](Self::flavor) needs a new look-up, which
    /// `submit` does and [`check`](Self::check) does not.
    ///
    /// # Errors
    /// A failed call, or one that exceeds
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). A missing
    /// algorithm or flavor is not an error of this method; [`check`](Self::check) reports it as a
    /// violation.
    pub async fn look_up(mut self) -> Result<Self, Error> {
        let (client, body) = (self.client.clone(), self.body());
        let work = async {
            self.look_up_algorithm(&body).await?;
            self.look_up_flavor(&body).await
        };
        let deadline = client.deadline();
        deadline.limit(&**client.clock(), LOOKING_UP, work).await?;
        Ok(self)
    }

    /// Looks up the algorithm and the flavor like [`look_up`](Self::look_up), but ignores failed
    /// calls, unless the service rejects the credentials.
    pub(super) async fn look_up_if_possible(&mut self, body: &Value) -> Result<(), Error> {
        ignore_unless_unauthorized(self.look_up_algorithm(body).await)?;
        ignore_unless_unauthorized(self.look_up_flavor(body).await)
    }

    /// Reads the preset engines, but ignores failed calls, unless the service rejects the
    /// credentials.
    pub(super) async fn look_up_engines_if_possible(&mut self, body: &Value) -> Result<(), Error> {
        ignore_unless_unauthorized(self.look_up_engines(body).await)
    }

    /// Reads the spec of the algorithm from the service, unless the spec is already set.
    async fn look_up_algorithm(&mut self, body: &Value) -> Result<(), Error> {
        let id = Draft::new(body, self.cloud).algorithm_id();
        let Some(id) = id.filter(|id| self.specs.algorithm.of(Some(id)).is_none()) else {
            return Ok(());
        };
        let client = &self.client;
        let answer = client
            .call(|api| {
                api.show_algorithm_by_uuid()
                    .project_id(client.project_id())
                    .algorithm_id(id)
                    .send()
            })
            .await
            .and_then(|answer| {
                answer.require_match(client, "metadata.id", id, |algorithm| {
                    algorithm.metadata.as_ref()?.id.as_deref()
                })
            });
        let spec = match answer {
            Ok(answer) => AlgorithmSpec::from(answer.into_inner()),
            // A 404 without an error code comes from a gateway that does not know this path, and
            // does not mean that the algorithm is missing.
            Err(error) if error.is_not_found() && error.code().is_some() => {
                AlgorithmSpec::missing()
            }
            Err(error) => return Err(error),
        };
        self.specs.algorithm.set(Some(id), spec);
        Ok(())
    }

    /// Reads the spec of the flavor from the service, unless the spec is already set.
    async fn look_up_flavor(&mut self, body: &Value) -> Result<(), Error> {
        let id = Draft::new(body, self.cloud).flavor_id();
        let Some(id) = id.filter(|id| self.specs.flavor.of(Some(id)).is_none()) else {
            return Ok(());
        };
        let client = &self.client;
        let answer = client
            .call(|api| {
                api.show_training_job_flavors()
                    .project_id(client.project_id())
                    .send()
            })
            .await?;
        if let Some(spec) = FlavorSpec::look_up(&answer, id) {
            self.specs.flavor.set(Some(id), spec);
        }
        Ok(())
    }

    /// Reads the preset engines from the service, unless they are known or the job uses none.
    async fn look_up_engines(&mut self, body: &Value) -> Result<(), Error> {
        let is_used = KnownEngines::are_used_by(Draft::new(body, self.cloud));
        if self.specs.engines.is_some() || !is_used {
            return Ok(());
        }
        let client = &self.client;
        let answer = client
            .call(|api| {
                api.show_training_job_engines()
                    .project_id(client.project_id())
                    .send()
            })
            .await?;
        self.specs.engines = KnownEngines::new(answer.into_inner());
        Ok(())
    }
}

/// Adds the engines that are similar to the one that the service rejected. They are read only after
/// the rejection, so that other jobs need no call. A failed call adds nothing.
pub(super) async fn explain_engine(error: Error, client: &Client, body: &Value) -> Error {
    let project = client.project_id();
    let call = client.call(|api| api.show_training_job_engines().project_id(project).send());
    match call.await {
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

/// Ignores a failed call, because the service validates the job as well. Rejected credentials
/// remain an error: the service would also reject them in the create request, and it locks a key
/// after a few wrong signatures.
fn ignore_unless_unauthorized(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() == ErrorKind::Credentials || error.status() == Some(401) => {
            Err(error)
        }
        Err(error) => {
            tracing::warn!(%error, "the job is not checked against its algorithm, flavor or engine");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
