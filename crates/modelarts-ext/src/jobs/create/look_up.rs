//! Reads the algorithm and the flavor of a job from the service, for the check.

use crate::{
    error::{Error, ErrorKind},
    jobs::create::CreateJob,
    validation::{
        algorithm_spec::AlgorithmSpec,
        flavor_spec::FlavorSpec,
        known_specs::{algorithm_of, flavor_of},
    },
};

/// The step that is under way, in the words of an error.
pub(super) const LOOKING_UP: &str = "algorithm and flavor were being looked up";

impl CreateJob {
    /// Asks the service about the algorithm that the job is made of and the flavor
    /// that it runs on, so that [`check`](Self::check) holds it against them, too:
    /// whether there are such, channels, admitted kinds of data, constraints of
    /// hyper-parameters, nodes and kind of the flavor.
    ///
    /// At most two calls, both reads; none for what is known already.
    /// [`submit`](Self::submit) does it by itself. Subscribed algorithms cannot be asked
    /// about, nor can flavors of dedicated pools.
    ///
    /// # Errors
    /// When the service does not answer, or not within
    /// [`ClientBuilder::overall_timeout`](crate::client::ClientBuilder::overall_timeout). That it
    /// has no such algorithm or flavor is an answer: the check says so.
    pub async fn look_up(mut self) -> Result<Self, Error> {
        let client = self.client().clone();
        let work = async {
            self.look_up_algorithm().await?;
            self.look_up_flavor().await
        };
        let deadline = client.deadline();
        deadline.limit(&**client.clock(), LOOKING_UP, work).await?;
        Ok(self)
    }

    /// As [`look_up`](Self::look_up); what cannot be found out keeps no job from being
    /// sent, because the service looks at it again.
    ///
    /// # Errors
    /// Credentials that the service does not take: it would not take them the next time
    /// either, and locks a key after a few wrong signatures.
    pub(super) async fn look_up_if_possible(&mut self) -> Result<(), Error> {
        ignore_unless_unauthorized(self.look_up_algorithm().await)?;
        ignore_unless_unauthorized(self.look_up_flavor().await)
    }

    async fn look_up_algorithm(&mut self) -> Result<(), Error> {
        let body = self.body();
        let id = algorithm_of(&body);
        if self.specs.algorithm(id).is_some() {
            return Ok(());
        }
        let Some(id) = id else {
            return Ok(());
        };
        let client = self.client().clone();
        let answer = client
            .call(|api| {
                api.show_algorithm_by_uuid()
                    .project_id(client.project_id())
                    .algorithm_id(id)
                    .send()
            })
            .await
            .and_then(|answer| {
                answer.require_match(&client, "metadata.id", id, |algorithm| {
                    algorithm.metadata.as_ref()?.id.as_deref()
                })
            });
        let spec = match answer {
            Ok(answer) => {
                let answer = serde_json::to_value(answer.into_inner()).unwrap_or_default();
                AlgorithmSpec::from_json(&answer)
            }
            // Without a code it is a gateway that knows no such path.
            Err(error) if error.is_not_found() && error.code().is_some() => {
                AlgorithmSpec::missing()
            }
            Err(error) => return Err(error),
        };
        self.specs.set_algorithm(Some(id), spec);
        Ok(())
    }

    async fn look_up_flavor(&mut self) -> Result<(), Error> {
        let body = self.body();
        let id = flavor_of(&body);
        if self.specs.flavor(id).is_some() {
            return Ok(());
        }
        let Some(id) = id else {
            return Ok(());
        };
        let client = self.client().clone();
        let answer = client
            .call(|api| {
                api.show_training_job_flavors()
                    .project_id(client.project_id())
                    .send()
            })
            .await?;
        let answer = serde_json::to_value(answer.into_inner()).unwrap_or_default();
        let spec = FlavorSpec::find(&answer, id).or_else(|| FlavorSpec::missing(&answer));
        if let Some(spec) = spec {
            self.specs.set_flavor(Some(id), spec);
        }
        Ok(())
    }
}

fn ignore_unless_unauthorized(result: Result<(), Error>) -> Result<(), Error> {
    match result {
        Err(error) if error.kind() == ErrorKind::Credentials || error.status() == Some(401) => {
            Err(error)
        }
        Err(error) => {
            tracing::warn!(%error, "the job is not checked against its algorithm or flavor");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}
