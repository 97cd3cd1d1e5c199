//! The processes of this machine, and the runs of jobs that they belong to.
//!
//! A process that has left the process group of its run, by `setsid` or as a daemon, is recognised
//! by a variable that the emulator sets in the environment of each run and that children inherit.
//! Both are read from `/proc`. Where there is none, as on macOS, process groups are all that is
//! known. A process that has also replaced its environment is not found.

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

use rustix::process::{Pid, Signal, kill_process};
use tokio::{sync::Mutex, task::spawn_blocking};

use crate::runner::process::process_group;

/// The variable. Its value is the emulator's own name, a colon, and the directory of the worker;
/// behind it the name of a trial, or `packages` if packages are installed.
pub(super) const RUN_VARIABLE: &str = "MODELARTS_EMULATOR_RUN";

/// How long to wait at least between two scans for the same run: nothing tells when a process that
/// is no child of the emulator ends.
const SCAN_PAUSE: Duration = Duration::from_millis(5);
/// How long to look after SIGKILL. What lives then cannot be killed: it hangs in the kernel.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);
/// How often at most to scan for processes that start others while they are ended.
const MAX_SCANS: u32 = 100;

/// A process that lives.
#[derive(Debug)]
struct Process {
    id: Pid,
    group: i32,
    /// The value of [`RUN_VARIABLE`] if it is a job's, or empty.
    run: Vec<u8>,
}

/// The processes that lived at one moment.
#[derive(Debug, Default)]
pub(super) struct Scan {
    number: u64,
    took: Duration,
    /// Nothing where there is no `/proc`.
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
}

/// Reads the processes for all runs of one emulator.
#[derive(Debug)]
pub(super) struct ProcessTable {
    /// The emulator's own name: another one at each start, so that what ends the jobs of an
    /// emulator that has died leaves those of the next one on the same directory alone.
    instance: String,
    /// The directory that has the directories of all jobs.
    jobs: PathBuf,
    /// When this emulator started, in ticks: no process of its jobs is older.
    since: u64,
    /// How many scans have begun.
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

    /// A text in the environment of every process of this emulator's jobs, and of no other.
    pub(super) fn mark(&self) -> String {
        format!("{RUN_VARIABLE}={}:", self.instance)
    }

    /// The value of [`RUN_VARIABLE`] for a run in the directory of a worker; `part` is what
    /// [`RUN_VARIABLE`] has behind the directory.
    pub(super) fn run_value(&self, worker: &Path, part: Option<&str>) -> OsString {
        let mut run = OsString::from(format!("{}:", self.instance));
        run.push(worker);
        if let Some(part) = part {
            run.push("/");
            run.push(part);
        }
        run
    }

    /// A scan that has begun after this call. All who ask at the same time share one.
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
            // An error is the end of the runtime, and of all that waits for this.
            *latest = Arc::new(scan.await.unwrap_or_default());
        }
        Arc::clone(&latest)
    }

    /// Waits until no process of the group lives.
    pub(super) async fn wait_for_group_end(self: &Arc<Self>, group: Pid) {
        while process_group::exists(group) {
            let scan = self.scan().await;
            if scan.processes.is_some() && scan.of(Some(group), OsStr::new("")).is_empty() {
                return;
            }
            tokio::time::sleep(SCAN_PAUSE.max(scan.took)).await;
        }
    }

    /// Kills what still lives of a run, and waits until it has gone.
    pub(super) async fn end(self: &Arc<Self>, group: Option<Pid>, run: &OsStr) {
        let start = Instant::now();
        loop {
            if let Some(group) = group {
                // ESRCH: it has gone, which is what is wanted.
                let _ = process_group::signal(group, Signal::KILL);
            }
            let scan = self.scan().await;
            let left = scan.of(group, run);
            let lives = match scan.processes {
                Some(_) => !left.is_empty(),
                None => group.is_some_and(process_group::exists),
            };
            if !lives {
                return;
            }
            if start.elapsed() > KILL_TIMEOUT {
                tracing::warn!(?group, ?left, "killed processes still live");
                return;
            }
            end_all(left);
            tokio::time::sleep(SCAN_PAUSE.max(scan.took)).await;
        }
    }

    /// Ends all that earlier emulators on the same directory have left.
    pub(super) fn end_strays(&self) {
        for _ in 0..MAX_SCANS {
            let processes = processes(&self.jobs, 0).unwrap_or_default();
            let strays = processes.into_iter().filter(|stray| !stray.run.is_empty());
            let strays: Vec<Pid> = strays.map(|stray| stray.id).collect();
            if strays.is_empty() {
                return;
            }
            tracing::warn!(?strays, "an earlier emulator has left them: they are ended");
            end_all(strays);
        }
        tracing::warn!("processes of an earlier emulator still run");
    }
}

fn end_all(processes: Vec<Pid>) {
    for process in processes {
        // It may have gone in this moment.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Those that live, and are not older than `since`, in ticks.
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
        // Zombies do not count: a dead orphan stays one until process 1 collects it, which in
        // containers may be never.
        if matches!(stat.state, b'Z' | b'X') || stat.started < since {
            continue;
        }
        // That of another user cannot be read.
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        processes.push(Process {
            id,
            group: stat.group,
            run: run_in(&environment, jobs).unwrap_or_default(),
        });
    }
    has_proc.then_some(processes)
}

/// The value of [`RUN_VARIABLE`] in an environment, if the directory that it names is in `jobs`.
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
    /// In ticks since the machine started.
    pub(super) started: u64,
}

impl Stat {
    /// Nothing if the process has gone, or there is no `/proc`.
    pub(super) fn of(process: Pid) -> Option<Self> {
        let path = format!("/proc/{}/stat", process.as_raw_nonzero());
        let stat = fs::read_to_string(path).ok()?;
        // "pid (name) state ppid pgrp ...": the name may hold blanks and parentheses.
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        Some(Self {
            state: *fields.next()?.as_bytes().first()?,
            group: fields.nth(1)?.parse().ok()?,
            // The 22nd of all.
            started: fields.nth(16)?.parse().ok()?,
        })
    }
}

#[cfg(target_os = "linux")]
#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_who_ask_at_the_same_time_share_a_scan() {
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
    fn a_stat_is_read_behind_the_name() {
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
