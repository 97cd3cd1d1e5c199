//! Slurm cluster of three nodes on this machine, in a temporary directory and on free ports.

pub mod configuration;
pub mod packages;
pub mod processes;

use std::{
    cell::RefCell,
    collections::BTreeMap,
    env, fmt,
    fs::{self, File},
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail, ensure};

use configuration::NODES;

/// Names of the logs: that of the controller, and those of the nodes.
const DAEMONS: [&str; 4] = ["slurmctld", NODES[0], NODES[1], NODES[2]];
/// Prefix of the names of temporary directories.
const PREFIX: &str = "modelarts-slurm-";
/// File that a process locks while it uses a directory.
const LOCK: &str = "lock";
/// Maximum time until the nodes are idle. They take a second or two.
const START: Duration = Duration::from_secs(60);
/// Longest path of the directory. The names of sockets in it must not exceed 107 bytes.
const LONGEST: usize = 70;

/// Running cluster. Its processes end, and its directory is deleted, when this value is dropped.
pub struct Cluster {
    directory: PathBuf,
    /// Lengths of the logs when all nodes were idle. Earlier lines are not part of a report.
    reported: RefCell<BTreeMap<&'static str, usize>>,
    _lock: File,
}

/// Job as Slurm reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlurmJob {
    pub id: u64,
    pub name: String,
    pub state: String,
    pub reason: String,
    /// Nodes, such as `n[1-3]`; empty before the job has nodes.
    pub nodes: String,
    pub partition: String,
    /// CPUs of all nodes, memory of a node, and its generic resources, such as `8 32G N/A`.
    pub resources: String,
}

impl fmt::Display for SlurmJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            id,
            name,
            state,
            reason,
            nodes,
            partition,
            resources,
        } = self;
        write!(
            f,
            "{id} {name} {state} {reason} {nodes} {partition} {resources}"
        )
    }
}

impl Cluster {
    /// Installs Slurm if it is missing, starts the daemons, and waits until all nodes are idle.
    pub fn start() -> Result<Self> {
        ensure!(
            cfg!(target_os = "linux"),
            "the cluster needs Linux: Slurm runs on no other system"
        );
        packages::install()?;
        remove_stale();
        let directory = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir()
            .context("no temporary directory")?
            .keep();
        // The file gets its name when it is locked, so that no other program considers it stale.
        let unlocked = directory.join("unlocked");
        let lock = File::create(&unlocked)?;
        lock.lock()?;
        fs::rename(unlocked, directory.join(LOCK))?;
        let cluster = Self {
            directory,
            reported: RefCell::default(),
            _lock: lock,
        };
        cluster.configure()?;
        cluster.start_daemon("slurmctld", &["-c"])?;
        for node in NODES {
            cluster.start_daemon("slurmd", &["-c", "-N", node])?;
        }
        cluster.wait_until_idle()?;
        Ok(cluster)
    }

    fn configure(&self) -> Result<()> {
        let directory = &self.directory;
        ensure!(
            directory.as_os_str().len() <= LONGEST,
            "the path {} is too long for the sockets of slurmd; set TMPDIR to a directory with a shorter path",
            directory.display()
        );
        for folder in ["state"].iter().chain(&NODES) {
            fs::create_dir(directory.join(folder))?;
        }
        let host = gethostname::gethostname();
        let host = host.to_str().context("the host name is not UTF-8")?;
        let host = host.split('.').next().unwrap_or(host);
        let user = Command::new("id").arg("-un").output()?;
        let user = String::from_utf8(user.stdout)?;
        let text = configuration::slurm_conf(directory, host, user.trim(), free_ports()?);
        fs::write(self.configuration(), text)?;
        fs::write(directory.join("gres.conf"), configuration::GRES)?;
        Ok(())
    }

    /// Returns the directory of the cluster. Scenarios have their files in it.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the path of `slurm.conf`, the value of `SLURM_CONF` for all commands.
    pub fn configuration(&self) -> PathBuf {
        self.directory.join("slurm.conf")
    }

