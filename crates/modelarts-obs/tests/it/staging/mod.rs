//! Tests of the staging of code, data and outputs, with the OBS root of the emulator as a local
//! directory.

mod code;
mod data;
mod data_versions;
mod http;
mod job;
mod outputs;
mod settings;

use std::{fs, path::PathBuf};

use modelarts_emulator::{Emulator, Timing};
use modelarts_ext::{Client, ClientBuilder, CreateJob, Credentials, Job};
use modelarts_obs::{Obs, Staging};
use tempfile::TempDir;

use crate::sync::{names, write};

/// Script that counts the rows of its input and writes the count to its output.
pub const SCRIPT: &str = "import pathlib, sys
given = dict(argument[2:].split('=', 1) for argument in sys.argv[1:] if '=' in argument)
rows = pathlib.Path(given['data_url'], 'rows.csv').read_text().split()
pathlib.Path(given['train_url'], 'count.txt').write_text(str(len(rows)))
";
/// Script that runs until the emulator stops it.
pub const ENDLESS: &str = "import time
while True:
    time.sleep(0.05)
";

/// Emulator with the bucket `bucket`, a client, and local directories.
pub struct Site {
    pub emulator: Emulator,
    pub client: Client,
    root: TempDir,
}

impl Site {
    pub async fn start() -> Self {
        assert!(
            Emulator::python3().await.is_some(),
            "these tests run training scripts: python3 is required on the PATH"
        );
        let emulator = Emulator::builder().timing(Timing::instant());
        let emulator = emulator.start().await.unwrap();
        fs::create_dir_all(emulator.obs_root().join("bucket")).unwrap();
        let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
        Self { client, emulator, root: tempfile::tempdir().unwrap() }
    }

    pub fn obs(&self) -> Obs {
        Obs::directory(self.emulator.obs_root()).with_cache_dir(self.path("cache"))
    }

    pub fn staging(&self) -> Staging {
        Staging::new(&self.client).bucket("bucket").obs(self.obs())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    /// Writes a local file, and returns the path of its first directory.
    pub fn write(&self, name: &str, contents: &str) -> PathBuf {
        write(&self.path(name), contents);
        self.path(name.split('/').next().unwrap())
    }

    /// Returns the keys of all objects.
    pub fn keys(&self) -> Vec<String> {
        names(&self.emulator.obs_root().join("bucket"))
    }

    /// Returns a job without code.
    pub fn job(&self, name: &str) -> CreateJob {
        self.client
            .training_jobs()
            .create(name)
            .preset_image("PyTorch", "pytorch_1.8.0")
            .flavor("modelarts.vm.cpu.2u")
    }

    /// Returns the job after its end.
    pub async fn ended(&self, mut job: Job) -> Job {
        self.emulator.wait_until_settled(job.id()).await;
        job.refresh().await.unwrap();
        job
    }

    pub fn count(&self, operation: &str) -> u64 {
        let requests = self.emulator.requests();
        requests.get(operation).map_or(0, |count| count.received)
    }
}

/// Returns a client with these variables, whose endpoint cannot be reached.
pub fn offline(variables: &'static [(&'static str, &'static str)]) -> Client {
    let environment = modelarts_ext::config::Environment::new(|name| {
        let variable = variables.iter().find(|(variable, _)| *variable == name);
        variable.map(|(_, value)| (*value).to_owned())
    });
    let client = Client::builder().environment(environment);
    let client = client
        .endpoint("http://127.0.0.1:9")
        .project_id("0123456789abcdef0123456789abcdef")
        .credentials(Credentials::token("t"));
    client.build().unwrap()
}
