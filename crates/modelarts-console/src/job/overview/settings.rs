//! Settings of a job as labels and texts: basic settings, algorithm, resources, access.

use modelarts_ext::{
    Job,
    types::{AccessMethod, JobAlgorithm, JobSpec, Phase, Tag, TimeUnit, Volume},
};

use crate::{access::visitor::Secrets, display, problem::Problem};

/// Maximum number of workers that are listed by name.
const MAX_WORKERS: usize = 8;

pub(crate) struct Group {
    pub(crate) title: &'static str,
    pub(crate) settings: Vec<Setting>,
}

pub(crate) struct Setting {
    pub(crate) label: &'static str,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Text(String),
    /// Id, path or command.
    Code(String),
    /// Time, RFC 3339.
    Time(String),
}

/// An input or an output.
pub(crate) struct Channel {
    pub(crate) name: String,
    /// OBS path or data set.
    pub(crate) remote: String,
    pub(crate) local_dir: String,
    /// Way in which the program receives the path of the local directory.
    pub(crate) obtained: &'static str,
}

/// A run of a job, with the reason of its end.
pub(crate) struct RunRow {
    pub(crate) number: usize,
    /// Start and end in the format of RFC 3339; empty if not known.
    pub(crate) start: String,
    pub(crate) end: String,
    pub(crate) reason: String,
    pub(crate) task: String,
    /// Kind of the start, and way in which the service recovered from the end; may be empty.
    pub(crate) start_type: String,
    pub(crate) recovery: String,
}

/// Settings that have a value.
#[derive(Default)]
struct Settings(Vec<Setting>);

impl Settings {
    fn text(&mut self, label: &'static str, value: Option<impl Into<String>>) {
        self.add(label, value.map(Into::into), Value::Text);
    }

    fn code(&mut self, label: &'static str, value: Option<impl Into<String>>) {
        self.add(label, value.map(Into::into), Value::Code);
    }

    fn address(&mut self, label: &'static str, path: Option<&String>) {
        self.code(label, path.map(|path| display::obs_address(path)));
    }

    fn time(&mut self, label: &'static str, value: Option<impl ToString>) {
        self.add(label, value.map(|time| time.to_string()), Value::Time);
    }

    fn add(&mut self, label: &'static str, value: Option<String>, kind: fn(String) -> Value) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let value = kind(value);
            self.0.push(Setting { label, value });
        }
    }

    fn group(self, title: &'static str) -> Option<Group> {
        (!self.0.is_empty()).then_some(Group { title, settings: self.0 })
    }
}

/// Returns the algorithm of a job. Secrets are masked unless the user has asked for them.
pub(crate) fn algorithm(job: &Job, secrets: &mut Secrets) -> Result<JobAlgorithm, Problem> {
    let internal = |error| Problem::internal(format!("the job cannot be shown: {error}"));
    let algorithm = job.details().algorithm.as_deref().cloned();
    let mut value = serde_json::to_value(algorithm.unwrap_or_default()).map_err(internal)?;
    secrets.apply(&mut value);
    serde_json::from_value(value).map_err(internal)
}

/// Returns the settings of a job in groups. Settings without a value are omitted.
pub(crate) fn groups(job: &Job, algorithm: &JobAlgorithm, tags: &[Tag]) -> Vec<Group> {
    let spec = job.details().spec.as_deref();
    let groups = [
        basic(job, tags).group("Basic settings"),
        code(algorithm).group("Algorithm"),
        spec.map_or_else(Settings::default, resources).group("Resources"),
        run(job).group("Run"),
        access(job).group("Access"),
    ];
    groups.into_iter().flatten().collect()
}

fn basic(job: &Job, tags: &[Tag]) -> Settings {
    let details = job.details();
    let metadata = details.metadata.as_deref();
    let mut settings = Settings::default();
    settings.code("Id", Some(job.id()));
    settings.text("Created by", metadata.and_then(|it| it.user_name.clone()));
    settings.time("Created", job.created_at());
    settings.time("Started", job.started_at());
    let span = |time: Option<_>| time.map(display::duration);
    settings.text("Waited", span(job.time_queued()));
    settings.text("Ran", span(job.time_run()));
    let codes: Vec<_> = job.exit_codes().map(|(task, code)| format!("{task}: {code}")).collect();
    settings.text("Exit codes", Some(codes.join(", ")));
    let restarts = job.restarts().filter(|restarts| *restarts > 0);
    settings.text("Restarts", restarts.map(|restarts| restarts.to_string()));
    settings.text("Workers", workers(job.tasks()));
    let kind = details.kind.as_ref().map(ToString::to_string);
    settings.text("Kind", kind.filter(|kind| kind != "job"));
    let workspace = metadata.and_then(|it| it.workspace_id.clone());
    settings.code("Workspace", workspace);
    let experiment = metadata.and_then(|it| it.training_experiment_reference.as_ref());
    settings.text("Experiment", experiment.and_then(|it| it.name.clone()));
    settings.code("Experiment id", experiment.and_then(|it| it.id.clone()));
    settings.text("Tags", Some(tag_text(tags)));
    let runtime = details.spec.as_deref().and_then(|spec| spec.runtime_type.as_ref());
    settings.text("Runtime type", runtime.map(ToString::to_string));
    settings
}

