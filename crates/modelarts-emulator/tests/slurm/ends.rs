//! Jobs that are stopped or lost: by a user, their time limit, or the end of the emulator, of the
//! controller, or of nodes.

use std::{sync::Arc, time::SystemTime};

use modelarts_emulator::{Timing, clock::ManualClock};
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::support::{
    get_at,
    program::{self, Program, cpu_job},
};

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
    for index in 0..2 {
        let checkpoint = format!("bucket/saves/out/checkpoint-{index}");
        assert_eq!(lab.site.read(&checkpoint), "step 7");
    }
    let took = terminate(&stubborn).await;
    assert!(took >= grace && took < 3 * grace, "{took:?}");
    assert_eq!(processes(&lab.cluster.shared), [""; 0]);
    idle().await;
}

/// A job reaches its time limit.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn auto_stop_saves_a_checkpoint() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let lab = Lab::with("", |builder| builder.clock(Arc::clone(&clock) as _)).await;
    let mut job = lab.job("limited", 1, CHECKPOINT);
    job["spec"]["auto_stop"] = json!({"time_unit": "HOURS", "duration": 1});
    let id = lab.site.create(&job).await;
    let _worker = lab.reached(1).await;
    lab.site.emulator.wait_for(&id, "Running").await.unwrap();
    clock.advance(Duration::from_secs(3000));
    let path = format!("/training-jobs/{id}");
    let details = get_at(&lab.site, &clock, &path).await.json();
    assert_eq!(details["status"]["phase"], "Running");
    clock.advance(Duration::from_secs(600));
    lab.site.emulator.wait_until_settled(&id).await;
    let events = get_at(&lab.site, &clock, &format!("{path}/events")).await;
    let stopped = "The training job has been stopped. (Maximum running duration: 1 hour)";
    assert!(events.text.contains(stopped), "{}", events.text);
    assert_eq!(lab.site.read("bucket/limited/out/checkpoint-0"), "step 7");
    lab.states(&id, &["COMPLETED"]).await;
}

/// Number of times that the emulator is killed.
const KILLS: usize = 2;
/// Names of the jobs, with the number of their workers. Both do not fit on the three nodes.
const JOBS: [(&str, u32); 2] = [("two", 2), ("three", 3)];

/// Each worker holds a lock while it runs, so that two runs at a time are detected, and has a
/// process in another session.
const WAITS: &str = "
import fcntl, os, subprocess, time
scenario = os.environ['SCENARIO']
lock = open(f\"{scenario}/{os.environ['NAME']}-{os.environ['VC_TASK_INDEX']}\", 'a')
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print('overlap')
if not os.path.exists(scenario + '/go'):
    subprocess.Popen(['sleep', '600'], start_new_session=True)
print('started', flush=True)
while not os.path.exists(scenario + '/go'):
    time.sleep(0.01)
";

async fn serve(shared: &Path) -> Program {
    let flags = ["--launcher", "slurm", "--shared", shared.to_str().unwrap()];
    let command = program::command(shared, &flags);
    program::serve(command).await
}

/// Returns the number of runs in which all workers of a job have started.
async fn runs(client: &Client, id: &str, workers: u32) -> usize {
    let mut least = usize::MAX;
    for index in 0..workers {
        let log = log(client, id, index).await;
        assert!(!log.contains("overlap"), "{log}");
        least = least.min(log.matches("started\n").count());
    }
    least
}

/// The emulator is killed while one job runs and another waits. Each time all processes of the jobs
/// end, the next start leaves nothing of them in Slurm, and the jobs run again and complete.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn jobs_outlive_a_killed_emulator() {
    let cluster = Cluster::new().await;
    let shared = &cluster.shared;
    let mut program = serve(shared).await;
    let code = shared.join("obs/bucket/code");
    fs::create_dir_all(&code).unwrap();
    fs::write(code.join("train.py"), WAITS).unwrap();
    let mut ids = Vec::new();
    for (name, workers) in JOBS {
        let mut job = cpu_job(name);
        let flavor = "modelarts.vm.cpu.8u";
        job["spec"]["resource"] = json!({"flavor_id": flavor, "node_count": workers});
        job["algorithm"]["environments"] = json!({"NAME": name, "SCENARIO": shared});
        ids.push(program.create(&job).await);
    }
    for round in 0..=KILLS {
        until("a further run", async || {
            let mut all = 0;
            for (id, (_, workers)) in ids.iter().zip(JOBS) {
                all += runs(&program.client, id, workers).await;
            }
            (all > round && queue().await.len() == 2).then_some(())
        })
        .await;
        if round == KILLS {
            break;
        }
        let before = queue().await;
        program.child.kill().await.unwrap();
        // No later start is needed for this.
        until("the end of all processes", async || processes(shared).is_empty().then_some(()))
            .await;
        program = serve(shared).await;
        let now = queue().await;
        let left: Vec<_> = now.iter().filter(|id| before.contains(id)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
    fs::write(shared.join("go"), "").unwrap();
    let mut faults = 0;
    for (id, (_, workers)) in ids.iter().zip(JOBS) {
        let status = until("the end of a job", async || {
            let details = program.client.get(&format!("/training-jobs/{id}")).await;
            let status = details.json()["status"].clone();
            (status["phase"] == "Completed").then_some(status)
        })
        .await;
        let mut reasons = end_reasons(&status);
        assert_eq!(runs(&program.client, id, workers).await, reasons.len());
        assert_eq!(reasons.pop(), Some("job completed"));
        assert!(reasons.iter().all(|it| *it == "node fault"), "{status:#}");
        faults += reasons.len();
    }
    assert_eq!(faults, KILLS);
    idle().await;
    // SIGTERM leaves nothing either.
    let pid = Pid::from_raw(program.child.id().unwrap().try_into().unwrap()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    assert!(program.child.wait().await.unwrap().success());
    assert_eq!(processes(shared), [""; 0]);
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
    // Its `srun` could not release the nodes, so the emulator does this later.
    let node = until("the end of the job in Slurm", async || {
        let job = jobs_of(&ends, "%T %N").await.pop()?;
        let (state, node) = job.split_once(' ')?;
        (state != "RUNNING").then(|| format!("NodeName={node}"))
    })
    .await;
    // Slurm repeats its request to the node only after a minute.
    slurm("scontrol", &["update", &node, "State=DOWN", "Reason=test"]).await;
    slurm("scontrol", &["update", &node, "State=RESUME"]).await;
    lab.states(&ends, &["CANCELLED"]).await;
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

    let_through(lab.reached(1).await).await;
    lab.reach(&again, "Completed").await;
    for node in &killed {
        daemon("start", node).await;
    }
    let nodes = jobs_of(&again, "%N").await;
    assert!(nodes.len() == 2 && !killed.contains(&nodes[1]), "{nodes:?}");
    let reasons = ["node fault", "job completed"];
    assert_eq!(end_reasons(&lab.status(&again).await), reasons);
    assert_eq!(end_reasons(&lab.status(&fails).await), ["node fault"]);
    lab.states(&again, &["NODE_FAIL", "COMPLETED"]).await;
    lab.states(&fails, &["NODE_FAIL"]).await;
    idle().await;
}
