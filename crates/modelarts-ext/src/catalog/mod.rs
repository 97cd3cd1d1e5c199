//! Catalogs of a project: algorithms, flavors, engines, quotas, experiments and tags.
//!
//! A job refers to its flavor, algorithm and experiment by id, and to a preset image by engine and
//! version. They differ between clouds, and some between projects. The lists are streams, which
//! [`pagination`](crate::pagination) describes.
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
//! let mut algorithms = client.algorithms().name_like("bert").stream();
//! while let Some(algorithm) = algorithms.try_next().await? {
//!     println!("{:?}", algorithm.metadata.and_then(|metadata| metadata.name));
//! }
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! | of a project | of a job |
//! |---|---|
//! | [algorithms](Client::algorithms) | [stages](crate::JobHandle::stages) |
//! | [flavors](Client::flavors) | [history of tasks](crate::JobHandle::task_history) |
//! | [preset images](Client::engines) | [trials of a search](crate::JobHandle::trials) |
//! | [experiments](Client::experiments) | [artifacts](crate::JobHandle::artifacts) of fine tuning |
//! | [tags of jobs](Client::job_tags) | [tags](crate::JobHandle::tags) |
//! | [jobs by tags](Client::jobs_by_tags) | |
//! | [quotas](Client::quotas) | |
//! | [event categories](Client::event_categories) | |
//! | [search algorithms](Client::hyperparameter_search_algorithms) | |
//! | [search templates](Client::search_templates) | |

// `RowSource` calls the generated operation of a list. `algorithms` is a source with conditions.

mod algorithms;
mod of_job;
mod row_source;

pub use algorithms::{AlgorithmQuery, ListAlgorithms};
pub use of_job::Trial;

use modelarts_api::types::{
    EventCategory, FlavorType, ResourceInstance, ResourceInstancesRequest, ResourceTagRequest,
    SupportedSearchAlgorithm, TagValues, TrainingEngine, TrainingExperiment, TrainingFlavor,
    TrainingQuota, YamlTemplate, error::ConversionError,
};

use crate::{
    catalog::row_source::RowSource,
    client::Client,
    pagination::{list::List, source::Counts},
};

impl Client {
    /// Lists the flavors of training jobs: those of one type, or all.
    pub fn flavors(&self, kind: Option<FlavorType>) -> List<TrainingFlavor> {
        let rows = RowSource::new(
            self,
            "ShowTrainingJobFlavors",
            move |api, project, _, _| {
                let call = api.show_training_job_flavors().project_id(project);
                Box::pin(match &kind {
                    Some(kind) => call.flavor_type(kind.clone()).send(),
                    None => call.send(),
                })
            },
            |answer| (answer.flavors, Counts::of_total(answer.total_count)),
        );
        rows.list()
    }

    /// Lists the preset images.
    pub fn engines(&self) -> List<TrainingEngine> {
        let rows = RowSource::new(
            self,
            "ShowTrainingJobEngines",
            |api, project, _, _| {
                Box::pin(api.show_training_job_engines().project_id(project).send())
            },
            |answer| (answer.items, Counts::of_total(answer.total)),
        );
        rows.list()
    }

    /// Lists the quotas of a user with their usage. Huawei Cloud only. The request names no user,
    /// and no document states whose quotas the service then returns.
    pub fn quotas(&self) -> List<TrainingQuota> {
        let rows = RowSource::new(
            self,
            "ShowTrainingQuotas",
            |api, project, _, _| Box::pin(api.show_training_quotas().project_id(project).send()),
            |answer| (answer.quotas, Counts::default()),
        );
        rows.list()
    }

    /// Lists the event categories that a job can publish to a topic. Huawei Cloud only.
    pub fn event_categories(&self) -> List<EventCategory> {
        let rows = RowSource::new(
            self,
            "ListEventCategories",
            |api, project, _, _| Box::pin(api.list_event_categories().project_id(project).send()),
            |answer| (answer.event_categories, Counts::default()),
        );
        rows.list()
    }

    /// Lists the algorithms of hyper-parameter search.
    pub fn hyperparameter_search_algorithms(&self) -> List<SupportedSearchAlgorithm> {
        let rows = RowSource::new(
            self,
            "ShowSearchAlgorithms",
            |api, project, _, _| Box::pin(api.show_search_algorithms().project_id(project).send()),
            |answer| (answer.search_algo_list, Counts::of_total(answer.search_algo_count)),
        );
        rows.list()
    }

    /// Lists the templates of searches that are configured in YAML.
    pub fn search_templates(&self) -> List<YamlTemplate> {
        let rows = RowSource::new(
            self,
            "ShowAutoSearchYamlTemplatesInfo",
            |api, project, _, _| {
                let call = api.show_auto_search_yaml_templates_info();
                Box::pin(call.project_id(project).send())
            },
            |answer| (answer.yaml_templates, Counts::default()),
        );
        rows.list()
    }

    /// Lists the experiments of the project. Huawei Cloud only.
    pub fn experiments(&self) -> List<TrainingExperiment> {
        let rows = RowSource::new(
            self,
            "ListTrainingExperiments",
            |api, project, offset, limit| {
                let call = api.list_training_experiments().project_id(project);
                Box::pin(call.offset(offset).limit(limit).send())
            },
            |answer| (answer.items, Counts::new(answer.total, answer.count, answer.limit)),
        );
        let rows = rows.id(|experiment| experiment.metadata.as_ref()?.id.as_deref());
        rows.list()
    }

    /// Lists the tags of the project's jobs with all their values. Huawei Cloud only.
    pub fn job_tags(&self) -> List<TagValues> {
        let rows = RowSource::new(
            self,
            "ListTrainingJobTags",
            |api, project, offset, limit| {
                let call = api.list_training_job_tags().project_id(project);
                Box::pin(call.offset(offset).limit(limit).send())
            },
            |answer| (answer.tags, Counts::default()),
        );
        rows.id(|tag| tag.key.as_deref()).list()
    }

    /// Lists the jobs that have all of these tags. A tag with several values matches any of them; a
    /// tag without values matches every value. Huawei Cloud only.
    pub fn jobs_by_tags<K, V>(
        &self,
        tags: impl IntoIterator<Item = (K, V)>,
    ) -> List<ResourceInstance>
    where
        K: Into<String>,
        V: IntoIterator<Item: Into<String>>,
    {
        let tags = tags.into_iter().map(|(key, values)| {
            let key: String = key.into();
            let values: Vec<String> = values.into_iter().map(Into::into).collect();
            ResourceTagRequest::builder().key(key).values(values).try_into()
        });
        let tags: Result<Vec<ResourceTagRequest>, ConversionError> = tags.collect();
        let problem = tags.as_ref().err().map(|error| format!("tag: {error}"));
        let body = ResourceInstancesRequest::builder().tags(tags.unwrap_or_default());
        let rows = RowSource::new(
            self,
            "ListTrainingJobsByTags",
            move |api, project, offset, limit| {
                let call = api.list_training_jobs_by_tags().project_id(project);
                let call = call.body(body.clone());
                Box::pin(call.offset(offset).limit(limit).send())
            },
            |answer| (answer.resources, Counts::of_total(answer.total_count)),
        );
        rows.id(|job| job.resource_id.as_deref()).problem(problem).list()
    }
}
