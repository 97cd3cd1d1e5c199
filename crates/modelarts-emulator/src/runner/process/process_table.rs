//! The processes of this machine, and the runs of jobs that they belong to.
//!
//! A process that has left the process group of its run, by `setsid` or as a daemon, is recognised
//! by a variable that the emulator sets in the environment of each run and that children inherit.
//! Both are read from `/proc`. Without it, as on macOS, only process groups are known. A process
//! that has also replaced its environment is not found.

use std::{
    ffi::{OsStr, OsString},
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
use tokio::{sync::Mutex, task::spawn_blocking};

/// The name of the variable. Its value is the emulator's own name, a colon, and the directory of
/// the worker; for a trial its name follows, for an installation `packages`.
pub(super) const RUN_VARIABLE: &str = "MODELARTS_EMULATOR_RUN";

/// Least time between two scans for the same run: the end of a process that is no child of the
/// emulator is not signalled.
const SCAN_PAUSE: Duration = Duration::from_millis(5);
/// Time to wait after SIGKILL. A process that survives it hangs in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of scans for processes that start others while they are being ended.
const MAX_SCANS: u32 = 100;

/// A live process.
#[derive(Debug)]
struct Process {
    id: Pid,
    group: i32,
    /// The value of [`RUN_VARIABLE`] if the process belongs to a job, or empty.
    run: Vec<u8>,
}

/// The live processes at one moment.
#[derive(Debug, Default)]
pub(super) struct Scan {
    number: u64,
    took: Duration,
    /// `None` without `/proc`.
    processes: Option<Vec<Process>>,
}

impl Scan {
    fn of(&self, group: Option<Pid>, run: &OsStr) -> Vec<Pid> {
        let group = group.map(|group| group.as_raw_nonzero().get());
        let processes = self.processes.iter().flatten();
        let of = processes.filter(|process| {
            Some(process.group) == group || (!run.is_empty() && process.run == run.as_bytes())
        });
        of.map(|process| process.id).collect()
    }

    /// True if processes are `left`, or, without `/proc`, the group exists.
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

/// The reader of processes for all runs of one emulator.
#[derive(Debug)]
pub(super) struct ProcessTable {
    /// The emulator's own name, random at each start, so that the clean-up after a killed emulator
    /// does not affect the jobs of the next one on the same directory.
    instance: String,
    /// The parent of the directories of all jobs.
    jobs: PathBuf,
    /// Start of this emulator, in ticks: processes of its jobs are not older.
    since: u64,
    /// Number of scans that have been started.
    begun: AtomicU64,
    latest: Mutex<Arc<Scan>>,
}

impl ProcessTable {
    pub(super) fn new(data_dir: &Path) -> Arc<Self> {
        let own = i32::try_from(std::process::id()).ok();
        let own = own.and_then(Pid::from_raw).and_then(Stat::of);
        Arc::new(Self {
            instance: uuid::Uuid::new_v4().simple().to_string(),
            jobs: data_dir.join("jobs"),
            since: own.map_or(0, |own| own.started),
            begun: AtomicU64::new(0),
            latest: Mutex::default(),
        })
    }

    /// A text in the environment of every process of this emulator's jobs, and of no other process.
    pub(super) fn mark(&self) -> String {
        format!("{RUN_VARIABLE}={}:", self.instance)
    }

    /// The value of [`RUN_VARIABLE`] for a run in the directory of a worker; `part` follows the
    /// directory.
    pub(super) fn run_value(&self, worker: &Path, part: Option<&str>) -> OsString {
        let mut run = OsString::from(format!("{}:", self.instance));
        run.push(worker);
        if let Some(part) = part {
            run.push("/");
            run.push(part);
        }
        run
    }

    /// A scan that starts after this call. Concurrent callers share one.
    async fn scan(self: &Arc<Self>) -> Arc<Scan> {
        let begun = self.begun.load(Ordering::SeqCst);
        let mut latest = self.latest.lock().await;
        if latest.number <= begun {
            let table = Arc::clone(self);
            let scan = spawn_blocking(move || {
                let number = table.begun.fetch_add(1, Ordering::SeqCst) + 1;
                let start = Instant::now();
                let processes = processes(&table.jobs, table.since);
                Scan {
                    number,
                    took: start.elapsed(),
                    processes,
                }
            });
            // An error means that the runtime ends, and this task with it.
            *latest = Arc::new(scan.await.unwrap_or_default());
        }
        Arc::clone(&latest)
    }

    /// Waits until no process of the group is alive.
    pub(super) async fn wait_for_group_end(self: &Arc<Self>, group: Pid) {
        while test_kill_process_group(group).is_ok() {
            let scan = self.scan().await;
            if !scan.lives(Some(group), &scan.of(Some(group), OsStr::new(""))) {
                return;
            }
            scan.pause().await;
        }
    }

    /// Kills the remaining processes of a run, and waits until they have ended.
    pub(super) async fn end(self: &Arc<Self>, group: Option<Pid>, run: &OsStr) {
        let start = Instant::now();
        loop {
            if let Some(group) = group {
                // ESRCH: the group has already ended.
                let _ = kill_process_group(group, Signal::KILL);
            }
            let scan = self.scan().await;
            let left = scan.of(group, run);
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

    /// Ends all processes of earlier emulators on the same directory.
    pub(super) fn end_strays(&self) {
        for _ in 0..MAX_SCANS {
            let processes = processes(&self.jobs, 0).unwrap_or_default();
            let strays = processes.into_iter().filter(|stray| !stray.run.is_empty());
            let strays: Vec<Pid> = strays.map(|stray| stray.id).collect();
            if strays.is_empty() {
                return;
            }
            tracing::warn!(?strays, "ending processes of an earlier emulator");
            end_all(strays);
        }
        tracing::warn!("processes of an earlier emulator still run");
    }
}

fn end_all(processes: Vec<Pid>) {
    for process in processes {
        // The process may have ended in the meantime.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// The live processes that are not older than `since`, in ticks.
fn processes(jobs: &Path, since: u64) -> Option<Vec<Process>> {
    let mut processes = Vec::new();
    let mut has_proc = false;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let id = entry.file_name().to_string_lossy().parse().ok();
        let Some(id) = id.and_then(Pid::from_raw) else {
            continue;
        };
        let Some(stat) = Stat::of(id) else { continue };
        has_proc = true;
        // Zombies do not count: a dead orphan stays a zombie until process 1 collects it, which in
        // containers may never happen.
        if matches!(stat.state, b'Z' | b'X') || stat.started < since {
            continue;
        }
        // The environment of another user's process cannot be read.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        processes.push(Process {
            id,
            group: stat.group,
            run: run_in(&environment, jobs).unwrap_or_default(),
        });
    }
    has_proc.then_some(processes)
}

/// The value of [`RUN_VARIABLE`] in an environment, if its directory is in `jobs`.
fn run_in(environment: &[u8], jobs: &Path) -> Option<Vec<u8>> {
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| {
        let run = variable
            .strip_prefix(RUN_VARIABLE.as_bytes())?
            .strip_prefix(b"=")?;
        let colon = run.iter().position(|byte| *byte == b':')?;
        let worker = PathBuf::from(OsString::from_vec(run[colon + 1..].to_vec()));
        worker.starts_with(jobs).then(|| run.to_vec())
    })
}

/// Fields of `/proc/<id>/stat`.
#[derive(Debug)]
pub(super) struct Stat {
    state: u8,
    group: i32,
    /// Ticks since the machine started.
    pub(super) started: u64,
}

impl Stat {
    /// Reads the fields; `None` if the process has ended, or there is no `/proc`.
    pub(super) fn of(process: Pid) -> Option<Self> {
        let path = format!("/proc/{}/stat", process.as_raw_nonzero());
        let stat = fs::read_to_string(path).ok()?;
        // "pid (name) state ppid pgrp ...": the name may hold blanks and parentheses.
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            group: fields.nth(1)?.parse().ok()?,
            // The 22nd field.
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
        assert_eq!(
            stat.group,
            rustix::process::getpgrp().as_raw_nonzero().get()
        );
        assert!(stat.started > 0);
        assert!(matches!(stat.state, b'R' | b'S'), "{}", stat.state);
    }
}
