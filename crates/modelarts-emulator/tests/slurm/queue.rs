//! Jobs that wait in the queue of Slurm, that Slurm rejects, or that it preempts.

use std::time::SystemTime;

use futures::future::join_all;
use modelarts_emulator::pools::{Pool, PoolKind};

use super::*;

/// A job waits for nodes, and then for its partition. Events and the diagnosis have the reasons.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn a_waiting_job_has_the_reason_of_slurm() {
    let lab = Lab::start("").await;
    let first = lab.submit("first", 3, "gate()").await;
    let workers = lab.reached(3).await;
    let second = lab.submit("second", 1, "gate()").await;
    let pod = format!("[Pod: modelarts-job-{second}-worker-0] FailedScheduling: ");
    let reason = lab.event(&second, "Slurm: Resources").await;
    let expected = format!("{pod}Slurm: Resources: the job waits for free nodes");
    assert_eq!(reason, expected);
    assert_eq!(lab.status(&second).await["phase"], "Pending");
    let diagnosis = lab.explain(&second).await;
    assert_eq!(diagnosis["cause"], "waiting_for_resources");
    assert!(diagnosis.to_string().contains(&expected), "{diagnosis:#}");

    slurm("scontrol", &["update", "PartitionName=low", "State=DOWN"]).await;
    let reason = lab.event(&second, "Slurm: PartitionDown").await;
    let diagnosis = lab.explain(&second).await.to_string();
    slurm("scontrol", &["update", "PartitionName=low", "State=UP"]).await;
    assert!(reason.starts_with(&pod), "{reason}");
    assert!(diagnosis.contains("Slurm: PartitionDown"), "{diagnosis}");

    let_through(workers).await;
    let_through(lab.reached(1).await).await;
    for id in [&first, &second] {
        lab.reach(id, "Completed").await;
        lab.states(id, &["COMPLETED"]).await;
    }
    let messages = lab.site.messages(&second).await;
    let repeated = messages.iter().filter(|it| it.contains("PartitionDown"));
    assert_eq!(repeated.count(), 1, "{messages:#?}");
}

/// A partition that does not exist: the job fails with the message of Slurm, and others run.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn a_rejected_job_has_the_message_of_slurm() {
    let lab = Lab::start("[pools.pool-cpu]\npartition = \"nosuch\"\n").await;
    let mut job = lab.job("rejected", 1, "");
    job["spec"]["resource"] = json!({"pool_id": "pool-cpu"});
    let id = lab.site.create(&job).await;
    lab.reach(&id, "Abnormal").await;
    let message = lab.event(&id, "Slurm rejected the job").await;
    let start = "Training job failures: Slurm rejected the job: ";
    assert!(message.starts_with(start), "{message}");
    assert!(message.contains("nosuch"), "{message}");
    let diagnosis = lab.explain(&id).await.to_string();
    assert!(diagnosis.contains("Slurm rejected the job"), "{diagnosis}");
    assert_eq!(jobs_of(&id, "%i").await, [""; 0]);
    let other = lab.submit("other", 1, "").await;
    lab.reach(&other, "Completed").await;
}

/// Twenty jobs wait, with few calls of Slurm's commands, and run once each, three at a time.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn twenty_jobs_run_three_at_a_time() {
    let lab = Lab::start("").await;
    let blocker = lab.submit("blocker", 3, "gate()").await;
    let workers = lab.reached(3).await;
    let calls = || fs::read_to_string(Path::new(&env::var_os(SHARED).unwrap()).join("calls"));
    let before = calls().unwrap().lines().count();
    let script = "
import time
print(time.time(), 1)
time.sleep(0.3)
print(time.time(), -1)
";
    let submit = async |number| lab.submit(&format!("job-{number}"), 1, script).await;
    let ids = join_all((0..20).map(submit)).await;
    for id in &ids {
        lab.event(id, "FailedScheduling: Slurm: ").await;
    }
    // Each job has its `sbatch`. All share the look at the queue every 3 s.
    let calls = calls().unwrap();
    let looks = calls.lines().skip(before).filter(|it| *it != "sbatch");
    let looks: Vec<&str> = looks.collect();
    assert!(looks.len() <= 5, "{looks:?}");
    let_through(workers).await;
    lab.reach(&blocker, "Completed").await;
    let mut changes = Vec::new();
    for id in &ids {
        lab.reach(id, "Completed").await;
        lab.states(id, &["COMPLETED"]).await;
        let log = lab.log(id, 0).await;
        assert_eq!(log.lines().count(), 2, "{log}");
        for (time, change) in log.lines().filter_map(|line| line.split_once(' ')) {
            changes.push((time.parse::<f64>().unwrap(), change.parse::<i32>().unwrap()));
        }
    }
    changes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut running, mut most) = (0, 0);
    for (_, change) in changes {
        running += change;
        most = most.max(running);
    }
    assert_eq!(most, 3);
    assert_eq!(queue().await, [""; 0]);
}

/// Variable with the number of jobs of [`waiting_jobs_cost_little`].
const COUNT: &str = "MODELARTS_TEST_JOBS";

