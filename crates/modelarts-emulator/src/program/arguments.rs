//! Arguments of the program, and their conversion to settings of the builder.

use std::{
    ffi::OsString,
    fmt::Display,
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
    time::SystemTime,
};

use clap::{Parser, Subcommand, ValueEnum};
use serde_json::Value;

use crate::{
    accounts::User,
    catalog::{cloud::Cloud, pools::Pool, quirks::Quirks},
    clock::{ManualClock, timing::Timing},
    emulator::{Emulator, builder::Builder, runner::RunnerKind},
    execution::seeds::Seeds,
    job::{event::Wording, state::RestartOn},
    runner::{
        process::view::Container,
        simulated::script::Script,
        slurm::{Slurm, config::Config},
    },
};

/// The ModelArts training service on your own machine.
#[derive(Debug, Parser)]
// Flags of the configuration file come first, so that those of the command line override them.
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
    /// Runs a worker of a job on a node; srun starts this command.
    #[command(hide = true)]
    Worker {
        /// File with the facts of the job.
        file: PathBuf,
        /// Print the content of the file and exit.
        #[arg(long)]
        check: bool,
    },
}

/// Work of the program.
pub(crate) enum Action {
    Serve(Box<Serve>),
    Work(PathBuf),
    PrintToken(PathBuf),
}

