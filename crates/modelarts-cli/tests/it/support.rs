//! An emulator, and runs of the program with its settings.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Stdio},
};

use modelarts_emulator::{Builder, Emulator, Timing, seeds::Seeds};
use modelarts_ext::{Client, ClientBuilder};
use serde_json::Value;
use snapbox::cmd::{Command, OutputAssert, cargo_bin};
use tempfile::TempDir;

/// An emulator whose jobs take no time, and an empty home directory.
pub(crate) struct Fixture {
    pub(crate) emulator: Emulator,
    pub(crate) directory: TempDir,
}

impl Fixture {
    /// Starts the emulator.
    pub(crate) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    /// Starts the emulator with other settings.
    pub(crate) async fn with(settings: impl FnOnce(Builder) -> Builder) -> Self {
        let builder = Emulator::builder().timing(Timing::instant()).id_seed(1);
        Self {
            emulator: settings(builder).start().await.unwrap(),
            directory: TempDir::new().unwrap(),
        }
    }

    /// Adds jobs. Returns their ids.
    pub(crate) async fn seed(&self, jobs: serde_json::Value) -> Vec<String> {
        let seeds = Seeds::from_json(&serde_json::json!({ "jobs": jobs }).to_string()).unwrap();
        self.emulator.seed(&seeds).await.unwrap()
    }

    /// Returns the current directory of the program.
    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file into the current directory of the program.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// Returns the program with the settings of the emulator and no others. The arguments are
    /// separated by blanks.
    pub(crate) fn command(&self, arguments: &str) -> Command {
        let mut command = isolated(self.path()).args(arguments.split_whitespace());
        for (name, value) in self.emulator.envs() {
            command = command.env(name, value);
        }
        command
    }

    /// Runs the program with this text on stdin.
    pub(crate) async fn run_with_stdin(&self, arguments: &str, stdin: &str) -> OutputAssert {
        assert(self.command(arguments).stdin(stdin.to_owned())).await
    }

    /// Starts the program, with pipes for its output.
    pub(crate) fn spawn(&self, arguments: &str) -> Running {
        self.spawn_in(arguments, &std::env::temp_dir())
    }

    /// Starts the program with another directory of temporary files.
    pub(crate) fn spawn_in(&self, arguments: &str, temporary: &Path) -> Running {
        let mut command = std::process::Command::new(cargo_bin!("modelarts"));
        let child = command
            .args(arguments.split_whitespace())
            .env_clear()
            .envs(self.emulator.envs())
            .env("HOME", self.path())
            .env("MODELARTS_CONFIG", self.path().join("config.toml"))
            .env("MODELARTS_STATE_DIR", self.path().join("state"))
            .env("TMPDIR", temporary)
            .env("TZ", "UTC")
            .current_dir(self.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Running { child, stdout }
    }

    /// Returns the operations that the emulator has received, with their numbers.
    pub(crate) fn received(&self) -> BTreeMap<&'static str, u64> {
        let requests = self.emulator.requests().into_iter();
        let received = requests.map(|(operation, count)| (operation, count.received));
        received.filter(|(_, count)| *count > 0).collect()
    }

    /// Returns a client of the emulator.
    pub(crate) fn client(&self) -> Client {
        ClientBuilder::from_vars(self.emulator.vars()).build().unwrap()
    }

    /// Runs the program. The runtime of the emulator continues meanwhile.
    pub(crate) async fn run(&self, arguments: &str) -> OutputAssert {
        assert(self.command(arguments)).await
    }
}

/// A program that runs while the test continues.
pub(crate) struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Running {
    /// Returns the next line of stdout, without its line break.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        tokio::task::block_in_place(|| self.stdout.read_line(&mut line)).unwrap();
        line.trim_end_matches('\n').to_owned()
    }

    /// Sends a signal, such as `INT`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = std::process::Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.unwrap().success());
    }

    /// Waits for the end. Returns the exit code, the rest of stdout, and stderr.
    pub(crate) fn end(mut self) -> (Option<i32>, String, String) {
        tokio::task::block_in_place(|| {
            let (mut stdout, mut stderr) = (String::new(), String::new());
            self.stdout.read_to_string(&mut stdout).unwrap();
            let mut errors = self.child.stderr.take().unwrap();
            errors.read_to_string(&mut stderr).unwrap();
            (self.child.wait().unwrap().code(), stdout, stderr)
        })
    }
}

/// Returns a starter of programs that receive SIGHUP, also if the tests run where it is ignored,
/// such as below `nohup`.
pub(crate) fn hangup_starter() -> &'static [&'static str] {
    match cfg!(target_os = "linux") {
        true => &["env", "--default-signal=HUP"],
        false => &[],
    }
}

/// Returns the program without any settings, in this directory, which is also its home.
pub(crate) fn isolated(directory: &Path) -> Command {
    Command::new(cargo_bin!("modelarts"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        // Dates without a time zone are in that of the user.
        .env("TZ", "UTC")
        .env("HOME", directory)
        .env("MODELARTS_CONFIG", directory.join("config.toml"))
        .env("MODELARTS_STATE_DIR", directory.join("state"))
        .env("MODELARTS_CACHE_DIR", directory.join("cache"))
        .current_dir(directory)
}

/// Returns the JSON document on stdout, which has the schema of this name.
pub(crate) fn json_of(output: &OutputAssert, schema: &str) -> Value {
    let document = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_schema(&document, schema);
    document
}

/// Returns the JSON documents on the lines of stdout, which have the schema of this name, such as
/// `jobs.line`.
pub(crate) fn lines_of(output: &OutputAssert, schema: &str) -> Vec<Value> {
    let text = std::str::from_utf8(&output.get_output().stdout).unwrap();
    let documents: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for document in &documents {
        assert_schema(document, schema);
    }
    documents
}

/// Returns the error on stderr in the format `json`.
pub(crate) fn error_of(output: &OutputAssert) -> Value {
    let document: Value = serde_json::from_slice(&output.get_output().stderr).unwrap();
    assert_schema(&document, "error");
    document["error"].clone()
}

/// Fails if the document does not have the schema of this name.
pub(crate) fn assert_schema(document: &Value, name: &str) {
    let schemas = modelarts_cli::schemas();
    let schema = schemas.iter().find(|(known, _)| known == name);
    let (_, schema) = schema.unwrap_or_else(|| panic!("no schema is called {name}"));
    let validator = jsonschema::validator_for(schema.as_value()).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(errors.is_empty(), "{name}: {errors:#?}\n{document:#}");
}

/// Prints a line about a part of a test that cannot run on this machine. The macros of the standard
/// library would print it only if the test failed.
pub(crate) fn report_skipped(reason: &str) {
    let line = format!("skipped: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// Runs a program on a thread of its own, so that the emulator in this process responds.
pub(crate) async fn assert(command: Command) -> OutputAssert {
    tokio::task::spawn_blocking(move || command.assert()).await.unwrap()
}
