//! Setters of `CreateJob` for other services: notifications, SSH, visualization, metrics, models.

use modelarts_api::types;
use serde_json::{Value, json};

use crate::{
    jobs::create::CreateJob,
    validation::annotations::{INSIGHT, JUPYTER, TENSORBOARD},
};

impl CreateJob {
    /// Publishes events of the job to a topic of the notification service.
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

    /// Enables SSH with these key pairs.
    pub fn ssh(self, key_pairs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = key_pairs.into_iter().map(Into::into).collect();
        self.set("endpoints.ssh.key_pair_names", names)
    }

    /// Starts `JupyterLab` with the job.
    pub fn jupyter_lab(self) -> Self {
        self.annotation(JUPYTER, "true")
    }

    /// Starts `TensorBoard` with the job, for the logs of these jobs.
    pub fn tensorboard(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(TENSORBOARD, "true").add_summary_jobs(jobs)
    }

    /// Starts `MindStudio` Insight with the job, for the logs of these jobs.
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

    /// Sets the type of the job's visualization logs, and their directory in a parallel file
    /// system, such as `obs://file-system/logs/`.
    pub fn summary(self, kind: types::SummaryLogType, pfs_path: impl Into<String>) -> Self {
        self.set("algorithm.summary.log_type", kind.as_str())
            .set("algorithm.summary.log_dir.pfs.pfs_path", pfs_path.into())
    }

    /// Sets metrics that the job serves at a path of its own port, in the older form.
    pub fn metrics_url(self, url: impl Into<String>, port: u16) -> Self {
        self.push(
            "spec.custom_metrics",
            json!({"metrics_url": url.into(), "metrics_port": port}),
        )
    }

    /// Sets metrics that the job serves by HTTP: a path of 2 to 128 characters, a port from 10001
    /// to 20000.
    pub fn metrics_http(self, path: impl Into<String>, port: u16) -> Self {
        self.push(
            "spec.custom_metrics",
            json!({"http_get": {"path": path.into(), "port": port}}),
        )
    }

    /// Sets metrics that a command prints: the program and one argument.
    pub fn metrics_command(self, program: impl Into<String>, argument: impl Into<String>) -> Self {
        let command = [program.into(), argument.into()];
        self.push("spec.custom_metrics", json!({"exec": {"command": command}}))
    }

    /// Stores the model of the job in OBS; `local_path` is its directory in the container (Huawei
    /// Cloud).
    pub fn output_model(self, obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        self.set(
            "spec.output_model.obs",
            json!({"obs_path": obs_path.into(), "local_path": local_path.into()}),
        )
    }

    /// Registers the model of the job as an asset (Huawei Cloud).
    pub fn asset_model(self, model: types::AssetModelRequest) -> Self {
        self.set(
            "spec.asset_model",
            serde_json::to_value(model).unwrap_or_default(),
        )
    }

    /// Sets the model asset to tune (Huawei Cloud). Fine-tuning only.
    pub fn asset(self, id: impl Into<String>) -> Self {
        self.set("spec.asset_id", id.into())
    }
}
