//! Arguments of the program, and their conversion to settings of the builder.

use std::{
    ffi::OsString,
    fmt::Display,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::Value;

use crate::{
    catalog::{cloud::Cloud, pools::Pool},
    cluster::program::NodeCommand,
    job::{event::Wording, state::RestartOn},
    runner::process::view::Container,
};

/// The ModelArts training service on your own machine.
#[derive(Debug, Parser)]
// Flags of the configuration file come first, so that flags of the command line override them.
#[command(version, args_override_self = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Starts the emulator and prints one line of JSON when it is ready: url, obs_url, project_id,
    /// access_key, secret_key.
    Serve(Box<Serve>),
    #[command(flatten)]
    Node(NodeCommand),
}

pub(crate) enum Action {
    Serve(Box<Serve>),
    Node(NodeCommand),
}

#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct Serve {
    /// JSON file with flags by name, without their hyphens: {"timing": "instant", "pool": ["a:4"]}.
    /// Flags of the command line override it.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Loopback address to listen on; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub(super) listen: SocketAddr,
    /// Loopback address of OBS over HTTP, which serves the objects of --obs-root to clients of the
    /// S3 protocol, such as boto3; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    pub(super) obs_listen: SocketAddr,
    /// Directory of jobs and state.
    #[arg(long, default_value = "modelarts-emulator-data/data", value_name = "DIR")]
    pub(super) data_dir: PathBuf,
    /// Directory of OBS objects: obs://bucket/key is the file bucket/key in it. Default:
    /// modelarts-emulator-data/obs, or obs in the directory of --shared.
    #[arg(long, value_name = "DIR")]
    pub(super) obs_root: Option<PathBuf>,
    /// Id of the project. Default: the id in the data directory, random in a new directory.
    #[arg(long, value_name = "ID")]
    pub(super) project_id: Option<String>,
    /// Accepted access key. Default: the key in the data directory, random in a new directory.
    #[arg(long, value_name = "KEY")]
    pub(super) access_key: Option<String>,
    /// Accepted secret key. Default: the key in the data directory, random in a new directory.
    #[arg(long, value_name = "KEY")]
    pub(super) secret_key: Option<String>,
    /// File to which the settings of a client are written before the ready line, as lines such as
    /// export HUAWEICLOUD_SDK_AK='…', for `. FILE`. Only the current user can read the file, which
    /// is kept at the end.
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// Handling of running jobs on Ctrl-C and SIGTERM. Default: stop, or leave with --launcher
    /// slurm.
    #[arg(long, value_enum)]
    pub(super) on_stop: Option<OnStop>,
    /// Also end when stdin is closed, as when the program that holds its pipe has ended.
    #[arg(long)]
    pub(crate) end_with_stdin: bool,
    /// Token accepted in X-Auth-Token; may be repeated.
    #[arg(long, value_name = "TOKEN")]
    pub(super) token: Vec<String>,
    /// Password of the first user, for POST /v3/auth/tokens.
    #[arg(long, value_name = "PASSWORD")]
    pub(super) password: Option<String>,
    /// Let the first user give jobs the priority 3, which the service does not allow by default.
    #[arg(long)]
    pub(super) high_priority: bool,
    /// JSON file with a list of users: name, password, domain, project_id, project_name,
    /// access_key, secret_key, security_token, may_set_high_priority, authorized, frozen.
    #[arg(long, value_name = "FILE")]
    pub(super) users: Option<PathBuf>,
    /// The cloud to emulate.
    #[arg(long, value_enum, default_value_t = Cloud::Huawei)]
    pub(super) cloud: Cloud,
    /// Directory of data sets: version v of data set d is the directory d/v in it.
    #[arg(long, value_name = "DIR")]
    pub(super) datasets: Option<PathBuf>,
    /// Directory of NFS exports: server:/path is the directory server/path in it.
    #[arg(long, value_name = "DIR")]
    pub(super) nfs_root: Option<PathBuf>,
    /// Maximum size of a log, in bytes.
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    pub(super) log_cap: u64,
    /// Free bytes that the pre-check of jobs with fault-tolerance/job-retry-num requires.
    #[arg(long, default_value_t = 100 << 20, value_name = "BYTES")]
    pub(super) least_disk: u64,
    /// Failures after which jobs with fault-tolerance/job-retry-num run again.
    #[arg(long, value_enum, default_value_t = RestartOn::AnyFailure)]
    pub(super) restart_on: RestartOn,
    /// Maximum number of jobs of a project.
    #[arg(long, default_value_t = 10_000, value_name = "JOBS")]
    pub(super) job_quota: u32,
    /// Clock of all delays, limits and dates. POST /_emulator/clock moves a manual clock.
    #[arg(long, value_enum, default_value_t = ClockName::Wall)]
    pub(super) clock: ClockName,
    /// Durations of the steps of a job, other than the run of its code.
    #[arg(long, value_enum, default_value_t = TimingName::Quick)]
    pub(super) timing: TimingName,
    /// Factor by which the steps of a job are faster than on the service. Replaces --timing.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(super) speed: Option<f64>,
    /// Dedicated pool, instead of pool-cpu:16:cpu and pool-gpu:16:gpu; may be repeated.
    #[arg(long, value_name = "ID:NODES[:cpu|gpu]", value_parser = Pool::parse)]
    pub(super) pool: Vec<Pool>,
    /// Number of nodes for jobs outside of dedicated pools. Default: unlimited.
    #[arg(long, value_name = "NODES")]
    pub(super) public_nodes: Option<u32>,
    /// Bucket to treat as encrypted, which jobs cannot use; may be repeated.
    #[arg(long, value_name = "BUCKET")]
    pub(super) encrypted_bucket: Vec<String>,
    /// Organization that jobs can be saved to as images; may be repeated. Default: any name.
    #[arg(long, value_name = "NAME")]
    pub(super) organization: Vec<String>,
    /// Reject jobs whose output path an active job writes to.
    #[arg(long)]
    pub(super) one_job_per_output: bool,
    /// Reject, with status 501, jobs with documented fields that have no effect in the emulator.
    #[arg(long)]
    pub(super) strict: bool,
    /// Show the values of environment variables and of credentials in /_emulator/requests/last.
    #[arg(long)]
    pub(super) show_secrets: bool,
    /// Do not install packages from requirements.txt.
    #[arg(long)]
    pub(super) no_packages: bool,
    /// Switch for behaviour on which documents are silent or disagree; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) choose: Vec<String>,
    /// JSON file with jobs to create at the start; may be repeated.
    #[arg(long, value_name = "FILE")]
    pub(super) seed: Vec<PathBuf>,
    /// Execution of the code of jobs.
    #[arg(long, value_enum, default_value_t = RunnerName::Process)]
    pub(super) runner: RunnerName,
    /// View of this machine in which the code of jobs runs.
    #[arg(long, value_enum, default_value_t = Container::Auto)]
    pub(super) container: Container,
    /// Nodes on which the code of jobs runs.
    #[arg(long, value_enum, default_value_t = LauncherName::Local)]
    pub(super) launcher: LauncherName,
    /// Directory at the same path on all nodes; required with --launcher slurm.
    #[arg(long, value_name = "DIR")]
    pub(super) shared: Option<PathBuf>,
    /// TOML file with the options of sbatch for flavors, pools and priorities; see SLURM.md.
    #[arg(long, value_name = "FILE")]
    pub(super) launcher_config: Option<PathBuf>,
    /// JSON file with the script of simulated jobs. Default: jobs end at once with exit code 0.
    #[arg(long, value_name = "FILE")]
    pub(super) script: Option<PathBuf>,
    /// Wording of events where the documents disagree.
    #[arg(long, value_enum, default_value_t = Wording::Api)]
    pub(super) wording: Wording,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum TimingName {
    /// No delays.
    Instant,
    /// Delays of about one and a half seconds in total.
    Quick,
    /// The service's own delays, about 44 seconds in total.
    Documented,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ClockName {
    /// The system clock.
    Wall,
    /// A clock that stands still until it is moved.
    Manual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RunnerName {
    /// Execution as processes on this machine.
    Process,
    /// Simulation by the script; no process is started.
    Simulated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LauncherName {
    /// This machine.
    Local,
    /// Nodes of a Slurm cluster, which also queues the jobs.
    Slurm,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnStop {
    /// Running jobs are stopped, and become Terminated.
    Stop,
    /// The processes of running jobs end, and the next start on the data directory runs them again.
    /// Jobs on a Slurm cluster continue.
    Leave,
}

impl Serve {
    pub(super) fn on_stop(&self) -> OnStop {
        self.on_stop.unwrap_or(match self.launcher {
            LauncherName::Local => OnStop::Stop,
            LauncherName::Slurm => OnStop::Leave,
        })
    }
}

/// Parses a command line, preceded by the flags of its configuration file. Skips `given[0]`.
pub(crate) fn parse(given: &[OsString]) -> Result<Action, String> {
    read(given, |given| Ok(Arguments::parse_from(given)))
}

/// Parses the flags of `serve`. Unlike [`parse`], returns an error instead of ending the process.
pub(super) fn serve(flags: &[OsString]) -> Result<Serve, String> {
    let given = ["modelarts-emulator", "serve"].map(OsString::from).into_iter();
    let given: Vec<OsString> = given.chain(flags.iter().cloned()).collect();
    let message = |error: clap::Error| {
        let text = error.to_string();
        text.strip_prefix("error: ").unwrap_or(&text).trim_end().to_owned()
    };
    match read(&given, |given| Arguments::try_parse_from(given).map_err(message))? {
        Action::Serve(serve) => Ok(*serve),
        Action::Node(_) => Err("the arguments must be flags".to_owned()),
    }
}

fn read(
    given: &[OsString],
    parse: impl Fn(&[OsString]) -> Result<Arguments, String>,
) -> Result<Action, String> {
    let serve = match parse(given)?.command {
        Command::Serve(serve) => serve,
        Command::Node(command) => return Ok(Action::Node(command)),
    };
    let Some(path) = &serve.config else {
        return Ok(Action::Serve(serve));
    };
    let flags = load(path, flags)?;
    // The flags are inserted after the names of the program and of the command.
    let (command, rest) = given.split_at(2.min(given.len()));
    let all = command.iter().cloned().chain(flags).chain(rest.iter().cloned());
    match parse(&all.collect::<Vec<_>>())?.command {
        Command::Serve(serve) => Ok(Action::Serve(serve)),
        Command::Node(_) => Err("the configuration file must contain flags only".to_owned()),
    }
}

/// Converts the members of a configuration file to flags of a command line.
fn flags(text: &str) -> Result<Vec<OsString>, String> {
    let members: serde_json::Map<String, Value> =
        serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut flags = Vec::new();
    for (name, value) in members {
        let values = match value {
            Value::Array(values) => values,
            Value::Bool(false) | Value::Null => continue,
            Value::Bool(true) => {
                flags.push(format!("--{name}").into());
                continue;
            }
            value => vec![value],
        };
        for value in values {
            let value = match value {
                Value::String(text) => text,
                Value::Number(number) => number.to_string(),
                _ => {
                    return Err(format!(
                        "{name} must be a text, a number, true or false, or a list of texts"
                    ));
                }
            };
            flags.push(format!("--{name}={value}").into());
        }
    }
    Ok(flags)
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("the factor is a number above 0, such as 4 or 0.5".to_owned()),
    }
}

/// Reads and parses a file. The error message names the file.
pub(super) fn load<T, E: Display>(
    path: &Path,
    parse: fn(&str) -> Result<T, E>,
) -> Result<T, String> {
    let unusable = |what: &dyn Display| format!("cannot use {}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => unusable(
            &"there is no such file: name one that exists, as seen from the current directory",
        ),
        _ => unusable(&error),
    })?;
    parse(&text).map_err(|what| unusable(&what))
}
