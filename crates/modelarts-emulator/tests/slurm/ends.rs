//! Jobs that are stopped or lost: by a user, their time limit, or the end of the emulator, of the
//! controller, or of nodes.

use std::time::SystemTime;

use modelarts_emulator::Timing;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::support::program::{self, Program, cpu_job};

/// Writes a checkpoint when it is stopped.
const CHECKPOINT: &str = "
import os, pathlib, signal, sys
def stop(*_):
    out = pathlib.Path(sys.argv[1].split('=')[1])
    (out / ('checkpoint-' + os.environ['VC_TASK_INDEX'])).write_text('step 7')
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
gate()
";

/// Jobs are terminated while they run and while they wait.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn a_terminated_job_leaves_nothing_but_its_output() {
    let grace = Duration::from_secs(2);
    let mut timing = Timing::instant();
    timing.grace = grace;
    let lab = Lab::with("", |builder| builder.timing(timing)).await;
    let saves = lab.submit("saves", 2, CHECKPOINT).await;
    let _saves = lab.reached(2).await;
    let ignores = "
import signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
subprocess.Popen(['sleep', '600'])
gate()
";
    let stubborn = lab.submit("stubborn", 1, ignores).await;
    let _stubborn = lab.reached(1).await;
    let waiting = lab.submit("waiting", 1, "print('started')").await;
    lab.states(&waiting, &["PENDING"]).await;

    let terminate = async |id: &str| {
        let start = Instant::now();
        assert_eq!(lab.site.terminate(id).await.status, 202);
        lab.reach(id, "Terminated").await;
        start.elapsed()
    };
    terminate(&waiting).await;
    assert_eq!(lab.log(&waiting, 0).await, "");
    lab.states(&waiting, &["CANCELLED"]).await;
    terminate(&saves).await;
    lab.states(&saves, &["CANCELLED"]).await;
    for index in 0..2 {
        let checkpoint = format!("bucket/saves/out/checkpoint-{index}");
        assert_eq!(lab.site.read(&checkpoint), "step 7");
    }
    let took = terminate(&stubborn).await;
    assert!(took >= grace && took < 3 * grace, "{took:?}");
    assert_eq!(processes(&lab.cluster.shared), [""; 0]);
    idle().await;
}

/// Writes its start and its end, and checks that no other run of the worker exists at the time.
const CAREFUL: &str = "
import fcntl, os, sys, time
place = f\"{os.environ['SCENARIO']}/{os.environ['NAME']}-{os.environ['VC_TASK_INDEX']}\"
lock = open(place, 'a')
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    sys.exit('overlap')
print('started', flush=True)
time.sleep(float(os.environ['SECONDS']))
print('finished', flush=True)
sys.exit(int(os.environ['EXIT']))
";

/// Four jobs fit on a node.
const QUARTER: &str = "[flavors.\"modelarts.vm.cpu.8u\"]\ncpus-per-task = 2\nmem = \"1G\"\n";

pub(super) async fn serve(shared: &Path) -> Program {
    let config = shared.join("launcher.toml");
    fs::write(&config, QUARTER).unwrap();
    let config = format!("--launcher-config={}", config.display());
    let shared_flag = shared.to_str().unwrap();
    // The directory of the scenario is below `/tmp`, which a container has of its own.
    let flags = ["--launcher", "slurm", "--shared", shared_flag, &config, "--container", "none"];
    let mut command = program::command(shared, &flags);
    // Nothing reads the messages, of which there are many.
    command.stderr(Stdio::null());
    timeout(LIMIT, program::serve(command)).await.unwrap()
}

/// Stores the code of [`careful`] jobs.
pub(super) fn put_code(shared: &Path) {
    let code = shared.join("obs/bucket/code");
    fs::create_dir_all(&code).unwrap();
    fs::write(code.join("train.py"), CAREFUL).unwrap();
}

/// Returns a job whose workers run for some seconds, and end with an exit code.
pub(super) fn careful(shared: &Path, name: &str, workers: u32, seconds: f64, exit: u32) -> Value {
    let mut job = cpu_job(name);
    job["spec"]["resource"] = json!({"flavor_id": "modelarts.vm.cpu.8u", "node_count": workers});
    job["algorithm"]["environments"] = json!({
        "NAME": name,
        "SCENARIO": shared,
        "SECONDS": seconds.to_string(),
        "EXIT": exit.to_string(),
    });
    job
}

/// Creates a job. The emulator may be killed before it responds, or after it has stored the job.
async fn create(program: &Mutex<Program>, job: &Value) {
    until("a created job", async || {
        let request = {
            let client = &program.lock().await.client;
            let target = format!("/v2/{}/training-jobs", client.project_id);
            client.signed(Method::POST, &target, job.to_string().into_bytes(), SystemTime::now())
        };
        let response = request.send().await.ok()?;
        let status = response.status().as_u16();
        let text = response.text().await.ok()?;
        let is_taken = text.contains("ModelArts.2751");
        assert!(status == 201 || is_taken || status >= 500, "{status} {text}");
        (status == 201 || is_taken).then_some(())
    })
    .await;
}

