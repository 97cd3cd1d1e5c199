//! Catalogs of a project: algorithms, flavors, engines, quotas, experiments and tags.
//!
//! A job refers to its flavor, algorithm and experiment by id, and to a preset image by engine and
//! version. The available values differ between clouds, and some of them between projects. The
//! lists are streams; see [`pagination`](crate::pagination).
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
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
//! # Ok(()) }) }
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

// `RowSource` implements lists of a single operation. Only `algorithms` has its own source.

mod algorithms;
mod engines;
mod of_job;

pub use algorithms::{AlgorithmQuery, ListAlgorithms};
pub use of_job::Trial;

use modelarts_api::{
    BoxFuture, Offset,
    types::{
        EventCategory, FlavorType, ProjectId, ResourceInstance, ResourceInstancesRequest,
        ResourceTagRequest, SupportedSearchAlgorithm, TagValues, TrainingEngine,
        TrainingExperiment, TrainingFlavor, TrainingQuota, YamlTemplate, error::ConversionError,
    },
};
use serde::Serialize;

use crate::{
    client::Client,
    error::Error,
    list_position::DetectedOffset,
    pagination::{
        list::List,
        source::{Counts, ListInfo, RawPage, Source, pagination_of},
    },
};

impl Client {
    /// Lists the flavors of training jobs: all, or only those of one type.
    pub fn flavors(&self, kind: Option<FlavorType>) -> List<TrainingFlavor> {
        RowSource::new(
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
        )
        .list()
    }

    /// Lists the preset images, each with its engine and version.
    pub fn engines(&self) -> List<TrainingEngine> {
        RowSource::new(
            self,
            "ShowTrainingJobEngines",
            |api, project, _, _| {
                Box::pin(api.show_training_job_engines().project_id(project).send())
            },
            |answer| (answer.items, Counts::of_total(answer.total)),
        )
        .list()
    }

    /// Lists quotas with their usage. Huawei Cloud only. The quotas belong to a user, but the
    /// request contains no user, and no document states whose quotas the service returns.
    pub fn quotas(&self) -> List<TrainingQuota> {
        RowSource::new(
            self,
            "ShowTrainingQuotas",
            |api, project, _, _| Box::pin(api.show_training_quotas().project_id(project).send()),
            |answer| (answer.quotas, Counts::default()),
        )
        .list()
    }

    /// Lists the categories of the events that a job can publish to a topic. Huawei Cloud only.
    pub fn event_categories(&self) -> List<EventCategory> {
        RowSource::new(
            self,
            "ListEventCategories",
            |api, project, _, _| Box::pin(api.list_event_categories().project_id(project).send()),
            |answer| (answer.event_categories, Counts::default()),
        )
        .list()
    }

    /// Lists the algorithms that hyper-parameter search supports.
    pub fn hyperparameter_search_algorithms(&self) -> List<SupportedSearchAlgorithm> {
        RowSource::new(
            self,
            "ShowSearchAlgorithms",
            |api, project, _, _| Box::pin(api.show_search_algorithms().project_id(project).send()),
            |answer| (answer.search_algo_list, Counts::of_total(answer.search_algo_count)),
        )
        .list()
    }

    /// Lists the templates of hyper-parameter searches that are configured in YAML.
    pub fn search_templates(&self) -> List<YamlTemplate> {
        RowSource::new(
            self,
            "ShowAutoSearchYamlTemplatesInfo",
            |api, project, _, _| {
                let call = api.show_auto_search_yaml_templates_info();
                Box::pin(call.project_id(project).send())
            },
            |answer| (answer.yaml_templates, Counts::default()),
        )
        .list()
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

    /// Lists the tags of all jobs of the project, each with all its values. Huawei Cloud only.
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

    /// Lists the jobs that have all of these tags. A tag with several values matches a job with any
    /// of the values. A tag without values matches every value. Huawei Cloud only.
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

type Call<'a, R> = BoxFuture<'a, Result<modelarts_api::Response<R>, modelarts_api::Error>>;

type Fetch<R> =
    dyn for<'a> Fn(&'a modelarts_api::Client, ProjectId, i64, i64) -> Call<'a, R> + Send + Sync;

struct RowSource<R, T> {
    client: Client,
    operation: &'static str,
    call: Box<Fetch<R>>,
    rows: fn(R) -> (Vec<T>, Counts),
    id: fn(&T) -> Option<&str>,
    unique: bool,
    detected_offset: Option<DetectedOffset>,
    problem: Option<String>,
}

impl<R: Send + 'static, T: Serialize + Send + Sync + 'static> RowSource<R, T> {
    fn new(
        client: &Client,
        operation: &'static str,
        call: impl for<'a> Fn(&'a modelarts_api::Client, ProjectId, i64, i64) -> Call<'a, R>
        + Send
        + Sync
        + 'static,
        rows: fn(R) -> (Vec<T>, Counts),
    ) -> Self {
        let pagination = pagination_of(operation);
        Self {
            client: client.clone(),
            operation,
            unique: pagination.is_ok_and(|how| how.offset != Offset::SinglePage),
            call: Box::new(call),
            rows,
            id: |_| None,
            detected_offset: None,
            problem: None,
        }
    }

    /// Sets the function that returns the unique id of a row. Default: the whole row is its id.
    fn id(mut self, id: fn(&T) -> Option<&str>) -> Self {
        self.id = id;
        self
    }

    /// Sets the cell for the detected unit of offsets, because sources disagree about the unit.
    fn detected_offset(mut self, detected: &DetectedOffset) -> Self {
        self.detected_offset = Some(detected.clone());
        self
    }

    fn problem(mut self, problem: Option<String>) -> Self {
        self.problem = problem;
        self
    }

    fn list(self) -> List<T> {
        List::new(Box::new(self))
    }
}

impl<R: Send + 'static, T: Serialize + Send + Sync + 'static> Source for RowSource<R, T> {
    type Item = T;

    fn info(&self) -> ListInfo {
        ListInfo {
            operation: self.operation,
            unique: self.unique,
            filtered: false,
            detected_offset: self.detected_offset.clone(),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let problem = self.problem.as_ref();
        problem.map_or(Ok(()), |problem| Err(Error::invalid(problem.clone())))
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<T>, Error>> {
        Box::pin(async move {
            let project = self.client.project().clone();
            let call = |api| (self.call)(api, project, offset, i64::from(limit));
            self.client.call(call).await?.into_page(self.rows)
        })
    }

    fn key(&self, item: &T) -> String {
        row_key((self.id)(item), item)
    }
}

/// Returns the unique key of a row: the id, or the whole row as JSON if the id is missing or empty.
fn row_key(id: Option<&str>, row: &impl Serialize) -> String {
    let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
    id.unwrap_or_else(|| serde_json::to_string(row).unwrap_or_default())
}
