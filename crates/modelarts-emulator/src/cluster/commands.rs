//! Commands of Slurm, with options that exist since Slurm 20.11, and their output as text.

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    path::Path,
    process::{Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use tokio::{process::Command, sync::Mutex};

/// Time limit of a command. The commands of Slurm time out after about ten seconds.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(15);
/// Minimum time between two reads of the queue.
pub(super) const QUEUE_PERIOD: Duration = Duration::from_secs(3);
/// Parts of the error messages of an `sbatch` that may succeed later: Slurm did not respond, or the
/// user has as many jobs in the queue as the account may have.
const LATER: [&str; 8] = [
    "Unable to contact slurm controller",
    "Socket timed out",
    "Zero Bytes were transmitted or received",
    "temporarily unable to accept job",
    "Resource temporarily unavailable",
    "Transport endpoint is not connected",
    "MaxSubmitJob",
    "MaxJobCount",
];
/// Beginning of the line that `slurmstepd` writes to the output of a batch script that it ends.
const END_MESSAGE: &str = "error: *** JOB ";

/// Batch job in the queue of Slurm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct QueuedJob {
    pub(super) id: String,
    pub(super) state: String,
    reason: String,
}

/// Cause of the end of a run that has not recorded its own end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The cluster needs the nodes for another job, or an operator has requeued the job.
    Preempted,
    NodeFault,
    /// An operator has cancelled the job.
    Cancelled,
    TimeLimit,
    Memory,
    /// The batch script has ended.
    Exited,
}

/// Batch jobs of this user by name, with those that have recently ended, the oldest first.
pub(super) type Queue = HashMap<String, Vec<QueuedJob>>;

/// Queue that all jobs share, so that the load of Slurm does not depend on their number.
#[derive(Debug, Default)]
pub(super) struct QueueReader {
    latest: Mutex<Option<Reading>>,
}

#[derive(Debug)]
struct Reading {
    begun: Instant,
    ended: Instant,
    queue: Result<Arc<Queue>, String>,
}

impl QueueReader {
    /// Returns the queue as it was at most [`QUEUE_PERIOD`] ago, or `None` if it was read before
    /// `since` and is to be read later.
    pub(super) async fn read(&self, since: Instant) -> Result<Option<Arc<Queue>>, String> {
        let mut latest = self.latest.lock().await;
        if let Some(reading) = &*latest
            && reading.ended.elapsed() < QUEUE_PERIOD
        {
            return match reading.begun >= since {
                true => reading.queue.clone().map(Some),
                false => Ok(None),
            };
        }
        let begun = Instant::now();
        let queue = read_queue().await.map(Arc::new);
        *latest = Some(Reading { begun, ended: Instant::now(), queue: queue.clone() });
        queue.map(Some)
    }
}

pub(super) async fn read_queue() -> Result<Queue, String> {
    let user = rustix::process::getuid().as_raw().to_string();
    // The name of a job is last, because that of a foreign job may contain any character.
    let options = ["-a", "-h", "-t", "all", "-u", &user, "-o", "%i|%T|%r|%j"];
    let text = run("squeue", &options).await?;
    let mut queue = Queue::new();
    for line in text.lines() {
        match parse_line(line) {
            Ok(Some((name, job))) => queue.entry(name).or_default().push(job),
            Ok(None) => {}
            Err(error) if line.starts_with(|first: char| first.is_ascii_digit()) => {
                return Err(error);
            }
            // The name of a foreign job may contain the end of a line.
            Err(_) => {}
        }
    }
    for jobs in queue.values_mut() {
        jobs.sort_by_key(|job| job.id.parse::<u64>().unwrap_or_default());
    }
    Ok(queue)
}

