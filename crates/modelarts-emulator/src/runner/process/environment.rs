//! Environment variables and arguments of a worker's process.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    fmt,
    path::Path,
};

use crate::{
    catalog::flavors,
    files::container_path::{ContainerPath, MA_HOME, MA_LOG_DIR, MA_MOUNT_PATH},
    job::{channel::Access, request::JobRequest, roles::role_variable, worker::Worker},
    runner::process::process_table::RUN_VARIABLE,
};

/// OBS over HTTP, as jobs use it.
#[derive(Debug)]
pub(crate) struct ObsEndpoint {
    pub(crate) url: String,
    pub(crate) region: &'static str,
    /// Keys of the users, by the id of the user.
    pub(crate) keys: HashMap<String, ObsKeys>,
}

/// Access key of a user, with its secret key and, if it is temporary, its security token.
pub(crate) struct ObsKeys {
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) security_token: Option<String>,
}

impl fmt::Debug for ObsKeys {
    /// Writes the access key only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ObsKeys")
            .field("access_key", &self.access_key)
            .finish_non_exhaustive()
    }
}

/// What the environment of a worker contains beside the facts of its job.
#[derive(Debug, Default)]
pub(crate) struct Surroundings {
    /// URL of the emulator, `MA_APIGW_ENDPOINT`, if workers can reach it.
    pub(crate) url: Option<String>,
    /// OBS over HTTP, if the emulator serves it and workers can reach it.
    pub(crate) obs: Option<ObsEndpoint>,
    /// Variables by which the node assigns its devices to the job.
    pub(crate) devices: Vec<(String, String)>,
}

