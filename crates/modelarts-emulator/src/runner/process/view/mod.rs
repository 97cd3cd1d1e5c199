//! Container view: the files, host names and processes of a container of the service, provided on
//! this machine by bubblewrap. A view is not a sandbox, because jobs are trusted code of their
//! users.

mod mounts;

use std::{
    env,
    ffi::{OsStr, OsString},
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use rustix::process::{getgid, getuid};
use serde::{Deserialize, Serialize};
use tokio::{process::Command, sync::OnceCell};

use crate::{
    files::{
        confined_dir::ConfinedDir,
        container_path::{MA_HOME, PACKAGE_DIR},
    },
    job::worker::Worker,
    runner::process::view::mounts::{Mount, root_arguments},
};

/// View of this machine in which the code of jobs runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum Container {
    /// `bwrap` if it works on this machine, otherwise `none`, which the logs of jobs state.
    #[default]
    Auto,
    /// The paths and host names of the service, by bubblewrap, which must be installed.
    Bwrap,
    /// This machine as it is: paths of the service are below the directory of the worker.
    None,
}

impl Container {
    /// Tests whether this machine supports a container view.
    ///
    /// # Errors
    /// Returns a message that states the cause and the remedy if a view is not possible.
    pub async fn check() -> Result<(), String> {
        View::probe(&env::temp_dir()).await.map(|_| ())
    }
}

/// View of the workers on this machine. A container view that is not required is tested when the
/// first worker needs it, because the test starts a process.
#[derive(Debug)]
pub(crate) struct LazySight {
    place: PathBuf,
    found: OnceCell<Sight>,
}

impl LazySight {
    /// Returns the view for `setting`, tested in `place`. Returns an error if a required view fails.
    pub(crate) async fn new(setting: Container, place: &Path) -> Result<Self, String> {
        let found = match setting {
            Container::Auto => OnceCell::new(),
            Container::Bwrap => OnceCell::from(Sight::Container(View::probe(place).await?)),
            Container::None => OnceCell::from(Sight::Machine),
        };
        Ok(Self { place: place.to_owned(), found })
    }

    /// Returns the view. After a failed test, the next call tests again, because the cause may have
    /// been a lack of processes.
    pub(super) async fn get(&self) -> Sight {
        let probe = async { View::probe(&self.place).await.map(Sight::Container) };
        match self.found.get_or_try_init(|| probe).await {
            Ok(sight) => sight.clone(),
            Err(reason) => Sight::Unavailable(reason),
        }
    }
}

/// View that the code of a worker has of this machine.
#[derive(Clone, Debug)]
pub(crate) enum Sight {
    Container(View),
    /// A view is not possible, and was not required. The text states the cause and the remedy.
    Unavailable(String),
    Machine,
}

impl Sight {
    pub(super) fn notice(&self) -> Option<String> {
        let Self::Unavailable(reason) = self else {
            return None;
        };
        Some(format!(
            "modelarts-emulator: this machine has no container view, so {MA_HOME} and /cache are \
             not \
             at their paths, and host names of workers do not resolve; {reason}"
        ))
    }
}

#[derive(Clone, Debug)]
pub(crate) struct View {
    program: PathBuf,
    /// `true` if each run has a PID namespace, which requires a `/proc` of its own.
    has_own_processes: bool,
}

