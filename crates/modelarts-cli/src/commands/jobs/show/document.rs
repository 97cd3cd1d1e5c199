//! `JobDocument`: a job with its settings, phases and tasks.

use std::collections::BTreeMap;

use modelarts_console::display;
use modelarts_ext::{Event, Job, Timestamp, jobs::JobPhase, masking::mask, types, types::TimeUnit};
use modelarts_obs::staging::DataAddress;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    commands::jobs::values::trials::SearchTrialRow,
    output::{non_empty, obs_address},
};

/// A job with its settings, phases and tasks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct JobDocument {
    /// Id of the job.
    pub(crate) id: String,
    /// Name of the job.
    pub(crate) name: String,
    /// Description of the job.
    pub(crate) description: Option<String>,
    /// Phase, such as `Running`.
    pub(crate) phase: String,
    /// Detailed phase, if the service states one.
    pub(crate) secondary_phase: Option<String>,
    /// Short reason of the phase; null if there is none.
    pub(crate) why: Option<String>,
    /// Name of the user who created the job.
    pub(crate) user: Option<String>,
    /// Workspace of the job.
    pub(crate) workspace: Option<String>,
    /// Time of the creation, RFC 3339.
    pub(crate) created_at: Option<String>,
    /// Time of the first start, RFC 3339.
    pub(crate) started_at: Option<String>,
    /// Seconds from the creation to the first start.
    pub(crate) seconds_queued: Option<u64>,
    /// Seconds for which the job has been running, or ran.
    pub(crate) seconds_run: Option<u64>,
    /// Number of restarts; null if the service does not state it.
    pub(crate) restarts: Option<usize>,
    /// Phases in their order.
    pub(crate) phases: Vec<PhaseStep>,
    /// Settings of the job.
    pub(crate) settings: Settings,
    /// Tasks of the job.
    pub(crate) tasks: Vec<TaskState>,
    /// Runs of the job, one for each start.
    pub(crate) runs: Vec<Run>,
    /// Addresses for remote access, such as that of JupyterLab; tokens are replaced by `***`.
    pub(crate) endpoints: Map<String, Value>,
    /// Best trial of a hyper-parameter search.
    pub(crate) best_trial: Option<SearchTrialRow>,
    #[serde(skip)]
    pub(super) typed_phase: types::Phase,
    #[serde(skip)]
    pub(super) created: Option<Timestamp>,
    #[serde(skip)]
    pub(super) now: Timestamp,
    #[serde(skip)]
    pub(super) steps: Vec<JobPhase>,
}

/// A phase that the job was in.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PhaseStep {
    /// Phase, such as `Running`.
    pub(crate) phase: String,
    /// Time of its start, RFC 3339.
    pub(crate) start: String,
    /// Seconds in the phase so far; null for a final phase.
    pub(crate) seconds: Option<u64>,
}

/// Settings of a job. Values that look like secrets are replaced by `***`.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Settings {
    /// Preset or custom image.
    pub(crate) image: Option<String>,
    /// Algorithm, if the job was created from one.
    pub(crate) algorithm: Option<String>,
    /// Directory of the code in OBS.
    pub(crate) code_dir: Option<String>,
    /// Script that is run.
    pub(crate) boot_file: Option<String>,
    /// Command that is run.
    pub(crate) command: Option<String>,
    /// Flavor of the nodes.
    pub(crate) flavor: Option<String>,
    /// Pool, unless it is the public one.
    pub(crate) pool: Option<String>,
    /// Number of nodes.
    pub(crate) nodes: Option<i64>,
    /// Priority in the pool.
    pub(crate) priority: Option<i64>,
    /// Directory of the code in the container, if it is not the default.
    pub(crate) local_code_dir: Option<String>,
    /// Working directory of the command in the container, if it is not the default.
    pub(crate) working_dir: Option<String>,
    /// Id of the user that runs a custom image.
    pub(crate) run_user: Option<String>,
    /// Mounted file systems, as `SOURCE → PATH`.
    pub(crate) volumes: Vec<String>,
    /// Topic that receives notifications, and the events of which it receives them.
    pub(crate) notification: Option<String>,
    /// Time limit of the run in seconds.
    pub(crate) auto_stop_seconds: Option<u64>,
    /// Directories in OBS for logs.
    pub(crate) log_dirs: Vec<String>,
    /// Inputs.
    pub(crate) inputs: Vec<Channel>,
    /// Outputs.
    pub(crate) outputs: Vec<Channel>,
    /// Hyper-parameters.
    pub(crate) parameters: Map<String, Value>,
    /// Environment variables.
    pub(crate) environment: Map<String, Value>,
    /// Annotations.
    pub(crate) annotations: Map<String, Value>,
    /// Tags.
    pub(crate) tags: BTreeMap<String, String>,
}

