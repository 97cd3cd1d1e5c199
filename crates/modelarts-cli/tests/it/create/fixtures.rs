//! An emulator with a bucket, scripts, and runs of the program whose lines a test reads one by one.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader, Read},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use modelarts_emulator::Builder;
use modelarts_ext::{Client, ClientBuilder};
use serde_json::Value;
use snapbox::cmd::{OutputAssert, cargo_bin};

use crate::support::{self, Fixture};

/// Bucket of staged code and data.
pub(super) const BUCKET: &str = "team";
/// Flavor of jobs on one node.
pub(super) const FLAVOR: &str = "modelarts.vm.cpu.2u";
/// A script that prints a line and goes on until it is stopped.
pub(super) const ENDLESS: &str =
    "import threading\nprint('ready', flush=True)\nthreading.Event().wait()\n";
/// Time limit for a line of a program.
const LINE_TIMEOUT: Duration = Duration::from_secs(120);

/// An emulator with a bucket.
pub(super) struct Site {
    pub(super) fixture: Fixture,
}

impl Site {
    pub(super) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    pub(super) async fn with(settings: impl FnOnce(Builder) -> Builder) -> Self {
        let fixture = Fixture::with(settings).await;
        std::fs::create_dir(fixture.emulator.obs_root().join(BUCKET)).unwrap();
        Self { fixture }
    }

    /// Writes the script `code/train.py`.
    pub(super) fn script(&self, text: &str) {
        self.fixture.write("code/train.py", text);
    }

    pub(super) fn command(&self, arguments: &str) -> snapbox::cmd::Command {
        let command = self.fixture.command(arguments);
        command.env("MODELARTS_OBS_BUCKET", BUCKET)
    }

    /// Submits `code/train.py` with the flavor and further arguments.
    pub(super) async fn submit(&self, arguments: &str) -> OutputAssert {
        let command = format!("submit code/train.py --flavor {FLAVOR} {arguments}");
        support::assert(self.command(&command)).await
    }

    /// Starts a program whose lines the test reads.
    pub(super) fn spawn(&self, arguments: &str) -> Running {
        self.spawn_with(arguments, &[])
    }

    /// Starts a program with further variables.
    pub(super) fn spawn_with(&self, arguments: &str, variables: &[(&str, &str)]) -> Running {
        let program = cargo_bin!("modelarts").as_os_str();
        let starter = support::hangup_starter().iter().map(OsStr::new);
        let line: Vec<&OsStr> = starter.chain([program]).collect();
        let mut command = Command::new(line[0]);
        let directory = self.fixture.path();
        command
            .args(&line[1..])
            .args(arguments.split_whitespace())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", directory)
            .env("MODELARTS_CONFIG", directory.join("config.toml"))
            .env("MODELARTS_STATE_DIR", directory.join("state"))
            .env("MODELARTS_CACHE_DIR", directory.join("cache"))
            .env("MODELARTS_OBS_BUCKET", BUCKET)
            .env("TZ", "UTC")
            .envs(self.fixture.emulator.envs())
            .envs(variables.iter().copied())
            .current_dir(directory);
        Running::new(command)
    }

    pub(super) fn client(&self) -> Client {
        let vars = self.fixture.emulator.vars();
        ClientBuilder::from_vars(vars).build().unwrap()
    }

    /// Returns the number of requests that created a job.
    pub(super) fn created(&self) -> u64 {
        self.fixture.emulator.requests()["CreateTrainingJob"].executed
    }

    /// Returns the objects of the bucket.
    pub(super) fn objects(&self) -> Vec<String> {
        let root = self.fixture.emulator.obs_root().join(BUCKET);
        let mut objects = Vec::new();
        let mut directories = vec![root.clone()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => directories.push(path),
                    false => {
                        let object = path.strip_prefix(&root).unwrap();
                        objects.push(object.to_str().unwrap().to_owned());
                    }
                }
            }
        }
        objects.sort();
        objects
    }
}

/// A running program. It is killed if the test ends before it.
pub(super) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Running {
    pub(super) fn new(mut command: Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            stdout: lines(child.stdout.take().unwrap()),
            stderr: lines(child.stderr.take().unwrap()),
            child,
        }
    }

    /// Returns the next item of `ndjson` for which `wanted` holds.
    pub(super) fn item(&self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let line = self.stdout.recv_timeout(LINE_TIMEOUT).unwrap();
            let item: Value = serde_json::from_str(&line).unwrap();
            if wanted(&item) {
                return item;
            }
        }
    }

    /// Returns the next line of stderr that contains a text.
    pub(super) fn message(&self, text: &str) -> String {
        loop {
            let line = self.stderr.recv_timeout(LINE_TIMEOUT).unwrap();
            if line.contains(text) {
                return line;
            }
        }
    }

    /// Sends SIGINT.
    pub(super) fn interrupt(&self) {
        self.signal("INT");
    }

    /// Sends a signal, such as `TERM`.
    pub(super) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Returns the exit code, and the lines that were not read.
    pub(super) fn end(mut self) -> (Option<i32>, Vec<String>, Vec<String>) {
        let status = self.child.wait().unwrap();
        let stdout = self.stdout.iter().collect();
        (status.code(), stdout, self.stderr.iter().collect())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // An error means that the program has ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads lines on a thread.
fn lines(stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { return };
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Returns the items of `ndjson` on stdout.
pub(super) fn items(output: &OutputAssert) -> Vec<Value> {
    let stdout = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    let items = stdout.lines().map(|line| serde_json::from_str(line).unwrap());
    items.collect()
}

/// Returns stdout as text.
pub(super) fn stdout(output: &OutputAssert) -> String {
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

/// Returns stderr as text.
pub(super) fn stderr(output: &OutputAssert) -> String {
    String::from_utf8(output.get_output().stderr.clone()).unwrap()
}
