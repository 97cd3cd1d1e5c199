//! What the service says about the algorithm and the flavor of a job.

use crate::{
    algorithm_facts::AlgorithmFacts, create::CreateJob, draft::Draft, error::Error,
    flavor_facts::FlavorFacts,
};

impl CreateJob {
    /// Asks the service about the algorithm that the job is made of and the flavor
    /// that it runs on, so that [`check`](Self::check) and
    /// [`submit`](Self::submit) hold it against them, too: channels, admitted kinds
    /// of data, constraints of hyper-parameters, nodes and kind of the flavor.
    ///
    /// Subscribed algorithms cannot be asked about, nor can flavors of dedicated
    /// pools.
    ///
    /// # Errors
    /// [`Error::is_not_found`] when there is no such algorithm.
    pub async fn look_up(self) -> Result<Self, Error> {
        let body = self.body();
        let draft = Draft::new(&body, self.cloud_of_rules());
        let text = |way: &str| draft.at(way).text();
        let (algorithm, flavor) = (text("algorithm.id"), text("spec.resource.flavor_id"));
        let flavor = flavor.filter(|_| text("spec.resource.pool_id").is_none());
        let client = self.client().clone();
        let mut job = self;
        if let Some(id) = algorithm {
            let answer = client
                .call(|api| {
                    api.show_algorithm_by_uuid()
                        .project_id(client.project_id())
                        .algorithm_id(id)
                        .send()
                })
                .await?;
            let answer = serde_json::to_value(answer.into_inner()).unwrap_or_default();
            job = job.with_algorithm_facts(AlgorithmFacts::from_json(&answer));
        }
        if let Some(id) = flavor {
            let answer = client
                .call(|api| {
                    api.show_training_job_flavors()
                        .project_id(client.project_id())
                        .send()
                })
                .await?;
            let answer = serde_json::to_value(answer.into_inner()).unwrap_or_default();
            let facts = FlavorFacts::find(&answer, id);
            job = job.with_flavor_facts(facts.unwrap_or_else(|| FlavorFacts::none(&answer)));
        }
        Ok(job)
    }
}
