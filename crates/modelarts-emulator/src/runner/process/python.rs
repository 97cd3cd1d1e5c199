//! Python interpreter for boot files, and installation of packages for the interpreter.

use std::{
    ffi::OsStr,
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Stdio,
};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::Command;

use crate::{
    files::confined_dir::ConfinedDir,
    runner::process::{
        process_table::{RUN_VARIABLE, RunMark},
        view::Stage,
        watchdog::Watchdog,
    },
};

#[derive(Debug)]
pub(crate) struct Python {
    /// Real path, because the `python3` of a version manager requires the HOME of its user.
    pub(crate) executable: PathBuf,
    /// Major and minor version, for example `3.11`.
    version: String,
    /// `true` if Python uses packages in the home directory, unlike some virtual environments.
    has_user_packages: bool,
    /// Directories with the files of the interpreter.
    pub(super) prefixes: Vec<PathBuf>,
    /// Directories with the installed packages.
    pub(super) packages: Vec<PathBuf>,
}

/// Program that prints the fields of [`Python`], one per line.
const FACTS: &str = "import site, sys, sysconfig
print(sys.executable, '%d.%d' % sys.version_info[:2], site.ENABLE_USER_SITE, sep='\\n')
print(sys.prefix, sys.base_prefix, sep='\\n')
print(*(sysconfig.get_path(name) for name in ('purelib', 'platlib')), sep='\\n')";

impl Python {
    fn read(output: &str) -> Option<Self> {
        let mut lines = output.lines();
        let mut path = || lines.next().map(PathBuf::from);
        let executable = path().filter(|path| !path.as_os_str().is_empty())?;
        let (version, user_packages) = (path()?, path()?);
        Some(Self {
            executable,
            version: version.to_str()?.to_owned(),
            has_user_packages: user_packages == Path::new("True"),
            prefixes: vec![path()?, path()?],
            packages: vec![path()?, path()?],
        })
    }

    /// Makes a wheel and the packages of a job available by a file in the home directory, because
    /// code often sets PYTHONPATH, and adds the command `python`. Returns the directory of the
    /// packages if environment variables must name it.
    pub(super) fn add_packages(
        &self,
        worker: &ConfinedDir,
        wheel: &Path,
    ) -> io::Result<Option<PathBuf>> {
        if !self.executable.with_file_name("python").exists() {
            let programs = worker.directory(Path::new("home/ma-user/.local/bin"))?;
            // The link exists already if the code runs again.
            let _ = symlink(&self.executable, programs.join("python"));
        }
        let packages = format!("home/ma-user/.local/lib/python{}/site-packages", self.version);
        let packages = Path::new(&packages);
        if !self.has_user_packages {
            return Ok(Some(packages.to_owned()));
        }
        let line = wheel.as_os_str().as_encoded_bytes();
        worker.write(&packages.join("modelarts-emulator.pth"), line)?;
        Ok(None)
    }

    /// Adds the interpreter's packages to the virtual environment, which may not inherit them.
    fn add_own_packages(&self, worker: &Path) -> io::Result<()> {
        let packages = format!("{VENV}/lib/python{}/site-packages", self.version);
        let lines: Vec<_> = self.packages.iter().map(|path| path.to_string_lossy()).collect();
        fs::write(worker.join(packages).join("modelarts-emulator.pth"), lines.join("\n"))
    }
}

/// Returns the `python3` of the `PATH`, if it works. It is determined once per process.
pub(crate) async fn python3() -> Option<&'static Python> {
    static PYTHON: tokio::sync::OnceCell<Option<Python>> = tokio::sync::OnceCell::const_new();
    PYTHON
        .get_or_init(|| async {
            let output = Command::new("python3")
                .args(["-c", FACTS])
                .env_remove("PYTHONNOUSERSITE")
                .stdin(Stdio::null())
                .stderr(Stdio::null())
                .output()
                .await
                .ok()?;
            let facts = String::from_utf8(output.stdout).ok()?;
            output.status.success().then(|| Python::read(&facts))?
        })
        .await
        .as_ref()
}

