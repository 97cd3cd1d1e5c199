//! Setters of `CreateJob` for elements of lists, and for several fields together.

use std::{fmt, time::Duration};

use modelarts_api::{
    request_path::{
        auto_stop,
        create_training_job::{
            FTJOB_CONFIG, TASKS, TRAIN_TYPE,
            algorithm::{
                self, ENVIRONMENTS, INPUTS, OUTPUTS, PARAMETERS, engine, policies::AUTO_SEARCH,
                summary,
            },
            endpoints,
            metadata::{self, TRAINING_EXPERIMENT_REFERENCE},
            spec::{self, CUSTOM_METRICS, schedule_policy::REQUIRED_AFFINITY},
        },
        custom_metrics, data_source, experiment_reference, notification, output_model, parameter,
        required_affinity, reserved_time,
    },
    types,
};
use serde_json::Value;

use crate::{
    jobs::create::{
        CreateJob, HyperparameterSearch, Input, Output, Volume,
        json_edit::{self, object, text},
    },
    validation::draft::{HANG_RETRY, INSIGHT, JUPYTER, RETRIES, TENSORBOARD, UNCONDITIONAL},
};

impl CreateJob {
    /// Sets an annotation. Annotations enable most of the optional features of a job.
    pub fn annotation(self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.insert(metadata::ANNOTATIONS, &key.into(), value.into())
    }

    /// Adds the job to an existing experiment (Huawei Cloud).
    pub fn experiment(self, id: impl Into<String>) -> Self {
        let experiment = object([(experiment_reference::ID, text(id))]);
        self.set(TRAINING_EXPERIMENT_REFERENCE, experiment)
    }

    /// Creates an experiment together with the job (Huawei Cloud).
    pub fn new_experiment(self, name: impl Into<String>, description: impl Into<String>) -> Self {
        let experiment = object([
            (experiment_reference::NAME, text(name)),
            (experiment_reference::DESCRIPTION, text(description)),
        ]);
        self.set(TRAINING_EXPERIMENT_REFERENCE, experiment)
    }

    /// Sets an image of the platform, by the name and the version of its engine.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |_, client| {
    /// // Images that the region offers.
    /// for engine in client.engines().collect(100).await? {
    ///     println!("{:?} {:?}", engine.engine_name, engine.engine_version);
    /// }
    /// let job = client.training_jobs().create("bert").preset_image("PyTorch", "pytorch_1.8.0");
    /// # assert_eq!(job.body()["algorithm"]["engine"]["engine_name"], "PyTorch");
    /// # Ok(()) }) }
    /// ```
    pub fn preset_image(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.without_field(engine::ENGINE_ID)
            .set(engine::ENGINE_NAME, name.into())
            .set(engine::ENGINE_VERSION, version.into())
    }

    /// Sets an image of the platform, by the id of its engine.
    pub fn preset_engine(self, id: impl Into<String>) -> Self {
        self.without_field(engine::ENGINE_NAME)
            .without_field(engine::ENGINE_VERSION)
            .without_field(engine::IMAGE_URL)
            .set(engine::ENGINE_ID, id.into())
    }

    /// Sets a custom image, such as `organisation/image:tag`. With
    /// [`preset_image`](Self::preset_image) and a boot file, the image replaces that of the engine.
    pub fn custom_image(self, url: impl Into<String>) -> Self {
        self.without_field(engine::ENGINE_ID).set(engine::IMAGE_URL, url.into())
    }

    /// Sets the id of the user that runs a custom image: 1000 to 65535, or from 0 in a dedicated
    /// pool. The id is sent in the field of responses, because no source documents a request field
    /// (`openapi/SOURCES.md`, O, S, F3).
    pub fn run_user(self, id: u32) -> Self {
        self.set(engine::RUN_USER, id.to_string())
    }

    /// Sets a subscribed algorithm, by the ids of the subscription and of the version.
    pub fn subscription(self, id: impl Into<String>, version: impl Into<String>) -> Self {
        self.set(algorithm::SUBSCRIPTION_ID, id.into())
            .set(algorithm::ITEM_VERSION_ID, version.into())
    }

    /// Sets a hyper-parameter, which the script receives as `--<name>=<value>`.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
    /// // The script is started with `--epochs=3 --learning_rate=0.0003`.
    /// let job = job.parameter("epochs", 3).parameter("learning_rate", 3e-4);
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn parameter(self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.set_parameter(object([
            (parameter::NAME, text(name)),
            (parameter::VALUE, text(value.to_string())),
        ]))
    }

    /// Adds or updates a hyper-parameter that has a description or a constraint.
    pub fn add_parameter(self, parameter: types::Parameter) -> Self {
        self.set_parameter(serde_json::to_value(parameter).unwrap_or_default())
    }

