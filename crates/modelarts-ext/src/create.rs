//! Making a job.

use std::{collections::BTreeMap, fmt, time::Duration};

use modelarts_api::types;

use crate::{client::Client, error::Error, job::Job, settle};

/// A job to be made. Nothing is sent, and nothing fails, before
/// [`submit`](Self::submit).
#[derive(Clone)]
#[must_use = "nothing is sent before submit()"]
pub struct CreateJob {
    client: Client,
    name: String,
    description: Option<String>,
    workspace_id: Option<String>,
    annotations: BTreeMap<String, String>,
    algorithm: types::builder::JobAlgorithmRequest,
    engine: Option<types::builder::JobEngineRequest>,
    parameters: Vec<types::builder::ParameterRequest>,
    inputs: Vec<(String, String)>,
    outputs: Vec<(String, String)>,
    environments: BTreeMap<String, String>,
    resource: types::builder::JobResourceRequest,
    auto_stop: Option<Duration>,
    log_path: Option<String>,
    priority: Option<i64>,
}

impl CreateJob {
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self {
            client,
            name,
            description: None,
            workspace_id: None,
            annotations: BTreeMap::new(),
            algorithm: types::JobAlgorithmRequest::builder(),
            engine: None,
            parameters: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            environments: BTreeMap::new(),
            resource: types::JobResourceRequest::builder().node_count(1),
            auto_stop: None,
            log_path: None,
            priority: None,
        }
    }

    /// Up to 256 characters about the job.
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// The workspace that the job belongs to. Default `0`.
    pub fn workspace(mut self, id: impl Into<String>) -> Self {
        self.workspace_id = Some(id.into());
        self
    }

    /// Runs on an image of the platform: the name and the version of its engine.
    pub fn preset_image(mut self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.engine = Some(
            types::JobEngineRequest::builder()
                .engine_name(name.into())
                .engine_version(version.into()),
        );
        self
    }

    /// Runs on an image of your own, such as `organisation/image:tag`.
    pub fn custom_image(mut self, url: impl Into<String>) -> Self {
        self.engine = Some(types::JobEngineRequest::builder().image_url(url.into()));
        self
    }

    /// What a custom image runs, on one line.
    pub fn command(mut self, command: impl Into<String>) -> Self {
        self.algorithm = self.algorithm.command(command.into());
        self
    }

    /// Runs an algorithm that is kept by the service.
    pub fn algorithm(mut self, id: impl Into<String>) -> Self {
        self.algorithm = self.algorithm.id(id.into());
        self
    }

    /// The OBS directory with the code, such as `obs://bucket/bert/`.
    pub fn code_dir(mut self, path: impl Into<String>) -> Self {
        self.algorithm = self.algorithm.code_dir(path.into());
        self
    }

    /// The script in the code directory that is run, such as
    /// `obs://bucket/bert/train.py`.
    pub fn boot_file(mut self, path: impl Into<String>) -> Self {
        self.algorithm = self.algorithm.boot_file(path.into());
        self
    }

    /// Where the code is put in the container; below `/home`.
    pub fn local_code_dir(mut self, path: impl Into<String>) -> Self {
        self.algorithm = self.algorithm.local_code_dir(path.into());
        self
    }

    /// The directory that the command is run in.
    pub fn working_dir(mut self, path: impl Into<String>) -> Self {
        self.algorithm = self.algorithm.working_dir(path.into());
        self
    }

    /// An input channel: the script gets `--<name>=<directory>` with a copy of the
    /// OBS directory.
    pub fn input(mut self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.inputs.push((name.into(), obs_path.into()));
        self
    }

    /// An output channel: what the script writes to the directory it gets as
    /// `--<name>=<directory>` is copied to OBS.
    pub fn output(mut self, name: impl Into<String>, obs_path: impl Into<String>) -> Self {
        self.outputs.push((name.into(), obs_path.into()));
        self
    }

    /// A hyper-parameter: the script gets `--<name>=<value>`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl fmt::Display) -> Self {
        self.parameters.push(
            types::ParameterRequest::builder()
                .name(name.into())
                .value(value.to_string()),
        );
        self
    }

    /// An environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environments.insert(name.into(), value.into());
        self
    }

    /// The machine to run on, such as `modelarts.vm.cpu.8u`.
    pub fn flavor(mut self, id: impl Into<String>) -> Self {
        self.resource = self.resource.flavor_id(id.into());
        self
    }

    /// The dedicated pool to run in. Default: the public pool.
    pub fn pool(mut self, id: impl Into<String>) -> Self {
        self.resource = self.resource.pool_id(id.into());
        self
    }

    /// On how many nodes to run. Default 1.
    pub fn nodes(mut self, count: u32) -> Self {
        self.resource = self.resource.node_count(i64::from(count));
        self
    }

    /// The priority in a dedicated pool: 1 to 3, 3 is the highest. Default 1.
    pub fn priority(mut self, priority: u8) -> Self {
        self.priority = Some(i64::from(priority));
        self
    }

    /// How often the service runs the job again after it failed: 1 to 3 times.
    pub fn auto_restart(self, times: u32) -> Self {
        self.annotation("fault-tolerance/job-retry-num", times.to_string())
    }

    /// Stops the job after this long, in whole hours.
    pub fn auto_stop(mut self, after: Duration) -> Self {
        self.auto_stop = Some(after);
        self
    }

    /// An OBS directory that keeps the logs.
    pub fn log_path(mut self, obs_path: impl Into<String>) -> Self {
        self.log_path = Some(obs_path.into());
        self
    }

    /// An annotation; most features of a job that are switched on are switched on
    /// by one.
    pub fn annotation(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.annotations.insert(key.into(), value.into());
        self
    }

    /// The body of the request.
    ///
    /// # Errors
    /// What cannot be said to the service.
    pub fn body(&self) -> Result<types::CreateTrainingJobRequest, Error> {
        let stop = self.auto_stop.map(hours).transpose()?;
        let invalid = |error: types::error::ConversionError| Error::invalid(error.to_string());
        let metadata = types::JobMetadataRequest::builder()
            .name(self.name.clone())
            .description(self.description.clone())
            .workspace_id(self.workspace_id.clone())
            .annotations(self.annotations.clone());

        let mut inputs = Vec::new();
        for (name, place) in &self.inputs {
            let obs = types::ObsLocationRequest::builder().obs_url(place.clone());
            let obs: types::ObsLocationRequest = obs.try_into().map_err(invalid)?;
            let remote = types::InputRemoteRequest::builder().obs(obs);
            let input = types::InputRequest::builder()
                .name(name.clone())
                .remote(remote);
            inputs.push(input.try_into().map_err(invalid)?);
        }
        let mut outputs = Vec::new();
        for (name, place) in &self.outputs {
            let obs = types::ObsLocationRequest::builder().obs_url(place.clone());
            let remote = types::ObsRemoteRequest::builder().obs(obs);
            let output = types::OutputRequest::builder()
                .name(name.clone())
                .remote(remote);
            outputs.push(output.try_into().map_err(invalid)?);
        }
        let mut parameters = Vec::new();
        for parameter in &self.parameters {
            parameters.push(parameter.clone().try_into().map_err(invalid)?);
        }
        let mut algorithm = self
            .algorithm
            .clone()
            .inputs::<Vec<_>>(inputs)
            .outputs::<Vec<_>>(outputs)
            .parameters::<Vec<_>>(parameters)
            .environments(self.environments.clone());
        if let Some(engine) = &self.engine {
            let engine: types::JobEngineRequest = engine.clone().try_into().map_err(invalid)?;
            algorithm = algorithm.engine(engine);
        }
        let algorithm: types::JobAlgorithmRequest = algorithm.try_into().map_err(invalid)?;

        let resource: types::JobResourceRequest =
            self.resource.clone().try_into().map_err(invalid)?;
        let mut spec = types::JobSpecRequest::builder().resource(resource);
        if let Some(hours) = stop {
            let stop: types::AutoStopRequest = types::AutoStopRequest::builder()
                .time_unit(types::TimeUnit::Hours)
                .duration(hours)
                .try_into()
                .map_err(invalid)?;
            spec = spec.auto_stop(stop);
        }
        if let Some(path) = &self.log_path {
            let path: types::LogExportPathRequest = types::LogExportPathRequest::builder()
                .obs_url(path.clone())
                .try_into()
                .map_err(invalid)?;
            spec = spec.log_export_path(path);
        }
        if let Some(priority) = self.priority {
            let policy: types::SchedulePolicyRequest = types::SchedulePolicyRequest::builder()
                .priority(priority)
                .try_into()
                .map_err(invalid)?;
            spec = spec.schedule_policy(policy);
        }
        let spec: types::JobSpecRequest = spec.try_into().map_err(invalid)?;
        types::CreateTrainingJobRequest::builder()
            .kind("job")
            .metadata(metadata)
            .algorithm(algorithm)
            .spec(spec)
            .try_into()
            .map_err(invalid)
    }

    /// Makes the job, exactly once: when the answer is lost, the job is looked for
    /// by its name before it is sent again.
    ///
    /// # Errors
    /// What the service refuses, or what [`body`](Self::body) does. An error that
    /// says that the job may exist all the same comes only when the service cannot
    /// be asked about it either.
    pub async fn submit(self) -> Result<Job, Error> {
        settle::create(&self.client, self.body()?).await
    }
}

impl fmt::Debug for CreateJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Environment variables and parameters may hold secrets of the user.
        f.debug_struct("CreateJob")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// The service counts in hours.
fn hours(duration: Duration) -> Result<i64, Error> {
    let seconds = duration.as_secs();
    if duration.subsec_nanos() != 0 || seconds == 0 || !seconds.is_multiple_of(3600) {
        return Err(Error::invalid(format!(
            "auto_stop {duration:?}: it must be whole hours, 1 or more"
        )));
    }
    i64::try_from(seconds / 3600)
        .map_err(|_| Error::invalid(format!("auto_stop {duration:?}: too long")))
}
