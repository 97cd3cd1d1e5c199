//! Jobs of the program on a Slurm cluster whose commands are stand-ins (`slurm_commands.py`).

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::LazyLock,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{
    Gate,
    program::{self, Program, cpu_job},
};

/// Path of the Python interpreter. The stand-ins must start without a `PATH`.
static PYTHON: LazyLock<String> = LazyLock::new(|| {
    let print = ["-c", "import sys; print(sys.executable)"];
    let output = Command::new("python3").args(print).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
});
/// Time after which a job that does not proceed fails its test.
const LIMIT: Duration = Duration::from_secs(60);

/// Cluster of stand-ins for the commands of Slurm.
struct Cluster {
    place: TempDir,
}

impl Cluster {
    fn new() -> Self {
        let cluster = Self {
            place: tempfile::tempdir().unwrap(),
        };
        fs::create_dir_all(cluster.bin("state/jobs")).unwrap();
        let script = cluster.bin("commands.py");
        fs::write(&script, include_str!("slurm_commands.py")).unwrap();
        for name in ["srun", "squeue", "scancel", "scontrol"] {
            let start = format!("exec {} {} {name} \"$@\"", *PYTHON, script.display());
            cluster.add_program(name, &start);
        }
        cluster
    }

    fn bin(&self, below: &str) -> PathBuf {
        self.place.path().join("bin").join(below)
    }

