//! Catalogs of a project: algorithms, flavors, engines, quotas, experiments and tags.
//!
//! A job refers to its flavor, image, algorithm and experiment by ids, which differ between
//! projects and clouds, so programs look them up here. All lists are streams, as in
//! [`pagination`](crate::pagination).
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! use futures::TryStreamExt;
//! use modelarts_ext::types::FlavorType;
//!
//! let flavors = client.flavors(Some(FlavorType::Cpu)).collect(100).await?;
//! println!("{:?}", flavors[0].flavor_id);
//!
//! let mut algorithms = client.algorithms().name_like("bert").items();
//! while let Some(algorithm) = algorithms.try_next().await? {
//!     println!("{:?}", algorithm.metadata.and_then(|metadata| metadata.name));
//! }
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! | of a project | of a job |
//! |---|---|
//! | [algorithms](Client::algorithms) | [stages](crate::Job::stages) |
//! | [flavors](Client::flavors) | [history of tasks](crate::Job::task_history) |
//! | [preset images](Client::engines) | [trials](crate::Job::trials) of a hyper-parameter search |
//! | [experiments](Client::experiments) | [artifacts](crate::Job::artifacts) of fine tuning |
//! | [tags of jobs](Client::job_tags), [jobs by tags](Client::jobs_by_tags) | [tags](crate::Job::tags) |
//! | [quotas](Client::quotas) | |
//! | [event categories](Client::event_categories) | |
//! | [algorithms](Client::hyperparameter_search_algorithms) and [templates](Client::search_templates) of hyper-parameter search | |

// Each list is a method of `Client` here, or of `Job` in `of_job`, and a `RowSource` that calls the
// generated operation. Only the list of algorithms has settings of its own.

mod algorithms;
mod of_job;
mod row_source;
mod trials;

pub use algorithms::ListAlgorithms;
pub use trials::Trial;

use modelarts_api::types::{
    EventCategory, FlavorType, ResourceInstance, ResourceInstancesRequest, ResourceTagRequest,
    SupportedSearchAlgorithm, TagValues, TrainingEngine, TrainingExperiment, TrainingFlavor,
    TrainingQuota, YamlTemplate,
};

use crate::{
    catalog::row_source::{RowSource, Rows},
    client::Client,
    error::Error,
    pagination::list::List,
};

impl Client {
    /// Lists the algorithms of the project, newest first.
    pub fn algorithms(&self) -> ListAlgorithms {
        ListAlgorithms::new(self.clone())
    }

    /// Lists the flavors of training jobs: those of one type, or all.
    pub fn flavors(&self, kind: Option<FlavorType>) -> List<TrainingFlavor> {
        List::new(RowSource::new(
            self,
            "ShowTrainingJobFlavors",
            move |client, api, _, _| {
                let mut call = api
                    .show_training_job_flavors()
                    .project_id(client.project().clone());
                if let Some(kind) = &kind {
                    call = call.flavor_type(kind.clone());
                }
                Box::pin(call.send())
            },
            |answer| Rows::new(answer.flavors, answer.total_count),
        ))
    }

    /// Lists the preset images.
    pub fn engines(&self) -> List<TrainingEngine> {
        List::new(RowSource::new(
            self,
            "ShowTrainingJobEngines",
            |client, api, _, _| {
                let call = api.show_training_job_engines();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.items, answer.total),
        ))
    }

    /// Lists the quotas with their usage. Huawei Cloud only.
    pub fn quotas(&self) -> List<TrainingQuota> {
        List::new(RowSource::new(
            self,
            "ShowTrainingQuotas",
            |client, api, _, _| {
                let call = api.show_training_quotas();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.quotas, None),
        ))
    }

    /// Lists the event categories that a job can publish to a topic. Huawei Cloud only.
    pub fn event_categories(&self) -> List<EventCategory> {
        List::new(RowSource::new(
            self,
            "ListEventCategories",
            |client, api, _, _| {
                let call = api.list_event_categories();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.event_categories, None),
        ))
    }

    /// Lists the algorithms of hyper-parameter search.
    pub fn hyperparameter_search_algorithms(&self) -> List<SupportedSearchAlgorithm> {
        List::new(RowSource::new(
            self,
            "ShowSearchAlgorithms",
            |client, api, _, _| {
                let call = api.show_search_algorithms();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.search_algo_list, answer.search_algo_count),
        ))
    }

    /// Lists the templates of searches that are configured in YAML.
    pub fn search_templates(&self) -> List<YamlTemplate> {
        List::new(RowSource::new(
            self,
            "ShowAutoSearchYamlTemplatesInfo",
            |client, api, _, _| {
                let call = api.show_auto_search_yaml_templates_info();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.yaml_templates, None),
        ))
    }

    /// Lists the experiments of the project. Huawei Cloud only.
    pub fn experiments(&self) -> List<TrainingExperiment> {
        let rows = RowSource::new(
            self,
            "ListTrainingExperiments",
            |client, api, offset, limit| {
                let call = api.list_training_experiments().offset(offset).limit(limit);
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows {
                count: answer.count,
                limit: answer.limit,
                ..Rows::new(answer.items, answer.total)
            },
        );
        List::new(rows.id(|experiment| experiment.metadata.as_ref()?.id.as_deref()))
    }

    /// Lists the tags of the project's jobs with all their values. Huawei Cloud only.
    pub fn job_tags(&self) -> List<TagValues> {
        let rows = RowSource::new(
            self,
            "ListTrainingJobTags",
            |client, api, offset, limit| {
                let call = api.list_training_job_tags().offset(offset).limit(limit);
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.tags, None),
        );
        List::new(rows.id(|tag| tag.key.as_deref()))
    }

    /// Lists the jobs that have all of these tags. A tag matches with any of its values; a tag
    /// without values matches every value. Huawei Cloud only.
    pub fn jobs_by_tags<K, V>(
        &self,
        tags: impl IntoIterator<Item = (K, V)>,
    ) -> List<ResourceInstance>
    where
        K: Into<String>,
        V: IntoIterator<Item: Into<String>>,
    {
        let tags = tags.into_iter().map(|(key, values)| {
            let values: Vec<String> = values.into_iter().map(Into::into).collect();
            let tag = ResourceTagRequest::builder().key(key).values(values);
            tag.try_into()
                .map_err(|error| Error::invalid(format!("tag: {error}")))
        });
        let tags: Result<Vec<ResourceTagRequest>, Error> = tags.collect();
        List::checked(tags.map(|tags| {
            let rows = RowSource::new(
                self,
                "ListTrainingJobsByTags",
                move |client, api, offset, limit| {
                    let body = ResourceInstancesRequest::builder().tags(tags.clone());
                    let call = api.list_training_jobs_by_tags().offset(offset).limit(limit);
                    let call = call.project_id(client.project().clone()).body(body);
                    Box::pin(call.send())
                },
                |answer| Rows::new(answer.resources, answer.total_count),
            );
            rows.id(|job| job.resource_id.as_deref())
        }))
    }
}
