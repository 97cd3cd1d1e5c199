//! Setters of `CreateJob` for services beside the job: notifications, SSH, visualization, metrics,
//! models.

use modelarts_api::types;
use serde_json::{Value, json};

use crate::{
    jobs::create::CreateJob,
    validation::annotations::{INSIGHT, JUPYTER, TENSORBOARD},
};

impl CreateJob {
    /// Sends events of the job to a topic of the notification service.
    pub fn notify(
        self,
        topic_urn: impl Into<String>,
        events: impl IntoIterator<Item = types::NotificationEvent>,
    ) -> Self {
        let events: Vec<Value> = events
            .into_iter()
            .map(|event| event.as_str().into())
            .collect();
        self.set(
            "spec.notification",
            json!({"topic_urn": topic_urn.into(), "events": events}),
        )
    }

    /// Admits SSH with these key pairs.
    pub fn ssh(self, key_pairs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = key_pairs.into_iter().map(Into::into).collect();
        self.set("endpoints.ssh.key_pair_names", names)
    }

    /// Starts `JupyterLab` beside the job.
    pub fn jupyter_lab(self) -> Self {
        self.annotation(JUPYTER, "true")
    }

    /// Starts `TensorBoard` beside the job, which shows the logs of these jobs.
    pub fn tensorboard(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(TENSORBOARD, "true").add_summary_jobs(jobs)
    }

    /// Starts `MindStudio` Insight beside the job, which shows the logs of these jobs.
    pub fn mindstudio_insight(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(INSIGHT, "true").add_summary_jobs(jobs)
    }

    fn add_summary_jobs(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        jobs.into_iter().fold(self, |job, id| {
            job.push(
                "algorithm.summary.data_sources",
                json!({"job": {"job_id": id.into()}}),
            )
        })
    }

    /// Says what logs for a visualization the job writes, and where in a parallel
    /// file system, such as `obs://file-system/logs/`.
    pub fn summary(self, kind: types::SummaryLogType, pfs_path: impl Into<String>) -> Self {
        self.set("algorithm.summary.log_type", kind.as_str())
            .set("algorithm.summary.log_dir.pfs.pfs_path", pfs_path.into())
    }

    /// Metrics that the job serves at a path of a port of its own, in the older
    /// form.
    pub fn metrics_url(self, url: impl Into<String>, port: u16) -> Self {
        self.push(
            "spec.custom_metrics",
            json!({"metrics_url": url.into(), "metrics_port": port}),
        )
    }

    /// Metrics that the job serves by HTTP: a path of 2 to 128 characters, a port
    /// from 10001 to 20000.
    pub fn metrics_http(self, path: impl Into<String>, port: u16) -> Self {
        self.push(
            "spec.custom_metrics",
            json!({"http_get": {"path": path.into(), "port": port}}),
        )
    }

    /// Metrics that a command prints: the program and one argument.
    pub fn metrics_command(self, program: impl Into<String>, argument: impl Into<String>) -> Self {
        let command = [program.into(), argument.into()];
        self.push("spec.custom_metrics", json!({"exec": {"command": command}}))
    }

    /// Keeps the product of the job in OBS; `local_path` is where the job leaves it
    /// (Huawei Cloud).
    pub fn output_model(self, obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        self.set(
            "spec.output_model.obs",
            json!({"obs_path": obs_path.into(), "local_path": local_path.into()}),
        )
    }

    /// Makes a model asset of the product of the job (Huawei Cloud).
    pub fn asset_model(self, model: types::AssetModelRequest) -> Self {
        self.set(
            "spec.asset_model",
            serde_json::to_value(model).unwrap_or_default(),
        )
    }

    /// Fine-tuning only: the model asset that is tuned (Huawei Cloud).
    pub fn asset(self, id: impl Into<String>) -> Self {
        self.set("spec.asset_id", id.into())
    }
}
