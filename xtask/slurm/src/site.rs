//! Place of a scenario: its directory, the cluster, and the scripts of its jobs.

use std::{
    env,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use futures::TryStreamExt;
use modelarts_ext::{Client, CreateJob, Job, JobHandle, LogItem, jobs::wait::Waited, types::Phase};

use crate::{
    cluster::{
        Cluster, SlurmJob, packages,
        processes::{self, Process},
    },
    emulator::{Emulator, TOKEN},
};

/// Time limit of each wait of a scenario. A node that was killed is down after 30 seconds.
const LIMIT: Duration = Duration::from_secs(90);
/// Time in which the job of Slurm ends when a job has ended.
const SLURM: Duration = Duration::from_secs(15);
/// Interval of polls.
const INTERVAL: Duration = Duration::from_millis(50);

/// Beginning of all scripts. A script appends lines to files that the scenario reads, and waits for
/// files that the scenario writes.
const PRELUDE: &str = "\
import os, pathlib, sys, time

notes = pathlib.Path(os.environ['NOTES'])
task = os.environ['MA_TASK_NAME'] + '-' + os.environ['VC_TASK_INDEX']

def note(name, *values):
    line = ' '.join(str(value) for value in values) + '\\n'
    file = os.open(notes / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(file, line.encode())
    os.close(file)

def wait_for(name):
    while not (notes / name).exists():
        time.sleep(0.01)

";

/// Launcher of the jobs of an emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    Slurm,
    /// Processes of this machine, which show that a script and its assertions are right.
    Local,
}

/// Place of a scenario.
pub struct Site<'a> {
    pub cluster: &'a Cluster,
    pub launcher: Launcher,
    directory: PathBuf,
    program: PathBuf,
}

impl<'a> Site<'a> {
    /// Creates the directory of a scenario in that of the cluster. `program` is the emulator's.
    pub fn create(
        cluster: &'a Cluster,
        launcher: Launcher,
        name: &str,
        program: &Path,
    ) -> Result<Self> {
        let directory = cluster.directory().join("scenarios").join(name);
        fs::create_dir_all(directory.join("shared"))?;
        fs::create_dir(directory.join("notes"))?;
        Ok(Self {
            cluster,
            launcher,
            directory,
            program: program.to_owned(),
        })
    }

    /// Returns the directory of the scenario.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Returns the OBS root of the emulator.
    pub fn obs(&self) -> PathBuf {
        self.directory.join("shared/obs")
    }

    /// Starts the emulator on the data of the scenario.
    pub async fn serve(&self) -> Result<Emulator> {
        self.serve_with(&[], "").await
    }

    /// Starts the emulator with further flags, and with a configuration of the launcher unless it
    /// is empty.
    pub async fn serve_with(&self, flags: &[&str], configuration: &str) -> Result<Emulator> {
        self.serve_on(flags, configuration, packages::search_path())
            .await
    }

    /// Starts the emulator with a search path of Slurm's commands.
    pub async fn serve_on(
        &self,
        flags: &[&str],
        configuration: &str,
        path: OsString,
    ) -> Result<Emulator> {
        let own = [
            "serve",
            "--timing",
            "instant",
            "--token",
            TOKEN,
            "--data-dir",
            "data",
        ];
        let own = own.iter().chain(&["--no-packages"]);
        let mut all: Vec<OsString> = own.chain(flags).map(OsString::from).collect();
        match self.launcher {
            Launcher::Slurm => {
                all.extend(["--launcher", "slurm", "--shared"].map(OsString::from));
                all.push(self.directory.join("shared").into());
                if !configuration.is_empty() {
                    let file = self.directory.join("launcher.toml");
                    fs::write(&file, configuration)?;
                    all.extend(["--launcher-config".into(), file.into()]);
                }
            }
            Launcher::Local => all.extend(["--obs-root".into(), self.obs().into()]),
        }
        self.start(&self.program, &all, path).await
    }

    /// Starts an emulator whose clock can be advanced.
    pub async fn serve_with_clock(&self) -> Result<Emulator> {
        let program = env::current_exe()?;
        let arguments = [
            "--program".as_ref(),
            self.program.as_os_str(),
            "--embedded".as_ref(),
            self.directory.as_os_str(),
        ];
        self.start(
            &program,
            &arguments.map(OsString::from),
            packages::search_path(),
        )
        .await
    }

    async fn start(
        &self,
        program: &Path,
        arguments: &[OsString],
        path: OsString,
    ) -> Result<Emulator> {
        let variables = [
            ("SLURM_CONF", self.cluster.configuration().into()),
            ("PATH", path),
        ];
        Emulator::start(program, &self.directory, arguments, &variables).await
    }

