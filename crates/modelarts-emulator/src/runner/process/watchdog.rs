//! Watchdog: a process that kills the processes of jobs and removes the temporary directory after
//! the emulator has ended, which closes the other end of its socket. The watchdog has a process
//! group of its own, so that Ctrl-C does not reach it.

use std::{
    collections::HashSet,
    io::{self, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::Stdio,
};

use parking_lot::Mutex;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

const SCRIPT: &str = include_str!("watchdog.sh");

/// Process groups of an emulator, which a watchdog process ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Strings of [`mark`](crate::runner::process::process_table::ProcessTable::mark), or empty.
    mark: (String, String),
    temporary: Option<PathBuf>,
    groups: Mutex<Groups>,
}

#[derive(Debug, Default)]
struct Groups {
    live: HashSet<Pid>,
    /// Socket to the watchdog process, if it runs. Writing to a closed pipe could raise SIGPIPE.
    line: Option<UnixStream>,
}

impl Watchdog {
    /// Creates a watchdog that kills the groups. Must be called within the tokio runtime.
    pub(crate) fn new(mark: (String, String), temporary: Option<PathBuf>) -> Self {
        let watchdog = Self { mark, temporary, groups: Mutex::default() };
        if watchdog.temporary.is_some() {
            watchdog.groups.lock().line = watchdog.start(&HashSet::new());
        }
        watchdog
    }

    /// Records a process group. Must be called within the tokio runtime.
    pub(crate) fn add_group(&self, group: Pid) {
        let mut groups = self.groups.lock();
        groups.live.insert(group);
        let sent = groups.line.as_mut().map(|line| send(line, '+', group));
        if !matches!(sent, Some(Ok(()))) {
            groups.line = self.start(&groups.live);
        }
    }

    /// Starts the watchdog process. If the start fails, the emulator continues without it.
    fn start(&self, live: &HashSet<Pid>) -> Option<UnixStream> {
        let start = || -> io::Result<UnixStream> {
            let (mut line, end) = UnixStream::pair()?;
            // The runtime reaps the process when it ends.
            Command::new("/bin/sh")
                .args(["-c", SCRIPT, "modelarts-emulator-watchdog", &self.mark.0])
                .arg(self.temporary.as_deref().unwrap_or(Path::new("")))
                .arg(&self.mark.1)
                .env_clear()
                .env("PATH", "/usr/local/bin:/usr/bin:/bin")
                .current_dir("/")
                .stdin(Stdio::from(OwnedFd::from(end)))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .process_group(0)
                .spawn()?;
            for group in live {
                send(&mut line, '+', *group)?;
            }
            Ok(line)
        };
        start()
            .inspect_err(|error| {
                tracing::warn!(%error, "no watchdog: processes and temporary files stay if this \
                     process is killed");
            })
            .ok()
    }

    /// Removes the record of an ended process group, because its number may be reused.
    pub(crate) fn remove_group(&self, group: Pid) {
        let mut groups = self.groups.lock();
        if groups.live.remove(&group)
            && let Some(line) = &mut groups.line
        {
            // If the watchdog process has been killed, the next group starts a new one.
            let _ = send(line, '-', group);
        }
    }

    /// Kills all groups. The watchdog process kills the processes that have left their groups.
    pub(crate) fn end_all(&self) {
        let mut groups = self.groups.lock();
        for group in groups.live.drain() {
            // The group may have ended in the meantime.
            let _ = kill_process_group(group, Signal::KILL);
        }
        groups.release();
    }
}

impl Groups {
    /// Announces the orderly end, after which the watchdog ends the remaining processes.
    fn release(&mut self) {
        if let Some(mut line) = self.line.take() {
            // If the watchdog process has been killed, the announcement is not needed.
            let _ = line.write_all(b"=\n");
        }
    }
}

fn send(line: &mut UnixStream, sign: char, group: Pid) -> io::Result<()> {
    let text = format!("{sign}{}\n", group.as_raw_nonzero());
    line.write_all(text.as_bytes())
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.groups.get_mut().release();
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    use std::process::Command;

    use super::*;

    /// After an orderly end, the directory stays: another emulator may use it.
    #[test]
    fn the_directory_is_removed_unless_the_emulator_does_so_itself() {
        for (lines, is_left) in [("", false), ("=\n", true)] {
            let place = tempfile::tempdir().unwrap();
            let directory = place.path().join("directory");
            std::fs::create_dir(&directory).unwrap();
            let mut script = Command::new("/bin/sh")
                .args(["-c", SCRIPT, "watchdog", "mark"])
                .arg(&directory)
                .stdin(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            script.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
            assert!(script.wait().unwrap().success());
            assert_eq!(directory.exists(), is_left, "{lines:?}");
        }
    }

    /// An empty mark would match the environment of every process.
    #[test]
    fn an_empty_mark_ends_the_groups_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        // This file replaces the command that finds the processes with the mark.
        let grep = place.path().join("grep");
        std::fs::write(&grep, "#!/bin/sh\n: > \"$0.called\"\n").unwrap();
        std::fs::set_permissions(&grep, PermissionsExt::from_mode(0o700)).unwrap();
        for (mark, called) in [("", false), ("mark", true)] {
            let mut sleep = Command::new("sleep");
            let mut group = sleep.arg("1000").process_group(0).spawn().unwrap();
            let mut script = Command::new("/bin/sh")
                .args(["-c", SCRIPT, "watchdog", mark, ""])
                .env("PATH", place.path())
                .stdin(Stdio::piped())
                .process_group(0)
                .spawn()
                .unwrap();
            writeln!(script.stdin.take().unwrap(), "+{}", group.id()).unwrap();
            script.wait().unwrap();
            assert_eq!(group.wait().unwrap().signal(), Some(9));
            assert_eq!(place.path().join("grep.called").exists(), called);
        }
    }
}
