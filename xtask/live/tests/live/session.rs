//! Recording session against an emulator, with a list of all names that the user has chosen.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use modelarts_emulator::{Emulator, Timing, seeds::Seeds};
use modelarts_ext::{Client, Credentials, types};
use serde_json::{Value, json};
use tempfile::TempDir;

/// All names that the user has chosen; no transcript may contain them.
pub const NAMES: [&str; 34] = [
    "jackdaw",
    "rookery",
    "nuthatch",
    "redstart",
    "treecreeper",
    "AKWALRUS7731",
    "sk-walrus-9931",
    "Otterson",
    "walrus-merger",
    "walrus-merger-2",
    "herons",
    "spotted_owls",
    "lapwing",
    "kittiwake",
    "puffins",
    "GANNET_HOME",
    "gannetry",
    "curlew.yaml",
    "fulmar",
    "smew-set",
    "pochard",
    "teal-budget",
    "wigeon",
    "shrike",
    "dunlin",
    "sanderling",
    "whimbrel",
    "turnstone",
    "plovers",
    "ptarmigan",
    "dotterel",
    "bittern",
    "quartz-secret",
    "godwit",
];

pub struct Session {
    pub emulator: Emulator,
    directory: TempDir,
    pub project: String,
}

impl Session {
    pub async fn start() -> Self {
        let emulator = Emulator::builder()
            .timing(Timing::instant())
            .access_key("AKWALRUS7731")
            .secret_key("sk-walrus-9931");
        let user = json!({"name": "Otterson", "access_key": "AKWALRUS7731", "secret_key": "sk-walrus-9931"});
        let emulator = emulator.user(serde_json::from_value(user).unwrap());
        let emulator = emulator.start().await.unwrap();
        Self {
            project: emulator.project_id().to_owned(),
            emulator,
            directory: tempfile::tempdir().unwrap(),
        }
    }

