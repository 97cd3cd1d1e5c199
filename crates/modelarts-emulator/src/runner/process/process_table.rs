//! Processes of this machine, assigned to the runs of jobs by process group or by a mark that
//! children inherit: a variable, which finds a process that has left the group, and on Linux an
//! `RLIMIT_RTTIME` of thousands of years, which finds one without the variable.
//!
//! Without `/proc`, as on macOS, processes that have left their group are not found.

use std::{
    ffi::OsString,
    fs,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use sha2::{Digest, Sha256};
use tokio::{sync::Mutex, task::spawn_blocking};

/// Variable that marks runs. Its value is the instance of the emulator, a colon, and the directory
/// of the worker, followed by the name of a trial or, for an installation, `packages`.
pub(super) const RUN_VARIABLE: &str = "MODELARTS_EMULATOR_RUN";

/// Number of limits of one emulator, and of all emulators on one directory.
const LIMITS: (u64, u64) = (1_000_000, 10_000_000_000);
/// First bytes of the line of the limit in `/proc/<id>/limits`.
const LIMIT_LINE: &str = "Max realtime timeout";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunMark {
    /// Value of [`RUN_VARIABLE`].
    pub(super) variable: OsString,
    /// Value of `RLIMIT_RTTIME`, in microseconds.
    limit: u64,
}

impl RunMark {
    /// Sets the limit of a process, which is inherited by processes that it starts later.
    pub(super) fn limit(&self, process: Pid) {
        #[cfg(target_os = "linux")]
        {
            use rustix::process::{Resource, Rlimit, prlimit};
            let limit = Rlimit { current: Some(self.limit), maximum: Some(self.limit) };
            if let Err(error) = prlimit(Some(process), Resource::Rttime, limit) {
                tracing::debug!(?process, %error, "the limit that marks a process cannot be set");
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (self.limit, process);
    }
}

/// Minimum time between scans, which are needed because only the end of children is reported.
const SCAN_PAUSE: Duration = Duration::from_millis(5);
/// Maximum wait after SIGKILL. A process that is still alive then hangs in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
struct Process {
    id: Pid,
    group: i32,
    /// Value of [`RUN_VARIABLE`], or empty if the process belongs to no job.
    run: Vec<u8>,
    /// Limit that marks the process. `None` if the variable marks it, or if it belongs to no job.
    limit: Option<u64>,
}

#[derive(Debug, Default)]
pub(super) struct Scan {
    number: u64,
    took: Duration,
    /// The live processes; `None` on a system without `/proc`.
    processes: Option<Vec<Process>>,
}

impl Scan {
    fn of(&self, group: Option<Pid>, run: Option<&RunMark>) -> Vec<Pid> {
        let group = group.map(|group| group.as_raw_nonzero().get());
        let processes = self.processes.iter().flatten();
        let of = processes.filter(|process| {
            let is_marked = |run: &RunMark| {
                process.run == run.variable.as_bytes() || process.limit == Some(run.limit)
            };
            Some(process.group) == group || run.is_some_and(is_marked)
        });
        of.map(|process| process.id).collect()
    }

    /// Returns `true` if `left` is not empty or, on a system without `/proc`, if the group exists.
    fn lives(&self, group: Option<Pid>, left: &[Pid]) -> bool {
        match self.processes {
            Some(_) => !left.is_empty(),
            None => group.is_some_and(|group| test_kill_process_group(group).is_ok()),
        }
    }

    async fn pause(&self) {
        tokio::time::sleep(SCAN_PAUSE.max(self.took)).await;
    }
}

#[derive(Debug)]
pub(super) struct ProcessTable {
    /// Instance name of this emulator, random at each start. It ensures that the clean-up after a
    /// killed emulator does not affect the jobs of the next emulator on the same directory.
    instance: String,
    jobs: PathBuf,
    /// Start of this emulator, in clock ticks. Processes of its jobs started no earlier.
    since: u64,
    /// First limit of all emulators on the directory, and first limit of this emulator.
    limits: (u64, u64),
    marks: AtomicU64,
    begun: AtomicU64,
    latest: Mutex<Arc<Scan>>,
}

impl ProcessTable {
    pub(super) fn new(jobs: &Path) -> Arc<Self> {
        let own = i32::try_from(std::process::id()).ok();
        let own = own.and_then(Pid::from_raw).and_then(Stat::of);
        let instance = uuid::Uuid::new_v4();
        let digest = Sha256::digest(jobs.as_os_str().as_bytes());
        // All limits have 19 digits, of which the first 9 stand for the directory and the first 13
        // for the emulator.
        let hash = digest[..8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let first = (100_000_000 + hash % 900_000_000) * LIMITS.1;
        let emulator = instance.as_u64_pair().0 % (LIMITS.1 / LIMITS.0);
        Arc::new(Self {
            instance: instance.simple().to_string(),
            limits: (first, first + emulator * LIMITS.0),
            marks: AtomicU64::new(0),
            jobs: jobs.to_owned(),
            since: own.map_or(0, |own| own.started),
            begun: AtomicU64::new(0),
            latest: Mutex::default(),
        })
    }

    /// Returns the strings that only the environments and limits of this emulator's jobs contain.
    pub(super) fn mark(&self) -> (String, String) {
        let variable = format!("{RUN_VARIABLE}={}:", self.instance);
        let limit = format!("{LIMIT_LINE} *{}", self.limits.1 / LIMITS.0);
        (variable, limit)
    }

    /// Returns the mark of a run in the directory of a worker; `part` follows the directory.
    pub(super) fn run_mark(&self, worker: &Path, part: Option<&str>) -> RunMark {
        let mut run = OsString::from(format!("{}:", self.instance));
        run.push(worker);
        if let Some(part) = part {
            run.push("/");
            run.push(part);
        }
        let number = self.marks.fetch_add(1, Ordering::Relaxed) % LIMITS.0;
        RunMark { variable: run, limit: self.limits.1 + number }
    }

    /// Returns a scan that starts after this call. Concurrent callers share a scan.
    async fn scan(self: &Arc<Self>) -> Arc<Scan> {
        let begun = self.begun.load(Ordering::SeqCst);
        let mut latest = self.latest.lock().await;
        if latest.number <= begun {
            let table = Arc::clone(self);
            let scan = spawn_blocking(move || {
                let number = table.begun.fetch_add(1, Ordering::SeqCst) + 1;
                let start = Instant::now();
                let processes = processes(&table.jobs, table.limits.0, table.since);
                Scan { number, took: start.elapsed(), processes }
            });
            // An error means that the runtime is shutting down, and with it this task.
            *latest = Arc::new(scan.await.unwrap_or_default());
        }
        Arc::clone(&latest)
    }

    /// Waits for the end of a group or, with `has_init`, of all its processes except the leader.
    pub(super) async fn wait_for_group_end(self: &Arc<Self>, group: Pid, has_init: bool) {
        while test_kill_process_group(group).is_ok() {
            let scan = self.scan().await;
            let mut left = scan.of(Some(group), None);
            left.retain(|process| !has_init || *process != group);
            if !scan.lives(Some(group), &left) {
                return;
            }
            scan.pause().await;
        }
    }

    /// Kills the remaining processes of a run, and waits up to [`KILL_TIMEOUT`] for their end.
    pub(super) async fn end(self: &Arc<Self>, group: Option<Pid>, run: &RunMark) {
        let start = Instant::now();
        loop {
            if let Some(group) = group {
                // The error ESRCH means that the group has already ended.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let scan = self.scan().await;
            let left = scan.of(group, Some(run));
            if !scan.lives(group, &left) {
                return;
            }
            if start.elapsed() > KILL_TIMEOUT {
                tracing::warn!(?group, ?left, "processes survive SIGKILL");
                return;
            }
            end_all(left);
            scan.pause().await;
        }
    }

    /// Kills the processes of earlier emulators, and waits up to [`KILL_TIMEOUT`] for their end.
    pub(super) fn end_strays(&self) {
        let start = Instant::now();
        loop {
            let processes = processes(&self.jobs, self.limits.0, 0).unwrap_or_default();
            let strays: Vec<Pid> = processes
                .into_iter()
                .filter(|stray| !stray.run.is_empty() || stray.limit.is_some())
                .map(|stray| stray.id)
                .collect();
            if strays.is_empty() {
                return;
            }
            if start.elapsed() > KILL_TIMEOUT {
                tracing::warn!(?strays, "processes of an earlier emulator survive SIGKILL");
                return;
            }
            tracing::info!(?strays, "ending processes of an earlier emulator");
            end_all(strays);
            std::thread::sleep(SCAN_PAUSE);
        }
    }
}

fn end_all(processes: Vec<Pid>) {
    for process in processes {
        // The process may have ended in the meantime.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Lists processes started from `since` on, with their marks. Returns `None` without `/proc`.
fn processes(jobs: &Path, first_limit: u64, since: u64) -> Option<Vec<Process>> {
    let mut processes = Vec::new();
    let mut has_proc = false;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let id = entry.file_name().to_string_lossy().parse().ok();
        let Some(id) = id.and_then(Pid::from_raw) else {
            continue;
        };
        let Some(stat) = Stat::of(id) else { continue };
        has_proc = true;
        // Process 1 of a container may never collect a dead orphan. Threads of the kernel have no
        // process group.
        let is_of_kernel = stat.group == 0;
        if is_of_kernel || matches!(stat.state, b'Z' | b'X') || stat.started < since {
            continue;
        }
        // The environments of other users' processes cannot be read.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        let run = run_in(&environment, jobs).unwrap_or_default();
        let limit = || {
            let limits = fs::read_to_string(entry.path().join("limits")).ok()?;
            let line = limits.lines().find_map(|line| line.strip_prefix(LIMIT_LINE));
            let limit: u64 = line?.split_whitespace().next()?.parse().ok()?;
            (first_limit..first_limit + LIMITS.1).contains(&limit).then_some(limit)
        };
        processes.push(Process {
            id,
            group: stat.group,
            limit: if run.is_empty() { limit() } else { None },
            run,
        });
    }
    has_proc.then_some(processes)
}

/// Returns the value of [`RUN_VARIABLE`] in an environment if its directory is in `jobs`.
fn run_in(environment: &[u8], jobs: &Path) -> Option<Vec<u8>> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let run = variable.strip_prefix(RUN_VARIABLE.as_bytes())?.strip_prefix(b"=")?;
        let colon = run.iter().position(|byte| *byte == b':')?;
        let worker = PathBuf::from(OsString::from_vec(run[colon + 1..].to_vec()));
        worker.starts_with(jobs).then(|| run.to_vec())
    })
}

#[derive(Debug)]
pub(super) struct Stat {
    state: u8,
    group: i32,
    /// Start time of the process, in clock ticks since the start of the machine.
    pub(super) started: u64,
}

impl Stat {
    /// Reads the state of a process. Returns `None` if it has ended or the system has no `/proc`.
    pub(super) fn of(process: Pid) -> Option<Self> {
        let path = format!("/proc/{}/stat", process.as_raw_nonzero());
        let stat = fs::read_to_string(path).ok()?;
        // "pid (name) state ppid pgrp ...", where the name may contain spaces and parentheses.
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            group: fields.nth(1)?.parse().ok()?,
            // Field 22 of the line.
            started: fields.nth(16)?.parse().ok()?,
        })
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn concurrent_callers_share_a_scan() {
        let place = tempfile::tempdir().unwrap();
        let table = ProcessTable::new(place.path());
        for number in 1..=3 {
            let held = table.latest.lock().await;
            let mut all = futures::future::join_all((0..20).map(|_| table.scan()));
            assert!(futures::poll!(&mut all).is_pending());
            drop(held);
            for scan in all.await {
                assert_eq!(scan.number, number);
            }
            assert_eq!(table.begun.load(Ordering::SeqCst), number);
        }
    }

    #[test]
    fn a_run_is_known_by_its_directory() {
        let jobs = Path::new("/data/jobs");
        let run = |environment: &str| run_in(environment.as_bytes(), jobs);
        let of = |value: &str| Some(value.as_bytes().to_vec());
        assert_eq!(
            run("A=1\0MODELARTS_EMULATOR_RUN=x:/data/jobs/j/worker-0\0B=2\0"),
            of("x:/data/jobs/j/worker-0")
        );
        for other in [
            "",
            "A=MODELARTS_EMULATOR_RUN=x:/data/jobs/j/worker-0\0",
            "MODELARTS_EMULATOR_RUN=x:/data/jobs-2/j/worker-0\0",
            "MODELARTS_EMULATOR_RUN=/data/jobs/j/worker-0\0",
        ] {
            assert_eq!(run(other), None, "{other:?}");
        }
    }

    #[test]
    fn a_stat_is_parsed_after_the_name() {
        let own = Pid::from_raw(i32::try_from(std::process::id()).unwrap()).unwrap();
        let stat = Stat::of(own).unwrap();
        assert_eq!(stat.group, rustix::process::getpgrp().as_raw_nonzero().get());
        assert!(stat.started > 0);
        assert!(matches!(stat.state, b'R' | b'S'), "{}", stat.state);
    }
}