/// Returns the name of a job and the job, or `None` for a further part of a heterogeneous job.
fn parse_line(line: &str) -> Result<Option<(String, QueuedJob)>, String> {
    let mut fields = line.splitn(4, '|').map(|field| field.trim().to_owned());
    let [Some(id), Some(state), Some(reason), Some(name)] = [(); 4].map(|()| fields.next()) else {
        return Err(format!("squeue: the line {line:?} must have four fields"));
    };
    let (id, part) = id.split_once('+').unwrap_or((&id, "0"));
    Ok((part == "0").then(|| (name, QueuedJob { id: id.to_owned(), state, reason })))
}

impl QueuedJob {
    /// Returns `true` until all processes of the job have ended.
    pub(super) fn is_live(&self) -> bool {
        cause_of_state(&self.state).is_none()
    }

    /// Returns `true` if the job has no nodes, and is to get some.
    pub(super) fn is_waiting(&self) -> bool {
        ["PENDING", "CONFIGURING", "RESV_DEL_HOLD", "SPECIAL_EXIT"].contains(&&*self.state)
            || self.state.starts_with("REQUEUE")
    }

    /// Returns the cause of the end of the job, if Slurm has ended it.
    pub(super) fn cause(&self) -> Option<Cause> {
        cause_of_state(&self.state)
    }

    pub(super) fn reason(&self) -> String {
        let text = match &*self.reason {
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

/// Returns the cause of a state in which a job has ended.
fn cause_of_state(state: &str) -> Option<Cause> {
    Some(match state {
        "PREEMPTED" => Cause::Preempted,
        "CANCELLED" | "REVOKED" => Cause::Cancelled,
        "OUT_OF_MEMORY" => Cause::Memory,
        "TIMEOUT" | "DEADLINE" => Cause::TimeLimit,
        "NODE_FAIL" | "BOOT_FAIL" => Cause::NodeFault,
        "COMPLETED" | "FAILED" => Cause::Exited,
        _ => return None,
    })
}

/// Returns the cause of the last message of Slurm in the output of a batch script.
pub(super) fn cause_in_output(output: &str) -> Option<Cause> {
    let line = output.lines().rev().find(|line| line.contains(END_MESSAGE))?;
    let causes = [
        ("DUE TO PREEMPTION", Cause::Preempted),
        ("DUE TO JOB REQUEUE", Cause::Preempted),
        ("DUE TO TIME LIMIT", Cause::TimeLimit),
        ("DUE TO NODE FAIL", Cause::NodeFault),
        ("CANCELLED AT", Cause::Cancelled),
    ];
    causes.iter().find(|(text, _)| line.contains(text)).map(|(_, cause)| *cause)
}

/// Returns the cause of the end of a job that the controller has forgotten, from the accounting
/// database of the cluster, if there is one.
pub(super) async fn accounted_cause(id: &str) -> Option<Cause> {
    let text = run("sacct", &["-n", "-P", "-X", "-j", id, "-o", "State"]).await.ok()?;
    // The state of a cancelled job is followed by the user, `CANCELLED by 1000`.
    let state = text.lines().last()?.split_whitespace().next()?.to_owned();
    cause_of_state(&state)
}

/// Error of a command. The text is a sentence that names the command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CommandError {
    /// Slurm has refused the command with this message.
    Rejected(String),
    /// A later attempt may succeed. Slurm may have followed the command nevertheless.
    Later(String),
}

/// Submits a batch script, and returns the id of the job. The script gets the variables given here
/// and no others.
pub(super) async fn submit(
    options: &[String],
    script: &Path,
    variables: &[(OsString, OsString)],
) -> Result<String, CommandError> {
    let mut command = Command::new("sbatch");
    command.arg("--parsable").args(options).arg(script);
    command.env_clear().envs(variables.iter().cloned()).current_dir("/");
    match output("sbatch", &mut command).await {
        // In a federation, the name of the cluster follows.
        Ok(text) => match text.trim().split(';').next() {
            Some(id) if id.parse::<u64>().is_ok() => Ok(id.to_owned()),
            _ => Err(CommandError::Later(format!("sbatch printed {text:?} and no id"))),
        },
        Err(CommandError::Rejected(text)) if LATER.iter().any(|part| text.contains(part)) => {
            Err(CommandError::Later(text))
        }
        Err(error) => Err(error),
    }
}

/// Cancels jobs of Slurm.
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
    let output = output(program, Command::new(program).args(arguments)).await;
    output.map_err(|(CommandError::Rejected(text) | CommandError::Later(text))| text)
}

async fn output(program: &str, command: &mut Command) -> Result<String, CommandError> {
    // These variables of the user hide jobs, or make `scancel` ask.
    let hides =
        |name: &str| ["SQUEUE_", "SCANCEL_", "SACCT_"].iter().any(|it| name.starts_with(it));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(hides)) {
        command.env_remove(name);
    }
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = match tokio::time::timeout(COMMAND_TIMEOUT, output).await {
        Err(_) => {
            let limit = COMMAND_TIMEOUT.as_secs();
            return Err(CommandError::Later(format!("{program} did not respond within {limit} s")));
        }
        Ok(Err(error)) if error.kind() == io::ErrorKind::NotFound => {
            return Err(CommandError::Rejected(format!(
                "there is no {program} on the PATH: start the emulator on a machine with the \
                 commands of Slurm, such as a login node (package slurm-client of Debian)"
            )));
        }
        // A resource of this machine, such as descriptors or processes, may be exhausted.
        Ok(Err(error)) => {
            return Err(CommandError::Later(format!("{program} cannot be started: {error}")));
        }
        Ok(Ok(output)) => output,
    };
    if !output.status.success() {
        return Err(CommandError::Rejected(message(program, &output)));
    }
    String::from_utf8(output.stdout)
        .map_err(|_| CommandError::Later(format!("{program}: the output is not text")))
}

