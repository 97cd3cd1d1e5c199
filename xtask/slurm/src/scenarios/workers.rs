//! Jobs with several workers.

use std::{
    collections::BTreeSet,
    net::TcpListener,
    time::{Duration, Instant},
};

use anyhow::{Result, ensure};
use modelarts_ext::Outcome;

use crate::site::{Launcher, Site, completed, end_of, equal, log};

/// The first worker listens at the first of `VC_WORKER_HOSTS`. The others connect to it. Each
/// receives the sum of the indexes.
const MEETING: &str = "
import socket
hosts = os.environ['VC_WORKER_HOSTS'].split(',')
index = int(os.environ['VC_TASK_INDEX'])
address = (hosts[0], int(os.environ['MEETING_PORT']))
if index == 0:
    server = socket.create_server(address)
    others = [server.accept()[0] for _ in hosts[1:]]
    total = sum(int(other.recv(1)) for other in others)
    for other in others:
        other.sendall(str(total).encode())
else:
    while True:
        try:
            connection = socket.create_connection(address, timeout=60)
            break
        except ConnectionRefusedError:
            time.sleep(0.02)
    connection.sendall(str(index).encode())
    total = int(connection.recv(9))
node = os.environ.get('SLURMD_NODENAME', '')
note('workers', index, len(hosts), os.environ['MA_NUM_HOSTS'], total, node)
print('worker', index, 'of', len(hosts), 'received', total)
";

/// Worker 1 exits with 7, when all have started. The others would not end by themselves.
const EXIT: &str = "
note('started', task)
if task == 'worker-1':
    while len((notes / 'started').read_text().splitlines()) < 3:
        time.sleep(0.01)
    sys.exit(7)
time.sleep(600)
";

/// Three workers on three nodes meet over TCP.
pub async fn three_meet(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let job = site.job(&client, "meeting", MEETING)?.nodes(3);
    let job = job.env("MEETING_PORT", port.to_string()).submit().await?;
    let end = completed(&job).await?;
    equal(
        "tasks",
        &end.tasks(),
        &["worker-0", "worker-1", "worker-2"]
            .map(str::to_owned)
            .as_slice(),
    )?;
    for index in 0..3 {
        let lines = log(&job, &format!("worker-{index}")).await?;
        equal(
            "log",
            &lines,
            &vec![format!("worker {index} of 3 received 3")],
        )?;
    }
    let mut workers = site.notes("workers");
    workers.sort();
    let nodes: BTreeSet<&str> = workers
        .iter()
        .filter_map(|line| line.split(' ').nth(4))
        .collect();
    for (index, worker) in workers.iter().enumerate() {
        ensure!(
            worker.starts_with(&format!("{index} 3 3 3 ")),
            "{workers:?}"
        );
    }
    if site.launcher == Launcher::Slurm {
        let jobs = site.slurm_jobs(&job)?;
        equal("nodes", &jobs[0].nodes.as_str(), &"n[1-3]")?;
        equal("resources", &jobs[0].resources.as_str(), &"24 32G N/A")?;
        // The variable of Slurm may be kept from the code.
        ensure!(
            nodes.len() == 3 || nodes.iter().all(|name| name.is_empty()),
            "{nodes:?}"
        );
    }
    site.expect_slurm_jobs(&job, &["COMPLETED"]).await
}

/// A worker exits with 7: the job fails with the name of this worker, and the others end.
pub async fn one_exits_with_7(site: &Site<'_>) -> Result<()> {
    let emulator = site.serve().await?;
    let client = emulator.client()?;
    let job = site.job(&client, "exit", EXIT)?.nodes(3).submit().await?;
    site.wait_for_notes("started", 3).await?;
    let start = Instant::now();
    let end = end_of(&job).await?;
    let took = start.elapsed();
    ensure!(
        took < Duration::from_secs(10),
        "the job ended only after {took:?}"
    );
    match end.outcome() {
        Outcome::Failed {
            exit_code: Some(7),
            task: Some(task),
            ..
        } if task == "worker-1" => {}
        other => anyhow::bail!("the job {other}, {other:?}"),
    }
    equal(
        "exit codes",
        &end.job().exit_codes().collect(),
        &vec![("worker-1", 7)],
    )?;
    let diagnosis = job.explain().await?;
    equal(
        "task of the diagnosis",
        &diagnosis.task.as_deref(),
        &Some("worker-1"),
    )?;
    equal("exit code of the diagnosis", &diagnosis.exit_code, &Some(7))?;
    ensure!(
        site.processes().is_empty(),
        "processes are left: {:?}",
        site.processes()
    );
    // The shims end by themselves when they have copied the outputs.
    site.expect_slurm_jobs(&job, &["COMPLETED"]).await
}
