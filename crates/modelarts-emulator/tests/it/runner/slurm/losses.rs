//! Jobs whose run, whose emulator or whose submission is lost.

use std::{fs, process::Command};

use serde_json::{Value, json};
use tokio::time::timeout;

use crate::{
    runner::slurm::{Cluster, LIMIT, ended, event, log, messages, poll},
    support::{
        Gate, Waiting,
        program::{Program, cpu_job},
    },
};

/// Returns the reasons for which the runs of a job ended.
fn end_reasons(status: &Value) -> Vec<&str> {
    let records = status["running_records"].as_array().unwrap().iter();
    records.map(|record| record["end_reason"].as_str().unwrap()).collect()
}

/// Number in Slurm of the first job.
const FIRST: u32 = 1;

/// Starts a job that waits at a gate, until its code runs.
async fn run(cluster: &Cluster, gate: &Gate, job: &Value) -> (Program, String, Waiting) {
    cluster.put_code(&(gate.python() + "gate()\nprint('end')\n"));
    let program = cluster.serve(&[]).await;
    let id = program.create(job).await;
    let waiting = timeout(LIMIT, gate.reached()).await.unwrap();
    poll(&program, &id, |status| (status["phase"] == "Running").then_some(())).await;
    (program, id, waiting)
}

fn job_with_retry(name: &str) -> Value {
    let mut job = cpu_job(name);
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "1"});
    job
}

#[tokio::test]
async fn the_failure_of_a_node_is_a_node_fault() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id, _waiting) = run(&cluster, &gate, &cpu_job("lost")).await;
    cluster.lose(FIRST, "NODE_FAIL");
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Failed");
    assert_eq!(end_reasons(&status), ["node fault"]);
    let log = log(&program, &id, "worker-0").await;
    assert_eq!(log, "[ModelArts Service Log] a node of the job failed: \n");
    assert_eq!(cluster.submissions().len(), 1);
}

/// A cluster that does not requeue jobs.
#[tokio::test]
async fn a_job_with_retries_is_submitted_again_after_the_failure_of_a_node() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id, _waiting) = run(&cluster, &gate, &job_with_retry("again")).await;
    cluster.lose(FIRST, "NODE_FAIL");
    timeout(LIMIT, gate.reached()).await.unwrap().let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(end_reasons(&status), ["node fault", "job completed"]);
    assert!(log(&program, &id, "worker-0").await.ends_with("end\n"));
    assert_eq!(cluster.submissions().len(), 2);
}

/// Slurm ends jobs for these reasons, and their ends say so.
#[tokio::test]
async fn a_job_that_slurm_ends_has_the_reason() {
    for (state, phase, reason, text) in [
        ("TIMEOUT", "Failed", "exit with 143", "the job reached its time limit in Slurm"),
        ("OUT_OF_MEMORY", "Failed", "exit with 137", "the job exceeded its memory in Slurm"),
        ("CANCELLED", "Terminated", "terminated", "the job was cancelled in Slurm"),
        ("FAILED", "Failed", "node fault", "the program of the job ended"),
    ] {
        let (cluster, gate) = (Cluster::new(), Gate::new().await);
        let (program, id, _waiting) = run(&cluster, &gate, &cpu_job("ends")).await;
        cluster.lose(FIRST, state);
        let status = ended(&program, &id).await;
        assert_eq!((&status["phase"], end_reasons(&status)), (&json!(phase), vec![reason]));
        let log = log(&program, &id, "worker-0").await;
        assert!(log.contains(text), "{state}: {log}");
        let event = event(&program, &id, "Slurm: ").await;
        assert!(event.ends_with(&format!("Slurm: {text}")), "{state}: {event}");
    }
}

#[tokio::test]
async fn a_preempted_job_runs_again_with_the_same_id() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (program, id, _waiting) = run(&cluster, &gate, &cpu_job("preempted")).await;
    let nodes = cluster.gate("nodes.gate").await;
    cluster.requeue(FIRST, "2026-01-01T00:00:00 DUE TO PREEMPTION");
    let waiting = timeout(LIMIT, nodes.reached()).await.unwrap();
    // The emulator reports the preemption although the job has not started again.
    event(&program, &id, "BeginTime").await;
    let phase = poll(&program, &id, |status| Some(status["phase"].clone())).await;
    assert_eq!(phase, "Pending");
    waiting.let_through().await;
    timeout(LIMIT, gate.reached()).await.unwrap().let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(end_reasons(&status), ["preempted", "job completed"]);
    let events = messages(&program, &id).await;
    let preempted = |text: &&String| *text == "The training job is preempted.";
    assert_eq!(events.iter().filter(preempted).count(), 1, "{events:?}");
    assert_eq!(cluster.submissions().len(), 1);
}

/// Slurm ends the processes of a job one after the other, here first a worker.
#[tokio::test]
async fn a_job_whose_worker_ends_first_is_preempted() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let mark = cluster.bin("state/killed");
    let code = format!(
        "gate()\nimport os, pathlib\nmark = pathlib.Path({mark:?})\nif not mark.exists():\n    \
         mark.touch()\n    os.kill(os.getppid(), 9)\n"
    );
    cluster.put_code(&(gate.python() + &code));
    let program = cluster.serve(&[]).await;
    let id = program.create(&cpu_job("worker")).await;
    timeout(LIMIT, gate.reached()).await.unwrap().let_through().await;
    let script = fs::read_to_string(cluster.bin(&format!("state/script.{FIRST}"))).unwrap();
    let output = script.lines().next().unwrap();
    let loss = async {
        while !fs::read_to_string(output).unwrap().contains("a worker does not respond") {
            tokio::task::yield_now().await
        }
    };
    timeout(LIMIT, loss).await.unwrap();
    cluster.requeue(FIRST, "2026-01-01T00:00:00 DUE TO PREEMPTION");
    timeout(LIMIT, gate.reached()).await.unwrap().let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed");
    assert_eq!(end_reasons(&status), ["preempted", "job completed"]);
}

