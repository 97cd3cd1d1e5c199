//! Scenarios on a Slurm cluster of three nodes, which the script `cluster` starts on this machine.
//!
//! The scenarios are ignored unless they are requested, and fail without a cluster. Each has the
//! cluster for itself. SLURM.md of this crate names the command.

mod ends;
mod jobs;
mod queue;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use modelarts_emulator::{
    Builder,
    jobs::RunnerKind,
    slurm::{Config, Slurm},
};
use serde_json::{Value, json};
use tokio::{
    process::Command,
    sync::{Mutex, MutexGuard},
    time::{sleep, timeout},
};

use crate::support::{Client, Gate, Site, Waiting, slurm::SHARED};

/// Time limit of each wait. Slurm notices the loss of a node after 10 to 30 seconds.
const LIMIT: Duration = Duration::from_secs(90);
/// Script that starts and stops the cluster and its daemons.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/slurm/cluster");
/// Lock of the scenario that uses the cluster.
static ALONE: Mutex<()> = Mutex::const_new(());

/// Cluster without jobs, for one scenario.
struct Cluster {
    /// Directory that the nodes share, for the files of the scenario.
    shared: PathBuf,
    _alone: MutexGuard<'static, ()>,
}

impl Cluster {
    /// Waits until no other scenario uses the cluster, all nodes are idle, and no job is left.
    async fn new() -> Self {
        let root = env::var_os(SHARED).unwrap_or_else(|| {
            panic!("{SHARED} must name the directory of a cluster: run this by `{SCRIPT} run`")
        });
        let alone = ALONE.lock().await;
        let shared = tempfile::tempdir_in(root).unwrap().keep();
        idle().await;
        Self { shared, _alone: alone }
    }
}

/// Cluster with an emulator in this process.
struct Lab {
    site: Site,
    gate: Gate,
    cluster: Cluster,
}

impl Lab {
    /// Starts an emulator with a configuration of the launcher, which may be empty.
    async fn start(config: &str) -> Self {
        Self::with(config, |builder| builder).await
    }

    async fn with(config: &str, set: impl FnOnce(Builder) -> Builder) -> Self {
        let cluster = Cluster::new().await;
        let slurm = Slurm::new(&cluster.shared)
            .program(env!("CARGO_BIN_EXE_modelarts-emulator"))
            .config(Config::from_toml(config).unwrap());
        let start = Site::with(|builder| set(builder.runner(RunnerKind::Slurm(slurm))));
        Self { site: start.await, gate: Gate::new().await, cluster }
    }

    /// Returns a job whose script may call `gate()`, and has an output.
    fn job(&self, name: &str, workers: u32, script: &str) -> Value {
        let mut job = self.site.script(name, &(self.gate.python() + script));
        job["spec"]["resource"]["node_count"] = workers.into();
        job["algorithm"]["environments"] = json!({"SCENARIO": self.cluster.shared});
        let remote = json!({"obs": {"obs_url": format!("/bucket/{name}/out/")}});
        job["algorithm"]["outputs"] = json!([{"name": "train_url", "remote": remote}]);
        job
    }

    /// Submits a job, and returns its ID.
    async fn submit(&self, name: &str, workers: u32, script: &str) -> String {
        self.site.create(&self.job(name, workers, script)).await
    }

    /// Returns the status of a job.
    async fn status(&self, id: &str) -> Value {
        self.site.details(id).await["status"].clone()
    }

    /// Waits until workers have reached the gate.
    async fn reached(&self, workers: usize) -> Vec<Waiting> {
        let mut reached = Vec::new();
        for _ in 0..workers {
            reached.push(timeout(LIMIT, self.gate.reached()).await.unwrap());
        }
        reached
    }

    /// Waits until a job is in a phase and, if that is its end, until it is settled.
    async fn reach(&self, id: &str, phase: &str) {
        let reached = async {
            let is_reached = self.site.emulator.wait_for(id, phase).await.is_ok();
            if is_reached && !["Pending", "Running"].contains(&phase) {
                self.site.emulator.wait_until_settled(id).await;
            }
            is_reached
        };
        if timeout(LIMIT, reached).await != Ok(true) {
            let (status, events) = (self.status(id).await, self.site.messages(id).await);
            let log = self.log(id, 0).await;
            panic!("the job must become {phase}: {status:#}\n{events:#?}\n{log}");
        }
    }

