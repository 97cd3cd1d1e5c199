//! An emulator, and runs of the program with its settings.

use std::path::{Path, PathBuf};

use modelarts_emulator::{Builder, Emulator, Timing, seeds::Seeds};
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

    /// Runs the program. The runtime of the emulator continues meanwhile.
    pub(crate) async fn run(&self, arguments: &str) -> OutputAssert {
        assert(self.command(arguments)).await
    }
}

/// Returns the program without any settings, in this directory, which is also its home.
pub(crate) fn isolated(directory: &Path) -> Command {
    Command::new(cargo_bin!("modelarts"))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", directory)
        .env("MODELARTS_CONFIG", directory.join("config.toml"))
        .env("MODELARTS_STATE_DIR", directory.join("state"))
        .env("MODELARTS_CACHE_DIR", directory.join("cache"))
        .current_dir(directory)
}

/// Runs a program on a thread of its own, so that the emulator in this process responds.
pub(crate) async fn assert(command: Command) -> OutputAssert {
    tokio::task::spawn_blocking(move || command.assert())
        .await
        .unwrap()
}