/// Waits until a job has ended, and returns its details.
pub(super) async fn end(client: &Client, id: &str) -> Value {
    until("the end of a job", async || {
        let details = client.get(&format!("/training-jobs/{id}")).await.json();
        let phase = details["status"]["phase"].as_str().unwrap().to_owned();
        let is_active = ["Creating", "Pending", "Running", "Terminating"].contains(&&*phase);
        (!is_active).then_some(details)
    })
    .await
}

/// Checks that a job of [`careful`] ran once, and that its end, its log and its duration are right.
pub(super) async fn check_end(
    client: &Client,
    details: &Value,
    workers: u32,
    seconds: f64,
    exit: u32,
) {
    let id = details["metadata"]["id"].as_str().unwrap();
    let status = &details["status"];
    let phase = if exit == 0 { "Completed" } else { "Failed" };
    assert_eq!(status["phase"], phase, "{status:#}\n{}", log(client, id, 0).await);
    let reason = if exit == 0 { "job completed".to_owned() } else { format!("exit with {exit}") };
    assert_eq!(end_reasons(status), [reason], "{status:#}");
    if exit != 0 {
        assert_eq!(status["task_statuses"][0]["exit_code"], exit);
    }
    for index in 0..workers {
        let log = log(client, id, index).await;
        // A worker may be stopped because another has failed.
        let complete = "started\nfinished\n";
        let is_stopped = exit != 0 && workers > 1 && complete.starts_with(&log);
        assert!(log == complete || is_stopped, "{log:?}");
    }
    let milliseconds = status["duration"].as_f64().unwrap();
    let most = (seconds + 30.0) * 1000.0;
    // Times of jobs are whole seconds.
    let least = seconds * 1000.0 - 1000.0;
    assert!((least..most).contains(&milliseconds), "{seconds} s took {milliseconds} ms");
    let path = format!("/training-jobs/{id}/events?limit=100");
    let rows = client.get(&path).await.json();
    let rows = rows["events"].as_array().unwrap().iter();
    let messages: Vec<&str> = rows.map(|row| row["message"].as_str().unwrap()).collect();
    let mut once = messages.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), messages.len(), "{messages:#?}");
    for message in ["Training job is running.", "Billing information synchronized."] {
        assert!(messages.contains(&message), "{messages:#?}");
    }
}

/// Number of jobs, and of times that the emulator is killed while they are created, wait and run.
const JOBS: u32 = 40;
const KILLS: u32 = 20;

/// The emulator is killed at random moments. Every job runs once, and ends as it would have.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn jobs_outlive_a_killed_emulator() {
    let cluster = Cluster::new().await;
    let shared = &cluster.shared;
    put_code(shared);
    let program = Mutex::new(serve(shared).await);
    let mut random = fastrand::Rng::new();
    println!("seed {}", random.get_seed());
    let jobs: Vec<(u32, f64, u32)> = (0..JOBS)
        .map(|number| {
            let exit = if number % 5 == 3 { number } else { 0 };
            (1 + number % 3, random.f64(), exit)
        })
        .collect();
    let creating = async {
        for (number, (workers, seconds, exit)) in jobs.iter().enumerate() {
            let job = careful(shared, &format!("job-{number}"), *workers, *seconds, *exit);
            create(&program, &job).await;
        }
    };
    let mut pauses: Vec<f64> = (0..KILLS).map(|_| random.f64()).collect();
    let killing = async {
        while let Some(pause) = pauses.pop() {
            sleep(Duration::from_secs_f64(pause)).await;
            let mut program = program.lock().await;
            program.child.kill().await.unwrap();
            *program = serve(shared).await;
        }
    };
    tokio::join!(creating, killing);
    let client = &program.lock().await.client;
    let list = client.post("/training-job-searches", &json!({"limit": 50})).await.json();
    let items = list["items"].as_array().unwrap();
    assert_eq!(items.len(), jobs.len());
    for item in items {
        let name = item["metadata"]["name"].as_str().unwrap();
        let number: usize = name.strip_prefix("job-").unwrap().parse().unwrap();
        let (workers, seconds, exit) = jobs[number];
        let details = end(client, item["metadata"]["id"].as_str().unwrap()).await;
        check_end(client, &details, workers, seconds, exit).await;
    }
    idle().await;
}

