//! Catalogs of one job: task history, stages, tags, trials and artifacts.

use modelarts_api::types::{
    FineTuningArtifact, ListFtArtifactsResponse, StageRecord, Tag, TaskHistory,
};

use crate::{
    catalog::{
        row_source::{RowSource, Rows},
        trials::{Trial, trials},
    },
    jobs::job::Job,
    pagination::list::List,
};

impl Job {
    /// Lists the nodes that the tasks of the job ran on, for each time that it was scheduled.
    /// Huawei Cloud only.
    pub fn task_history(&self) -> List<TaskHistory> {
        let id = self.training_job_id().clone();
        List::new(RowSource::new(
            self.client(),
            "ListTrainingJobTasks",
            move |client, api, _, _| {
                let call = api.list_training_job_tasks().training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.0, None),
        ))
    }

    /// Lists the stages of each run of the job. Huawei Cloud only.
    pub fn stages(&self) -> List<StageRecord> {
        let id = self.training_job_id().clone();
        List::new(RowSource::new(
            self.client(),
            "ListTrainingJobStages",
            move |client, api, _, _| {
                let call = api.list_training_job_stages().training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.running_records, answer.total_count),
        ))
    }

    /// Lists the tags of the job. Huawei Cloud only.
    pub fn tags(&self) -> List<Tag> {
        let id = self.training_job_id().clone();
        List::new(RowSource::new(
            self.client(),
            "ShowTrainJobTags",
            move |client, api, _, _| {
                let call = api.show_train_job_tags().training_job_id(id.clone());
                Box::pin(call.project_id(client.project().clone()).send())
            },
            |answer| Rows::new(answer.tags, None),
        ))
    }

    /// Lists the trials of a hyper-parameter search. A trial may have several rows.
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
            // The count is that of the page.
            |answer| Rows {
                limit: answer.limit.filter(|limit| *limit > 0),
                ..Rows::new(trials(answer.items.unwrap_or_default()), answer.total)
            },
        );
        List::new(
            rows.id(Trial::number)
                .detected_offset(&self.client().offsets().trials),
        )
    }

    /// Lists the models and checkpoints of a fine-tuning job. Huawei Cloud only.
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
            // The total is that of the page.
            |answer: ListFtArtifactsResponse| Rows::new(answer.artifact_info, None),
        );
        List::new(rows.id(|artifact| artifact.artifact_id.as_deref()))
    }
}
