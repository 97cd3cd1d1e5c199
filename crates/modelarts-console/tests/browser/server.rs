//! Server of the browser tests: an emulator with the page beside it. Commands on stdin stop the
//! page, and start it again on the same port.
//!
//! The only argument is a JSON document with the settings. The program prints one line of JSON when
//! it is ready, and one for each command. It ends with stdin.

use std::{
    env,
    error::Error,
    fs,
    io::Write,
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_console::Console;
use modelarts_emulator::{
    Emulator, Timing,
    clock::ManualClock,
    jobs::{Container, RunnerKind},
    script::Script,
};
use modelarts_ext::{Client, ClientBuilder};
use modelarts_obs::{Obs, Staging};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

/// Bucket of staged code and data.
const BUCKET: &str = "bucket";
/// Token of the emulator, by which tests create jobs without the page.
const TOKEN: &str = "a-token";
/// Key of sessions. Browsers stay logged in when the page starts again.
const KEY: &[u8] = b"key of the browser tests";

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// Settings of the server.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    /// Factor by which the steps of jobs are faster than on the service; no delays if not given.
    speed: Option<f64>,
    /// File with a script of simulated jobs; code runs as processes if not given.
    script: Option<PathBuf>,
    /// Seconds by which the clock of the service, which then stands still, is ahead of that of this
    /// machine; negative if it is behind.
    clock_ahead: Option<i64>,
    /// Reject all changes.
    #[serde(default)]
    read_only: bool,
}

/// Command on stdin.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Command {
    /// Ends the page; the emulator continues.
    Stop,
    /// Starts the page on its port.
    Start,
}

/// The page, which can be started several times.
struct Page {
    client: Client,
    staging: Staging,
    is_read_only: bool,
    /// The address of the first start. Browsers connect to it again.
    address: Option<SocketAddr>,
    console: Option<Console>,
}

impl Page {
    async fn start(&mut self) -> Result<()> {
        let mut builder = Console::builder(self.client.clone())
            .staging(self.staging.clone())
            .read_only(self.is_read_only)
            .session_key(KEY);
        if let Some(address) = self.address {
            builder = builder.listen(address);
        }
        let console = builder.start().await?;
        let url = console.url();
        let address = url.strip_prefix("http://").unwrap_or(&url);
        self.address = Some(address.parse()?);
        self.console = Some(console);
        Ok(())
    }

    async fn stop(&mut self) {
        if let Some(console) = self.console.take() {
            console.shutdown().await;
        }
    }

    fn describe(&self) -> Value {
        match &self.console {
            Some(console) => json!({ "url": console.url(), "login": console.login_url() }),
            None => json!({}),
        }
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    let settings = env::args().nth(1);
    let settings = settings.ok_or("usage: console-server SETTINGS, a document of JSON")?;
    let settings: Settings = serde_json::from_str(&settings)?;
    let timing = settings.speed.map_or(Timing::instant(), Timing::faster);
    let mut builder = Emulator::builder()
        .timing(timing)
        .token(TOKEN)
        // Programs of jobs wait for files in the temporary directory of this machine.
        .container(Container::None)
        .install_packages(false);
    if let Some(ahead) = settings.clock_ahead {
        let difference = Duration::from_secs(ahead.unsigned_abs());
        let now = SystemTime::now();
        let time = if ahead > 0 { now + difference } else { now - difference };
        builder = builder.clock(Arc::new(ManualClock::at(time)));
    }
    if let Some(file) = &settings.script {
        let script = fs::read_to_string(file)?;
        builder = builder.runner(RunnerKind::Simulated(Script::from_json(&script)?));
    }
    let emulator = builder.start().await?;
    let client = ClientBuilder::from_vars(emulator.vars()).build()?;
    // Checksums of staged files are not kept in the home directory of the user.
    let cache = tempfile::tempdir()?;
    let obs = Obs::directory(emulator.obs_root()).with_cache_dir(cache.path());
    let staging = Staging::new(&client).bucket(BUCKET).obs(obs);
    staging.connect()?.bucket(BUCKET)?.create().await?;
    let mut page =
        Page { staging, client, is_read_only: settings.read_only, address: None, console: None };
    page.start().await?;
    let mut ready = page.describe();
    ready["emulator"] = json!(emulator.url());
    ready["obs_root"] = json!(emulator.obs_root());
    ready["token"] = json!(TOKEN);
    ready["project"] = json!(emulator.project_id());
    say(&ready)?;
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while let Some(line) = lines.next_line().await? {
        match serde_json::from_str(&line)? {
            Command::Stop => page.stop().await,
            Command::Start => page.start().await?,
        }
        say(&page.describe())?;
    }
    page.stop().await;
    emulator.shutdown().await;
    Ok(())
}

fn say(line: &Value) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
