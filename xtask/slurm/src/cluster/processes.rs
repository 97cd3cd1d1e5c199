//! Processes of a cluster, found by their environment.
//!
//! Daemons, commands, steps and jobs of a cluster have a variable that names a file in its
//! directory: `SLURM_CONF`, or a variable of the job. A process also belongs to the cluster if one
//! of its ancestors does.

use std::{
    fs,
    path::Path,
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// Time for processes to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(3);

/// Running process.
#[derive(Clone, Debug)]
pub struct Process {
    pub pid: i32,
    parent: i32,
    /// Arguments, from the program on.
    pub arguments: Vec<String>,
    /// Variables of its start, each as `NAME=value`.
    variables: Vec<u8>,
}

impl Process {
    /// Reads a process, or returns `None` if it has ended. Zombies have ended.
    fn read(pid: i32) -> Option<Self> {
        let directory = Path::new("/proc").join(pid.to_string());
        let stat = fs::read_to_string(directory.join("stat")).ok()?;
        // The name is in parentheses, and may contain parentheses and blanks.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        if matches!(fields.next()?, "Z" | "X") {
            return None;
        }
        let parent = fields.next()?.parse().ok()?;
        let arguments = fs::read(directory.join("cmdline")).ok()?;
        Some(Self {
            pid,
            parent,
            arguments: arguments
                .split(|byte| *byte == 0)
                .filter(|argument| !argument.is_empty())
                .map(|argument| String::from_utf8_lossy(argument).into_owned())
                .collect(),
            // Processes of other users cannot be read.
            variables: fs::read(directory.join("environ")).unwrap_or_default(),
        })
    }

    fn all() -> Vec<Self> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
            .filter_map(Self::read)
            .collect()
    }

    /// Returns `true` if a variable of the process is the path of a file in the directory.
    fn is_marked(&self, directory: &Path) -> bool {
        let prefix = format!("{}/", directory.display()).into_bytes();
        let values = self.variables.split(|byte| *byte == 0);
        let mut values =
            values.filter_map(|variable| variable.splitn(2, |byte| *byte == b'=').nth(1));
        values.any(|value| value.starts_with(&prefix))
    }

    /// Returns `true` if the process has opened the file.
    fn has_open(&self, file: &Path) -> bool {
        let descriptors = fs::read_dir(format!("/proc/{}/fd", self.pid));
        let mut descriptors = descriptors.into_iter().flatten().flatten();
        descriptors.any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target == file))
    }

    fn is_alive(&self) -> bool {
        Self::read(self.pid)
            .is_some_and(|now| now.parent == self.parent || now.arguments == self.arguments)
    }

    fn send(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            // The process may have ended in the meantime.
            let _ = kill_process(pid, signal);
        }
    }
}

/// Returns all processes of the cluster in a directory.
pub fn of_cluster(directory: &Path) -> Vec<Process> {
    with_descendants(|process| process.is_marked(directory))
}

/// Returns the processes that have opened a file, and those that they started. Both the daemon of a
/// node and its steps have opened the log of the node.
pub fn of_log(file: &Path) -> Vec<Process> {
    with_descendants(|process| process.has_open(file))
}

/// Returns the processes that fulfil a condition, and their descendants.
fn with_descendants(condition: impl Fn(&Process) -> bool) -> Vec<Process> {
    let own = i32::try_from(std::process::id()).unwrap_or_default();
    let (mut found, mut others): (Vec<_>, Vec<_>) = Process::all()
        .into_iter()
        .filter(|process| process.pid != own)
        .partition(condition);
    loop {
        let is_child = |process: &Process| found.iter().any(|it| it.pid == process.parent);
        let (children, rest): (Vec<_>, Vec<_>) = others.into_iter().partition(is_child);
        if children.is_empty() {
            return found;
        }
        found.extend(children);
        others = rest;
    }
}

/// Ends processes with SIGTERM, and with SIGKILL those that remain after the grace period.
pub fn end(processes: &[Process]) {
    for process in processes {
        process.send(Signal::TERM);
    }
    if !wait(processes, GRACE) {
        kill(processes);
    }
}

/// Ends processes with SIGKILL.
pub fn kill(processes: &[Process]) {
    for process in processes {
        process.send(Signal::KILL);
    }
    wait(processes, GRACE);
}

/// Waits for the end of processes. Returns `false` if one still runs at the end of the time.
fn wait(processes: &[Process], time: Duration) -> bool {
    let start = Instant::now();
    while processes.iter().any(Process::is_alive) {
        if start.elapsed() > time {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}