    fn set_parameter(mut self, new: Value) -> Self {
        let list = json_edit::slot(&mut self.body, PARAMETERS);
        let existing = list
            .as_array_mut()
            .into_iter()
            .flatten()
            .find(|item| item.get(parameter::NAME) == new.get(parameter::NAME));
        match (existing, new) {
            // Other fields of the parameter, which a copied job may have, are kept.
            (Some(Value::Object(members)), Value::Object(new)) => members.extend(new),
            (_, new) => return self.push(PARAMETERS, new),
        }
        self
    }

    /// Removes a hyper-parameter by its name.
    pub fn without_parameter(self, name: &str) -> Self {
        self.without_item(PARAMETERS, name)
    }

    /// Sets an environment variable of the job.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
    /// // Log lines appear at once, and NCCL logs the network that it uses.
    /// let job = job.env("PYTHONUNBUFFERED", "1").env("NCCL_DEBUG", "INFO");
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn env(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.insert(ENVIRONMENTS, &name.into(), value.into())
    }

    /// Removes an environment variable of the job.
    pub fn without_env(mut self, name: &str) -> Self {
        if let Some(variables) = json_edit::slot(&mut self.body, ENVIRONMENTS).as_object_mut() {
            variables.remove(name);
        }
        self
    }

    /// Sets the hyper-parameter search of the job.
    pub fn search(self, search: HyperparameterSearch) -> Self {
        self.set(AUTO_SEARCH, search.0)
    }

    /// Sets a hyper-parameter search by the OBS paths of a YAML file and of a framework.
    pub fn search_files(self, config: impl Into<String>, framework: impl Into<String>) -> Self {
        self.set(algorithm::AUTOSEARCH_CONFIG_PATH, config.into())
            .set(algorithm::AUTOSEARCH_FRAMEWORK_PATH, framework.into())
    }

    /// Adds a task to a heterogeneous job. Tasks replace the algorithm and resources of the job.
    pub fn task(self, task: types::TaskRequest) -> Self {
        self.push(TASKS, task)
    }

    /// Sets the method and the configuration of the fine-tuning of a model (Huawei Cloud).
    pub fn fine_tuning(
        self,
        method: types::TrainType,
        config: types::FineTuningConfigRequest,
    ) -> Self {
        self.set(TRAIN_TYPE, method.as_str()).set(FTJOB_CONFIG, config)
    }

    /// Adds an input, whose directory in the container the script receives as `--<name>`.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
    /// // The service copies the files before the start: to the directory in `--data_url`.
    /// let job = job.input("data_url", "obs://my-bucket/images/");
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn input(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_input(Input::obs(name, obs_path))
    }

    /// Adds an input with further settings, such as a description.
    pub fn add_input(self, input: Input) -> Self {
        self.push(INPUTS, input.0)
    }

    /// Removes an input by its name, such as one of a copied job.
    pub fn without_input(self, name: &str) -> Self {
        self.without_item(INPUTS, name)
    }

    /// Adds an output, whose directory in the container the script receives as `--<name>`.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::CreateJob) -> Result<(), modelarts_ext::Error> {
    /// // The service copies what the script writes to the directory in `--train_url` to OBS.
    /// let job = job.output("train_url", "obs://my-bucket/models/bert-base-1/");
    /// # drop(job);
    /// # Ok(()) }
    /// ```
    pub fn output(self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.add_output(Output::obs(name, obs_path))
    }

    /// Adds an output with further settings, such as a description.
    pub fn add_output(self, output: Output) -> Self {
        self.push(OUTPUTS, output.0)
    }

    /// Removes an output by its name, such as one of a copied job.
    pub fn without_output(self, name: &str) -> Self {
        self.without_item(OUTPUTS, name)
    }

    /// Places all nodes in one cabinet.
    pub fn in_one_cabinet(self) -> Self {
        let affinity = object([(required_affinity::AFFINITY_TYPE, text("cabinet"))]);
        self.set(REQUIRED_AFFINITY, affinity)
    }

    /// Schedules each group of `group_size` tasks on one supernode.
    pub fn on_supernodes(self, group_size: u32) -> Self {
        let affinity = object([
            (required_affinity::AFFINITY_TYPE, text("hyperinstance")),
            (required_affinity::AFFINITY_GROUP_SIZE, group_size.into()),
        ]);
        self.set(REQUIRED_AFFINITY, affinity)
    }

    /// Adds a file system that is mounted in the container.
    pub fn volume(self, volume: Volume) -> Self {
        self.push(spec::VOLUMES, volume.0)
    }

