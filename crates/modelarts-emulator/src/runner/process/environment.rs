//! Environment variables and arguments of a worker's process.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use crate::{
    catalog::flavors,
    files::container_path::{ContainerPath, MA_HOME, MA_LOG_DIR, MA_MOUNT_PATH},
    job::{channel::Access, request::JobRequest, roles::role_variable, worker::Worker},
    runner::process::{process_table::RUN_VARIABLE, view::Stage},
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
        f.debug_struct("ObsKeys").field("access_key", &self.access_key).finish_non_exhaustive()
    }
}

/// What the environment of a worker contains beside the facts of its job.
#[derive(Debug, Default)]
pub(crate) struct HostEnvironment {
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
/// variables of devices, channels passed as variables, and the job's own variables. The last
/// variable is `run`, by which the emulator recognises the job's processes. Presets for networks
/// and libraries that the emulator does not have are omitted (NCCL_*, LD_LIBRARY_PATH). If the
/// emulator serves OBS, `S3_ENDPOINT` is its URL. Python must search `packages`, and pip install
/// packages into the last of them.
pub(super) fn variables(
    worker: &Worker,
    stage: &Stage,
    interpreters: &[&Path],
    packages: Option<[PathBuf; 2]>,
    host: &HostEnvironment,
    run: &OsStr,
) -> BTreeMap<OsString, OsString> {
    let (job_id, request, index) = (&worker.job_id, &worker.request, worker.index);
    let hosts = hosts(worker, stage.is_container());
    let at = |path: &ContainerPath| path.host_path(&stage.root).into_os_string();
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
    set("MA_CODE_DIR", at(&request.code_copy()));
    set("WORKSPACE", at(&request.code_copy()));
    set("MA_SCRIPT_INTERPRETER", text(""));
    set("MA_TASK_NAME", text(request.role()));
    set("MA_TASK_INDEX", index.to_string().into());
    set("MA_NUM_HOSTS", nodes.to_string().into());
    set("MA_NUM_GPUS", flavors::gpus(request.flavor()).to_string().into());
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
    if request.runtime_type() == "debug" {
        for (name, value) in DEBUG_VARIABLES {
            set(name, text(value));
        }
    }
    if let Some(url) = &host.url {
        set("MA_APIGW_ENDPOINT", text(url));
    }
    set("PYTHONPATH", job_dir);
    if let Some(obs) = &host.obs {
        set("S3_ENDPOINT", text(&obs.url));
        if let Some(keys) = obs.keys.get(&worker.user_id) {
            set("AWS_ENDPOINT_URL_S3", text(&obs.url));
            set("AWS_REGION", text(obs.region));
            set("AWS_DEFAULT_REGION", text(obs.region));
            set("AWS_ACCESS_KEY_ID", text(&keys.access_key));
            set("AWS_SECRET_ACCESS_KEY", text(&keys.secret_key));
            if let Some(token) = &keys.security_token {
                set("AWS_SESSION_TOKEN", text(token));
            }
        }
    }

    set("HOME", fixed(MA_HOME));
    set("TMPDIR", stage.root.join("tmp").into_os_string());
    set("PATH", search_path(interpreters, &stage.root));
    // PYTHONUNBUFFERED is not a preset of the service. With it, Python writes log lines while the
    // code runs.
    set("PYTHONUNBUFFERED", text("1"));
    // The files of the user's Python belong to this machine, which a view shows read-only. Pip then
    // installs packages in the home directory, which some distributions permit only on request.
    if stage.is_container() {
        set("PIP_BREAK_SYSTEM_PACKAGES", text("1"));
    }
    set(OBS_VARIABLE, stage.obs.clone().into_os_string());

    for (name, value) in &host.devices {
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
    if let Some([wheel, packages]) = packages {
        let path = variables.entry("PYTHONPATH".into()).or_default();
        for entry in [&wheel, &packages] {
            path.push(":");
            path.push(entry);
        }
        variables.insert("PIP_TARGET".into(), packages.into());
    }
    variables
}

/// Variable from which the emulator's MoXing reads the directory of OBS.
const OBS_VARIABLE: &str = "MODELARTS_EMULATOR_OBS";

/// Variables that only debug jobs have (SOURCES D-135).
const DEBUG_VARIABLES: [(&str, &str); 4] = [
    ("MA_JOB_RUNTIME_TYPE", "debug"),
    ("MA_DEFAULT_DUMP_CORE_FILE_TO_OBS", "true"),
    ("MA_TRAINING_CONTAINER_HEARTBEAT_WATCH_PERIOD_SECONDS", "600"),
    ("MA_CUSTOM_METRICS_EXPORTER_MAOS_AGENT_ON", "true"),
];

/// Returns the host names or addresses of all workers of the job, by role. As with Volcano, each
/// worker receives those of all roles.
fn hosts(worker: &Worker, has_names: bool) -> BTreeMap<String, Vec<String>> {
    let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for other in Worker::all(&worker.job_id, &worker.job) {
        let of_role = hosts.entry(other.request.role().to_owned()).or_default();
        of_role.push(if has_names { other.host_name() } else { worker.address_of(other.rank) });
    }
    hosts
}

/// Returns the search path: the directories of the interpreters, that of programs that a job
/// installs, then the directories of the system.
fn search_path(interpreters: &[&Path], root: &Path) -> OsString {
    let mut path = OsString::new();
    for directory in interpreters.iter().filter_map(|python| python.parent()) {
        path.push(directory);
        path.push(":");
    }
    path.push(root.join("home/ma-user/.local/bin"));
    path.push(":/usr/local/bin:/usr/bin:/bin");
    path
}

/// Returns the command-line arguments, each as a name and a value: the hyper-parameters, then the
/// local directories of the channels. `root` is the directory of container paths.
fn arguments(request: &JobRequest, root: &Path) -> Vec<(String, OsString)> {
    let parameters = request.parameters.iter();
    let parameters =
        parameters.map(|parameter| (parameter.name.clone(), OsString::from(&parameter.value)));
    let channels = request.inputs.iter().chain(&request.outputs);
    let channels = channels
        .filter(|channel| channel.access == Access::Parameter)
        .map(|channel| (channel.name.clone(), channel.local_dir.host_path(root).into()));
    parameters.chain(channels).collect()
}

/// Returns the arguments of a boot file, `--name=value`.
pub(super) fn boot_file_arguments(request: &JobRequest, root: &Path) -> Vec<OsString> {
    let words = arguments(request, root).into_iter().map(|(name, value)| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        word
    });
    words.collect()
}

/// Returns the text of the shell for a command of a job: the service appends ` --name=value` for
/// each argument to the text of the command (SOURCES D-133). Values are quoted where the shell
/// requires it, which no run on the service has shown.
///
/// The order of the arguments was not that of the request. Here it depends on the ID of the job, so
/// that no code can rely on an order.
pub(super) fn command_text(command: &str, worker: &Worker, root: &Path) -> OsString {
    let mut arguments = arguments(&worker.request, root);
    arguments.sort_by_cached_key(|(name, _)| {
        let mut hasher = DefaultHasher::new();
        (&worker.job_id, name).hash(&mut hasher);
        hasher.finish()
    });
    let mut text = command.as_bytes().to_vec();
    for (name, value) in &arguments {
        text.extend_from_slice(b" --");
        text.extend(quoted(name.as_bytes()));
        text.push(b'=');
        text.extend(quoted(value.as_bytes()));
    }
    OsString::from_vec(text)
}

/// Returns a word for a shell, in quotes if it needs them.
fn quoted(word: &[u8]) -> Vec<u8> {
    if word.is_empty() {
        return Vec::new();
    }
    // A zero byte, which a request cannot contain, is the only error.
    let quoted = shlex::bytes::try_quote(word);
    quoted.map_or_else(|_| word.to_vec(), |quoted| quoted.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_a_shell_would_change_are_quoted() {
        for (word, expected) in [
            ("", ""),
            ("5e-5", "5e-5"),
            ("/home/ma-user/x_0", "/home/ma-user/x_0"),
            ("a b", "'a b'"),
            ("it's $x", r#""it's "'$x'"#),
        ] {
            assert_eq!(String::from_utf8(quoted(word.as_bytes())).unwrap(), expected);
        }
    }
}