/// Returns tags as `KEY=VALUE, KEY=VALUE`.
pub(crate) fn tag_text(tags: &[Tag]) -> String {
    let tags = tags.iter().map(|tag| {
        let (key, value) = (tag.key.as_deref(), tag.value.as_deref());
        format!("{}={}", key.unwrap_or_default(), value.unwrap_or_default())
    });
    tags.collect::<Vec<_>>().join(", ")
}

/// Returns the names of the workers, or the number of workers with the first and the last name.
fn workers(tasks: &[String]) -> Option<String> {
    match tasks {
        [first, .., last] if tasks.len() > MAX_WORKERS => {
            Some(format!("{}, from {first} to {last}", tasks.len()))
        }
        tasks => Some(tasks.join(", ")),
    }
}

fn code(algorithm: &JobAlgorithm) -> Settings {
    let mut settings = Settings::default();
    settings.text("Algorithm", algorithm.name.clone());
    settings.code("Algorithm id", algorithm.id.clone());
    settings.code("Subscription", algorithm.subscription_id.clone());
    let version = algorithm.item_version_id.clone();
    settings.code("Version of the subscription", version);
    let engine = algorithm.engine.as_deref();
    let preset = engine.and_then(|it| {
        let (name, version) = (it.engine_name.as_deref(), it.engine_version.as_deref());
        display::engine(name, version, it.engine_id.as_deref())
    });
    settings.text("Preset image", preset);
    settings.code("Image", engine.and_then(|it| it.image_url.clone()));
    settings.address("Code directory", algorithm.code_dir.as_ref());
    settings.address("Boot file", algorithm.boot_file.as_ref());
    settings.code("Boot command", algorithm.command.clone());
    settings.text("User ID", engine.and_then(|it| it.run_user.clone()));
    settings.code("Local code directory", algorithm.local_code_dir.clone());
    settings.code("Work directory", algorithm.working_dir.clone());
    settings
}

fn resources(spec: &JobSpec) -> Settings {
    let mut settings = Settings::default();
    if let Some(resource) = spec.resource.as_deref() {
        let pool = resource.pool_name.clone().or(resource.pool_id.clone());
        let pool = pool.filter(|pool| !pool.is_empty());
        settings.text("Resource pool", Some(pool.unwrap_or("Public pool".to_owned())));
        settings.code("Specifications", resource.flavor_id.clone());
        let flavor = resource.flavor_detail.as_ref();
        let info = flavor.and_then(|flavor| flavor.flavor_info.as_deref());
        settings.text("Hardware", info.map(display::hardware));
        let nodes = resource.node_count.map(|nodes| nodes.to_string());
        settings.text("Compute nodes", nodes);
    }
    let policy = spec.schedule_policy.as_deref();
    // Older versions of the API return the default priority as 0.
    let priority = policy.and_then(|it| it.priority).filter(|it| *it > 0);
    settings.text("Job priority", priority.map(|it| it.to_string()));
    let preemptible = policy.and_then(|it| it.preemptible).filter(|it| *it);
    settings.text("Preemptible", preemptible.map(|_| "yes"));
    for volume in &spec.volumes {
        settings.code("Volume", mount(volume));
    }
    let logs = spec.log_export_path.as_ref();
    settings.address("Persistent logs", logs.and_then(|it| it.obs_url.as_ref()));
    settings
}

fn mount(volume: &Volume) -> Option<String> {
    let (source, path) = match (&volume.nfs, &volume.pfs, &volume.obs) {
        (Some(nfs), ..) => (&nfs.nfs_server_path, &nfs.local_path),
        (_, Some(pfs), _) => (&pfs.pfs_path, &pfs.local_path),
        (.., Some(obs)) => (&obs.obs_path, &obs.local_path),
        _ => return None,
    };
    let is_read_only = volume.nfs.as_ref().and_then(|nfs| nfs.read_only) == Some(true);
    let end = if is_read_only { " (read-only)" } else { "" };
    Some(format!("{} → {}{end}", source.as_deref()?, path.as_deref()?))
}