/// Many jobs wait without processes, with few calls of Slurm's commands and little memory, and then
/// all run. Prints the figures of BENCH.md, for which the variable is 1000.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn waiting_jobs_cost_little() {
    let cluster = Cluster::new().await;
    let shared = &cluster.shared;
    let program = ends::serve(shared).await;
    ends::put_code(shared);
    slurm("scontrol", &["update", "PartitionName=low", "State=DOWN"]).await;
    let count = env::var(COUNT).map_or(40, |count| count.parse().unwrap());
    let mut ids = Vec::new();
    for number in 0..count {
        let job = ends::careful(shared, &format!("job-{number}"), 1, 0.0, 0);
        ids.push(program.create(&job).await);
    }
    until("all jobs in the queue", async || (queue().await.len() == count).then_some(())).await;
    let process = format!("/proc/{}", program.child.id().unwrap());
    let calls = || fs::read_to_string(Path::new(&env::var_os(SHARED).unwrap()).join("calls"));
    let before = calls().unwrap().lines().count();
    let began = Instant::now();
    let more = async || (calls().unwrap().lines().count() >= before + 5).then_some(());
    until("calls of commands", more).await;
    let per_minute = 5.0 * 60.0 / began.elapsed().as_secs_f64();
    let status = fs::read_to_string(format!("{process}/status")).unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let memory: u64 = memory.trim().trim_end_matches(" kB").parse().unwrap();
    let number = program.child.id().unwrap();
    let children = fs::read_to_string(format!("{process}/task/{number}/children")).unwrap();
    println!("{count} jobs wait: {per_minute:.0} calls a minute, {memory} kB, {children:?}");
    assert!(per_minute <= 30.0 && memory <= 64 * 1024);
    assert!(children.split_whitespace().count() <= 1, "{children}");
    slurm("scontrol", &["update", "PartitionName=low", "State=UP"]).await;
    for id in &ids {
        // The times of many jobs that start at once depend on the load of the machine.
        let status = &ends::end(&program.client, id).await["status"];
        assert_eq!(
            (&status["phase"], end_reasons(status)),
            (&json!("Completed"), vec!["job completed"])
        );
    }
    println!("all have run after {:?}", began.elapsed());
}

/// Prints the times from the creation of a job, and of an `srun`, to the first line, for BENCH.md.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn a_job_starts_soon() {
    let lab = Lab::start("").await;
    let code = "import time\nprint(time.time())\n";
    let now = || SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    for round in 0..5 {
        let start = now();
        let id = lab.submit(&format!("round-{round}"), 1, code).await;
        lab.reach(&id, "Completed").await;
        let job = lab.log(&id, 0).await.trim().parse::<f64>().unwrap() - start;
        idle().await;
        let start = now();
        let options = ["-N1", "-n1", "--cpus-per-task=8", "--mem=32G", "--mpi=none"];
        let line = slurm("srun", &[&options[..], &["python3", "-c", code]].concat()).await;
        let bare = line.trim().parse::<f64>().unwrap() - start;
        idle().await;
        println!("job {job:.3} s, srun {bare:.3} s");
    }
}

/// Each job takes all CPUs of its nodes.
const POOLS: &str = r#"
[default]
cpus-per-task = 8

[pools.pool-low]
partition = "low"

[pools.pool-high]
partition = "high"
"#;

/// A job of a higher partition preempts a job, which waits and runs again. The output of its first
/// run is kept.
#[tokio::test]
#[ignore = "needs a Slurm cluster; see SLURM.md"]
async fn a_preempted_job_runs_again() {
    let lab = Lab::with(POOLS, |builder| {
        let pools = ["pool-low", "pool-high"].map(|id| Pool::new(id, PoolKind::Cpu, 3));
        pools.into_iter().fold(builder, Builder::pool)
    })
    .await;
    let script = "
import os, pathlib, sys
out = pathlib.Path(sys.argv[1].split('=')[1])
number = pathlib.Path(os.environ['SCENARIO'] + '/run-' + os.environ['VC_TASK_INDEX'])
run = int(number.read_text()) + 1 if number.exists() else 1
number.write_text(str(run))
(out / (os.environ['VC_TASK_INDEX'] + f'-run-{run}')).write_text(str(run))
print('run', run, flush=True)
gate()
";
    let mut job = lab.job("low", 3, script);
    job["spec"]["resource"] = json!({"pool_id": "pool-low", "node_count": 3});
    job["spec"]["schedule_policy"] = json!({"preemptible": true});
    let low = lab.site.create(&job).await;
    let _first = lab.reached(3).await;
    assert_eq!(jobs_of(&low, "%P").await, ["low"]);

    let mut job = lab.job("high", 1, "gate()");
    job["spec"]["resource"] = json!({"pool_id": "pool-high"});
    let high = lab.site.create(&job).await;
    let winner = lab.reached(1).await;
    lab.event(&low, "preempted").await;
    lab.reach(&low, "Pending").await;
    // The next run waits in Slurm, with its reason, after the outputs of the first came back.
    lab.event(&low, "Slurm: ").await;
    for index in 0..3 {
        assert_eq!(lab.site.read(&format!("bucket/low/out/{index}-run-1")), "1");
    }
    let_through(winner).await;
    start_now(&low).await;
    let_through(lab.reached(3).await).await;
    lab.reach(&high, "Completed").await;
    lab.reach(&low, "Completed").await;
    for index in 0..3 {
        for run in ["1", "2"] {
            let object = format!("bucket/low/out/{index}-run-{run}");
            assert_eq!(lab.site.read(&object), run);
        }
        let log = lab.log(&low, index).await;
        let runs: Vec<&str> = log.lines().filter(|it| it.starts_with("run ")).collect();
        assert_eq!(runs, ["run 1", "run 2"]);
    }
    let reasons = ["preempted", "job completed"];
    assert_eq!(end_reasons(&lab.status(&low).await), reasons);
    lab.states(&high, &["COMPLETED"]).await;
    // Slurm itself has run the job again.
    lab.states(&low, &["COMPLETED"]).await;
}