/// An input or an output of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Channel {
    /// Name of the channel.
    pub(crate) name: String,
    /// Address in OBS, or the data set.
    pub(crate) source: Option<String>,
    /// Version of the data of an input that was sent from a local directory, such as
    /// `v-0123456789abcdef`; null if the data is not versioned, and for other channels.
    pub(crate) version: Option<String>,
    /// Directory in the container.
    pub(crate) local_dir: Option<String>,
    /// Address of data that was sent from a local directory.
    #[serde(skip)]
    pub(super) data: Option<DataAddress>,
}

/// State of a task.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TaskState {
    /// Name of the task, such as `worker-0`.
    pub(crate) name: String,
    /// Exit code, if the task has ended and the service states it.
    pub(crate) exit_code: Option<i64>,
    /// `completed` or `failed` by the exit code; `running` if the job runs; null if not known.
    pub(crate) state: Option<String>,
    /// Message of the service about the task.
    pub(crate) message: Option<String>,
    /// Address of the host.
    pub(crate) host_ip: Option<String>,
}

/// A run of a job.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Run {
    /// Start, RFC 3339.
    pub(crate) start: Option<String>,
    /// End, RFC 3339; null while it lasts.
    pub(crate) end: Option<String>,
    /// Reason of the end.
    pub(crate) reason: Option<String>,
    /// Task that caused the end.
    pub(crate) task: Option<String>,
    /// Type of the start: after scheduling, or a restart in place.
    pub(crate) start_type: Option<String>,
    /// Recovery that the service applied after the run.
    pub(crate) recovery: Option<String>,
    #[serde(skip)]
    pub(super) times: (Option<Timestamp>, Option<Timestamp>),
}

impl JobDocument {
    pub(crate) fn new(job: &Job, events: &[Event], now: Timestamp) -> Self {
        let metadata = job.details().metadata.as_deref();
        let steps = job.phases(events);
        let phases = steps.iter().filter_map(|step| {
            Some(PhaseStep {
                phase: step.phase.to_string(),
                start: step.start?.to_string(),
                seconds: step.duration(now).map(|duration| duration.as_secs()),
            })
        });
        Self {
            id: job.id().to_owned(),
            name: job.name().to_owned(),
            description: metadata.and_then(|it| non_empty(&it.description)),
            phase: job.phase().to_string(),
            secondary_phase: job.secondary_phase().map(ToString::to_string),
            why: job.status_reason(),
            user: metadata.and_then(|it| non_empty(&it.user_name)),
            workspace: metadata.and_then(|it| non_empty(&it.workspace_id)),
            created_at: job.created_at().map(|time| time.to_string()),
            started_at: job.started_at().map(|time| time.to_string()),
            seconds_queued: job.time_queued().map(|time| time.as_secs()),
            seconds_run: job.time_run().map(|time| time.as_secs()),
            restarts: job.restarts(),
            phases: phases.collect(),
            settings: Settings::new(job),
            tasks: tasks(job),
            runs: job.runs().iter().map(Run::new).collect(),
            endpoints: visible(&job.details().endpoints),
            best_trial: None,
            typed_phase: job.phase(),
            created: job.created_at(),
            now,
            steps,
        }
    }
}

impl Settings {
    fn new(job: &Job) -> Self {
        let details = job.details();
        let mut settings =
            Self { log_dirs: job.log_dirs().map(str::to_owned).collect(), ..Self::default() };
        if let Some(metadata) = &details.metadata {
            let tags = metadata.tags.iter();
            settings.tags = tags
                .filter_map(|tag| Some((tag.key.clone()?, tag.value.clone().unwrap_or_default())))
                .collect();
            settings.annotations = visible(&metadata.annotations);
        }
        if let Some(spec) = &details.spec {
            if let Some(resource) = &spec.resource {
                settings.flavor = resource.flavor_id.clone();
                settings.pool = non_empty(&resource.pool_id);
                settings.nodes = resource.node_count;
            }
            settings.volumes = spec.volumes.iter().filter_map(volume).collect();
            settings.notification = spec.notification.as_ref().and_then(|notification| {
                let events: Vec<&str> =
                    notification.events.iter().map(|event| event.as_str()).collect();
                Some(format!("{}: {}", notification.topic_urn.as_deref()?, events.join(", ")))
            });
            let policy = spec.schedule_policy.as_ref();
            settings.priority = policy.and_then(|policy| policy.priority);
            settings.auto_stop_seconds = spec.auto_stop.as_ref().and_then(|stop| {
                let seconds = match stop.time_unit {
                    Some(TimeUnit::Hours) | None => 3_600,
                    Some(_) => return None,
                };
                Some(u64::try_from(stop.duration?).ok()? * seconds)
            });
        }
        if let Some(algorithm) = &details.algorithm {
            settings.of_algorithm(algorithm);
        }
        settings
    }

