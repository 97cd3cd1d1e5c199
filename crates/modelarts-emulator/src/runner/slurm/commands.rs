//! Commands of Slurm other than `srun`, with options that exist since Slurm 20.02.

use std::{
    io,
    path::PathBuf,
    process::{Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};
use tokio::{process::Command, sync::Mutex, time::sleep};

use crate::runner::{
    launcher::{Exit, Loss},
    process::watchdog::Watchdog,
};

/// Time limit of a command. The commands of Slurm time out after about ten seconds.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(15);
/// Minimum time between two reads of the queue.
pub(super) const QUEUE_PERIOD: Duration = Duration::from_secs(3);

/// Slurm cluster of an emulator: its queue, and the running `srun` processes.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) queue: QueueReader,
    /// Process groups of `srun`. SIGTERM makes `srun` end its workers, or its wait for nodes.
    pub(super) watchdog: Watchdog,
}

impl Cluster {
    /// Creates the state, and raises the limit of open files. `temporary` is removed at the end.
    pub(super) fn new(temporary: Option<PathBuf>) -> Self {
        // Each waiting job has an `srun`, with three pipes.
        let limit = getrlimit(Resource::Nofile);
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of open files stays low");
        }
        Self {
            queue: QueueReader::default(),
            watchdog: Watchdog::with_signal(Signal::TERM, Default::default(), temporary),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedJob {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) state: String,
    pub(super) comment: String,
    reason: String,
}

/// Jobs of this user in the queue of Slurm, including those that have recently ended.
pub(super) type Queue = Vec<QueuedJob>;

/// Queue reader that all jobs share, so that the load of Slurm does not depend on their number.
#[derive(Debug, Default)]
pub(super) struct QueueReader(Mutex<Option<Reading>>);

#[derive(Debug)]
struct Reading {
    begun: Instant,
    queue: Result<Arc<Queue>, String>,
}

impl QueueReader {
    /// Returns the queue as it was after `since`. Reads are at least [`QUEUE_PERIOD`] apart.
    pub(super) async fn read(&self, since: Instant) -> Result<Arc<Queue>, String> {
        let mut latest = self.0.lock().await;
        if let Some(reading) = &*latest {
            if reading.begun >= since {
                return reading.queue.clone();
            }
            sleep(QUEUE_PERIOD.saturating_sub(reading.begun.elapsed())).await;
        }
        let begun = Instant::now();
        let queue = read_queue().await.map(Arc::new);
        *latest = Some(Reading { begun, queue: queue.clone() });
        queue
    }

    /// Returns the queue as it was at most [`QUEUE_PERIOD`] ago.
    pub(super) async fn read_recent(&self) -> Result<Arc<Queue>, String> {
        let now = Instant::now();
        self.read(now.checked_sub(QUEUE_PERIOD).unwrap_or(now)).await
    }
}

pub(super) async fn read_queue() -> Result<Queue, String> {
    let user = rustix::process::getuid().as_raw().to_string();
    // The reason is last, because it may contain any character.
    let format = "%i|%j|%T|%k|%r";
    let text = run("squeue", &["-h", "-t", "all", "-u", &user, "-o", format]).await?;
    text.lines().map(parse_line).collect()
}

fn parse_line(line: &str) -> Result<QueuedJob, String> {
    let mut fields = line.splitn(5, '|').map(|field| field.trim().to_owned());
    let [Some(id), Some(name), Some(state), Some(comment), Some(reason)] =
        [(); 5].map(|()| fields.next())
    else {
        return Err(format!("squeue: the line {line:?} must have five fields"));
    };
    Ok(QueuedJob { id, name, state, comment, reason })
}

impl QueuedJob {
    /// Returns `true` until all processes of the job have ended.
    pub(super) fn is_live(&self) -> bool {
        let live = ["PENDING", "CONFIGURING", "RUNNING", "COMPLETING", "SUSPENDED", "STOPPED"];
        live.contains(&&*self.state) || self.state.starts_with("REQUEUE")
    }

    /// Returns the exit of the workers of a job that Slurm has ended.
    pub(super) fn exit(&self) -> Exit {
        match &*self.state {
            "PREEMPTED" => Exit::Lost(Loss::Preempted),
            "CANCELLED" | "REVOKED" => Exit::Lost(Loss::Cancelled),
            // A restarted run would have the same limits.
            "OUT_OF_MEMORY" => Exit::Code(137),
            "TIMEOUT" | "DEADLINE" => Exit::Code(143),
            _ => Exit::Lost(Loss::NodeFault),
        }
    }

    pub(super) fn is_node_failure(&self) -> bool {
        ["NODE_FAIL", "BOOT_FAIL"].contains(&&*self.state)
    }

