//! Reads the algorithm and the flavor of a job from the service, for the check.

use serde_json::Value;

use crate::{
    error::{Error, ErrorKind},
    jobs::create::CreateJob,
    validation::{algorithm_spec::AlgorithmSpec, flavor_spec::FlavorSpec},
};

/// The step that is under way, in the words of an error.
pub(crate) const LOOKING_UP: &str = "algorithm and flavor were being looked up";

/// CallInfo, and what they are about.
#[derive(Clone)]
pub(crate) struct Spec<T> {
    /// The id that was asked for; facts that the user brings count whatever the job names.
    id: Option<String>,
    facts: T,
}

impl<T> Spec<T> {
    pub(crate) fn anything(facts: T) -> Self {
        Self { id: None, facts }
    }

    /// The facts, if they are about this.
    pub(crate) fn get(&self, id: Option<&str>) -> Option<&T> {
        let fits = self.id.is_none() || self.id.as_deref() == id;
        fits.then_some(&self.facts)
    }
}

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
    /// [`ClientBuilder::overall_timeout`](crate::client::builder::ClientBuilder::overall_timeout). That it has
    /// no such algorithm or flavor is an answer: the check says so.
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
        if self.algorithm_facts(id).is_some() {
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
        let facts = match answer {
            Ok(answer) => {
                let answer = serde_json::to_value(answer.into_inner()).unwrap_or_default();
                AlgorithmSpec::from_json(&answer)
            }
            // Without a code it is a gateway that knows no such path.
            Err(error) if error.is_not_found() && error.code().is_some() => AlgorithmSpec::none(),
            Err(error) => return Err(error),
        };
        self.set_algorithm_facts(Spec {
            id: Some(id.to_owned()),
            facts,
        });
        Ok(())
    }

    async fn look_up_flavor(&mut self) -> Result<(), Error> {
        let body = self.body();
        let id = flavor_of(&body);
        if self.flavor_facts(id).is_some() {
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
        let facts = FlavorSpec::find(&answer, id).or_else(|| FlavorSpec::none(&answer));
        if let Some(facts) = facts {
            self.set_flavor_facts(Spec {
                id: Some(id.to_owned()),
                facts,
            });
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

/// The algorithm of the service that a body names.
pub(crate) fn algorithm_of(body: &Value) -> Option<&str> {
    text(body, "/algorithm/id")
}

/// The flavor of the public pool that a body names. Flavors of dedicated pools are not listed.
pub(crate) fn flavor_of(body: &Value) -> Option<&str> {
    match text(body, "/spec/resource/pool_id") {
        Some(_) => None,
        None => text(body, "/spec/resource/flavor_id"),
    }
}

fn text<'a>(body: &'a Value, pointer: &str) -> Option<&'a str> {
    let text = body.pointer(pointer)?.as_str()?;
    (!text.is_empty()).then_some(text)
}