/// Returns the complete environment of a worker. No variables are inherited from the emulator.
///
/// Later variables take precedence over earlier ones. The order is: presets of the service (SOURCES
/// G), variables that a process on this machine requires (PATH, HOME, TMPDIR, PYTHONUNBUFFERED),
/// variables of devices, channels passed as variables, and the job's own variables. The last variable is `run`, by which
/// the emulator recognises the job's processes. Presets for networks and libraries that the emulator
/// does not have are omitted (NCCL_*, LD_LIBRARY_PATH). If the emulator serves OBS, `S3_ENDPOINT` is
/// its URL, and the keys of the job's user are in the variables that boto3 and the AWS CLI read.
pub(crate) fn variables(
    worker: &Worker,
    directory: &Path,
    python: Option<&Path>,
    surroundings: &Surroundings,
    run: &OsStr,
) -> BTreeMap<OsString, OsString> {
    let (job_id, request, index) = (&worker.job_id, &worker.request, worker.index);
    let hosts = hosts(worker);
    let at = |path: &ContainerPath| path.host_path(directory).into_os_string();
    let fixed = |path: &'static str| at(&ContainerPath::from_static(path));
    let text = |text: &str| OsString::from(text);
    let nodes = hosts.get(request.role()).map_or(0, Vec::len);
    let job_dir = at(&request.job_dir());

    let mut variables: BTreeMap<OsString, OsString> = BTreeMap::new();
    let mut set = |name: &str, value: OsString| variables.insert(name.into(), value);
    set("MA_HOME", fixed(MA_HOME));
    set("MA_MOUNT_PATH", fixed(MA_MOUNT_PATH));
    set("MA_LOG_DIR", fixed(MA_LOG_DIR));
    set("MA_JOB_DIR", job_dir.clone());
    set("WORKSPACE", at(&request.code_copy()));
    set("MA_SCRIPT_INTERPRETER", text(""));
    set("MA_TASK_NAME", text(request.role()));
    set("MA_TASK_INDEX", index.to_string().into());
    set("MA_NUM_HOSTS", nodes.to_string().into());
    set(
        "MA_NUM_GPUS",
        flavors::gpus(request.flavor()).to_string().into(),
    );
    set("MA_CURRENT_IP", worker.address_of(worker.rank).into());
    set("MA_CURRENT_INSTANCE_NAME", worker.pod().into());
    // Public training scripts detect ModelArts by a non-empty MA_VJ_NAME.
    set("MA_VJ_NAME", format!("ma-job-{job_id}").into());
    set("VC_TASK_INDEX", index.to_string().into());
    set("VK_TASK_INDEX", index.to_string().into());
    for (role, hosts) in &hosts {
        let role = role_variable(role);
        set(&format!("VC_{role}_NUM"), hosts.len().to_string().into());
        set(&format!("VC_{role}_HOSTS"), hosts.join(",").into());
    }
    set("MA_DETECT_TRAIN_INJECT_CODE", text("1"));
    set("MA_HANG_DETECT_TIME", text("30"));
    if let Some(url) = &surroundings.url {
        set("MA_APIGW_ENDPOINT", text(url));
    }
    set("PYTHONPATH", job_dir);
    if let Some(obs) = &surroundings.obs {
        set("S3_ENDPOINT", text(&obs.url));
        set("AWS_ENDPOINT_URL_S3", text(&obs.url));
        set("AWS_REGION", text(obs.region));
        set("AWS_DEFAULT_REGION", text(obs.region));
        if let Some(keys) = obs.keys.get(&worker.user_id) {
            set("AWS_ACCESS_KEY_ID", text(&keys.access_key));
            set("AWS_SECRET_ACCESS_KEY", text(&keys.secret_key));
            if let Some(token) = &keys.security_token {
                set("AWS_SESSION_TOKEN", text(token));
            }
        }
    }

    set("HOME", fixed(MA_HOME));
    set("TMPDIR", directory.join("tmp").into_os_string());
    set("PATH", search_path(python));
    // PYTHONUNBUFFERED is not a preset of the service. With it, Python writes log lines while the
    // code runs.
    set("PYTHONUNBUFFERED", text("1"));

    for (name, value) in &surroundings.devices {
        set(name, text(value));
    }

    for channel in request.inputs.iter().chain(&request.outputs) {
        if channel.access == Access::Env {
            set(&channel.name, at(&channel.local_dir));
        }
    }
    for (name, value) in request.environments.iter().flatten() {
        set(name, value.into());
    }
    set(RUN_VARIABLE, run.to_owned());
    variables
}

/// Returns the addresses of all workers of the job, by role. As with Volcano, each worker receives
/// the addresses of all roles.
fn hosts(worker: &Worker) -> BTreeMap<&str, Vec<String>> {
    let mut hosts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let parts = worker.job.role_requests().iter();
    let roles = parts.flat_map(|part| part.indexes().map(|_| part.role()));
    for (role, rank) in roles.zip(0..) {
        let of_role = hosts.entry(role).or_default();
        of_role.push(worker.address_of(rank));
    }
    hosts
}

/// Returns the search path: the directory of python3, then the directories of the system.
fn search_path(python: Option<&Path>) -> OsString {
    let mut path = OsString::new();
    if let Some(directory) = python.and_then(Path::parent) {
        path.push(directory);
        path.push(":");
    }
    path.push("/usr/local/bin:/usr/bin:/bin");
    path
}

/// Returns the command-line arguments: `--name=value` for each hyper-parameter, then `--name=<local
/// dir>` for each channel.
pub(crate) fn arguments(request: &JobRequest, directory: &Path) -> Vec<OsString> {
    let parameters = request
        .parameters
        .iter()
        .map(|parameter| OsString::from(format!("--{}={}", parameter.name, parameter.value)));
    let channels = request.inputs.iter().chain(&request.outputs);
    let channels = channels
        .filter(|channel| channel.access == Access::Parameter)
        .map(|channel| {
            let mut argument = OsString::from(format!("--{}=", channel.name));
            argument.push(channel.local_dir.host_path(directory));
            argument
        });
    parameters.chain(channels).collect()
}
