//! Installs the package for Python as its users do, and runs its programs and its pytest plugin.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};

use crate::outcome::{Outcome, passes};
use crate::{dist::wheel, workspace};

/// Scripts of jobs that run on this machine, with the exit code of `modelarts run --local`.
const SCRIPTS: [(&str, &str, i32); 2] = [
    ("train.py", "print('trained')\n", 0),
    ("fails.py", "raise SystemExit(3)\n", 10),
];

pub fn run() -> Result<Outcome> {
    let directory = workspace::root().join("target/wheel-check");
    if directory.exists() {
        fs::remove_dir_all(&directory)?;
    }
    // The wheel of this build is large, and is not kept.
    let stored = ["--compression-method", "stored"].map(str::to_owned);
    let file = wheel::build("dev", &directory.join("wheels"), &stored)?;
    let environment = Environment::create(&directory)?;
    environment.install(&file)?;
    let jobs = directory.join("jobs");
    fs::create_dir(&jobs)?;
    for (name, script, code) in SCRIPTS {
        fs::write(jobs.join(name), script)?;
        let status = environment
            .command("modelarts")?
            .current_dir(&jobs)
            .args(["run", "--local", name])
            .status()
            .with_context(|| format!("modelarts run --local {name}"))?;
        if status.code() != Some(code) {
            return Ok(Outcome::Failed(format!(
                "modelarts run --local {name}: {status}, must be {code}"
            )));
        }
    }
    let tools = wheel::python()?;
    let tests = wheel::project().join("python/tests");
    let outcome = passes(
        environment
            .command("python3")?
            // The options prevent cache files in the folder of the package.
            .args(["-B", "-m", "pytest", "-p", "no:cacheprovider"])
            .arg(&tests)
            // pytest itself is not installed in the environment.
            .env("PYTHONPATH", packages(&tools)?),
    )?;
    if outcome != Outcome::Passed {
        return Ok(outcome);
    }
    passes(
        Command::new(tools)
            .args(["-m", "mypy", "--cache-dir=/dev/null", "--config-file"])
            .arg(wheel::project().join("pyproject.toml"))
            .arg(wheel::project().join("python/modelarts_tools"))
            .arg(tests),
    )
}

/// Python environment of a user who has neither Rust nor settings.
struct Environment {
    directory: PathBuf,
}

impl Environment {
    fn create(directory: &Path) -> Result<Self> {
        let environment = Self {
            directory: directory.to_owned(),
        };
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(directory.join("venv"));
        succeeds(&mut command)?;
        Ok(environment)
    }

    /// Installs the wheel, and nothing else: it must not need other packages.
    fn install(&self, wheel: &Path) -> Result<()> {
        let mut command = self.command("python3")?;
        command
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
            ])
            .arg("--no-index")
            .arg(wheel);
        succeeds(&mut command)
    }

    fn program(&self, name: &str) -> PathBuf {
        self.directory.join("venv/bin").join(name)
    }

    /// Returns a program of the environment, without the variables of this process and without
    /// cargo on its path.
    fn command(&self, name: &str) -> Result<Command> {
        let home = self.directory.join("home");
        fs::create_dir_all(&home)?;
        let mut command = Command::new(self.program(name));
        command
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", self.search_path()?)
            .env("HOME", home);
        Ok(command)
    }

    fn search_path(&self) -> Result<OsString> {
        let path = env::var_os("PATH").unwrap_or_default();
        let others = env::split_paths(&path).filter(|directory| !directory.join("cargo").exists());
        let own = self.directory.join("venv/bin");
        Ok(env::join_paths([own].into_iter().chain(others))?)
    }
}

/// Returns the folder in which an environment has its packages.
fn packages(python: &Path) -> Result<PathBuf> {
    let output = Command::new(python)
        .args([
            "-c",
            "import sysconfig; print(sysconfig.get_path('purelib'))",
        ])
        .output()
        .with_context(|| format!("{} could not be started", python.display()))?;
    ensure!(output.status.success(), "{} failed", python.display());
    Ok(PathBuf::from(String::from_utf8(output.stdout)?.trim()))
}

fn succeeds(command: &mut Command) -> Result<()> {
    match passes(command)? {
        Outcome::Passed => Ok(()),
        outcome => anyhow::bail!("{}: {outcome:?}", command.get_program().display()),
    }
}
