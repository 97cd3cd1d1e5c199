//! Setters of `CreateJob` for other services: notifications, SSH, visualization, metrics, models.

use modelarts_api::{
    request_path::{
        create_training_job::{
            algorithm::summary,
            endpoints,
            spec::{self, CUSTOM_METRICS},
        },
        custom_metrics, data_source, notification, output_model,
    },
    types,
};
use serde_json::Value;

use crate::{
    jobs::create::{
        CreateJob,
        json_edit::{object, text},
    },
    validation::annotations::{INSIGHT, JUPYTER, TENSORBOARD},
};

impl CreateJob {
    /// Publishes events of the job to a topic of the notification service.
    pub fn notify(
        self,
        topic_urn: impl Into<String>,
        events: impl IntoIterator<Item = types::NotificationEvent>,
    ) -> Self {
        let events = events.into_iter().map(|event| text(event.as_str()));
        let notification = object([
            (notification::TOPIC_URN, text(topic_urn)),
            (notification::EVENTS, events.collect()),
        ]);
        self.set(spec::NOTIFICATION, notification)
    }

    /// Enables SSH with these key pairs.
    pub fn ssh(self, key_pairs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = key_pairs.into_iter().map(Into::into).collect();
        self.set(endpoints::ssh::KEY_PAIR_NAMES, names)
    }

    /// Starts `JupyterLab` with the job.
    pub fn jupyter_lab(self) -> Self {
        self.annotation(JUPYTER, "true")
    }

    /// Starts `TensorBoard` with the job, to display the logs of these jobs.
    pub fn tensorboard(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(TENSORBOARD, "true").add_summary_jobs(jobs)
    }

    /// Starts `MindStudio` Insight with the job, to display the logs of these jobs.
    pub fn mindstudio_insight(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(INSIGHT, "true").add_summary_jobs(jobs)
    }

    fn add_summary_jobs(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let sources = jobs.into_iter();
        let sources = sources.map(|id| object([(data_source::job::JOB_ID, text(id))]));
        sources.fold(self, |job, source| job.push(summary::DATA_SOURCES, source))
    }

    /// Sets the type of the job's visualization logs, and their directory in a parallel file
    /// system, such as `obs://file-system/logs/`.
    pub fn summary(self, kind: types::SummaryLogType, pfs_path: impl Into<String>) -> Self {
        self.set(summary::LOG_TYPE, kind.as_str())
            .set(summary::log_dir::pfs::PFS_PATH, pfs_path.into())
    }

    /// Sets the URL path and the port at which the job serves metrics, in the older form of the
    /// request.
    pub fn metrics_url(self, url: impl Into<String>, port: u16) -> Self {
        let metrics = object([
            (custom_metrics::METRICS_URL, text(url)),
            (custom_metrics::METRICS_PORT, port.into()),
        ]);
        self.push(CUSTOM_METRICS, metrics)
    }

    /// Sets the HTTP path and the port at which the job serves metrics: a path of 2 to 128
    /// characters, a port from 10001 to 20000.
    pub fn metrics_http(self, path: impl Into<String>, port: u16) -> Self {
        let metrics = object([
            (custom_metrics::http_get::PATH, text(path)),
            (custom_metrics::http_get::PORT, port.into()),
        ]);
        self.push(CUSTOM_METRICS, metrics)
    }

    /// Sets the command that prints the metrics of the job: the program and one argument.
    pub fn metrics_command(self, program: impl Into<String>, argument: impl Into<String>) -> Self {
        let command = Value::Array(vec![text(program), text(argument)]);
        self.push(
            CUSTOM_METRICS,
            object([(custom_metrics::exec::COMMAND, command)]),
        )
    }

    /// Stores the model of the job in OBS; `local_path` is its directory in the container (Huawei
    /// Cloud).
    pub fn output_model(self, obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        let model = object([
            (output_model::obs::OBS_PATH, text(obs_path)),
            (output_model::obs::LOCAL_PATH, text(local_path)),
        ]);
        self.set(spec::OUTPUT_MODEL, model)
    }

    /// Registers the model of the job as an asset (Huawei Cloud).
    pub fn asset_model(self, model: types::AssetModelRequest) -> Self {
        self.set(spec::ASSET_MODEL, model)
    }

    /// Sets the model asset to tune (Huawei Cloud). Fine-tuning only.
    pub fn asset(self, id: impl Into<String>) -> Self {
        self.set(spec::ASSET_ID, id.into())
    }
}
