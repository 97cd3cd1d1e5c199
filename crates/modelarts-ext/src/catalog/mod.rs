//! The lists of a project and of a job, besides those of jobs and events.

pub(crate) mod algorithms;
pub(crate) mod list;
pub(crate) mod trials;

use modelarts_api::types::{
    EventCategory, FineTuningArtifact, FlavorType, ListFtArtifactsResponse, ResourceInstance,
    ResourceInstancesRequest, ResourceTagRequest, StageRecord, SupportedSearchAlgorithm, Tag,
    TagValues, TaskHistory, TrainingEngine, TrainingExperiment, TrainingFlavor, TrainingQuota,
    YamlTemplate,
};

use crate::{
    catalog::{
        algorithms::ListAlgorithms,
        list::{List, Part, RowSource},
        trials::{Trial, trials},
    },
    client::Client,
    error::Error,
    jobs::job::Job,
};

impl Client {
    /// The algorithms of the project, the newest first.
    pub fn algorithms(&self) -> ListAlgorithms {
        ListAlgorithms::new(self.clone())
    }

    /// The flavors that jobs can have: those of one kind, or all.
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
            |answer| Part::new(answer.flavors, answer.total_count),
        ))
    }

    /// The preset images.
    pub fn engines(&self) -> List<TrainingEngine> {
        List::new(RowSource::new(
            self,
            "ShowTrainingJobEngines",
            |client, api, _, _| {
                let call = api.show_training_job_engines();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.items, answer.total),
        ))
    }

    /// How much of what is used, and how much may be. Huawei Cloud.
    pub fn quotas(&self) -> List<TrainingQuota> {
        List::new(RowSource::new(
            self,
            "ShowTrainingQuotas",
            |client, api, _, _| {
                let call = api.show_training_quotas();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.quotas, None),
        ))
    }

    /// The kinds of events that a job can report to a topic. Huawei Cloud.
    pub fn event_categories(&self) -> List<EventCategory> {
        List::new(RowSource::new(
            self,
            "ListEventCategories",
            |client, api, _, _| {
                let call = api.list_event_categories();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.event_categories, None),
        ))
    }

    /// The algorithms that search hyper-parameters.
    pub fn search_algorithms(&self) -> List<SupportedSearchAlgorithm> {
        List::new(RowSource::new(
            self,
            "ShowSearchAlgorithms",
            |client, api, _, _| {
                let call = api.show_search_algorithms();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.search_algo_list, answer.search_algo_count),
        ))
    }

    /// The templates of searches that are written in YAML.
    pub fn search_templates(&self) -> List<YamlTemplate> {
        List::new(RowSource::new(
            self,
            "ShowAutoSearchYamlTemplatesInfo",
            |client, api, _, _| {
                let call = api.show_auto_search_yaml_templates_info();
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.yaml_templates, None),
        ))
    }

    /// The experiments of the project. Huawei Cloud.
    pub fn experiments(&self) -> List<TrainingExperiment> {
        let rows = RowSource::new(
            self,
            "ListTrainingExperiments",
            |client, api, offset, limit| {
                let call = api.list_training_experiments().offset(offset).limit(limit);
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part {
                count: answer.count,
                limit: answer.limit,
                ..Part::new(answer.items, answer.total)
            },
        );
        List::new(rows.id(|experiment| experiment.metadata.as_ref()?.id.as_deref()))
    }

    /// The tags that jobs of the project have, with all their values. Huawei Cloud.
    pub fn job_tags(&self) -> List<TagValues> {
        let rows = RowSource::new(
            self,
            "ListTrainingJobTags",
            |client, api, offset, limit| {
                let call = api.list_training_job_tags().offset(offset).limit(limit);
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.tags, None),
        );
        List::new(rows.id(|tag| tag.key.as_deref()))
    }

    /// The jobs that have all of these tags, each with one of these values, or with any
    /// if there are none. Huawei Cloud.
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
                |answer| Part::new(answer.resources, answer.total_count),
            );
            rows.id(|job| job.resource_id.as_deref())
        }))
    }
}

impl Job {
    /// Where the tasks of the job ran, each time that it was scheduled. Huawei Cloud.
    pub fn task_history(&self) -> List<TaskHistory> {
        let id = self.training_job_id().clone();
        List::new(RowSource::new(
            self.client(),
            "ListTrainingJobTasks",
            move |client, api, _, _| {
                let call = api.list_training_job_tasks().training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.0, None),
        ))
    }

    /// The stages that each run of the job went through. Huawei Cloud.
    pub fn stages(&self) -> List<StageRecord> {
        let id = self.training_job_id().clone();
        List::new(RowSource::new(
            self.client(),
            "ListTrainingJobStages",
            move |client, api, _, _| {
                let call = api.list_training_job_stages().training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.running_records, answer.total_count),
        ))
    }

    /// The tags of the job. Huawei Cloud.
    pub fn tags(&self) -> List<Tag> {
        let id = self.training_job_id().clone();
        List::new(RowSource::new(
            self.client(),
            "ShowTrainJobTags",
            move |client, api, _, _| {
                let call = api.show_train_job_tags().training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Part::new(answer.tags, None),
        ))
    }

    /// The trials of a job that searches hyper-parameters. A trial may have several
    /// rows.
    pub fn trials(&self) -> List<Trial> {
        let id = self.training_job_id().clone();
        let rows = RowSource::new(
            self.client(),
            "ShowAutoSearchTrials",
            move |client, api, offset, limit| {
                let call = api.show_auto_search_trials().offset(offset).limit(limit);
                let call = call.training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            // Its count is that of the page.
            |answer| Part {
                limit: answer.limit.filter(|limit| *limit > 0),
                ..Part::new(trials(answer.items.unwrap_or_default()), answer.total)
            },
        );
        List::new(
            rows.id(Trial::number)
                .learned(&self.client().offsets().trials),
        )
    }

    /// What a fine-tuning job made: models and checkpoints. Huawei Cloud.
    pub fn artifacts(&self) -> List<FineTuningArtifact> {
        let id = self.training_job_id().clone();
        let rows = RowSource::new(
            self.client(),
            "ListFtArtifacts",
            move |client, api, offset, limit| {
                let call = api.list_ft_artifacts().offset(offset).limit(limit);
                let call = call.training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            // Its total is that of the page.
            |answer: ListFtArtifactsResponse| Part::new(answer.artifact_info, None),
        );
        List::new(rows.id(|artifact| artifact.artifact_id.as_deref()))
    }
}