/// The queue was read before the job started, and printed when it runs.
#[tokio::test]
async fn a_job_that_starts_while_the_queue_is_read_is_not_requeued() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    cluster.put_code(&(gate.python() + "gate()\n"));
    let nodes = cluster.gate("nodes.gate").await;
    let program = cluster.serve(&[]).await;
    let id = program.create(&cpu_job("starts")).await;
    event(&program, &id, "Resources").await;
    let queue = cluster.gate("squeue.late").await;
    let old_queue = timeout(LIMIT, queue.reached()).await.unwrap();
    cluster.unset("squeue.late");
    timeout(LIMIT, nodes.reached()).await.unwrap().let_through().await;
    let code = timeout(LIMIT, gate.reached()).await.unwrap();
    old_queue.let_through().await;
    poll(&program, &id, |status| (status["phase"] == "Running").then_some(())).await;
    code.let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(
        (&status["phase"], end_reasons(&status)),
        (&json!("Completed"), vec!["job completed"])
    );
}

/// The cluster runs jobs again while there is no emulator.
#[tokio::test]
async fn a_job_that_is_requeued_without_an_emulator_has_its_records() {
    for (job, message, reasons) in [
        (cpu_job("job"), "DUE TO PREEMPTION", vec!["preempted", "job completed"]),
        (job_with_retry("job"), "DUE TO NODE FAILURE", vec!["node fault", "job completed"]),
        (cpu_job("job"), "DUE TO NODE FAILURE", vec!["node fault"]),
    ] {
        let (cluster, gate) = (Cluster::new(), Gate::new().await);
        let (mut program, id, _waiting) = run(&cluster, &gate, &job).await;
        program.child.kill().await.unwrap();
        cluster.requeue(FIRST, &format!("2026-01-01T00:00:00 {message}"));
        if reasons.len() > 1 {
            timeout(LIMIT, gate.reached()).await.unwrap().let_through().await;
        }
        timeout(LIMIT, async {
            while cluster.job(FIRST)[1] != "COMPLETED" && cluster.job(FIRST)[1] != "FAILED" {
                tokio::task::yield_now().await
            }
        })
        .await
        .unwrap();
        // The controller has forgotten the job when the emulator is back.
        cluster.unset(&format!("jobs/{FIRST}"));
        let program = cluster.serve(&[]).await;
        let status = ended(&program, &id).await;
        assert_eq!(end_reasons(&status), reasons);
        let phase = if reasons.len() > 1 { "Completed" } else { "Failed" };
        assert_eq!(status["phase"], phase);
        assert_eq!(cluster.submissions().len(), 1);
    }
}

/// The controller has forgotten a job that ended without its own words: the accounting database of
/// the cluster knows it.
#[tokio::test]
async fn the_accounting_database_knows_the_end_of_a_forgotten_job() {
    let (cluster, gate) = (Cluster::new(), Gate::new().await);
    let (mut program, id, _waiting) = run(&cluster, &gate, &cpu_job("forgotten")).await;
    program.child.kill().await.unwrap();
    cluster.lose(FIRST, "TIMEOUT");
    cluster.unset(&format!("jobs/{FIRST}"));
    cluster.set("sacct.states", "TIMEOUT");
    let program = cluster.serve(&[]).await;
    assert_eq!(end_reasons(&ended(&program, &id).await), ["exit with 143"]);
}

/// `sbatch` fails although Slurm has the job, or the emulator is killed before it knows the id.
#[tokio::test]
async fn a_job_whose_id_was_lost_runs_once() {
    let cluster = Cluster::new();
    cluster.put_code("print('runs')\n");
    let program = cluster.serve(&[]).await;
    cluster.set("sbatch.lost", "sbatch: error: Batch job submission failed: Socket timed out");
    let id = program.create(&cpu_job("lost")).await;
    assert_eq!(ended(&program, &id).await["phase"], "Completed");
    assert_eq!(log(&program, &id, "worker-0").await, "runs\n");
    assert_eq!(cluster.submissions().len(), 1);
    cluster.unset("sbatch.lost");

    let (sbatch, nodes) = (cluster.gate("sbatch.gate").await, cluster.gate("nodes.gate").await);
    let id = program.create(&cpu_job("killed")).await;
    let (_submitted, first) = (sbatch.reached().await, nodes.reached().await);
    let mut program = program;
    program.child.kill().await.unwrap();
    cluster.unset("sbatch.gate");
    let program = cluster.serve(&[]).await;
    event(&program, &id, "Slurm: Resources").await;
    assert_eq!(cluster.submissions().len(), 2);
    // The submission is in the queue twice, as after a submission that Slurm was slow to show.
    let last = cluster.submissions().pop().unwrap();
    let mut again = Command::new(cluster.bin("sbatch"));
    assert!(again.args(last).env("PATH", cluster.path()).status().unwrap().success());
    let second = nodes.reached().await;
    second.let_through().await;
    first.let_through().await;
    let status = ended(&program, &id).await;
    assert_eq!(status["phase"], "Completed", "{:#?}", messages(&program, &id).await);
    assert_eq!(log(&program, &id, "worker-0").await, "runs\n");
}