impl View {
    /// Tests a view with the mounts of jobs. `place` stands for the directories of a worker.
    async fn probe(place: &Path) -> Result<Self, String> {
        if !cfg!(target_os = "linux") {
            return Err("it needs Linux: run the emulator on Linux".to_owned());
        }
        let paths = env::var_os("PATH").unwrap_or_default();
        let program = env::split_paths(&paths).map(|directory| directory.join("bwrap"));
        let program = program.chain([PathBuf::from("/usr/bin/bwrap")]);
        let program = { program }.find(|program| program.is_file()).ok_or(
            "bubblewrap is not installed: install it (apt-get install bubblewrap, or dnf install \
             bubblewrap)",
        )?;
        let mounts = [MA_HOME, "/cache", "/tmp"].map(|at| Mount::new(place, at));
        let mut error = String::new();
        for has_own_processes in [true, false] {
            let view = Self { program: program.clone(), has_own_processes };
            let output = Command::new(&view.program)
                .args(view.arguments(&mounts, "localhost"))
                .args(["--", "/bin/sh", "-c", ":"])
                .stdin(Stdio::null())
                .kill_on_drop(true)
                .output();
            match tokio::time::timeout(PROBE_TIMEOUT, output).await {
                Ok(Ok(output)) if output.status.success() => return Ok(view),
                Ok(Ok(output)) => error = String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                Ok(Err(failure)) => error = failure.to_string(),
                Err(_) => error = format!("no end within {PROBE_TIMEOUT:?}"),
            }
        }
        let is_restricted = fs::read_to_string(USERNS_RESTRICTION)
            .is_ok_and(|restriction| restriction.trim() == "1");
        let remedy = if is_restricted {
            "allow it user namespaces by an AppArmor profile, or for all programs by sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0"
        } else {
            "allow this user to create user namespaces (in Docker, --security-opt \
             seccomp=unconfined --security-opt apparmor=unconfined)"
        };
        Err(format!("bubblewrap does not work here ({error}): {remedy}"))
    }

    fn arguments(&self, mounts: &[Mount], host_name: &str) -> Vec<OsString> {
        let mut arguments = root_arguments(mounts);
        arguments.extend(["--dev-bind", "/dev", "/dev"].map(OsString::from));
        let own = ["--unshare-pid", "--proc", "/proc"].map(OsString::from);
        let shared = ["--bind", "/proc", "/proc"].map(OsString::from);
        arguments.extend(if self.has_own_processes { own } else { shared });
        arguments.extend(["--unshare-uts", "--hostname", host_name].map(OsString::from));
        arguments
    }
}

/// Time limit of the test of a view.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// Kernel file of Ubuntu: 1 if programs without a profile cannot create user namespaces.
const USERNS_RESTRICTION: &str = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
/// Path of the OBS root in a view.
const OBS_IN_VIEW: &str = "/.modelarts-emulator/obs";
/// Maximum length of the host name of a pod.
const MAX_HOST_NAME: usize = 63;

#[derive(Debug)]
pub(crate) struct Stage {
    /// Directory of the paths of a container, as the code sees it: `/`, or the worker's directory.
    pub(crate) root: PathBuf,
    /// OBS root, as the code sees it.
    pub(crate) obs: PathBuf,
    view: Option<(View, Vec<OsString>)>,
}

pub(super) struct Backstage<'a> {
    pub(super) worker: &'a ConfinedDir,
    pub(super) obs: &'a Path,
    /// Directory of the wheel of MoXing.
    pub(super) package: &'a Path,
    /// Directories with the files of python3, which another directory may hide.
    pub(super) prefixes: &'a [PathBuf],
    /// Directories of the packages of python3. A job installs its packages into its home instead.
    pub(super) packages: &'a [PathBuf],
    /// Volumes, each with its path in the container.
    pub(super) volumes: &'a [(PathBuf, &'a Path)],
}

impl Stage {
    pub(super) fn machine(worker: &Path, obs: &Path) -> Self {
        Self { root: worker.to_owned(), obs: obs.to_owned(), view: None }
    }

