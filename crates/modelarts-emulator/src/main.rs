//! `modelarts-emulator serve`: the emulator as a program.
//!
//! Prints one line of JSON on stdout when it is ready, everything else on stderr, and ends with
//! its jobs on Ctrl-C and SIGTERM.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::SystemTime;

use clap::{Parser, Subcommand, ValueEnum};
use modelarts_emulator::{
    Cloud, Emulator, ManualClock, RestartOn, RunnerKind, Script, StartError, Timing, User, Wording,
};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

/// The ModelArts training service on your own machine.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts the emulator and prints one line of JSON when it is ready: url, project_id,
    /// access_key, secret_key.
    Serve(Serve),
}

#[derive(Debug, clap::Args)]
struct Serve {
    /// Loopback address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Directory of the jobs.
    #[arg(
        long,
        default_value = "modelarts-emulator-data/data",
        value_name = "DIR"
    )]
    data_dir: PathBuf,
    /// Directory in which obs://bucket/key is bucket/key.
    #[arg(
        long,
        default_value = "modelarts-emulator-data/obs",
        value_name = "DIR"
    )]
    obs_root: PathBuf,
    /// Id of the project; another one at each start if not given.
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Access key that is accepted; another one at each start if not given.
    #[arg(long, value_name = "KEY")]
    access_key: Option<String>,
    /// Secret key that is accepted; another one at each start if not given.
    #[arg(long, value_name = "KEY")]
    secret_key: Option<String>,
    /// Token that is accepted in X-Auth-Token; may be repeated.
    #[arg(long, value_name = "TOKEN")]
    token: Vec<String>,
    /// Password of the first user, for POST /v3/auth/tokens.
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,
    /// JSON file with a list of users: name, password, domain, project_id, project_name,
    /// access_key, secret_key, security_token, may_set_high_priority, authorized, frozen.
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// Whose service it is.
    #[arg(long, value_enum, default_value_t = Whose::Otc)]
    cloud: Whose,
    /// Directory in which version v of data set d is d/v.
    #[arg(long, value_name = "DIR")]
    datasets: Option<PathBuf>,
    /// Directory in which what server:/path exports is server/path.
    #[arg(long, value_name = "DIR")]
    nfs_root: Option<PathBuf>,
    /// Most bytes of a log.
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    log_cap: u64,
    /// After which failures jobs with fault-tolerance/job-retry-num run again.
    #[arg(long, value_enum, default_value_t = Restart::AnyFailure)]
    restart_on: Restart,
    /// How many jobs a project may have.
    #[arg(long, default_value_t = 10_000, value_name = "JOBS")]
    job_quota: u32,
    /// The clock of all delays, limits and dates; a manual one is moved by POST /_emulator/clock.
    #[arg(long, value_enum, default_value_t = Time::Wall)]
    clock: Time,
    /// How long the steps of a job take, beside the run of its code.
    #[arg(long, value_enum, default_value_t = Pace::Quick)]
    timing: Pace,
    /// What becomes of the code of jobs.
    #[arg(long, value_enum, default_value_t = Code::Process)]
    runner: Code,
    /// JSON file that says what simulated jobs do; without it each ends at once with exit code 0.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Which texts events get where the documents disagree.
    #[arg(long, value_enum, default_value_t = Text::Api)]
    wording: Text,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Pace {
    /// No delays.
    Instant,
    /// About one and a half seconds in all.
    Quick,
    /// As long as on the service, about 44 seconds in all.
    Documented,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Whose {
    /// Open Telekom Cloud.
    Otc,
    /// Huawei Cloud.
    Huawei,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Restart {
    /// Only when the machine is at fault, never because of an exit code.
    Fault,
    /// Whenever the code fails.
    AnyFailure,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Time {
    /// The clock on the wall.
    Wall,
    /// Stands still until it is moved.
    Manual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Code {
    /// It runs.
    Process,
    /// It does not run: jobs do what the script says.
    Simulated,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Text {
    /// Those seen in the events API.
    Api,
    /// Those of the events guide.
    Guide,
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments {
        command: Command::Serve(arguments),
    } = Arguments::parse();
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    match serve(arguments).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("modelarts-emulator: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: Serve) -> Result<(), Failure> {
    // Listening for signals before the ready line: whoever reads it may send one at once.
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Failure::Io)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Failure::Io)?;
    let emulator = start(arguments).await?;
    let ready = json!({
        "url": emulator.url(),
        "project_id": emulator.project_id(),
        "access_key": emulator.access_key(),
        "secret_key": emulator.secret_key(),
    });
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{ready}")
        .and_then(|()| stdout.flush())
        .map_err(Failure::Io)?;
    drop(stdout);
    tracing::info!(
        url = emulator.url(),
        obs_root = %emulator.obs_root().display(),
        data_dir = %emulator.data_dir().display(),
        "ready"
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    tracing::info!("ending, with all jobs");
    emulator.shutdown().await;
    Ok(())
}

async fn start(arguments: Serve) -> Result<Emulator, Failure> {
    let mut builder = Emulator::builder()
        .listen(arguments.listen)
        .data_dir(arguments.data_dir)
        .obs_root(arguments.obs_root)
        .timing(match arguments.timing {
            Pace::Instant => Timing::instant(),
            Pace::Quick => Timing::default(),
            Pace::Documented => Timing::documented(),
        })
        .event_wording(match arguments.wording {
            Text::Api => Wording::Api,
            Text::Guide => Wording::Guide,
        })
        .cloud(match arguments.cloud {
            Whose::Otc => Cloud::Otc,
            Whose::Huawei => Cloud::Huawei,
        })
        .restart_on(match arguments.restart_on {
            Restart::Fault => RestartOn::Fault,
            Restart::AnyFailure => RestartOn::AnyFailure,
        })
        .log_cap(arguments.log_cap)
        .job_quota(arguments.job_quota);
    match (arguments.runner, arguments.script) {
        (Code::Process, None) => {}
        (Code::Process, Some(path)) => {
            let what = "only --runner simulated follows a script".to_owned();
            return Err(Failure::File(path, what));
        }
        (Code::Simulated, None) => {
            builder = builder.runner(RunnerKind::Simulated(Script::default()));
        }
        (Code::Simulated, Some(path)) => {
            let script = Script::from_json(&read(&path)?);
            let script = script.map_err(|what| Failure::File(path, what.to_string()))?;
            builder = builder.runner(RunnerKind::Simulated(script));
        }
    }
    if let Time::Manual = arguments.clock {
        builder = builder.clock(Arc::new(ManualClock::at(SystemTime::now())));
    }
    if let Some(path) = arguments.users {
        let users = User::list_from_json(&read(&path)?);
        for user in users.map_err(|what| Failure::File(path, what))? {
            builder = builder.user(user);
        }
    }
    if let Some(password) = arguments.password {
        builder = builder.password(password);
    }
    if let Some(path) = arguments.datasets {
        builder = builder.datasets(path);
    }
    if let Some(path) = arguments.nfs_root {
        builder = builder.nfs_root(path);
    }
    if let Some(id) = arguments.project_id {
        builder = builder.project_id(id);
    }
    if let Some(key) = arguments.access_key {
        builder = builder.access_key(key);
    }
    if let Some(key) = arguments.secret_key {
        builder = builder.secret_key(key);
    }
    for token in arguments.token {
        builder = builder.token(token);
    }
    builder.start().await.map_err(Failure::Start)
}

fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::File(path.to_owned(), error.to_string()))
}

#[derive(Debug)]
enum Failure {
    Start(StartError),
    /// A file that was named, and why it is of no use.
    File(PathBuf, String),
    Io(io::Error),
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Start(error) => error.fmt(f),
            Self::File(path, what) => write!(f, "cannot use {}: {what}", path.display()),
            Self::Io(error) => error.fmt(f),
        }
    }
}