    fn of_algorithm(&mut self, algorithm: &types::JobAlgorithm) {
        self.algorithm = non_empty(&algorithm.name);
        self.code_dir = non_empty(&algorithm.code_dir).as_deref().map(obs_address);
        self.boot_file = non_empty(&algorithm.boot_file).as_deref().map(obs_address);
        self.command = non_empty(&algorithm.command);
        self.local_code_dir = non_empty(&algorithm.local_code_dir);
        self.working_dir = non_empty(&algorithm.working_dir);
        self.run_user = algorithm.engine.as_ref().and_then(|engine| non_empty(&engine.run_user));
        self.image = algorithm.engine.as_ref().and_then(|engine| {
            let (name, version) = (engine.engine_name.as_deref(), engine.engine_version.as_deref());
            let preset = || display::engine(name, version, engine.engine_id.as_deref());
            non_empty(&engine.image_url).or_else(preset)
        });
        self.inputs = algorithm.inputs.iter().map(input).collect();
        self.outputs = algorithm.outputs.iter().map(output).collect();
        let parameters = algorithm.parameters.iter().filter_map(|parameter| {
            let name = parameter.name.clone()?;
            let constraint = parameter.constraint.as_ref();
            let is_sensitive = constraint.and_then(|it| it.sensitive).unwrap_or(false);
            let value = match is_sensitive {
                true => Some("***".to_owned()),
                false => parameter.value.clone(),
            };
            Some((name, Value::from(value.unwrap_or_default())))
        });
        self.parameters = without_secrets(parameters.collect());
        self.environment = visible(&algorithm.environments);
    }
}

fn input(input: &types::Input) -> Channel {
    let source = display::source_of_input(input);
    let data = source.as_deref().and_then(DataAddress::parse);
    Channel {
        name: input.name.clone().unwrap_or_default(),
        source,
        version: data.as_ref().and_then(|data| data.version().map(str::to_owned)),
        local_dir: input.local_dir.clone(),
        data,
    }
}

fn output(output: &types::Output) -> Channel {
    Channel {
        name: output.name.clone().unwrap_or_default(),
        source: display::target_of_output(output),
        version: None,
        local_dir: output.local_dir.clone(),
        data: None,
    }
}

fn volume(volume: &types::Volume) -> Option<String> {
    let (source, path) = match (&volume.nfs, &volume.pfs, &volume.obs) {
        (Some(nfs), ..) => (&nfs.nfs_server_path, &nfs.local_path),
        (_, Some(pfs), _) => (&pfs.pfs_path, &pfs.local_path),
        (.., Some(obs)) => (&obs.obs_path, &obs.local_path),
        _ => return None,
    };
    Some(format!("{} → {}", source.as_deref()?, path.as_deref()?))
}

/// Converts an object to JSON, with its secrets masked.
fn visible(object: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(object) {
        Ok(Value::Object(fields)) => without_secrets(fields),
        _ => Map::new(),
    }
}

/// Masks values whose names indicate secrets.
fn without_secrets(fields: Map<String, Value>) -> Map<String, Value> {
    let mut value = Value::Object(fields);
    mask(&mut value);
    match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

fn tasks(job: &Job) -> Vec<TaskState> {
    let statuses = job.status().map_or(&[][..], |status| &status.task_statuses);
    let addresses = job.status().map_or(&[][..], |status| &status.task_ips);
    let tasks = job.tasks().iter().map(|name| {
        let status = statuses.iter().find(|status| status.task.as_ref() == Some(name));
        let address = addresses.iter().find(|address| address.task.as_ref() == Some(name));
        TaskState {
            name: name.clone(),
            exit_code: status.and_then(|status| status.exit_code),
            state: match status.and_then(|status| status.exit_code) {
                Some(0) => Some("completed".to_owned()),
                Some(_) => Some("failed".to_owned()),
                None => match job.phase() {
                    types::Phase::Running => Some("running".to_owned()),
                    types::Phase::Completed => Some("completed".to_owned()),
                    _ => None,
                },
            },
            message: status.and_then(|status| non_empty(&status.message)),
            host_ip: address.and_then(|address| address.host_ip.clone()),
        }
    });
    tasks.collect()
}

impl Run {
    fn new(record: &types::RunningRecord) -> Self {
        let start = display::time_of_seconds(record.start_at);
        let times = (start, display::time_of_seconds(record.end_at));
        Self {
            start: times.0.map(|time| time.to_string()),
            end: times.1.map(|time| time.to_string()),
            reason: non_empty(&record.end_reason),
            task: non_empty(&record.end_related_task),
            start_type: record.start_type.as_ref().map(ToString::to_string),
            recovery: record.end_recover.as_ref().map(ToString::to_string),
            times,
        }
    }
}