    /// Starts a daemon, which continues in the background.
    fn start_daemon(&self, name: &str, arguments: &[&str]) -> Result<()> {
        let mut command = self.command(name);
        let command = command.args(arguments).arg("-f").arg(self.configuration());
        let output = command
            .output()
            .with_context(|| format!("{name} could not be started"))?;
        ensure!(
            output.status.success(),
            "{name} ended with {}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    }

    /// Returns a command of Slurm for this cluster.
    pub fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command
            .env("SLURM_CONF", self.configuration())
            .env("PATH", packages::search_path());
        command
    }

    /// Runs a command of Slurm, and returns what it prints.
    pub fn output(&self, name: &str, arguments: &[&str]) -> Result<String> {
        let output = self.command(name).args(arguments).output();
        let output = output.with_context(|| format!("{name} could not be started"))?;
        ensure!(
            output.status.success(),
            "{name} {}: {}: {}",
            arguments.join(" "),
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Returns the jobs that Slurm remembers, oldest first, or only those with this name.
    pub fn jobs(&self, name: Option<&str>) -> Result<Vec<SlurmJob>> {
        let mut arguments = vec![
            "-h",
            "-t",
            "all",
            "-S",
            "i",
            "-o",
            "%i|%j|%T|%r|%N|%P|%C %m %b",
        ];
        arguments.extend(name.into_iter().flat_map(|name| ["--name", name]));
        let text = self.output("squeue", &arguments)?;
        let job = |line: &str| {
            let [id, name, state, reason, nodes, partition, resources] =
                <[&str; 7]>::try_from(line.split('|').collect::<Vec<_>>()).ok()?;
            Some(SlurmJob {
                id: id.parse().ok()?,
                name: name.to_owned(),
                state: state.to_owned(),
                reason: reason.to_owned(),
                nodes: nodes.to_owned(),
                partition: partition.to_owned(),
                resources: resources.to_owned(),
            })
        };
        text.lines()
            .map(|line| job(line).with_context(|| format!("no line of squeue: {line}")))
            .collect()
    }

    /// Returns the jobs that have not ended.
    pub fn queue(&self) -> Result<Vec<SlurmJob>> {
        let mut jobs = self.jobs(None)?;
        jobs.retain(|job| {
            matches!(
                job.state.as_str(),
                "PENDING" | "CONFIGURING" | "RUNNING" | "COMPLETING" | "SUSPENDED"
            )
        });
        Ok(jobs)
    }

    /// Returns the states of the nodes, such as `n1 idle`.
    fn states(&self) -> Result<Vec<String>> {
        let text = self.output(
            "sinfo",
            &["-h", "-N", "-p", configuration::LOW, "-o", "%N %T"],
        )?;
        Ok(text.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// Waits until all nodes are idle and no job is left.
    pub fn wait_until_idle(&self) -> Result<()> {
        let start = Instant::now();
        loop {
            let states = self.states();
            let is_idle = |states: &Vec<String>| {
                states.len() == NODES.len() && states.iter().all(|state| state.ends_with(" idle"))
            };
            if states.as_ref().is_ok_and(is_idle) && self.queue()?.is_empty() {
                for daemon in DAEMONS {
                    let length = self.read_log(daemon).len();
                    self.reported.borrow_mut().insert(daemon, length);
                }
                return Ok(());
            }
            if start.elapsed() > START {
                let states = states.map_or_else(|error| format!("{error:#}"), |it| it.join(", "));
                bail!("the cluster is not idle: {states}\n{}", self.report());
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns the queue and the new lines of the logs, for the report of a failure.
    pub fn report(&self) -> String {
        let mut text = String::new();
        for job in self.jobs(None).unwrap_or_default() {
            text += &format!("    job {job}\n");
        }
        for daemon in DAEMONS {
            let log = self.read_log(daemon);
            let start = self
                .reported
                .borrow()
                .get(daemon)
                .copied()
                .unwrap_or_default();
            // A daemon without the libraries of MPI reports this with each step.
            let is_relevant = |line: &&str| !line.contains("MPI") && !line.contains("mpi/");
            for line in log
                .get(start..)
                .unwrap_or_default()
                .lines()
                .filter(is_relevant)
            {
                text += &format!("    {daemon} | {line}\n");
            }
        }
        text
    }

    /// Returns the path of the log of a daemon.
    fn log(&self, daemon: &str) -> PathBuf {
        self.directory.join(format!("{daemon}.log"))
    }

    fn read_log(&self, daemon: &str) -> String {
        fs::read_to_string(self.log(daemon)).unwrap_or_default()
    }

    /// Ends the controller, which saves its state. Jobs continue.
    pub fn stop_controller(&self) -> Result<()> {
        let found = processes::of_log(&self.log("slurmctld"));
        ensure!(!found.is_empty(), "slurmctld does not run");
        processes::end(&found);
        Ok(())
    }

    /// Starts the controller with its saved state.
    pub fn start_controller(&self) -> Result<()> {
        self.start_daemon("slurmctld", &[])
    }

    /// Kills a node: its daemon, its steps, and the processes of jobs on it.
    pub fn kill_node(&self, node: &str) -> Result<()> {
        let found = processes::of_log(&self.log(node));
        ensure!(!found.is_empty(), "{node} does not run");
        processes::kill(&found);
        Ok(())
    }

    /// Starts a node that was killed.
    pub fn start_node(&self, node: &str) -> Result<()> {
        self.start_daemon("slurmd", &["-c", "-N", node])
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        remove(&self.directory);
    }
}

/// Returns the last lines of a text.
pub fn tail(text: &str, count: usize) -> impl Iterator<Item = &str> {
    text.lines()
        .skip(text.lines().count().saturating_sub(count))
}

/// Ends the processes of a cluster, and deletes its directory.
fn remove(directory: &Path) {
    processes::end(&processes::of_cluster(directory));
    // A process may have started another one before it ended.
    processes::kill(&processes::of_cluster(directory));
    if let Err(error) = fs::remove_dir_all(directory) {
        eprintln!("{} could not be deleted: {error}", directory.display());
    }
}

/// Removes the clusters of programs that were killed. The directory of a running program is locked.
fn remove_stale() {
    let entries = fs::read_dir(env::temp_dir())
        .into_iter()
        .flatten()
        .flatten();
    for entry in entries {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let directory = entry.path();
        // Another program may be creating a directory, which then has no lock yet.
        let Ok(lock) = File::open(directory.join(LOCK)) else {
            continue;
        };
        if lock.try_lock().is_ok() {
            eprintln!("removing {}, whose program was killed", directory.display());
            remove(&directory);
        }
    }
}

/// Returns four free ports below those that the system assigns to connections.
fn free_ports() -> Result<[u16; 4]> {
    let mut listeners = Vec::new();
    for _ in 0..1000 {
        let port = fastrand::u16(20_000..32_000);
        listeners.extend(TcpListener::bind((Ipv4Addr::LOCALHOST, port)));
        if listeners.len() == 4 {
            break;
        }
    }
    let ports: Result<Vec<u16>, _> = listeners
        .iter()
        .map(|listener| Ok::<_, std::io::Error>(listener.local_addr()?.port()))
        .collect();
    <[u16; 4]>::try_from(ports?)
        .ok()
        .context("no free ports between 20000 and 32000")
}
