//! Environment variables and arguments of a worker's process.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::{OsStr, OsString},
    hash::{DefaultHasher, Hash, Hasher},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::{
    accounts::User,
    catalog::flavors,
    files::container_path::{ContainerPath, MA_HOME, MA_LOG_DIR, MA_MOUNT_PATH},
    job::{channel::Access, request::JobRequest, roles::role_variable, worker::Worker},
    runner::process::{process_table::RUN_VARIABLE, view::Stage},
};

/// OBS over HTTP.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObsEndpoint {
    pub(crate) url: String,
    pub(crate) region: String,
    /// Keys that the jobs of a user receive, by user id.
    pub(crate) keys: HashMap<String, ObsKeys>,
}

/// Keys of a user for OBS.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ObsKeys {
    access_key: String,
    secret_key: String,
    security_token: Option<String>,
}

impl ObsKeys {
    pub(crate) fn of(user: &User) -> Self {
        Self {
            access_key: user.access_key.clone(),
            secret_key: user.secret_key.clone(),
            security_token: user.security_token.clone(),
        }
    }
}

/// Part of the environment of a worker that depends on its node.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct HostEnvironment {
    /// URL of the emulator, `MA_APIGW_ENDPOINT`, if workers can reach it.
    pub(crate) url: Option<String>,
    /// Endpoint of OBS over HTTP, if the emulator serves it and workers can reach it.
    pub(crate) obs: Option<ObsEndpoint>,
    /// Environment variables of the node, such as those by which Slurm assigns devices.
    pub(crate) node: Vec<(OsString, OsString)>,
    /// Directories of programs of the node. By default, those of the system.
    pub(crate) path: Option<OsString>,
    /// `true` if programs that use the variables of proxies must not reach other machines.
    pub(crate) is_offline: bool,
}

impl HostEnvironment {
    /// Returns the environment of other machines, which reach OBS only at `address`, if at all.
    #[cfg(all(feature = "slurm", feature = "obs"))]
    pub(crate) fn with_obs_at(self, address: Option<std::net::SocketAddr>) -> Self {
        let obs = address.zip(self.obs);
        let obs = obs.map(|(at, obs)| ObsEndpoint { url: format!("http://{at}"), ..obs });
        Self { obs, ..self }
    }
}

/// Address of a proxy that does not exist: the port for discarded data, on which nothing listens.
const ABSENT_PROXY: &str = "http://127.0.0.1:9";

/// Returns the complete environment: variables of the node, presets of the service (SOURCES G),
/// variables of this machine, of channels, of the job, and the mark `run`; later variables take
/// precedence. Python must search `packages`; pip installs into the last of these directories.
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

    let mut variables: BTreeMap<OsString, OsString> = host.node.iter().cloned().collect();
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
    set("MA_CURRENT_IP", worker.ip_of(worker.rank).into());
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
    let mut python_path = job_dir;
    if let Some((_, path)) = host.node.iter().find(|(name, _)| name == "PYTHONPATH") {
        python_path.push(":");
        python_path.push(path);
    }
    set("PYTHONPATH", python_path);
    if let Some(obs) = &host.obs {
        set("S3_ENDPOINT", text(&obs.url));
        if let Some(keys) = obs.keys.get(&worker.user_id) {
            set("AWS_ENDPOINT_URL_S3", text(&obs.url));
            set("AWS_REGION", text(&obs.region));
            set("AWS_DEFAULT_REGION", text(&obs.region));
            set("AWS_ACCESS_KEY_ID", text(&keys.access_key));
            set("AWS_SECRET_ACCESS_KEY", text(&keys.secret_key));
            if let Some(token) = &keys.security_token {
                set("AWS_SESSION_TOKEN", text(token));
            }
        }
    }

    set("HOME", fixed(MA_HOME));
    set("TMPDIR", stage.root.join("tmp").into_os_string());
    set("PATH", search_path(interpreters, &stage.root, host.path.as_deref()));
    // Not set by the service. With it, Python writes log lines while the code runs.
    set("PYTHONUNBUFFERED", text("1"));
    // Python is read-only in a view. Some distributions require this to install packages elsewhere.
    if stage.is_container() {
        set("PIP_BREAK_SYSTEM_PACKAGES", text("1"));
    }
    set(OBS_VARIABLE, stage.obs.clone().into_os_string());

    if host.is_offline {
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            set(name, text(ABSENT_PROXY));
        }
        let own = ["localhost".to_owned(), "127.0.0.0/8".to_owned()].into_iter();
        let own = own.chain(hosts.values().flatten().cloned()).collect::<Vec<_>>().join(",");
        for name in ["no_proxy", "NO_PROXY"] {
            // Not all programs understand ranges of addresses.
            set(name, text(&format!("127.0.0.1,{own}")));
        }
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

/// Environment variable from which the MoXing of the emulator reads the directory of OBS.
const OBS_VARIABLE: &str = "MODELARTS_EMULATOR_OBS";

/// Environment variables that only debug jobs have (SOURCES D-135).
const DEBUG_VARIABLES: [(&str, &str); 4] = [
    ("MA_JOB_RUNTIME_TYPE", "debug"),
    ("MA_DEFAULT_DUMP_CORE_FILE_TO_OBS", "true"),
    ("MA_TRAINING_CONTAINER_HEARTBEAT_WATCH_PERIOD_SECONDS", "600"),
    ("MA_CUSTOM_METRICS_EXPORTER_MAOS_AGENT_ON", "true"),
];

/// Returns the hosts of all workers, by role. As with Volcano, each worker receives all hosts.
fn hosts(worker: &Worker, has_names: bool) -> BTreeMap<String, Vec<String>> {
    let mut hosts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for other in Worker::all(&worker.job_id, &worker.job) {
        let of_role = hosts.entry(other.request.role().to_owned()).or_default();
        of_role.push(if has_names { other.host_name() } else { worker.address_of(other.rank) });
    }
    hosts
}

/// Returns `PATH`. The interpreters and the programs of the job come before those of the `node`.
fn search_path(interpreters: &[&Path], root: &Path, node: Option<&OsStr>) -> OsString {
    let mut path = OsString::new();
    for directory in interpreters.iter().filter_map(|python| python.parent()) {
        path.push(directory);
        path.push(":");
    }
    path.push(root.join("home/ma-user/.local/bin"));
    path.push(":");
    path.push(node.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin")));
    path
}

/// Returns the arguments: the hyper-parameters, and the directories of channels below `root`.
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

/// Returns the command-line arguments of a boot file, `--name=value`.
pub(super) fn boot_file_arguments(request: &JobRequest, root: &Path) -> Vec<OsString> {
    let words = arguments(request, root).into_iter().map(|(name, value)| {
        let mut word = OsString::from(format!("--{name}="));
        word.push(value);
        word
    });
    words.collect()
}

/// Returns the command with ` --name=value` for each argument, as on the service (SOURCES D-133),
/// quoted where the shell requires it. The order depends on the id of the job, not on the request.
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
