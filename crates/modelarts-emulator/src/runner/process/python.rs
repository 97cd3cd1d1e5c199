//! Python interpreter for boot files, and package installation for it.

use std::{
    ffi::OsStr,
    io,
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use crate::runner::process::{process_table::RUN_VARIABLE, watchdog::Watchdog};

/// Returns the real path of python3, determined once per process.
///
/// The `python3` of a version manager is a script that requires the HOME of its user. Jobs run with
/// another HOME; the emulator therefore requests the path from the interpreter itself.
pub(crate) async fn python3() -> Option<&'static Path> {
    static PYTHON: tokio::sync::OnceCell<Option<PathBuf>> = tokio::sync::OnceCell::const_new();
    PYTHON
        .get_or_init(|| async {
            let output = Command::new("python3")
                .args(["-c", "import sys; print(sys.executable)"])
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .await
                .ok()?;
            let path = String::from_utf8(output.stdout).ok()?;
            let path = path.trim_end();
            (output.status.success() && !path.is_empty()).then(|| PathBuf::from(path))
        })
        .await
        .as_deref()
}

/// Installs the packages listed in `file` into the virtual environment in `home`, the directory of
/// a worker, and returns the output of pip. The virtual environment also provides the packages of
/// python3. `run_name` is the value of [`RUN_VARIABLE`].
///
/// When the future is dropped, or the process of the emulator ends, the process groups are killed.
/// The caller ends processes that have left them. Pip does not retry, so that the installation
/// fails quickly on a machine without a network.
pub(crate) async fn install(
    python: &Path,
    home: &Path,
    file: &Path,
    run_name: &OsStr,
    watchdog: &Watchdog,
) -> io::Result<String> {
    if installed(home).is_none() {
        let mut command = isolated_command(python, home, file, run_name);
        command.args(["-m", "venv", "--without-pip", "--system-site-packages"]);
        run(command.arg(home.join(VENV)), watchdog).await?;
    }
    let mut command = isolated_command(python, home, file, run_name);
    command
        .args(["-m", "pip", "--python"])
        .arg(home.join(VENV).join(INTERPRETER))
        .args(["install", "--no-input", "--disable-pip-version-check"])
        .args(["--no-cache-dir", "--retries", "0", "--timeout", "5", "-r"])
        .arg(file);
    run(&mut command, watchdog).await
}

/// Subdirectory of the virtual environment in the directory of a worker.
const VENV: &str = "venv";
/// Path of the interpreter in a virtual environment.
const INTERPRETER: &str = "bin/python3";

/// Returns the interpreter of the virtual environment in the directory of a worker, if it exists.
pub(super) fn installed(home: &Path) -> Option<PathBuf> {
    let interpreter = home.join(VENV).join(INTERPRETER);
    interpreter.exists().then_some(interpreter)
}

/// Returns a command that does not inherit the emulator's environment. It runs in the directory of
/// the file, so that the file can refer to local wheels.
fn isolated_command(python: &Path, home: &Path, file: &Path, run_name: &OsStr) -> Command {
    let mut command = Command::new(python);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", home)
        // The variable identifies the process if this emulator is killed.
        .env(RUN_VARIABLE, run_name)
        .current_dir(file.parent().unwrap_or(home))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Build processes that pip starts are in its process group and end with it.
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Process group that is recorded in the watchdog. If this value is dropped before the leader of
/// the group has ended, the group is killed.
struct Group<'a> {
    watchdog: &'a Watchdog,
    id: Option<Pid>,
    ended: bool,
}

impl Drop for Group<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        if !self.ended {
            // The group may have ended in the meantime.
            let _ = kill_process_group(id, Signal::KILL);
        }
        self.watchdog.remove_group(id);
    }
}

/// Runs a command and returns its output. If the future is dropped, the command is killed with all
/// processes that it has started.
async fn run(command: &mut Command, watchdog: &Watchdog) -> io::Result<String> {
    let child = command.spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = Group {
        watchdog,
        id: id.and_then(Pid::from_raw),
        ended: false,
    };
    if let Some(id) = group.id {
        watchdog.add_group(id);
    }
    let output = child.wait_with_output().await?;
    group.ended = true;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        return Ok(out + &error);
    }
    // The last line of pip's output states the cause.
    let message = error
        .lines()
        .rev()
        .find(|line| line.starts_with("ERROR"))
        .or_else(|| error.lines().last())
        .unwrap_or("no output");
    Err(io::Error::other(message.trim().to_owned()))
}
