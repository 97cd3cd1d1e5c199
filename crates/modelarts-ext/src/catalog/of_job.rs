//! Lists that belong to a job: task history, stages, tags, artifacts, and the trials of a search.

use std::sync::Arc;

use modelarts_api::types::{
    FineTuningArtifact, ListFtArtifactsResponse, ResultTable, StageRecord, Tag, TaskHistory,
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    catalog::RowSource,
    jobs::job::JobHandle,
    pagination::{list::List, source::Counts},
};

impl JobHandle {
    /// Lists the nodes of each task, for each time that the job was scheduled. Huawei Cloud only.
    pub fn task_history(&self) -> List<TaskHistory> {
        let id = self.training_job_id().clone();
        RowSource::new(
            self.client(),
            "ListTrainingJobTasks",
            move |api, project, _, _| {
                let call = api.list_training_job_tasks().project_id(project);
                Box::pin(call.training_job_id(id.clone()).send())
            },
            |answer| (answer.0, Counts::default()),
        )
        .list()
    }

    /// Lists the stages of each run of the job. Huawei Cloud only.
    pub fn stages(&self) -> List<StageRecord> {
        let id = self.training_job_id().clone();
        RowSource::new(
            self.client(),
            "ListTrainingJobStages",
            move |api, project, _, _| {
                let call = api.list_training_job_stages().project_id(project);
                Box::pin(call.training_job_id(id.clone()).send())
            },
            |answer| (answer.running_records, Counts::of_total(answer.total_count)),
        )
        .list()
    }

    /// Lists the tags of the job. Huawei Cloud only.
    ///
    /// To add tags, call the operation `create_train_job_tags` with [`call`](crate::Client::call):
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// # let job = hello(&emulator, &client, "tags")?.submit().await?;
    /// use modelarts_ext::types::CreateTrainJobTagsRequest;
    ///
    /// let (project, id) = (client.project_id(), job.id());
    /// let tags = serde_json::json!({"tags": [{"key": "team", "value": "nlp"}]});
    /// let body: CreateTrainJobTagsRequest = serde_json::from_value(tags)?;
    /// client
    ///     .call(|api| {
    ///         let call = api.create_train_job_tags().project_id(project).training_job_id(id);
    ///         call.body(body).send()
    ///     })
    ///     .await?;
    /// let tags = job.tags().collect(10).await?;
    /// # assert_eq!(tags[0].key.as_deref(), Some("team"));
    /// # assert_eq!(tags[0].value.as_deref(), Some("nlp"));
    /// # Ok(()) }) }
    /// ```
    pub fn tags(&self) -> List<Tag> {
        let id = self.training_job_id().clone();
        RowSource::new(
            self.client(),
            "ShowTrainJobTags",
            move |api, project, _, _| {
                let call = api.show_train_job_tags().project_id(project);
                Box::pin(call.training_job_id(id.clone()).send())
            },
            |answer| (answer.tags, Counts::default()),
        )
        .list()
    }

    /// Lists the trials of a hyper-parameter search. A trial may have several rows in the list.
    pub fn trials(&self) -> List<Trial> {
        let id = self.training_job_id().clone();
        let rows = RowSource::new(
            self.client(),
            "ShowAutoSearchTrials",
            move |api, project, offset, limit| {
                let call = api.show_auto_search_trials().project_id(project);
                let call = call.training_job_id(id.clone());
                Box::pin(call.offset(offset).limit(limit).send())
            },
            |answer| {
                // The field `count` of the response is the number of rows of the page.
                let counts = Counts::new(answer.total, None, answer.limit);
                (trials(answer.items.unwrap_or_default()), counts)
            },
        );
        let detected = &self.client().offsets().trials;
        rows.id(Trial::number).detected_offset(detected).list()
    }

    /// Lists the models and checkpoints of a fine-tuning job. Huawei Cloud only.
    pub fn artifacts(&self) -> List<FineTuningArtifact> {
        let id = self.training_job_id().clone();
        let rows = RowSource::new(
            self.client(),
            "ListFtArtifacts",
            move |api, project, offset, limit| {
                let call = api.list_ft_artifacts().project_id(project);
                let call = call.training_job_id(id.clone());
                Box::pin(call.offset(offset).limit(limit).send())
            },
            // The field `total` of the response is the number of rows of the page.
            |answer: ListFtArtifactsResponse| (answer.artifact_info, Counts::default()),
        );
        let rows = rows.id(|artifact| artifact.artifact_id.as_deref());
        rows.list()
    }
}

/// Row of the table of trials. The hyper-parameter search determines the columns of the table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    #[serde(skip)]
    columns: Arc<[String]>,
    cells: Vec<Value>,
}

impl Trial {
    /// Returns the value in a column, such as `trial_id`, `status` or a metric, if present.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// for trial in job.trials().collect(100).await? {
    ///     println!("{:?}: {:?}", trial.get("trial_id"), trial.get("accuracy"));
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Value> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.cells.get(at)
    }

    /// Returns the names of the columns. The name of the column with the row number is empty.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn number(&self) -> Option<&str> {
        self.get("")?.as_str()
    }
}

pub(crate) fn trials(table: ResultTable) -> Vec<Trial> {
    let columns: Arc<[String]> = table.header.into();
    let row = |cells| Trial { columns: Arc::clone(&columns), cells };
    table.data.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_found_by_their_columns() {
        let table = json!({
            "header": ["", "status", "accuracy", "config"],
            "data": [["0", "TERMINATED", "0.8125", {"learning_rate": 0.0021}], ["1", "RUNNING"]],
        });
        let trials = trials(serde_json::from_value(table).unwrap());
        assert_eq!(trials.len(), 2);
        assert_eq!(trials[0].columns()[1], "status");
        assert_eq!(trials[0].get("accuracy"), Some(&json!("0.8125")));
        assert_eq!(trials[0].get("config").unwrap()["learning_rate"], 0.0021);
        assert_eq!(trials[0].get("loss"), None);
        // A row may have fewer cells than the header.
        assert_eq!(trials[1].get("accuracy"), None);
        assert_eq!(trials[1].number(), Some("1"));
    }
}