    pub fn put(&self, key: &str, content: &str) {
        let path = self.emulator.obs_root().join(key);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Creates jobs in past states, whose fields contain the names of the list.
    pub async fn jobs(&self) -> Vec<String> {
        self.put("lapwing/kittiwake/puffins.py", "");
        self.put("lapwing/herons/x", "");
        let job = json!({
            "kind": "job",
            "metadata": {"name": "walrus-merger", "description": "a bid for the turnstone"},
            "algorithm": {
                "code_dir": "obs://lapwing/kittiwake/",
                "boot_file": "obs://lapwing/kittiwake/puffins.py",
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
                "parameters": [
                    {"name": "fulmar", "value": "gannetry"}, {"name": "epochs", "value": "20"},
                ],
                "inputs": [{"name": "smew-set", "remote": {"obs": {"obs_url": "obs://lapwing/herons/"}}}],
                "outputs": [{"name": "pochard", "remote": {"obs": {"obs_url": "obs://lapwing/dunlin/sanderling/"}}}],
                "environments": {"GANNET_HOME": "quartz-secret"},
            },
            "spec": {
                "resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
                "log_export_path": {"obs_url": "obs://lapwing/whimbrel/"},
            },
        });
        let image = json!({
            "kind": "job",
            "metadata": {"name": "walrus-merger-2"},
            "algorithm": {"command": "python /shrike/wigeon", "engine": {"image_url": "godwit/ptarmigan:1.2"}},
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        });
        let events = json!([
            {"time": "2026-01-15T08:30:00Z", "message": "Training job created."},
            {"time": "2026-01-15T08:30:01Z", "source": "Task",
             "message": "[worker-0] [Duration: 0.5] Training input (parameter: smew-set) downloaded."},
            {"time": "2026-01-15T08:30:02Z", "source": "Task", "level": "Error",
             "message": "[worker-0] Failed to download obs://lapwing/herons/spotted_owls.csv: Otterson \
                         of bittern (10.11.12.13, ann@dotterel.com) is not authorized by iam.plovers.com"},
        ]);
        let seeds = json!({"jobs": [
            {"job": image, "phase": "Failed", "created": "2026-01-15T08:00:00Z"},
            {
                "job": job, "created": "2026-01-15T08:30:00Z", "events": events,
                "logs": {"worker-0": "teal-budget 17\nfor Otterson\n"},
                "metrics": {"worker-0": {"cpuUsage": [-1, -1, 20.5]}},
                "tags": {"dotterel": "bittern"},
            },
        ]});
        let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
        self.emulator.seed(&seeds).await.unwrap()
    }

    /// Creates an experiment and an algorithm.
    pub async fn records(&self) {
        let client = Client::builder()
            .endpoint(self.emulator.url())
            .project_id(&self.project)
            .credentials(Credentials::keys("AKWALRUS7731", "sk-walrus-9931"))
            .build()
            .unwrap();
        let body = json!({"metadata": {"name": "jackdaw", "description": "for the rookery"}});
        let body: types::CreateTrainingExperimentRequest = serde_json::from_value(body).unwrap();
        let made = client.call(|api| {
            let call = api.create_training_experiment();
            call.project_id(self.project.as_str()).body(body).send()
        });
        made.await.unwrap();
        let body = json!({
            "metadata": {"name": "nuthatch", "description": "an early redstart"},
            "job_config": {
                "code_dir": "/lapwing/kittiwake/", "command": "python treecreeper.py",
                "engine": {"image_url": "godwit/ptarmigan:1.2"},
            },
        });
        let body: types::AlgorithmRequest = serde_json::from_value(body).unwrap();
        let made = client.call(|api| {
            let call = api.create_algorithm();
            call.project_id(self.project.as_str()).body(body).send()
        });
        made.await.unwrap();
    }

    pub fn file(&self) -> PathBuf {
        self.directory.path().join("transcript.json")
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program(arguments);
        command
            .env("MODELARTS_ENDPOINT", self.emulator.url())
            .env("HUAWEICLOUD_SDK_PROJECT_ID", &self.project)
            .env("HUAWEICLOUD_SDK_AK", "AKWALRUS7731")
            .env("HUAWEICLOUD_SDK_SK", "sk-walrus-9931")
            .arg("--record")
            .arg(self.file());
        command
    }

    pub async fn record(&self, arguments: &[&str]) -> Output {
        let mut command = self.command(arguments);
        // The program runs on a blocking thread, because the emulator serves its requests on this
        // runtime.
        tokio::task::spawn_blocking(move || command.output().unwrap())
            .await
            .unwrap()
    }

    pub fn transcript(&self) -> Value {
        serde_json::from_str(&fs::read_to_string(self.file()).unwrap()).unwrap()
    }

    /// Returns the number of times that the emulator has executed an operation.
    pub fn executed(&self, operation: &str) -> u64 {
        self.emulator
            .requests()
            .get(operation)
            .map_or(0, |it| it.executed)
    }
}

pub fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_modelarts-live"));
    command.args(arguments).env_clear().stdin(Stdio::null());
    command
}

/// Runs a comparison, and returns its exit code and stdout.
pub fn compare(file: &Path) -> (i32, String) {
    let output = program(&["--compare"]).arg(file).output().unwrap();
    assert_eq!(text(&output.stderr), "");
    (output.status.code().unwrap(), text(&output.stdout))
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

pub fn operations(transcript: &Value) -> BTreeSet<&str> {
    let calls = transcript["calls"].as_array().unwrap();
    calls
        .iter()
        .map(|call| call["operation"].as_str().unwrap())
        .collect()
}

pub fn answer<'a>(transcript: &'a Value, operation: &str) -> &'a Value {
    let calls = transcript["calls"].as_array().unwrap();
    &calls
        .iter()
        .find(|call| call["operation"] == operation)
        .unwrap()["answer"]
}