#[derive(Debug, clap::Args)]
#[command(args_override_self = true)]
pub(crate) struct Serve {
    /// JSON file with flags by name, without their hyphens: {"timing": "instant", "pool": ["a:4"]}.
    /// Flags of the command line override it.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Loopback address to listen on; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Loopback address of OBS over HTTP, which serves the objects of --obs-root to clients of the
    /// S3 protocol, such as boto3; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    obs_listen: SocketAddr,
    /// Directory of jobs and state.
    #[arg(
        long,
        default_value = "modelarts-emulator-data/data",
        value_name = "DIR"
    )]
    data_dir: PathBuf,
    /// Directory of OBS objects: obs://bucket/key is the file bucket/key in it. If not given:
    /// modelarts-emulator-data/obs, or obs in the directory of --shared.
    #[arg(long, value_name = "DIR")]
    obs_root: Option<PathBuf>,
    /// Id of the project; if not given, that of the data directory, random in a new one.
    #[arg(long, value_name = "ID")]
    project_id: Option<String>,
    /// Accepted access key; if not given, that of the data directory, random in a new one.
    #[arg(long, value_name = "KEY")]
    access_key: Option<String>,
    /// Accepted secret key; if not given, that of the data directory, random in a new one.
    #[arg(long, value_name = "KEY")]
    secret_key: Option<String>,
    /// File to write the settings of a client to, before the ready line: lines such as
    /// export HUAWEICLOUD_SDK_AK='…', for `. FILE`. Only this user can read it; it is kept at the
    /// end.
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// Running jobs on Ctrl-C and SIGTERM.
    #[arg(long, value_enum, default_value_t = OnStop::Stop)]
    pub(crate) on_stop: OnStop,
    /// Also end when stdin is closed, as by SIGTERM: with the program that started the emulator
    /// with a pipe, even if it was killed.
    #[arg(long)]
    pub(crate) end_with_stdin: bool,
    /// Token accepted in X-Auth-Token; may be repeated.
    #[arg(long, value_name = "TOKEN")]
    token: Vec<String>,
    /// Password of the first user, for POST /v3/auth/tokens.
    #[arg(long, value_name = "PASSWORD")]
    password: Option<String>,
    /// Let the first user give jobs the priority 3, which the service does not allow by default.
    #[arg(long)]
    high_priority: bool,
    /// JSON file with a list of users: name, password, domain, project_id, project_name,
    /// access_key, secret_key, security_token, may_set_high_priority, authorized, frozen.
    #[arg(long, value_name = "FILE")]
    users: Option<PathBuf>,
    /// The cloud to emulate.
    #[arg(long, value_enum, default_value_t = CloudName::Huawei)]
    cloud: CloudName,
    /// Directory of data sets: version v of data set d is the directory d/v in it.
    #[arg(long, value_name = "DIR")]
    datasets: Option<PathBuf>,
    /// Directory of NFS exports: server:/path is the directory server/path in it.
    #[arg(long, value_name = "DIR")]
    nfs_root: Option<PathBuf>,
    /// Maximum size of a log.
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    log_cap: u64,
    /// Free bytes required by the pre-check of jobs with fault-tolerance/job-retry-num.
    #[arg(long, default_value_t = 100 << 20, value_name = "BYTES")]
    least_disk: u64,
    /// Failures after which jobs with fault-tolerance/job-retry-num run again.
    #[arg(long, value_enum, default_value_t = RestartName::AnyFailure)]
    restart_on: RestartName,
    /// Maximum number of jobs of a project.
    #[arg(long, default_value_t = 10_000, value_name = "JOBS")]
    job_quota: u32,
    /// Clock of all delays, limits and dates; POST /_emulator/clock moves a manual one.
    #[arg(long, value_enum, default_value_t = ClockName::Wall)]
    clock: ClockName,
    /// Duration of the steps of a job, apart from the run of its code.
    #[arg(long, value_enum, default_value_t = TimingName::Quick)]
    timing: TimingName,
    /// Factor by which the steps of a job are faster than on the service; instead of --timing.
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    speed: Option<f64>,
    /// Dedicated pool, instead of pool-cpu:16:cpu and pool-gpu:16:gpu; may be repeated.
    #[arg(long, value_name = "ID:NODES[:cpu|gpu]", value_parser = Pool::parse)]
    pool: Vec<Pool>,
    /// Nodes for jobs outside of dedicated pools; unlimited if not given.
    #[arg(long, value_name = "NODES")]
    public_nodes: Option<u32>,
    /// Bucket to treat as encrypted, which jobs cannot use; may be repeated.
    #[arg(long, value_name = "BUCKET")]
    encrypted_bucket: Vec<String>,
    /// Organization of the image registry that jobs can be saved to; may be repeated. Any name if
    /// not given.
    #[arg(long, value_name = "NAME")]
    organization: Vec<String>,
    /// Refuse jobs whose output path an active job writes to.
    #[arg(long)]
    one_job_per_output: bool,
    /// Refuse jobs with documented fields that the emulator stores without effect, with 501.
    #[arg(long)]
    strict: bool,
    /// Show the values of environment variables and of credentials in /_emulator/requests/last.
    #[arg(long)]
    show_secrets: bool,
    /// Do not install packages from requirements.txt.
    #[arg(long)]
    no_packages: bool,
    /// Switch for behaviour on which documents are silent or disagree; may be repeated.
    #[arg(long, value_name = "NAME=VALUE")]
    choose: Vec<String>,
    /// JSON file with jobs to create at the start; may be repeated.
    #[arg(long, value_name = "FILE")]
    seed: Vec<PathBuf>,
    /// Execution of the code of jobs.
    #[arg(long, value_enum, default_value_t = RunnerName::Process)]
    runner: RunnerName,
    /// View of this machine in which the code of jobs runs.
    #[arg(long, value_enum, default_value_t = Container::Auto)]
    container: Container,
    /// Nodes on which the code of jobs runs.
    #[arg(long, value_enum, default_value_t = LauncherName::Local)]
    launcher: LauncherName,
    /// Directory that this machine and all nodes of the cluster mount at the same path; required
    /// with --launcher slurm.
    #[arg(long, value_name = "DIR")]
    shared: Option<PathBuf>,
    /// TOML file with the options of srun for flavors, pools and priorities; see SLURM.md.
    #[arg(long, value_name = "FILE")]
    launcher_config: Option<PathBuf>,
    /// JSON file with the script of simulated jobs; without it each ends at once with exit code 0.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Wording of events where the documents disagree.
    #[arg(long, value_enum, default_value_t = WordingName::Api)]
    wording: WordingName,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TimingName {
    /// No delays.
    Instant,
    /// Delays of about one and a half seconds in all.
    Quick,
    /// The service's own delays, about 44 seconds in all.
    Documented,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum CloudName {
    /// Open Telekom Cloud.
    Otc,
    /// Huawei Cloud.
    Huawei,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RestartName {
    /// Faults of the machine only, never an exit code.
    Fault,
    /// Any failure of the code.
    AnyFailure,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ClockName {
    /// The system clock.
    Wall,
    /// A clock that stands still until it is moved.
    Manual,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RunnerName {
    /// Execution as processes on this machine.
    Process,
    /// Simulation by the script; no process is started.
    Simulated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LauncherName {
    /// This machine.
    Local,
    /// Nodes of a Slurm cluster, which also queues the jobs.
    Slurm,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum OnStop {
    /// They are stopped, and Terminated.
    Stop,
    /// Their processes end, and the next start on the data directory runs them again, as after
    /// SIGKILL.
    Leave,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WordingName {
    /// Texts of the events API.
    Api,
    /// Texts of the events guide.
    Guide,
}

/// Parses the arguments of the command line, after those of the configuration file that it names.
/// The first argument is the name of the program.
pub(crate) fn parse(given: &[OsString]) -> Result<Action, String> {
    let serve = match Arguments::parse_from(given).command {
        Command::Serve(serve) => serve,
        Command::Worker { file, check: true } => return Ok(Action::PrintToken(file)),
        Command::Worker { file, check: false } => return Ok(Action::Work(file)),
    };
    let Some(path) = &serve.config else {
        return Ok(Action::Serve(serve));
    };
    let flags = load(path, flags)?;
    // The flags are inserted after the names of the program and of the command.
    let (command, rest) = given.split_at(2.min(given.len()));
    let all = command
        .iter()
        .cloned()
        .chain(flags)
        .chain(rest.iter().cloned());
    match Arguments::parse_from(all).command {
        Command::Serve(serve) => Ok(Action::Serve(serve)),
        Command::Worker { .. } => Err("the configuration file must contain flags only".to_owned()),
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

/// Calls a setter of the builder with each of the values.
fn each<T>(
    builder: Builder,
    values: impl IntoIterator<Item = T>,
    set: impl Fn(Builder, T) -> Builder,
) -> Builder {
    values.into_iter().fold(builder, set)
}

/// Converts the arguments to settings of the builder.
pub(crate) fn builder(given: Serve) -> Result<Builder, String> {
    let slurm = slurm(&given)?;
    let obs_root = given.obs_root.unwrap_or_else(|| match &given.shared {
        Some(shared) => shared.join("obs"),
        None => PathBuf::from("modelarts-emulator-data/obs"),
    });
    let mut builder = Emulator::builder()
        .listen(given.listen)
        .obs_listen(given.obs_listen)
        .data_dir(given.data_dir)
        .obs_root(obs_root)
        .timing(match given.timing {
            _ if given.speed.is_some() => Timing::faster(given.speed.unwrap_or_default()),
            TimingName::Instant => Timing::instant(),
            TimingName::Quick => Timing::default(),
            TimingName::Documented => Timing::documented(),
        })
        .event_wording(match given.wording {
            WordingName::Api => Wording::Api,
            WordingName::Guide => Wording::Guide,
        })
        .cloud(match given.cloud {
            CloudName::Otc => Cloud::Otc,
            CloudName::Huawei => Cloud::Huawei,
        })
        .restart_on(match given.restart_on {
            RestartName::Fault => RestartOn::Fault,
            RestartName::AnyFailure => RestartOn::AnyFailure,
        })
        .log_cap(given.log_cap)
        .least_disk(given.least_disk)
        .job_quota(given.job_quota)
        .one_job_per_output(given.one_job_per_output)
        .strict(given.strict)
        .show_secrets(given.show_secrets)
        .high_priority(given.high_priority)
        .container(given.container)
        .install_packages(!given.no_packages);
    builder = each(builder, given.pool, Builder::pool);
    builder = each(builder, given.public_nodes, Builder::public_nodes);
    builder = each(builder, given.encrypted_bucket, Builder::encrypted_bucket);
    builder = each(builder, given.organization, Builder::organization);
    builder = each(builder, given.password, Builder::password);
    builder = each(builder, given.datasets, Builder::datasets);
    builder = each(builder, given.nfs_root, Builder::nfs_root);
    builder = each(builder, given.project_id, Builder::project_id);
    builder = each(builder, given.access_key, Builder::access_key);
    builder = each(builder, given.secret_key, Builder::secret_key);
    builder = each(builder, given.token, Builder::token);
    let mut quirks = Quirks::default();
    for choice in &given.choose {
        let set = quirks.set(choice);
        set.map_err(|what| format!("cannot choose: {what}"))?;
    }
    builder = builder.quirks(quirks);
    for path in given.seed {
        builder = builder.seed_jobs(load(&path, Seeds::from_json)?);
    }
    let script = match given.script {
        None => Script::default(),
        Some(path) if given.runner == RunnerName::Process => {
            let path = path.display();
            return Err(format!(
                "cannot use {path}: only --runner simulated follows a script"
            ));
        }
        Some(path) => load(&path, Script::from_json)?,
    };
    if given.runner == RunnerName::Simulated {
        builder = builder.runner(RunnerKind::Simulated(script));
    }
    if let Some(slurm) = slurm {
        builder = builder.runner(RunnerKind::Slurm(slurm));
    }
    if let ClockName::Manual = given.clock {
        builder = builder.clock(Arc::new(ManualClock::at(SystemTime::now())));
    }
    if let Some(path) = given.users {
        builder = each(builder, load(&path, User::list_from_json)?, Builder::user);
    }
    Ok(builder)
}

/// Returns the cluster on which jobs run, if they do not run on this machine.
fn slurm(given: &Serve) -> Result<Option<Slurm>, String> {
    if given.launcher == LauncherName::Local {
        let flags = [
            ("--shared", given.shared.is_some()),
            ("--launcher-config", given.launcher_config.is_some()),
        ];
        return match flags.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) => Err(format!("{flag} must be given with --launcher slurm")),
            None => Ok(None),
        };
    }
    if given.runner == RunnerName::Simulated {
        let error =
            "--launcher slurm must not be given with --runner simulated, which starts no code";
        return Err(error.to_owned());
    }
    if let ClockName::Manual = given.clock {
        let error = "--launcher slurm must not be given with --clock manual, because Slurm runs in real time";
        return Err(error.to_owned());
    }
    let shared = given.shared.as_ref().ok_or(
        "--launcher slurm must be given with --shared DIR, a directory that this machine and all \
         nodes mount at the same path",
    )?;
    let config = match &given.launcher_config {
        Some(path) => load(path, Config::from_toml)?,
        None => Config::default(),
    };
    Ok(Some(Slurm::new(shared).config(config)))
}

/// Reads and parses a file. The error message names the file.
fn load<T, E: Display>(path: &Path, parse: fn(&str) -> Result<T, E>) -> Result<T, String> {
    let unusable = |what: &dyn Display| format!("cannot use {}: {what}", path.display());
    let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => unusable(
            &"there is no such file: name one that exists, as seen from the current directory",
        ),
        _ => unusable(&error),
    })?;
    parse(&text).map_err(|what| unusable(&what))
}