    /// Creates a stage. Returns an error if the job would hide the home directory of a local user.
    pub(super) fn container(
        view: &View,
        worker: &Worker,
        places: &Backstage<'_>,
    ) -> io::Result<Self> {
        let root = places.worker.root();
        let mut mounts = vec![
            Mount::new(&root.join("tmp"), "/tmp"),
            Mount::new(&root.join("cache"), "/cache"),
            Mount::new(places.obs, OBS_IN_VIEW),
            Mount::new(places.package, PACKAGE_DIR).read_only(),
        ];
        for entry in fs::read_dir(root.join("home"))? {
            let entry = entry?;
            let at = Path::new("/home").join(entry.file_name());
            if at != Path::new(MA_HOME) && at.exists() {
                return Err(io::Error::other(format!(
                    "local_code_dir, working_dir and local_dir must not be in {at}, which is a \
                     home \
                     directory of this machine: use a directory below {MA_HOME}",
                    at = at.display()
                )));
            }
            mounts.push(Mount::new(&entry.path(), at));
        }
        for (source, at) in places.volumes {
            mounts.push(Mount::new(source, at));
        }
        let packages = places.packages.iter().filter(|path| path.is_dir());
        mounts.extend(packages.map(|path| Mount::new(path, path).read_only()));
        let is_hidden = |path: &&PathBuf| mounts.iter().any(|mount| path.starts_with(&mount.at));
        let hidden: Vec<_> = places.prefixes.iter().filter(is_hidden).collect();
        mounts.extend(hidden.into_iter().map(|path| Mount::new(path, path)));
        for (name, system, text) in
            [(HOSTS, SYSTEM_HOSTS, host_table(worker)), ("passwd", SYSTEM_USERS, user_table())]
        {
            places.worker.write(Path::new(name), text.as_bytes())?;
            if Path::new(system).exists() {
                mounts.push(Mount::new(&root.join(name), system).read_only());
            }
        }
        let host_name = worker.pod();
        let length = host_name.len().min(MAX_HOST_NAME);
        let host_name = host_name[..length].trim_end_matches('-');
        Ok(Self {
            root: PathBuf::from("/"),
            obs: PathBuf::from(OBS_IN_VIEW),
            view: Some((view.clone(), view.arguments(&mounts, host_name))),
        })
    }

    pub(crate) fn is_container(&self) -> bool {
        self.view.is_some()
    }

    /// Returns `true` if the started process is not the code, but the init of a PID namespace.
    pub(super) fn has_init(&self) -> bool {
        matches!(&self.view, Some((view, _)) if view.has_own_processes)
    }

    /// Returns a command that starts a program and its arguments in `directory`, a path as the code
    /// sees it. `options` are options of bubblewrap.
    pub(super) fn command(
        &self,
        options: &[&str],
        words: impl IntoIterator<Item = OsString>,
        directory: &Path,
    ) -> Command {
        let mut words = words.into_iter();
        let Some((view, arguments)) = &self.view else {
            let mut command = Command::new(words.next().unwrap_or_default());
            command.args(words).current_dir(directory);
            return command;
        };
        let mut command = Command::new(&view.program);
        command
            .args(arguments)
            .args(options)
            .args([OsStr::new("--chdir"), directory.as_os_str(), OsStr::new("--")])
            .args(words);
        command
    }
}

/// Options with which bubblewrap reports [`ViewStatus`] on standard output, and the code becomes
/// the leader of a process group without bubblewrap.
pub(super) const RUN_OPTIONS: [&str; 3] = ["--new-session", "--json-status-fd", "1"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct ViewStatus {
    pub(super) child_pid: i32,
}

/// Name of the table of host names in the directory of a worker.
pub(super) const HOSTS: &str = "hosts";
const SYSTEM_HOSTS: &str = "/etc/hosts";

const SYSTEM_USERS: &str = "/etc/passwd";

/// Returns an entry for `ma-user`, by which scripts detect ModelArts, and those of this machine.
fn user_table() -> String {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    let users = fs::read_to_string(SYSTEM_USERS).unwrap_or_default();
    format!("ma-user:x:{user}:{group}::{MA_HOME}:/bin/bash\n{users}")
}

pub(super) fn host_table(worker: &Worker) -> String {
    let mut table = fs::read_to_string(SYSTEM_HOSTS).unwrap_or_default();
    if !table.is_empty() && !table.ends_with('\n') {
        table.push('\n');
    }
    for other in Worker::all(&worker.job_id, &worker.job) {
        let (address, name, pod) = (worker.ip_of(other.rank), other.host_name(), other.pod());
        // Scripts build the name with `ma-job-` from MA_VJ_NAME and MA_TASK_NAME.
        let short = name.replace("modelarts-job-", "ma-job-");
        // Writing to a string does not fail.
        let _ = writeln!(table, "{address} {name} {pod} {short}");
    }
    table
}