    /// Adds a shell script to the `PATH` of the program.
    fn add_program(&self, name: &str, script: &str) {
        let path = self.bin(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Returns the path of the shared directory, as the program passes it on.
    fn shared(&self) -> PathBuf {
        self.place.path().canonicalize().unwrap().join("shared")
    }

    /// Writes a file of the state of the cluster.
    fn set(&self, name: &str, text: impl AsRef<str>) {
        // Renaming prevents a stand-in from reading a part of the file.
        let temporary = self.bin("state/new");
        fs::write(&temporary, text.as_ref()).unwrap();
        fs::rename(&temporary, self.bin("state").join(name)).unwrap();
    }

    fn unset(&self, name: &str) {
        fs::remove_file(self.bin("state").join(name)).unwrap();
    }

    /// Makes the calls of a command wait at a gate.
    async fn gate(&self, name: &str) -> Gate {
        let gate = Gate::new().await;
        self.set(name, gate.port().to_string());
        gate
    }

    /// Returns the calls of a command.
    fn calls(&self, command: &str) -> Vec<Value> {
        let calls = fs::read_to_string(self.bin("state").join(format!("{command}.calls")));
        let calls = calls.unwrap_or_default();
        let calls = calls
            .lines()
            .map(|line| serde_json::from_str(line).unwrap());
        calls.collect()
    }

    /// Kills the `srun` of a job, after Slurm has given the job a state.
    fn lose(&self, number: u32, state: &str) {
        let job = fs::read_to_string(self.bin(&format!("state/jobs/{number}"))).unwrap();
        let [name, _, reason, process] = *job.split('\n').collect::<Vec<_>>() else {
            panic!("{job}");
        };
        let job = [name, state, reason, process].join("\n");
        self.set(&format!("jobs/{number}"), job);
        let kill = Command::new("kill").args(["-9", process]).status();
        assert!(kill.unwrap().success());
    }

    /// Stores the code of [`cpu_job`].
    fn put_code(&self, script: &str) {
        let code = self.place.path().join("obs/bucket/code");
        fs::create_dir_all(&code).unwrap();
        fs::write(code.join("train.py"), script).unwrap();
    }

    fn flags(&self) -> Vec<String> {
        let shared = self.place.path().join("shared");
        let shared = shared.to_str().unwrap();
        ["--launcher", "slurm", "--shared", shared]
            .map(str::to_owned)
            .to_vec()
    }

    /// Starts the program with additional flags. Its messages are in the file `messages`.
    async fn serve(&self, flags: &[&str]) -> Program {
        let given = self.flags();
        let all: Vec<&str> = given
            .iter()
            .map(String::as_str)
            .chain(flags.iter().copied())
            .collect();
        let messages = fs::File::create(self.place.path().join("messages")).unwrap();
        let paths = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        let paths = env::join_paths([self.bin("")].into_iter().chain(paths)).unwrap();
        let mut command = program::command(self.place.path(), &all);
        command.env("PATH", paths).stderr(messages);
        program::serve(command).await
    }

    /// Starts the program, which must refuse to run with exit code 1, and returns its message.
    /// Commands other than the stand-ins are not on its `PATH`.
    async fn refusal(&self, flags: &[&str]) -> String {
        let mut command = program::command(self.place.path(), flags);
        command.env("PATH", self.bin("")).stdin(Stdio::null());
        let output = command.output().await.unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert_eq!(output.stdout, b"", "{message}");
        message
    }

    /// Like [`Self::refusal`], with the flags of this cluster.
    async fn start_error(&self) -> String {
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        self.refusal(&flags).await
    }
}

/// Polls a job until `look` returns a value for its details; the API has no operation that waits.
async fn poll<T>(program: &Program, id: &str, look: impl Fn(&Value) -> Option<T>) -> T {
    let found = async {
        loop {
            let details = program.client.get(&format!("/training-jobs/{id}")).await;
            if let Some(found) = look(&details.json()["status"]) {
                return found;
            }
        }
    };
    tokio::time::timeout(LIMIT, found).await.unwrap()
}

/// Waits until a job has ended, and returns its status.
async fn ended(program: &Program, id: &str) -> Value {
    let active = ["Creating", "Pending", "Running", "Terminating"];
    poll(program, id, |status| {
        let phase = status["phase"].as_str().unwrap();
        (!active.contains(&phase)).then(|| status.clone())
    })
    .await
}

async fn messages(program: &Program, id: &str) -> Vec<String> {
    let path = format!("/training-jobs/{id}/events?limit=100");
    let rows = program.client.get(&path).await.json();
    let rows = rows["events"].as_array().unwrap().iter();
    rows.map(|row| row["message"].as_str().unwrap().to_owned())
        .collect()
}

/// Waits until a job has an event with a part of a text, and returns the text of the event.
async fn event(program: &Program, id: &str, part: &str) -> String {
    let found = async {
        loop {
            let messages = messages(program, id).await;
            if let Some(found) = messages.into_iter().find(|text| text.contains(part)) {
                return found;
            }
        }
    };
    tokio::time::timeout(LIMIT, found).await.unwrap()
}

async fn log(program: &Program, id: &str, task: &str) -> String {
    let path = format!("/training-jobs/{id}/tasks/{task}/logs/preview");
    let log = program.client.get(&path).await.json();
    log["content"].as_str().unwrap().to_owned()
}

/// Returns the arguments of `srun` for a job of the flavor `modelarts.vm.cpu.2u`.
fn srun_arguments(cluster: &Cluster, id: &str, workers: u32) -> Value {
    let program = Path::new(env!("CARGO_BIN_EXE_modelarts-emulator"));
    json!([
        format!("--job-name={id}"),
        format!("--nodes={workers}"),
        format!("--ntasks={workers}"),
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
        "--mpi=none",
        "--label",
        "--cpus-per-task=2",
        "--mem=8G",
        program.canonicalize().unwrap(),
        "worker",
        cluster.shared().join("jobs").join(id).join("job.json"),
    ])
}

#[tokio::test]
async fn a_job_runs_on_its_nodes_and_its_output_is_returned() {
    let cluster = Cluster::new();
    cluster.put_code("import os\nprint('worker', os.environ['VC_TASK_INDEX'])\n");
    let program = cluster.serve(&[]).await;
    for workers in [1_u32, 3] {
        let mut job = cpu_job(&format!("of-{workers}"));
        job["spec"]["resource"]["node_count"] = workers.into();
        let id = program.create(&job).await;
        assert_eq!(ended(&program, &id).await["phase"], "Completed");
        for rank in 0..workers {
            let log = log(&program, &id, &format!("worker-{rank}")).await;
            assert_eq!(log, format!("worker {rank}\n"));
        }
        let call = cluster.calls("srun").pop().unwrap();
        assert_eq!(call["arguments"], srun_arguments(&cluster, &id, workers));
        assert_eq!(call["mode"], "0o600");
    }
}
