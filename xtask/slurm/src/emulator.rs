//! The program `modelarts-emulator`, started by a scenario.

use std::{
    ffi::OsString,
    fs::{self, File},
    path::Path,
    process::Stdio,
};

use anyhow::{Context, Result, bail, ensure};
use modelarts_ext::{Client, ClientBuilder};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
};

use crate::cluster::tail;

/// Token of the first user. Unlike signatures, it does not depend on the clock of the emulator.
pub const TOKEN: &str = "a-token";
/// Levels of messages. Requests are left out.
const MESSAGES: &str = "info,modelarts_emulator::server=warn,modelarts_emulator::obs=warn";
/// File with the messages of all starts of the emulator.
pub const LOG: &str = "emulator.log";

/// Running emulator. Its process is killed when this value is dropped.
pub struct Emulator {
    child: Child,
    url: String,
    /// Settings of clients, by the names of variables.
    variables: Vec<(&'static str, String)>,
}

impl Emulator {
    /// Starts a program in a directory, and waits until it is ready.
    pub async fn start(
        program: &Path,
        directory: &Path,
        arguments: &[OsString],
        variables: &[(&str, OsString)],
    ) -> Result<Self> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(directory.join(LOG))?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .env("RUST_LOG", MESSAGES)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("{} could not be started", program.display()))?;
        let stdout = child.stdout.take().context("no stdout")?;
        let mut ready = String::new();
        BufReader::new(stdout).read_line(&mut ready).await?;
        if ready.is_empty() {
            let status = child.wait().await?;
            let log = fs::read_to_string(directory.join(LOG))?;
            let last: Vec<&str> = tail(&log, 1).collect();
            bail!("the emulator ended with {status}: {}", last.join(""));
        }
        let ready: Value = serde_json::from_str(&ready).context("no line of JSON")?;
        let text = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
        let url = text("url");
        Ok(Self {
            variables: vec![
                ("MODELARTS_ENDPOINT", url.clone()),
                ("MODELARTS_CLOUD", "huawei".to_owned()),
                ("MODELARTS_OBS_ENDPOINT", text("obs_url")),
                ("HUAWEICLOUD_SDK_IAM_ENDPOINT", url.clone()),
                ("HUAWEICLOUD_SDK_PROJECT_ID", text("project_id")),
                ("HUAWEICLOUD_SDK_AK", text("access_key")),
                ("HUAWEICLOUD_SDK_SK", text("secret_key")),
            ],
            child,
            url,
        })
    }

    /// Returns the settings of a client as variables.
    pub fn variables(&self) -> &[(&'static str, String)] {
        &self.variables
    }

    /// Returns a client that signs its requests.
    pub fn client(&self) -> Result<Client> {
        let variables = self.variables.clone();
        Ok(ClientBuilder::from_vars(move |name| value(&variables, name)).build()?)
    }

    /// Returns a client with a token, which is valid at any time of a manual clock.
    pub fn client_with_token(&self) -> Result<Client> {
        let mut variables = self.variables.clone();
        variables.retain(|(name, _)| !matches!(*name, "HUAWEICLOUD_SDK_AK" | "HUAWEICLOUD_SDK_SK"));
        variables.push(("OS_AUTH_TOKEN", TOKEN.to_owned()));
        Ok(ClientBuilder::from_vars(move |name| value(&variables, name)).build()?)
    }

    /// Advances the manual clock.
    pub async fn advance(&self, seconds: u32) -> Result<()> {
        let url = format!("{}/_emulator/clock", self.url);
        let body = serde_json::json!({ "advance_seconds": seconds });
        let response = tokio::task::spawn_blocking(move || ureq::post(url).send_json(body));
        response.await?.context("the clock could not be advanced")?;
        Ok(())
    }

    /// Kills the process.
    pub async fn kill(mut self) -> Result<()> {
        self.child
            .kill()
            .await
            .context("the emulator could not be killed")
    }

    /// Ends the process with SIGTERM.
    pub async fn stop(mut self) -> Result<()> {
        let pid = self
            .child
            .id()
            .and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        kill_process(pid.context("the emulator has ended")?, Signal::TERM)?;
        let status = self.child.wait().await?;
        ensure!(status.success(), "the emulator ended with {status}");
        Ok(())
    }
}

fn value(variables: &[(&'static str, String)], name: &str) -> Option<String> {
    let variable = variables.iter().find(|(variable, _)| *variable == name);
    variable.map(|(_, value)| value.clone())
}