    pub(super) fn reason(&self) -> String {
        let text = match &*self.reason {
            _ if self.state == "RUNNING" => {
                return "Slurm: the nodes are assigned, and the workers start".to_owned();
            }
            "None" | "" => return "Slurm: the job has not been considered yet".to_owned(),
            "Resources" => "the job waits for free nodes",
            "Priority" => "jobs of higher priority precede it",
            "BeginTime" => "the job may not start before its begin time",
            "Dependency" => "the job waits for another job",
            "PartitionDown" | "PartitionInactive" => "the partition does not start jobs",
            "PartitionNodeLimit" => "the job requests more nodes than the partition allows",
            "PartitionTimeLimit" => "the time limit of the job exceeds that of the partition",
            "Reservation" => "the job waits for its reservation",
            "Licenses" => "the job waits for a licence",
            "JobHeldUser" | "JobHeldAdmin" => "the job is held; `scontrol release` releases it",
            "NodeDown" => "a node that the job requires is down",
            reason if reason.starts_with("ReqNodeNotAvail") => {
                "a node that the job requires is not available"
            }
            reason if reason.starts_with("QOS") || reason.starts_with("Assoc") => {
                "a limit of the account or of the QOS is reached"
            }
            reason => return format!("Slurm: {reason}"),
        };
        format!("Slurm: {}: {text}", self.reason)
    }
}

/// Cancels jobs of Slurm. Jobs that have already ended are not an error.
pub(super) async fn cancel(ids: &[&str]) -> Result<(), String> {
    run("scancel", ids).await.map(|_| ())
}

/// Changes properties of a waiting job, such as `QOS=high`.
pub(super) async fn update(id: &str, changes: &[String]) -> Result<(), String> {
    let id = format!("JobId={id}");
    let mut arguments = vec!["update", &id];
    arguments.extend(changes.iter().map(String::as_str));
    run("scontrol", &arguments).await.map(|_| ())
}

/// Runs a command of Slurm, and returns its output. The error is a sentence that names the command.
pub(super) async fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(COMMAND_TIMEOUT, command.output()).await;
    let output = match output {
        Err(_) => {
            let limit = COMMAND_TIMEOUT.as_secs();
            return Err(format!("{program} did not respond within {limit} s"));
        }
        Ok(Err(error)) => return Err(start_error(program, &error)),
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        return Err(failure(program, &output));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{program}: the output is not text"))
}

pub(super) fn start_error(program: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!(
            "there is no {program} on the PATH: start the emulator on a machine with the commands \
             of \
             Slurm, such as a login node (package slurm-client of Debian)"
        ),
        _ => format!("{program} cannot be started: {error}"),
    }
}

fn failure(program: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    match line {
        Some(line) if line.starts_with(program) => line.to_owned(),
        Some(line) => format!("{program}: {line}"),
        None => format!("{program}: {}", output.status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_job_is_in_words() {
        let line = "10|a|PENDING|token|ReqNodeNotAvail, UnavailableNodes:n[1|2]";
        let job = parse_line(line).unwrap();
        assert_eq!((&*job.id, &*job.name, &*job.comment), ("10", "a", "token"));
        assert!(job.is_live());
        assert_eq!(
            job.reason(),
            "Slurm: ReqNodeNotAvail, UnavailableNodes:n[1|2]: a node that the job requires is not \
             available"
        );
    }

    #[test]
    fn an_output_that_is_cut_is_an_error() {
        let error = parse_line("2|b|PEN").unwrap_err();
        assert_eq!(error, "squeue: the line \"2|b|PEN\" must have five fields");
    }

    #[test]
    fn the_state_of_a_job_decides_its_exit() {
        let job = |state: &str| QueuedJob {
            id: "1".into(),
            name: "a".into(),
            comment: String::new(),
            state: state.into(),
            reason: "None".into(),
        };
        for (state, exit) in [
            ("PREEMPTED", Exit::Lost(Loss::Preempted)),
            ("CANCELLED", Exit::Lost(Loss::Cancelled)),
            ("NODE_FAIL", Exit::Lost(Loss::NodeFault)),
            ("BOOT_FAIL", Exit::Lost(Loss::NodeFault)),
            ("FAILED", Exit::Lost(Loss::NodeFault)),
            ("OUT_OF_MEMORY", Exit::Code(137)),
            ("TIMEOUT", Exit::Code(143)),
        ] {
            assert!(!job(state).is_live(), "{state}");
            assert_eq!(job(state).exit(), exit, "{state}");
        }
        assert!(job("COMPLETING").is_live());
    }
}