fn message(program: &str, output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.join(" ") {
        text if text.is_empty() => format!("{program}: {}", output.status),
        text if text.starts_with(program) => text,
        text => format!("{program}: {text}"),
    }
}

#[cfg(test)]
impl QueuedJob {
    pub(super) fn in_state(id: &str, state: &str) -> Self {
        Self { id: id.to_owned(), state: state.to_owned(), reason: "None".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_a_job_is_in_words() {
        let line = "10|PENDING|ReqNodeNotAvail, UnavailableNodes:n[1-2]|a";
        let (name, job) = parse_line(line).unwrap().unwrap();
        assert_eq!((&*job.id, &*name), ("10", "a"));
        assert!(job.is_live() && job.is_waiting());
        assert_eq!(
            job.reason(),
            "Slurm: ReqNodeNotAvail, UnavailableNodes:n[1-2]: a node that the job requires is not \
             available"
        );
    }

    #[test]
    fn a_heterogeneous_job_is_its_first_part() {
        let (_, first) = parse_line("10+0|RUNNING|None|a").unwrap().unwrap();
        assert_eq!(first.id, "10");
        assert_eq!(parse_line("10+1|RUNNING|None|a").unwrap(), None);
        let error = parse_line("2|b|PEN").unwrap_err();
        assert_eq!(error, "squeue: the line \"2|b|PEN\" must have four fields");
    }

    #[test]
    fn the_output_of_a_script_has_the_cause_of_its_end() {
        let line = |end: &str| {
            format!(
                "code\nslurmstepd-n1: error: *** JOB 1 ON n1 CANCELLED AT 2026-11-28T16:42:36{end}"
            )
        };
        for (end, cause) in [
            (" DUE TO PREEMPTION ***", Cause::Preempted),
            (" DUE TO JOB REQUEUE ***", Cause::Preempted),
            (" DUE TO TIME LIMIT ***", Cause::TimeLimit),
            (" DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS ***", Cause::NodeFault),
            (" ***", Cause::Cancelled),
        ] {
            assert_eq!(cause_in_output(&line(end)), Some(cause), "{end}");
        }
        assert_eq!(cause_in_output("error: *** STEP 1.0 ON n1 CANCELLED AT x ***\n"), None);
    }
}