    /// Returns a job that runs a Python script on one node.
    pub fn job(&self, client: &Client, name: &str, script: &str) -> Result<CreateJob> {
        let code = self.obs().join("bucket").join(name).join("code");
        fs::create_dir_all(&code)?;
        fs::write(code.join("train.py"), format!("{PRELUDE}{script}"))?;
        let notes = self.directory.join("notes");
        Ok(client
            .training_jobs()
            .create(name)
            .preset_image(
                "PyTorch",
                "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64",
            )
            .code_dir(format!("obs://bucket/{name}/code/"))
            .boot_file(format!("obs://bucket/{name}/code/train.py"))
            .env("NOTES", notes.to_str().context("the path is not UTF-8")?)
            .flavor("modelarts.vm.cpu.8u"))
    }

    /// Returns the lines that scripts have written to a file.
    pub fn notes(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.directory.join("notes").join(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Writes a file that scripts wait for.
    pub fn write_note(&self, name: &str) -> Result<()> {
        Ok(fs::write(self.directory.join("notes").join(name), "")?)
    }

    /// Waits until scripts have written a number of lines to a file, and returns the lines.
    pub async fn wait_for_notes(&self, name: &str, count: usize) -> Result<Vec<String>> {
        until(format!("{count} lines in {name}"), async || {
            let lines = self.notes(name);
            Ok((lines.len() >= count).then_some(lines))
        })
        .await
    }

    /// Returns the processes of all jobs of the scenario.
    pub fn processes(&self) -> Vec<Process> {
        processes::of_cluster(&self.directory.join("notes"))
    }

    /// Returns the jobs of Slurm that ran, or are to run, a job.
    pub fn slurm_jobs(&self, job: &JobHandle) -> Result<Vec<SlurmJob>> {
        self.cluster.jobs(Some(job.id()))
    }

    /// Waits until Slurm has had jobs with these final states for a job, oldest first. A job of
    /// Slurm ends shortly after the code.
    pub async fn expect_slurm_jobs(&self, job: &JobHandle, states: &[&str]) -> Result<()> {
        if self.launcher == Launcher::Local {
            return Ok(());
        }
        let mut found = Vec::new();
        let wait = until("jobs of Slurm", async || {
            found = self.slurm_jobs(job)?;
            Ok(found
                .iter()
                .map(|job| job.state.as_str())
                .eq(states.iter().copied())
                .then_some(()))
        });
        let is_reached = tokio::time::timeout(SLURM, wait)
            .await
            .is_ok_and(|found| found.is_ok());
        ensure!(
            is_reached,
            "jobs of Slurm: expected the states {states:?}, found {found:?}"
        );
        Ok(())
    }

    /// Reads an object of OBS.
    pub fn object(&self, key: &str) -> Result<String> {
        let file = self.obs().join(key);
        fs::read_to_string(&file).with_context(|| file.display().to_string())
    }
}

/// Polls until a value exists. `what` is the end of the sentence `… did not appear`.
pub async fn until<T>(
    what: impl std::fmt::Display,
    mut poll: impl AsyncFnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        if let Some(value) = poll().await? {
            return Ok(value);
        }
        ensure!(
            start.elapsed() < LIMIT,
            "{what}: not after {} seconds",
            LIMIT.as_secs()
        );
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Waits for the end of a job.
pub async fn end_of(job: &JobHandle) -> Result<Waited> {
    Ok(job
        .wait()
        .interval(INTERVAL, INTERVAL)
        .timeout(LIMIT)
        .await?)
}

/// Waits for the end of a job, which must complete.
pub async fn completed(job: &JobHandle) -> Result<Job> {
    let end = end_of(job).await?;
    if end.is_completed() {
        return Ok(end.job().clone());
    }
    anyhow::bail!("the job {}\n{}", end.outcome(), job.explain().await?)
}

/// Waits until a job is in a phase.
pub async fn in_phase(job: &JobHandle, phase: Phase) -> Result<Job> {
    let wanted = phase.clone();
    let wait = job.wait().until(move |job| job.phase() == wanted);
    let end = wait.interval(INTERVAL, INTERVAL).timeout(LIMIT).await?;
    ensure!(
        end.job().phase() == phase,
        "the job is {}, not {phase}",
        end.job().phase()
    );
    Ok(end.job().clone())
}

/// Returns the lines of the log of a task.
pub async fn log(job: &JobHandle, task: &str) -> Result<Vec<String>> {
    let items: Vec<LogItem> = job.logs(task).stream().try_collect().await?;
    let lines = items.into_iter().map(|item| match item {
        LogItem::Line(line) => line,
        other => format!("{other:?}"),
    });
    Ok(lines.collect())
}

/// Returns the messages of all events, oldest first.
pub async fn messages(job: &JobHandle) -> Result<Vec<String>> {
    let events = job.events().stream();
    Ok(events
        .map_ok(|event| event.message().to_owned())
        .try_collect()
        .await?)
}

/// Waits until an event contains a text.
pub async fn event(job: &JobHandle, text: &str) -> Result<String> {
    until(format!("an event with {text:?}"), async || {
        let messages = messages(job).await?;
        Ok(messages.into_iter().find(|message| message.contains(text)))
    })
    .await
}

/// Fails unless both values are equal.
pub fn equal<T: PartialEq + std::fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<()> {
    ensure!(
        found == expected,
        "{what}: expected {expected:?}, found {found:?}"
    );
    Ok(())
}