fn run(job: &Job) -> Settings {
    let mut settings = Settings::default();
    let details = job.details();
    let spec = details.spec.as_deref();
    let stop = spec.and_then(|spec| spec.auto_stop.as_ref());
    let stop = stop.and_then(|stop| {
        let unit = match stop.time_unit {
            Some(TimeUnit::Hours) | None => "hours".to_owned(),
            Some(ref unit) => unit.to_string().to_lowercase(),
        };
        Some(format!("after {} {unit}", stop.duration?))
    });
    settings.text("Auto stop", stop);
    let annotations = details.metadata.as_deref().map(|it| &it.annotations);
    let annotation = |key: &str| annotations.and_then(|all| all.get(key).cloned());
    settings.text("Auto restart", annotation("fault-tolerance/job-retry-num"));
    settings.text("Restart of a hanging job", annotation("fault-tolerance/hang-retry"));
    let notified = spec.and_then(|spec| spec.notification.as_ref());
    settings.code("Notified topic", notified.and_then(|it| it.topic_urn.clone()));
    let events = notified.map_or(&[][..], |it| &it.events).iter();
    let events: Vec<String> = events.map(ToString::to_string).collect();
    settings.text("Notified events", Some(events.join(", ")));
    let policies = details.algorithm.as_deref().and_then(|it| it.policies.as_ref());
    let search = policies.and_then(|policies| policies.auto_search.as_ref());
    let algorithm = search.and_then(|search| search.algo_configs.first()?.name.clone());
    settings.text("Hyper-parameter search", algorithm);
    let searched = search.map_or(&[][..], |search| &search.search_params).iter();
    let searched: Vec<String> = searched.filter_map(|one| one.name.clone()).collect();
    settings.text("Searched", Some(searched.join(", ")));
    settings
}

/// Returns the addresses of tools in the job, without access tokens.
fn access(job: &Job) -> Settings {
    let mut settings = Settings::default();
    let endpoints = job.details().endpoints.as_deref();
    let tools = endpoints.into_iter().flat_map(|all| {
        [
            ("JupyterLab", &all.jupyter_lab),
            ("TensorBoard", &all.tensorboard),
            ("MindStudio Insight", &all.mindstudio_insight),
        ]
    });
    for (label, endpoint) in tools {
        // The query of an address may contain a token, so it is removed.
        let url = endpoint.as_ref().and_then(|endpoint| endpoint.url.as_deref());
        let url = url.map(|url| url.split(['?', '#']).next().unwrap_or_default());
        settings.code(label, url);
    }
    let ssh = endpoints.and_then(|all| all.ssh.as_ref());
    for address in ssh.map_or(&[][..], |ssh| &ssh.task_urls) {
        settings.code("SSH", address.url.clone());
    }
    settings
}

pub(crate) fn inputs(algorithm: &JobAlgorithm) -> Vec<Channel> {
    let inputs = algorithm.inputs.iter().map(|input| Channel {
        name: input.name.clone().unwrap_or_default(),
        remote: display::source_of_input(input).unwrap_or_default(),
        local_dir: input.local_dir.clone().unwrap_or_default(),
        obtained: obtained(input.access_method.as_ref()),
    });
    inputs.collect()
}

pub(crate) fn outputs(algorithm: &JobAlgorithm) -> Vec<Channel> {
    let outputs = algorithm.outputs.iter().map(|output| Channel {
        name: output.name.clone().unwrap_or_default(),
        remote: display::target_of_output(output).unwrap_or_default(),
        local_dir: output.local_dir.clone().unwrap_or_default(),
        obtained: obtained(output.access_method.as_ref()),
    });
    outputs.collect()
}

fn obtained(method: Option<&AccessMethod>) -> &'static str {
    match method {
        Some(AccessMethod::Env) => "environment variable",
        _ => "hyper-parameter",
    }
}

pub(crate) fn parameters(algorithm: &JobAlgorithm) -> Vec<(String, String)> {
    let parameters = algorithm.parameters.iter();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    parameters.map(|it| (text(&it.name), text(&it.value))).collect()
}

pub(crate) fn environment(algorithm: &JobAlgorithm) -> Vec<(String, String)> {
    let variables = algorithm.environments.iter();
    variables.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Returns the priority of a job that waits in a dedicated pool.
pub(crate) fn priority(job: &Job) -> Option<i64> {
    let spec = job.details().spec.as_deref()?;
    let pool = spec.resource.as_deref()?.pool_id.as_deref().filter(|pool| !pool.is_empty());
    let policy = spec.schedule_policy.as_deref();
    let waits = matches!(job.phase(), Phase::Creating | Phase::Pending);
    pool.filter(|_| waits).map(|_| policy.and_then(|it| it.priority).unwrap_or(1).max(1))
}

/// Returns a value of the service as words, such as `job reschedule`.
fn words(value: &impl ToString) -> String {
    value.to_string().replace('_', " ")
}

/// Returns the runs of a restarted job; empty if the job was not restarted.
pub(crate) fn runs(job: &Job) -> Vec<RunRow> {
    if job.runs().len() < 2 {
        return Vec::new();
    }
    let time = |seconds| {
        let time = display::time_of_seconds(seconds);
        time.map(|time| time.to_string()).unwrap_or_default()
    };
    let runs = job.runs().iter().enumerate().map(|(index, run)| RunRow {
        number: index + 1,
        start: time(run.start_at),
        end: time(run.end_at),
        reason: run.end_reason.clone().unwrap_or_default(),
        task: run.end_related_task.clone().unwrap_or_default(),
        start_type: run.start_type.as_ref().map(words).unwrap_or_default(),
        recovery: match (&run.end_recover, &run.end_recover_before_downgrade) {
            (Some(one), Some(before)) if one != before => {
                format!("{}, after {} was tried", words(one), words(before))
            }
            (one, _) => one.as_ref().map(words).unwrap_or_default(),
        },
    });
    runs.collect()
}
