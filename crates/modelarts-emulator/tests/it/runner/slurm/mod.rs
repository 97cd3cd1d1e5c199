//! Jobs of the program on a Slurm cluster whose commands are stand-ins (`commands.py`).

mod losses;
mod start;

use std::{
    env,
    ffi::OsString,
    fs,
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
        for directory in ["state/jobs", "state/calls"] {
            fs::create_dir_all(cluster.bin(directory)).unwrap();
        }
        let script = cluster.bin("commands.py");
        fs::write(&script, include_str!("commands.py")).unwrap();
        for name in ["sbatch", "srun", "squeue", "scancel", "scontrol", "sacct"] {
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

    /// Returns the arguments of the calls of a command.
    fn calls(&self, command: &str) -> Vec<Vec<String>> {
        let calls = fs::read_to_string(self.bin("state/calls").join(command)).unwrap_or_default();
        calls.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Returns the arguments of the calls of `sbatch` for jobs.
    fn submissions(&self) -> Vec<Vec<String>> {
        let mut calls = self.calls("sbatch");
        calls.retain(|call| call.len() > 1);
        calls
    }

    fn job(&self, number: u32) -> Vec<String> {
        let job = fs::read_to_string(self.bin(&format!("state/jobs/{number}"))).unwrap();
        job.split('\n').map(str::to_owned).collect()
    }

    /// Gives a job a state in Slurm, and ends its processes, as the loss of its node does.
    fn lose(&self, number: u32, state: &str) {
        let mut job = self.job(number);
        state.clone_into(&mut job[1]);
        self.set(&format!("jobs/{number}"), job.join("\n"));
        let group = format!("-{}", job[3]);
        assert!(Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
    }

    /// Ends the processes of a job as Slurm does, and runs it again when it gets nodes.
    fn requeue(&self, number: u32, message: &str) {
        let mut command = Command::new(&*PYTHON);
        command.arg(self.bin("commands.py")).arg("requeue").arg(number.to_string()).arg(message);
        assert!(command.env("PATH", self.path()).status().unwrap().success());
    }

    /// Returns the `PATH` with the stand-ins.
    fn path(&self) -> OsString {
        let paths = env::split_paths(&env::var_os("PATH").unwrap()).collect::<Vec<_>>();
        env::join_paths([self.bin("")].into_iter().chain(paths)).unwrap()
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
        ["--launcher", "slurm", "--shared", shared, "--container", "none"]
            .map(str::to_owned)
            .to_vec()
    }

    /// Starts the program with a configuration of the launcher.
    async fn serve_with(&self, config: &str) -> Program {
        let path = self.place.path().join("slurm.toml");
        fs::write(&path, config).unwrap();
        self.serve(&["--launcher-config", path.to_str().unwrap()]).await
    }

    /// Starts the program with additional flags. Its messages are in the file `messages`.
    async fn serve(&self, flags: &[&str]) -> Program {
        let given = self.flags();
        let all: Vec<&str> =
            given.iter().map(String::as_str).chain(flags.iter().copied()).collect();
        let messages = fs::File::create(self.place.path().join("messages")).unwrap();
        let mut command = program::command(self.place.path(), &all);
        command.env("PATH", self.path()).env("PASSED", "through").stderr(messages);
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

/// Returns the options of `sbatch` for a job of the flavor `modelarts.vm.cpu.8u`.
fn sbatch_arguments(cluster: &Cluster, id: &str, workers: u32) -> Vec<String> {
    let directory = cluster.shared().join("jobs").join(id).join("batch-0").display().to_string();
    vec![
        "--parsable".to_owned(),
        format!("--job-name={id}"),
        format!("--output={directory}/output"),
        "--open-mode=append".to_owned(),
        "--requeue".to_owned(),
        format!("--nodes={workers}"),
        format!("--ntasks={workers}"),
        "--ntasks-per-node=1".to_owned(),
        "--cpus-per-task=8".to_owned(),
        "--mem=32G".to_owned(),
        format!("{directory}/script"),
    ]
}

fn script(cluster: &Cluster, id: &str) -> String {
    let path = cluster.shared().join("jobs").join(id).join("batch-0/script");
    let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode, 0o600);
    fs::read_to_string(path).unwrap()
}

/// The commands have only options that the version knows.
#[tokio::test]
async fn a_job_runs_on_each_version_of_slurm() {
    for (version, workers) in
        [("20.11", 1_u32), ("21.08", 3), ("22.05", 1), ("23.02", 1), ("23.11", 1)]
    {
        let cluster = Cluster::new();
        cluster.set("version", version);
        cluster.put_code("import os\nprint('worker', os.environ['VC_TASK_INDEX'])\n");
        let program = cluster.serve(&[]).await;
        let mut job = cpu_job("runs");
        job["spec"]["resource"] =
            json!({"flavor_id": "modelarts.vm.cpu.8u", "node_count": workers});
        let id = program.create(&job).await;
        assert_eq!(ended(&program, &id).await["phase"], "Completed");
        for rank in 0..workers {
            let log = log(&program, &id, &format!("worker-{rank}")).await;
            assert_eq!(log, format!("worker {rank}\n"));
        }
        assert_eq!(cluster.submissions(), [sbatch_arguments(&cluster, &id, workers)]);
        assert_eq!(fs::read_to_string(cluster.bin("state/srun.mode")).unwrap(), "0o600");
        let directory = cluster.shared().join("jobs").join(&id).join("batch-0");
        let emulator = Path::new(env!("CARGO_BIN_EXE_modelarts-emulator")).canonicalize().unwrap();
        let (directory, emulator) = (directory.display(), emulator.display());
        let expected = format!("#!/bin/bash\n\nexec {emulator} batch {directory}\n");
        assert_eq!(script(&cluster, &id), expected);
    }
}

#[tokio::test]
async fn no_value_of_a_request_is_an_argument_or_in_the_script() {
    let cluster = Cluster::new();
    let image = cluster.bin("state/image");
    let image = image.display();
    cluster.add_program("in-image", &format!("printf %s \"$1\" >{image}; shift; exec \"$@\""));
    let command = cluster.bin("in-image");
    let config = format!("image = \"{} {{image}} {{command}}\"", command.display());
    let program = cluster.serve_with(&config).await;
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
    assert_eq!(cluster.submissions(), [sbatch_arguments(&cluster, &id, 1)]);
    let script = script(&cluster, &id);
    assert!(!["evil", "touch", "rm "].iter().any(|part| script.contains(part)), "{script}");
}

/// The code gets what the prologue sets, and of the user's variables only those that are named.
#[tokio::test]
async fn the_environment_is_that_of_the_prologue() {
    let cluster = Cluster::new();
    cluster.put_code(
        "import os\nfor name in ['MODULE', 'PASSED', 'A_SECRET_OF_THE_USER', 'SLURM_JOB_ID']:\n    \
         print(name, os.environ.get(name))\nprint('/modules/bin' in os.environ['PATH'])\n",
    );
    let program = cluster
        .serve_with(
            "environment = [\"PASSED\"]\nprologue = \"\"\"\nexport MODULE=loaded\n\
             export PATH=/modules/bin:$PATH\n\"\"\"\n",
        )
        .await;
    let id = program.create(&cpu_job("modules")).await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
    assert_eq!(
        log(&program, &id, "worker-0").await,
        "MODULE loaded\nPASSED through\nA_SECRET_OF_THE_USER None\nSLURM_JOB_ID None\nTrue\n"
    );
}

/// Jobs reach OBS over HTTP, which refuses requests without a signature, and get keys if asked.
#[tokio::test]
async fn obs_is_reachable_from_the_nodes_on_request() {
    let cluster = Cluster::new();
    cluster.put_code(
        "import os, urllib.error, urllib.request\nurl = os.environ.get('S3_ENDPOINT')\nif url:\n    \
         try:\n        urllib.request.urlopen(url + '/bucket/code/train.py')\n    \
         except urllib.error.HTTPError as error:\n        print(error.code)\n\
         print(url is not None, 'AWS_SECRET_ACCESS_KEY' in os.environ)\n",
    );
    let text = "obs-listen = \"127.0.0.1:0\"\n";
    let config = cluster.place.path().join("obs.toml");
    fs::write(&config, text).unwrap();
    let flag = format!("--launcher-config={}", config.display());
    for (flags, expected) in [
        (vec![], "False False\n"),
        (vec![&*flag], "403\nTrue False\n"),
        (vec![&*flag, "--choose", "obs-keys=environment"], "403\nTrue True\n"),
    ] {
        let program = cluster.serve(&flags).await;
        let id = program.create(&cpu_job(&format!("with-{}", flags.len()))).await;
        assert_eq!(ended(&program, &id).await["phase"], "Completed");
        assert_eq!(log(&program, &id, "worker-0").await, expected);
    }
}

#[tokio::test]
async fn a_job_has_the_options_of_its_time_limit_and_of_the_configuration() {
    let cluster = Cluster::new();
    cluster.put_code("");
    let program = cluster
        .serve_with(
            "account = \"lab\"\n[default]\ncomment = \"project 7\"\nreservation = \"course\"\n\
             [flavors.\"modelarts.vm.cpu.2u\"]\ngres = \"gpu:a100:2\"\ntime = 100\n",
        )
        .await;
    for (name, hours, minutes) in [("short", 1, 90), ("long", 2, 100)] {
        let mut job = cpu_job(name);
        job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": hours});
        let id = program.create(&job).await;
        assert_eq!(ended(&program, &id).await["phase"], "Completed");
        let call = cluster.submissions().pop().unwrap().join(" ");
        let expected = format!(
            "--ntasks-per-node=1 --account=lab --comment=project 7 --gres=gpu:a100:2 \
             --reservation=course --time={minutes} "
        );
        assert!(call.contains(&expected), "{call}");
    }
}

#[tokio::test]
async fn each_role_has_its_hardware() {
    let cluster = Cluster::new();
    cluster.put_code("import os\nprint(os.environ['VC_PS_NUM'], os.environ['VC_TASK_INDEX'])\n");
    let program = cluster.serve(&[]).await;
    let task = |role: &str, flavor: &str, nodes: u32| {
        let mut algorithm = cpu_job("")["algorithm"].clone();
        algorithm["job_config"] = json!({});
        json!({
            "role": role,
            "algorithm": cpu_job("")["algorithm"],
            "task_resource": {"flavor_id": flavor, "node_count": nodes},
        })
    };
    let id = program
        .create(&json!({
            "kind": "hetero_job",
            "metadata": {"name": "roles"},
            "algorithm": {},
            "tasks": [
                task("ps", "modelarts.vm.cpu.2u", 1),
                task("worker", "modelarts.vm.cpu.8u", 2),
            ],
            "spec": {},
        }))
        .await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed", "{status:#}");
    for (task, text) in [("ps-0", "1 0\n"), ("worker-0", "1 0\n"), ("worker-1", "1 1\n")] {
        assert_eq!(log(&program, &id, task).await, text);
    }
    let call = cluster.submissions().pop().unwrap().join(" ");
    let hardware = "--nodes=1 --ntasks=1 --ntasks-per-node=1 --cpus-per-task=2 --mem=8G : \
                    --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=8 --mem=32G ";
    assert!(call.contains(hardware), "{call}");
    let call = cluster.calls("srun").pop().unwrap().join(" ");
    assert!(call.contains("--het-group=0 --cpus-per-task=2 "), "{call}");
    assert!(call.contains(" : --het-group=1 --cpus-per-task=8 "), "{call}");
}

/// The program or the shared directory is not on the nodes.
#[tokio::test]
async fn a_job_whose_script_does_not_run_says_why() {
    let cluster = Cluster::new();
    cluster.put_code("");
    let program = cluster.serve(&[]).await;
    for (script, cause) in [
        ("exec /nosuch/program", "Slurm ended the job before its code started: "),
        (
            "exit 1",
            "Slurm ended the job, and its batch script wrote nothing: the shared directory must \
             be at the same path on the nodes",
        ),
    ] {
        cluster.set("script", script);
        let id = program.create(&cpu_job(&format!("job-{}", script.len()))).await;
        assert_eq!(ended(&program, &id).await["phase"], "Abnormal");
        let message = event(&program, &id, "Slurm ended the job").await;
        assert!(message.contains(cause), "{message}");
        let is_named = message.ends_with("/nosuch/program: No such file or directory");
        assert_eq!(is_named, script.contains("nosuch"), "{message}");
    }
}

#[tokio::test]
async fn a_rejected_job_ends_with_the_message_of_sbatch() {
    let cluster = Cluster::new();
    cluster.put_code("");
    let program = cluster.serve(&[]).await;
    let rejection = "sbatch: error: invalid partition specified: x";
    cluster.set("sbatch.error", rejection);
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
    cluster.unset("sbatch.error");
    let id = program.create(&cpu_job("accepted")).await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
}

/// The account has reached its limit of jobs, or the controller does not respond for a while.
#[tokio::test]
async fn a_job_that_slurm_does_not_accept_yet_waits() {
    let cluster = Cluster::new();
    cluster.put_code("print('runs')\n");
    let program = cluster.serve(&[]).await;
    let error = "sbatch: error: QOSMaxSubmitJobPerUserLimit\nsbatch: error: Batch job submission \
                 failed: Job violates accounting/QOS policy";
    cluster.set("sbatch.error", error);
    let id = program.create(&cpu_job("waits")).await;
    assert_eq!(
        event(&program, &id, "FailedScheduling").await,
        format!(
            "[Pod: modelarts-job-{id}-worker-0] FailedScheduling: Slurm does not accept the job \
             yet: {}",
            error.replace('\n', " ")
        )
    );
    cluster.unset("sbatch.error");
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
}

#[tokio::test]
async fn a_waiting_job_reports_its_reason_and_runs_once_it_has_nodes() {
    let cluster = Cluster::new();
    cluster.put_code("print('runs')\n");
    let gate = cluster.gate("nodes.gate").await;
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
    let gate = cluster.gate("nodes.gate").await;
    let program = cluster.serve(&[]).await;
    cluster.set("squeue.format", "{id}|PEN");
    let id = program.create(&cpu_job("waits")).await;
    let waiting = gate.reached().await;
    let reason = event(&program, &id, "FailedScheduling: Slurm does not respond").await;
    assert!(reason.ends_with("|PEN\" must have four fields"), "{reason}");
    waiting.let_through().await;
    cluster.unset("squeue.format");
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
    assert_eq!(log(&program, &id, "worker-0").await, "runs\n");
}
