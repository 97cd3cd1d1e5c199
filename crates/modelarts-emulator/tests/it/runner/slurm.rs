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
async fn a_missing_command_of_slurm_is_named_at_the_start() {
    for name in ["srun", "squeue", "scancel"] {
        let cluster = Cluster::new();
        fs::remove_file(cluster.bin(name)).unwrap();
        assert_eq!(
            cluster.start_error().await,
            format!(
                "modelarts-emulator: cannot run jobs on Slurm: there is no {name} on the PATH: \
                 start \
                 the emulator on a machine with the commands of Slurm, such as a login node \
                 (package slurm-client of Debian)\n"
            )
        );
    }
}

#[tokio::test]
async fn a_controller_that_is_down_is_an_error_at_the_start() {
    let cluster = Cluster::new();
    let error = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)";
    cluster.set("squeue.error", error);
    assert_eq!(
        cluster.start_error().await,
        format!("modelarts-emulator: cannot run jobs on Slurm: squeue: {error}\n")
    );
    assert_eq!(cluster.calls("srun"), Vec::<Value>::new());
}

#[tokio::test]
async fn a_command_that_does_not_respond_is_ended_at_its_time_limit() {
    let cluster = Cluster::new();
    let gate = cluster.gate("squeue.gate").await;
    let error = async { cluster.start_error().await };
    let (error, waiting) = tokio::join!(error, gate.reached());
    assert_eq!(
        error,
        "modelarts-emulator: cannot run jobs on Slurm: squeue did not respond within 15 s\n"
    );
    waiting.wait_until_gone().await;
}

#[tokio::test]
async fn a_rejected_check_is_an_error_at_the_start() {
    let cluster = Cluster::new();
    let rejection = "srun: error: invalid partition specified: x";
    cluster.set("check.error", rejection);
    assert_eq!(
        cluster.start_error().await,
        format!(
            "modelarts-emulator: cannot run jobs on Slurm: a test job does not run in Slurm: \
             {rejection}\n"
        )
    );
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

#[tokio::test]
async fn a_directory_that_the_nodes_do_not_share_is_an_error_at_the_start() {
    let cluster = Cluster::new();
    let others = cluster.place.path().join("others");
    for content in [None, Some("another token")] {
        if let Some(content) = content {
            fs::write(&others, content).unwrap();
        }
        cluster.set("check.file", others.to_str().unwrap());
        assert_eq!(
            cluster.start_error().await,
            format!(
                "modelarts-emulator: cannot run jobs on Slurm: {} is not the same directory on the \
                 nodes: it must be on a file system that this machine and all nodes mount at the \
                 same path\n",
                cluster.shared().display()
            )
        );
    }
}

#[tokio::test]
async fn a_wrong_configuration_is_refused_with_its_line() {
    let cluster = Cluster::new();
    let config = cluster.place.path().join("slurm.toml");
    fs::write(&config, "[default]\nmem = \"1G\"\npartitoin = \"batch\"\n").unwrap();
    let path = config.to_str().unwrap();
    let flags = cluster.flags();
    let mut flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    flags.extend(["--launcher-config", path]);
    assert_eq!(
        cluster.refusal(&flags).await,
        format!(
            "modelarts-emulator: cannot use {path}: TOML parse error at line 3, column 1\n  |\n3 | \
             partitoin = \"batch\"\n  | ^^^^^^^^^\nunknown variant `partitoin`, expected one of \
             `partition`, `qos`, `reservation`, `constraint`, `cpus-per-task`, `mem`, `gres`\n\n"
        )
    );
    fs::remove_file(&config).unwrap();
    assert_eq!(
        cluster.refusal(&flags).await,
        format!(
            "modelarts-emulator: cannot use {path}: there is no such file: name one that exists, \
             as \
             seen from the current directory\n"
        )
    );
}

#[tokio::test]
async fn flags_that_do_not_fit_are_refused() {
    let cluster = Cluster::new();
    for (flags, message) in [
        ("--shared DIR", "--shared must be given with --launcher slurm"),
        ("--launcher-config FILE", "--launcher-config must be given with --launcher slurm"),
        (
            "--launcher slurm",
            "--launcher slurm must be given with --shared DIR, a directory that this machine and \
             all nodes mount at the same path",
        ),
        (
            "--launcher slurm --shared DIR --runner simulated",
            "--launcher slurm must not be given with --runner simulated, which starts no code",
        ),
        (
            "--launcher slurm --shared DIR --clock manual",
            "--launcher slurm must not be given with --clock manual, because Slurm runs in real \
             time",
        ),
    ] {
        let flags: Vec<&str> = flags.split(' ').collect();
        assert_eq!(cluster.refusal(&flags).await, format!("modelarts-emulator: {message}\n"));
    }
    assert_eq!(cluster.calls("squeue"), Vec::<Value>::new());
}
