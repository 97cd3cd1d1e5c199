//! Jobs of the program on a Slurm cluster whose commands are stand-ins (`commands.py`).

mod start;

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
    time::Duration,
};

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

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
const LIMIT: Duration = Duration::from_secs(30);

/// Cluster of stand-ins for the commands of Slurm.
struct Cluster {
    place: TempDir,
}

impl Cluster {
    fn new() -> Self {
        let cluster = Self { place: tempfile::tempdir().unwrap() };
        fs::create_dir_all(cluster.bin("state/jobs")).unwrap();
        let script = cluster.bin("commands.py");
        fs::write(&script, include_str!("commands.py")).unwrap();
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

    fn calls(&self, command: &str) -> Vec<Value> {
        let calls = fs::read_to_string(self.bin("state").join(format!("{command}.calls")));
        let calls = calls.unwrap_or_default();
        let calls = calls.lines().map(|line| serde_json::from_str(line).unwrap());
        calls.collect()
    }

    /// Ends the `srun` of a job, after Slurm has given the job a state: by SIGTERM if an operator
    /// has cancelled the job, otherwise by SIGKILL.
    fn lose(&self, number: u32, state: &str) {
        let job = fs::read_to_string(self.bin(&format!("state/jobs/{number}"))).unwrap();
        let [name, _, reason, process, comment] = *job.split('\n').collect::<Vec<_>>() else {
            panic!("{job}");
        };
        let job = [name, state, reason, process, comment].join("\n");
        self.set(&format!("jobs/{number}"), job);
        let signal = if state == "CANCELLED" { "-15" } else { "-9" };
        let kill = Command::new("kill").args([signal, process]).status();
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
        ["--launcher", "slurm", "--shared", shared].map(str::to_owned).to_vec()
    }

    /// Starts the program with additional flags. Its messages are in the file `messages`.
    async fn serve(&self, flags: &[&str]) -> Program {
        let given = self.flags();
        let all: Vec<&str> =
            given.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let messages = fs::File::create(self.place.path().join("messages")).unwrap();
        let paths = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        let paths = env::join_paths([self.bin("")].into_iter().chain(paths)).unwrap();
        let mut command = program::command(self.place.path(), &all);
        command.env("PATH", paths).stderr(messages);
        program::serve(command).await
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
    timeout(LIMIT, found).await.unwrap()
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
    rows.map(|row| row["message"].as_str().unwrap().to_owned()).collect()
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
    timeout(LIMIT, found).await.unwrap()
}

async fn log(program: &Program, id: &str, task: &str) -> String {
    let path = format!("/training-jobs/{id}/tasks/{task}/logs/preview");
    let log = program.client.get(&path).await.json();
    log["content"].as_str().unwrap().to_owned()
}

/// Returns the arguments of `srun` for a job of the flavor `modelarts.vm.cpu.8u`.
fn srun_arguments(cluster: &Cluster, id: &str, workers: u32) -> Vec<Value> {
    let program = Path::new(env!("CARGO_BIN_EXE_modelarts-emulator"));
    let arguments = json!([
        format!("--job-name={id}"),
        format!("--nodes={workers}"),
        format!("--ntasks={workers}"),
        "--ntasks-per-node=1",
        "--kill-on-bad-exit=1",
        "--mpi=none",
        "--label",
        "--cpus-per-task=8",
        "--mem=32G",
        program.canonicalize().unwrap(),
        "worker",
        cluster.shared().join("jobs").join(id).join("job.json"),
    ]);
    arguments.as_array().unwrap().clone()
}

/// Returns the arguments of the last `srun` without its comment, a random UUID.
fn last_srun(cluster: &Cluster) -> Vec<Value> {
    let call = cluster.calls("srun").pop().unwrap();
    let (comment, others) = call["arguments"].as_array().unwrap().split_first().unwrap();
    let token = comment.as_str().unwrap().strip_prefix("--comment=").unwrap();
    assert_eq!(token.len(), 36, "{token}");
    others.to_vec()
}

#[tokio::test]
async fn a_job_runs_on_its_nodes_and_its_output_is_returned() {
    let cluster = Cluster::new();
    cluster.put_code("import os\nprint('worker', os.environ['VC_TASK_INDEX'])\n");
    let program = cluster.serve(&[]).await;
    for workers in [1_u32, 3] {
        let mut job = cpu_job(&format!("of-{workers}"));
        job["spec"]["resource"] =
            json!({"flavor_id": "modelarts.vm.cpu.8u", "node_count": workers});
        let id = program.create(&job).await;
        assert_eq!(ended(&program, &id).await["phase"], "Completed");
        for rank in 0..workers {
            let log = log(&program, &id, &format!("worker-{rank}")).await;
            assert_eq!(log, format!("worker {rank}\n"));
        }
        let call = cluster.calls("srun").pop().unwrap();
        assert_eq!(last_srun(&cluster), srun_arguments(&cluster, &id, workers));
        assert_eq!(call["mode"], "0o600");
    }
}

#[tokio::test]
async fn no_value_of_a_request_is_an_argument_of_srun() {
    let cluster = Cluster::new();
    let image = cluster.bin("state/image");
    let image = image.display();
    cluster.add_program("in-image", &format!("printf %s \"$1\" >{image}; shift; exec \"$@\""));
    let config = cluster.place.path().join("slurm.toml");
    let command = cluster.bin("in-image");
    let text = format!("image = \"{} {{image}} {{command}}\"", command.display());
    fs::write(&config, text).unwrap();
    let program = cluster.serve(&["--launcher-config", config.to_str().unwrap()]).await;
    let (shell, option) = ("x; rm -rf y `touch z`", "--partition=evil");
    let job = json!({
        "kind": "job",
        "metadata": {"name": "marks", "description": option},
        "algorithm": {
            "engine": {"image_url": "org/$(touch x);rm --partition=evil"},
            "command": "printf '%s\\n' \"$MARK\" \"$OPTION\"; :",
            "parameters": [
                {"name": "partition", "value": option},
                {"name": "shell", "value": "$(touch x); rm"},
            ],
            "environments": {"MARK": shell, "OPTION": option, "SLURM_PARTITION": "evil"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    });
    let id = program.create(&job).await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
    assert_eq!(log(&program, &id, "worker-0").await, format!("{shell}\n{option}\n"));
    let name = fs::read_to_string(cluster.bin("state/image")).unwrap();
    assert_eq!(name, "org/$(touch x);rm --partition=evil");
    assert_eq!(last_srun(&cluster), srun_arguments(&cluster, &id, 1));
}

#[tokio::test]
async fn a_rejected_job_ends_with_the_message_of_srun() {
    let cluster = Cluster::new();
    cluster.put_code("");
    let program = cluster.serve(&[]).await;
    let rejection = "srun: error: invalid partition specified: x";
    cluster.set("srun.error", rejection);
    let id = program.create(&cpu_job("rejected")).await;
    let status = ended(&program, &id).await;
    assert_eq!(
        (&status["phase"], &status["secondary_phase"]),
        (&json!("Abnormal"), &json!("CreateFailed"))
    );
    assert_eq!(
        event(&program, &id, "Slurm").await,
        format!("Training job failures: Slurm rejected the job: {rejection}")
    );
    // The next job is not affected.
    cluster.unset("srun.error");
    let id = program.create(&cpu_job("accepted")).await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
}

#[tokio::test]
async fn a_waiting_job_reports_its_reason_and_runs_once_it_has_nodes() {
    let cluster = Cluster::new();
    cluster.put_code("print('runs')\n");
    let gate = cluster.gate("srun.gate").await;
    let program = cluster.serve(&[]).await;
    let id = program.create(&cpu_job("waits")).await;
    let waiting = gate.reached().await;
    assert_eq!(
        event(&program, &id, "FailedScheduling").await,
        format!(
            "[Pod: modelarts-job-{id}-worker-0] FailedScheduling: Slurm: Resources: the job waits \
             for free nodes"
        )
    );
    let phase = poll(&program, &id, |status| Some(status["phase"].clone())).await;
    assert_eq!(phase, "Pending");
    waiting.let_through().await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
    assert_eq!(log(&program, &id, "worker-0").await, "runs\n");
}

#[tokio::test]
async fn a_waiting_job_outlives_a_queue_that_cannot_be_read() {
    let cluster = Cluster::new();
    cluster.put_code("print('runs')\n");
    let gate = cluster.gate("srun.gate").await;
    let program = cluster.serve(&[]).await;
    cluster.set("squeue.format", "{id}|{name}|PEN");
    let id = program.create(&cpu_job("waits")).await;
    let waiting = gate.reached().await;
    assert_eq!(
        event(&program, &id, "FailedScheduling").await,
        format!(
            "[Pod: modelarts-job-{id}-worker-0] FailedScheduling: Slurm does not respond, and the \
             job waits until it does: squeue: the line \"1|{id}|PEN\" must have five fields"
        )
    );
    waiting.let_through().await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
    assert_eq!(log(&program, &id, "worker-0").await, "runs\n");
}

/// Starts a job that waits at a gate, kills its `srun` while Slurm reports a state, and returns
/// once the code has been killed.
async fn lose(cluster: &Cluster, gate: &Gate, state: &str, job: &Value) -> (Program, String) {
    cluster.put_code(&(gate.python() + "gate()\nprint('end')\n"));
    let program = cluster.serve(&[]).await;
    let id = program.create(job).await;
    let waiting = gate.reached().await;
    cluster.lose(1, state);
    waiting.wait_until_gone().await;
    (program, id)
}

/// Returns the reasons for which the runs of a job ended.
fn end_reasons(status: &Value) -> Vec<&str> {
    let records = status["running_records"].as_array().unwrap().iter();
    records.map(|record| record["end_reason"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn the_failure_of_a_node_is_a_node_fault() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id) = lose(&cluster, &gate, "NODE_FAIL", &cpu_job("lost")).await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(end_reasons(&status), ["node fault"]);
    let log = log(&program, &id, "worker-0").await;
    assert_eq!(log, "[ModelArts Service Log] a node of the job failed: signal: 9 (SIGKILL)\n");
    assert_eq!(cluster.calls("srun").len(), 2);
}

#[tokio::test]
async fn a_job_with_retries_runs_again_after_the_failure_of_a_node() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let mut job = cpu_job("again");
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    let (program, id) = lose(&cluster, &gate, "NODE_FAIL", &job).await;
    let again = timeout(LIMIT, gate.reached()).await.unwrap();
    again.let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(end_reasons(&status), ["node fault", "job completed"]);
    assert!(log(&program, &id, "worker-0").await.ends_with("end\n"));
}

#[tokio::test]
async fn a_job_whose_srun_was_killed_is_cancelled_in_slurm() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id) = lose(&cluster, &gate, "RUNNING", &cpu_job("lost")).await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(end_reasons(&status), ["node fault"]);
    // The calls may repeat until the queue that shows their effect is read.
    let mut calls = cluster.calls("scancel");
    calls.dedup();
    assert_eq!(calls, [json!({"arguments": ["--version"]}), json!({"arguments": ["1"]})]);
}

#[tokio::test]
async fn a_preempted_job_runs_again() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id) = lose(&cluster, &gate, "PREEMPTED", &cpu_job("preempted")).await;
    let again = timeout(LIMIT, gate.reached()).await.unwrap();
    let events = messages(&program, &id).await;
    let preempted = |text: &&String| *text == "The training job is preempted.";
    assert_eq!(events.iter().filter(preempted).count(), 1, "{events:?}");
    again.let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(end_reasons(&status), ["preempted", "job completed"]);
    let [_, first, second] = &cluster.calls("srun")[..] else {
        panic!("one check and two runs");
    };
    // The comments of two runs differ.
    assert_ne!(first["arguments"][0], second["arguments"][0]);
    let others = |call: &Value| call["arguments"].as_array().unwrap()[1..].to_vec();
    assert_eq!(others(first), others(second));
}

#[tokio::test]
async fn a_job_that_was_cancelled_in_slurm_is_terminated() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id) = lose(&cluster, &gate, "CANCELLED", &cpu_job("cancelled")).await;
    assert_eq!(ended(&program, &id).await["phase"], "Terminated");
}