/// Installs the packages of `file`, a path as the code sees it, and returns the output of pip,
/// which does not retry. When the future is dropped, the process groups are killed; the caller must
/// end processes that have left their group.
pub(crate) async fn install(
    python: &Python,
    worker: &Path,
    stage: &Stage,
    file: &Path,
    run_mark: &RunMark,
    watchdog: &Watchdog,
) -> io::Result<String> {
    let venv = stage.root.join(VENV);
    let (facts, python) = (python, python.executable.as_os_str());
    if installed(worker, stage).is_none() {
        let options = ["-m", "venv", "--without-pip", "--system-site-packages"];
        let words = [python].into_iter().chain(options.map(OsStr::new));
        let words = words.chain([venv.as_os_str()]);
        run(&mut isolated_command(stage, words, file, run_mark), run_mark, watchdog).await?;
        facts.add_own_packages(worker)?;
    }
    let interpreter = venv.join(INTERPRETER);
    let before = ["-m", "pip", "--python"].map(OsStr::new);
    let options = ["install", "--no-input", "--disable-pip-version-check", "--no-cache-dir"];
    let more = ["--retries", "0", "--timeout", "5", "-r"];
    let words = [python].into_iter().chain(before).chain([interpreter.as_os_str()]);
    let words = words.chain(options.into_iter().chain(more).map(OsStr::new));
    let words = words.chain([file.as_os_str()]);
    run(&mut isolated_command(stage, words, file, run_mark), run_mark, watchdog).await
}

/// Path of the virtual environment below the directory of a worker.
const VENV: &str = "home/ma-user/.venv";
/// Path of the interpreter in a virtual environment.
const INTERPRETER: &str = "bin/python3";

/// Returns the interpreter of the virtual environment, as the code sees it, if it exists.
pub(super) fn installed(worker: &Path, stage: &Stage) -> Option<PathBuf> {
    let interpreter = Path::new(VENV).join(INTERPRETER);
    // The interpreter is a link to python3, which a view shows at its own path.
    let exists = fs::symlink_metadata(worker.join(&interpreter)).is_ok();
    exists.then(|| stage.root.join(interpreter))
}

/// Creates a command without inherited variables, in the directory of `file` for local wheels.
fn isolated_command<'a>(
    stage: &Stage,
    words: impl IntoIterator<Item = &'a OsStr>,
    file: &Path,
    run_mark: &RunMark,
) -> Command {
    let directory = file.parent().unwrap_or(&stage.root);
    let words = words.into_iter().map(OsStr::to_owned);
    let mut command = stage.command(&[], words, directory);
    command
        .env_clear()
        .env("PATH", "/usr/local/bin:/usr/bin:/bin")
        .env("HOME", stage.root.join("home/ma-user"))
        // The variable identifies the process if this emulator is killed.
        .env(RUN_VARIABLE, &run_mark.variable)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // Build processes that pip starts are in its process group and end with it.
        .process_group(0)
        .kill_on_drop(true);
    command
}

/// Recorded process group, which is killed if the value is dropped before the leader has ended.
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

/// Runs a command and returns its output. If the future is dropped, its process group is killed.
async fn run(command: &mut Command, mark: &RunMark, watchdog: &Watchdog) -> io::Result<String> {
    let child = command.spawn()?;
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let mut group = Group { watchdog, id: id.and_then(Pid::from_raw), ended: false };
    if let Some(id) = group.id {
        mark.limit(id);
        watchdog.add_group(id);
    }
    let output = child.wait_with_output().await?;
    group.ended = true;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    if output.status.success() {
        return Ok(out + &error);
    }
    // The last error line of pip's output states the cause.
    let message = error
        .lines()
        .rev()
        .find(|line| line.starts_with("ERROR"))
        .or_else(|| error.lines().last())
        .unwrap_or("no output");
    Err(io::Error::other(message.trim().to_owned()))
}
