//! The program `modelarts-emulator serve`, started by a test.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdout, Command},
};

use crate::support::{Client, http};

pub(crate) struct Program {
    pub(crate) child: Child,
    pub(crate) stdout: BufReader<ChildStdout>,
    pub(crate) client: Client,
}

/// Starts the program with its data directory and OBS root in `place`.
pub(crate) async fn serve_in(place: &std::path::Path) -> Program {
    serve_with(place, &[]).await
}

/// Starts the program like [`serve_in`], but with additional flags.
pub(crate) async fn serve_with(place: &std::path::Path, flags: &[&str]) -> Program {
    serve(command(place, flags)).await
}

/// Returns the command of the program with its data directory and OBS root in `place`.
pub(crate) fn command(place: &std::path::Path, flags: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_modelarts-emulator"));
    command
        .args(["serve", "--listen", "127.0.0.1:0", "--timing", "instant"])
        .arg("--data-dir")
        .arg(place.join("data"))
        .arg("--obs-root")
        .arg(place.join("obs"))
        .args(flags)
        .env("A_SECRET_OF_THE_USER", "do-not-tell")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    command
}

/// Starts the program, and waits until it is ready.
pub(crate) async fn serve(mut command: Command) -> Program {
    let mut child = command.spawn().unwrap();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).await.unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let fields: Vec<&str> = ready.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields.len(), 5, "{fields:?}");
    let text = |name: &str| ready[name].as_str().unwrap().to_owned();
    let client = Client {
        http: http(),
        url: text("url"),
        project_id: text("project_id"),
        access_key: text("access_key"),
        secret_key: text("secret_key"),
        checks: true,
    };
    Program { child, stdout, client }
}

/// Returns a job that runs `obs/bucket/code/train.py`.
pub(crate) fn cpu_job(name: &str) -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": name},
        "algorithm": {
            "code_dir": "/bucket/code/",
            "boot_file": "/bucket/code/train.py",
            "engine": {"engine_id": "pytorch-cp36-1.3.0"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
    })
}

impl Program {
    /// Creates a job, and returns its ID.
    pub(crate) async fn create(&self, job: &Value) -> String {
        let created = self.client.post("/training-jobs", job).await;
        assert_eq!(created.status, 201, "{}", created.text);
        created.json()["metadata"]["id"].as_str().unwrap().to_owned()
    }
}
