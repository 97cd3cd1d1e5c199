//! Emulator in a separate process, for the checks of clients.

use std::{
    env, fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::workspace::{self, cargo};

const PASSWORD: &str = "a-password";
const TOKEN: &str = "a-token";
/// The OBS directory of the sample programs. Its subdirectory `code` contains the code of the jobs.
const OBS: &str = "obs://example";
const CODE: &str = "\
import argparse
import time

parser = argparse.ArgumentParser()
parser.add_argument('--epochs', type=int)
parser.add_argument('--pause', type=float, default=0, help='seconds after each epoch')
given = parser.parse_known_args()[0]
for epoch in range(given.epochs):
    print('epoch', epoch + 1, flush=True)
    time.sleep(given.pause)
";

/// Process of an emulator, which ends when this value is dropped.
pub struct Emulator {
    child: Child,
    url: String,
    project: String,
    /// Environment variables for a program that uses the emulator.
    settings: Vec<(&'static str, String)>,
}

/// Builds the program of the emulator.
pub fn build() -> Result<()> {
    let status = cargo(["build", "--quiet", "--package", "modelarts-emulator"]).status()?;
    ensure!(status.success(), "the emulator does not build: {status}");
    Ok(())
}

/// Returns the path of the emulator's program, which is in the same directory as this program.
pub fn program() -> Result<PathBuf> {
    let here = env::current_exe()?;
    let directory = here.parent().context("this program is in no directory")?;
    Ok(directory.join("modelarts-emulator"))
}

impl Emulator {
    /// Starts an emulator with an empty state in `target/clients/<name>-emulator`.
    pub fn start(name: &str) -> Result<Self> {
        Self::start_with(name, &[])
    }

    /// Starts an emulator with further flags.
    pub fn start_with(name: &str, flags: &[&str]) -> Result<Self> {
        let directory = workspace::root().join(format!("target/clients/{name}-emulator"));
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        let code = directory.join("obs/example/code");
        fs::create_dir_all(&code)?;
        fs::write(code.join("train.py"), CODE)?;
        let log = fs::File::create(directory.join("log.txt"))?;
        let mut child = Command::new(program()?)
            .args(["serve", "--token", TOKEN, "--password", PASSWORD])
            .args(["--data-dir", "data", "--obs-root", "obs"])
            .args(flags)
            .current_dir(&directory)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("the emulator could not be started")?;
        let mut ready = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut ready)?;
        }
        let ready: Value = serde_json::from_str(&ready)
            .with_context(|| format!("no ready line; see {}/log.txt", directory.display()))?;
        let says = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
        let (url, project) = (says("url"), says("project_id"));
        Ok(Self {
            settings: vec![
                ("MODELARTS_ENDPOINT", url.clone()),
                ("MODELARTS_TOKEN", TOKEN.into()),
                ("MODELARTS_OBS", OBS.into()),
                ("HUAWEICLOUD_SDK_PROJECT_ID", project.clone()),
                ("HUAWEICLOUD_SDK_AK", says("access_key")),
                ("HUAWEICLOUD_SDK_SK", says("secret_key")),
                ("OS_AUTH_URL", format!("{url}/v3")),
                ("OS_USER_DOMAIN_NAME", "emulator".into()),
                ("OS_USERNAME", "emulator".into()),
                ("OS_PASSWORD", PASSWORD.into()),
            ],
            child,
            url,
            project,
        })
    }

    pub fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.settings
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
    }

    /// Applies `fault` to the next `times` responses of `operation`.
    pub fn inject(&self, operation: &str, times: u32, mut fault: Value) -> Result<()> {
        fault["operation"] = json!(operation);
        fault["times"] = json!(times);
        ureq::post(format!("{}/_emulator/faults", self.url)).send_json(fault)?;
        Ok(())
    }

    /// Sends a GET request to a control route.
    pub fn control(&self, route: &str) -> Result<Value> {
        let mut answer = ureq::get(format!("{}/_emulator/{route}", self.url)).call()?;
        Ok(answer.body_mut().read_json()?)
    }

    /// Sends a POST request to a route of the project, without a generated client.
    pub fn post(&self, route: &str, body: &Value) -> Result<Value> {
        let mut answer = ureq::post(format!("{}/v2/{}/{route}", self.url, self.project))
            .header("X-Auth-Token", TOKEN)
            .send_json(body)?;
        Ok(answer.body_mut().read_json()?)
    }

    /// Sends a GET request to a route of the project, without a generated client.
    pub fn get(&self, route: &str) -> Result<Value> {
        let mut answer = ureq::get(format!("{}/v2/{}/{route}", self.url, self.project))
            .header("X-Auth-Token", TOKEN)
            .call()?;
        Ok(answer.body_mut().read_json()?)
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        // `drop` cannot report an error.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