/// The login node fails, with the emulator and the controller. The jobs end in the meantime, and the
/// controller forgets them.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn jobs_outlive_the_login_node() {
    let cluster = Cluster::new().await;
    let shared = &cluster.shared;
    put_code(shared);
    let mut program = serve(shared).await;
    let mut ids = Vec::new();
    for (name, exit) in [("completes", 0), ("fails", 7)] {
        ids.push(program.create(&careful(shared, name, 1, 4.0, exit)).await);
    }
    for id in &ids {
        until("a start", async || (log(&program.client, id, 0).await == "started\n").then_some(()))
            .await;
    }
    program.child.kill().await.unwrap();
    daemon("stop", "slurmctld").await;
    daemon("start", "slurmctld").await;
    until("the end of all jobs", async || queue().await.is_empty().then_some(())).await;
    // The controller starts without the jobs that it knew.
    daemon("stop", "slurmctld").await;
    daemon("forget", "slurmctld").await;
    assert_eq!(slurm("squeue", &["-h", "-t", "all"]).await, "");
    program = serve(shared).await;
    for (id, exit) in ids.iter().zip([0, 7]) {
        let details = end(&program.client, id).await;
        check_end(&program.client, &details, 1, 4.0, exit).await;
    }
    // SIGTERM leaves a job that waits.
    slurm("scontrol", &["update", "PartitionName=low", "State=DOWN"]).await;
    let waits = program.create(&careful(shared, "waits", 1, 0.0, 0)).await;
    until("a job in the queue", async || (!queue().await.is_empty()).then_some(())).await;
    let pid = Pid::from_raw(program.child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(program.child.wait().await.unwrap().success());
    slurm("scontrol", &["update", "PartitionName=low", "State=UP"]).await;
    idle().await;
    program = serve(shared).await;
    let details = end(&program.client, &waits).await;
    check_end(&program.client, &details, 1, 0.0, 0).await;
}

/// The controller stops and starts again: while a job runs, while a job ends, while a job is
/// submitted. All complete, and run once.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn jobs_outlive_the_controller() {
    let lab = Lab::start("").await;
    let script = "print('started', flush=True)\ngate()\nprint('finished')\n";
    let runs = lab.submit("runs", 1, script).await;
    let running = lab.reached(1).await;
    let ends = lab.submit("ends", 1, script).await;
    let ending = lab.reached(1).await;

    daemon("stop", "slurmctld").await;
    let_through(ending).await;
    let submitted = lab.submit("submitted", 1, script).await;
    let reason = lab.event(&submitted, "Slurm does not respond").await;
    let diagnosis = lab.explain(&submitted).await.to_string();
    let phases = [lab.site.phase(&runs).await, lab.site.phase(&submitted).await];
    daemon("start", "slurmctld").await;
    assert!(reason.contains("controller"), "{reason}");
    assert!(diagnosis.contains("Slurm does not respond"), "{diagnosis}");
    assert_eq!(phases, ["Running", "Pending"]);

    let late = lab.reached(1).await;
    lab.reach(&ends, "Completed").await;
    let_through(running).await;
    let_through(late).await;
    for id in [&runs, &ends, &submitted] {
        lab.reach(id, "Completed").await;
        assert_eq!(lab.log(id, 0).await, "started\nfinished\n");
    }
    lab.states(&runs, &["COMPLETED"]).await;
    lab.states(&submitted, &["COMPLETED"]).await;
    // The node repeats its message about the end only after a minute.
    slurm("scancel", &["--name", &ends]).await;
    let node = format!("NodeName={}", jobs_of(&ends, "%N").await[0]);
    slurm("scontrol", &["update", &node, "State=DOWN", "Reason=test"]).await;
    // Fails if the node has registered again in the meantime.
    let mut resume = Command::new("scontrol");
    resume.args(["update", &node, "State=RESUME"]).output().await.unwrap();
    idle().await;
}

/// Two nodes are killed. A job with retries runs again on the third node; a job without fails.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn a_lost_node_is_a_node_fault() {
    let lab = Lab::start("").await;
    let mut job = lab.job("again", 1, "gate()");
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    let again = lab.site.create(&job).await;
    let _first = lab.reached(1).await;
    let fails = lab.submit("fails", 1, "gate()").await;
    let _second = lab.reached(1).await;
    let killed = [jobs_of(&again, "%N").await, jobs_of(&fails, "%N").await].concat();
    for node in &killed {
        daemon("stop", node).await;
    }
    lab.reach(&fails, "Failed").await;
    assert_eq!(lab.explain(&fails).await["cause"], "node_fault");

    start_now(&again).await;
    let_through(lab.reached(1).await).await;
    lab.reach(&again, "Completed").await;
    for node in &killed {
        daemon("start", node).await;
    }
    let nodes = jobs_of(&again, "%N").await;
    assert!(nodes.len() == 1 && !killed.contains(&nodes[0]), "{nodes:?}");
    let reasons = ["node fault", "job completed"];
    assert_eq!(end_reasons(&lab.status(&again).await), reasons);
    assert_eq!(end_reasons(&lab.status(&fails).await), ["node fault"]);
    // Slurm has run the first job again, and would have run the second one.
    lab.states(&again, &["COMPLETED"]).await;
    lab.states(&fails, &["CANCELLED"]).await;
    idle().await;
}