    /// Waits until an event of a job contains a text, and returns its message.
    async fn event(&self, id: &str, part: &str) -> String {
        let mut messages = Vec::new();
        let found = async {
            loop {
                messages = self.site.messages(id).await;
                if let Some(message) = messages.iter().find(|it| it.contains(part)) {
                    return message.clone();
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        if let Ok(message) = timeout(LIMIT, found).await {
            return message;
        }
        let (status, log) = (self.status(id).await, self.log(id, 0).await);
        panic!("no event has {part:?}: {status:#}\n{messages:#?}\n{log}");
    }

    /// Returns the log of a worker.
    async fn log(&self, id: &str, index: u32) -> String {
        log(&self.site.client, id, index).await
    }

    /// Runs the command-line tool as a user of the emulator, and returns what it prints.
    async fn tool(&self, arguments: &str) -> String {
        let built = Path::new(env!("CARGO_BIN_EXE_modelarts-emulator")).with_file_name("modelarts");
        let program = env::var_os("MODELARTS").map_or(built, PathBuf::from);
        let build = "set MODELARTS, or run `cargo build --workspace --bin modelarts`";
        assert!(program.is_file(), "there is no {program:?}: {build}");
        let mut command = Command::new(program);
        command.args(arguments.split(' '));
        command.envs(self.site.emulator.envs());
        output(command.env("HOME", &self.cluster.shared)).await
    }

    /// Returns the diagnosis of a job by the command-line tool.
    async fn explain(&self, id: &str) -> Value {
        let text = self.tool(&format!("explain {id} --output json")).await;
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until the jobs of Slurm for a job, oldest first, have these states.
    async fn states(&self, id: &str, states: &[&str]) {
        until(&format!("jobs of Slurm with {states:?}"), async || {
            (jobs_of(id, "%T").await == states).then_some(())
        })
        .await;
    }
}

/// Polls the API or Slurm, which do not report changes, until there is a value.
async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(value) = look().await {
                return value;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    match timeout(LIMIT, found).await {
        Ok(value) => value,
        Err(_) => panic!("no {what}\n{}", slurm("squeue", &["-t", "all"]).await),
    }
}

/// Returns the log of a worker.
async fn log(client: &Client, id: &str, index: u32) -> String {
    let path = format!("/training-jobs/{id}/tasks/worker-{index}/logs/preview");
    let reply = client.get(&path).await;
    if reply.status == 204 {
        return String::new();
    }
    reply.json()["content"].as_str().unwrap().to_owned()
}

/// Returns the reasons for which the runs of a job ended.
fn end_reasons(status: &Value) -> Vec<&str> {
    let records = status["running_records"].as_array().unwrap().iter();
    records.filter_map(|it| it["end_reason"].as_str()).collect()
}

/// Lets workers through the gate.
async fn let_through(workers: Vec<Waiting>) {
    for worker in workers {
        worker.let_through().await;
    }
}

/// Runs a command, which must succeed, and returns what it prints.
async fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = timeout(3 * LIMIT, output).await.unwrap().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    assert!(status.success(), "{command:?}: {status}\n{text}{errors}");
    text
}

/// Runs a command of Slurm.
async fn slurm(name: &str, arguments: &[&str]) -> String {
    output(Command::new(name).args(arguments)).await
}

/// Starts or stops a daemon.
async fn daemon(action: &str, name: &str) {
    let mut command = Command::new(SCRIPT);
    let directory = env::var_os(SHARED).unwrap();
    output(command.arg(action).arg(directory).arg(name)).await;
}

/// Returns a line in a format of `squeue` for each job of Slurm that ran, or is to run, a job. GPUs
/// are `gres:gpu:1`, which newer versions of Slurm write as `gres/gpu:1`.
async fn jobs_of(id: &str, format: &str) -> Vec<String> {
    let arguments = ["-h", "-t", "all", "-S", "i", "--name", id, "-o", format];
    let text = slurm("squeue", &arguments).await;
    text.lines().map(|line| line.trim().replace("gres/", "gres:")).collect()
}

/// Returns the IDs of all jobs of Slurm that have not ended.
async fn queue() -> Vec<String> {
    let text = slurm("squeue", &["-h", "-o", "%i"]).await;
    text.lines().map(str::to_owned).collect()
}

/// Starts a job that Slurm has requeued without the delay of two minutes that it makes.
async fn start_now(id: &str) {
    let waiting = until("a requeued job", async || {
        let jobs = jobs_of(id, "%T %i").await;
        jobs.iter().find_map(|job| job.strip_prefix("PENDING ").map(str::to_owned))
    })
    .await;
    let job = format!("JobId={waiting}");
    slurm("scontrol", &["update", &job, "StartTime=now"]).await;
}

/// Waits until all nodes are idle and no job is left.
async fn idle() {
    until("idle nodes", async || {
        let states = slurm("sinfo", &["-h", "-N", "-p", "low", "-o", "%T"]).await;
        (states.lines().eq(["idle"; 3]) && queue().await.is_empty()).then_some(())
    })
    .await;
}

/// Returns the processes of the code of jobs, which have a variable with the directory of their
/// scenario.
fn processes(shared: &Path) -> Vec<String> {
    let variable = format!("SCENARIO={}\0", shared.display()).into_bytes();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let found = entries.filter(|entry| {
        let variables = fs::read(entry.path().join("environ")).unwrap_or_default();
        variables.windows(variable.len()).any(|it| it == variable)
    });
    found
        .map(|entry| fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default())
        .collect()
}