    /// Removes all volumes, such as those of a copied job.
    pub fn without_volumes(self) -> Self {
        self.without_field(spec::VOLUMES)
    }

    /// Sets the number of automatic restarts after a failure: 1 to 3, or up to 128 on Huawei Cloud.
    /// The number cannot be changed later. By default, a job is not restarted.
    pub fn auto_restart(self, times: u32) -> Self {
        self.annotation(RETRIES, times.to_string())
    }

    /// Restarts the job after any failure, at most three consecutive times.
    pub fn unconditional_restart(self) -> Self {
        self.annotation(UNCONDITIONAL, "true")
    }

    /// Restarts a hanging job in place. Requires [`auto_restart`](Self::auto_restart).
    pub fn hang_restart(self) -> Self {
        self.annotation(HANG_RETRY, "true")
    }

    /// Stops the job after this time, 1 to 72 whole hours. By default, there is no limit.
    pub fn auto_stop(self, after: Duration) -> Self {
        let limit =
            object([(auto_stop::TIME_UNIT, text("HOURS")), (auto_stop::DURATION, hours(after))]);
        self.set(spec::AUTO_STOP, limit)
    }

    /// Keeps the resources for a number of whole hours after the end of the job (Huawei Cloud).
    pub fn reserve(self, time: Duration) -> Self {
        let time = object([
            (reserved_time::TIME_UNIT, text("HOURS")),
            (reserved_time::DURATION, hours(time)),
        ]);
        self.set(spec::RESERVED_TIME, time)
    }

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

    /// Enables SSH access with the key pairs of these names.
    pub fn ssh(self, key_pairs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = key_pairs.into_iter().map(Into::into).collect();
        self.set(endpoints::ssh::KEY_PAIR_NAMES, names)
    }

    /// Starts `JupyterLab` with the job.
    pub fn jupyter_lab(self) -> Self {
        self.annotation(JUPYTER, "true")
    }

    /// Starts `TensorBoard` with the job, to display the logs of the jobs with these ids.
    pub fn tensorboard(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(TENSORBOARD, "true").add_summary_jobs(jobs)
    }

    /// Starts `MindStudio` Insight with the job, to display the logs of the jobs with these ids.
    pub fn mindstudio_insight(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.annotation(INSIGHT, "true").add_summary_jobs(jobs)
    }

    fn add_summary_jobs(self, jobs: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let sources = jobs.into_iter();
        let sources = sources.map(|id| object([(data_source::job::JOB_ID, text(id))]));
        sources.fold(self, |job, source| job.push(summary::DATA_SOURCES, source))
    }

    /// Sets the type of the visualization logs, and their directory in a parallel file system.
    pub fn summary(self, kind: types::SummaryLogType, pfs_path: impl Into<String>) -> Self {
        self.set(summary::LOG_TYPE, kind.as_str())
            .set(summary::log_dir::pfs::PFS_PATH, pfs_path.into())
    }

    /// Adds custom metrics by URL path and port, in the older form of the request.
    pub fn metrics_url(self, url: impl Into<String>, port: u16) -> Self {
        let metrics = object([
            (custom_metrics::METRICS_URL, text(url)),
            (custom_metrics::METRICS_PORT, port.into()),
        ]);
        self.push(CUSTOM_METRICS, metrics)
    }

    /// Adds custom metrics by HTTP path (2 to 128 characters) and port (10001 to 20000).
    pub fn metrics_http(self, path: impl Into<String>, port: u16) -> Self {
        let metrics = object([
            (custom_metrics::http_get::PATH, text(path)),
            (custom_metrics::http_get::PORT, port.into()),
        ]);
        self.push(CUSTOM_METRICS, metrics)
    }

    /// Adds custom metrics that a command prints: the program and one argument.
    pub fn metrics_command(self, program: impl Into<String>, argument: impl Into<String>) -> Self {
        let command = Value::Array(vec![text(program), text(argument)]);
        self.push(CUSTOM_METRICS, object([(custom_metrics::exec::COMMAND, command)]))
    }

    /// Stores the model from a directory of the container in OBS (Huawei Cloud).
    pub fn output_model(self, obs_path: impl Into<String>, local_path: impl Into<String>) -> Self {
        let model = object([
            (output_model::obs::OBS_PATH, text(obs_path)),
            (output_model::obs::LOCAL_PATH, text(local_path)),
        ]);
        self.set(spec::OUTPUT_MODEL, model)
    }
}

/// Returns a duration in hours. A fraction is preserved, so that the validation reports it.
fn hours(time: Duration) -> Value {
    match (time.subsec_nanos(), time.as_secs() % 3600) {
        (0, 0) => (time.as_secs() / 3600).into(),
        _ => (time.as_secs_f64() / 3600.0).into(),
    }
}
