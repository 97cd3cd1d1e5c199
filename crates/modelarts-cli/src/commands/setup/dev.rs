//! Command `modelarts dev`, which starts an emulator.

#![cfg_attr(not(unix), allow(dead_code, reason = "the emulator runs jobs as processes of Unix"))]

use std::{net::SocketAddr, path::PathBuf};

use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Serialize;

#[cfg(unix)]
use crate::follow::Interrupt;
use crate::{exit_status::ExitStatus, failure::Failure, output::Document, session::Session};

const NOTES: &str = "\
The emulator runs until Ctrl-C, SIGTERM or SIGHUP. It writes a context with its data directory, so \
that
commands in other shells can use it; the context does not become the current one. Its keys are in
the file connection.json of the data directory, which only this user can read. Jobs, keys and
objects are kept for the next start. `modelarts-emulator serve` has more settings.

The web page beside it is that of `modelarts console`.";

#[derive(Debug, Args)]
#[command(after_help = NOTES)]
pub(crate) struct Dev {
    /// Name of the context to write.
    #[arg(long, default_value = "dev", value_name = "NAME")]
    name: String,
    /// Directory of jobs, objects and keys. Default: the data directory of the user, such as
    /// ~/.local/share/modelarts/dev.
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Bucket to create for local code and data. Default: the bucket of the context, or dev.
    #[arg(long, value_name = "BUCKET")]
    bucket: Option<String>,
    /// Loopback address to listen on; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// Loopback address of OBS; port 0 selects a free port.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT")]
    obs_listen: SocketAddr,
    /// Duration of the steps of a job, apart from the run of its code.
    #[arg(long, value_enum, default_value_t = TimingName::Quick)]
    timing: TimingName,
    /// Factor by which the steps of a job are faster than on the service; instead of --timing.
    #[arg(long, value_name = "FACTOR", value_parser = factor, conflicts_with = "timing")]
    speed: Option<f64>,
    /// Clock of the steps of a job and of all dates.
    #[arg(long, value_enum, default_value_t = ClockName::Wall)]
    clock: ClockName,
    /// The cloud to emulate.
    #[cfg(unix)]
    #[arg(long, value_enum, default_value_t = modelarts_emulator::Cloud::Huawei)]
    cloud: modelarts_emulator::Cloud,
    /// File for the variables of a client, which a shell reads with `. FILE`; only this user can
    /// read it.
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// Dedicated pool, instead of pool-cpu:16:cpu and pool-gpu:16:gpu; may be repeated.
    #[arg(long, value_name = "ID:NODES[:cpu|gpu]")]
    pool: Vec<String>,
    /// View of this machine in which the code of jobs runs.
    #[cfg(unix)]
    #[arg(long, value_enum, default_value_t = modelarts_emulator::jobs::Container::Auto)]
    container: modelarts_emulator::jobs::Container,
    /// Loopback address of the web page; port 0 selects a free port. Default: 127.0.0.1:8900, or
    /// the next free port.
    #[arg(long, value_name = "ADDRESS:PORT")]
    console_listen: Option<SocketAddr>,
    /// Serves no web page.
    #[arg(long, conflicts_with = "console_listen")]
    no_console: bool,
    /// Effect of the end of the emulator on running jobs.
    #[arg(long, value_enum, default_value_t = OnStop::Stop)]
    on_stop: OnStop,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TimingName {
    /// No delays.
    Instant,
    /// Delays of about one and a half seconds in total.
    Quick,
    /// The service's own delays, about 44 seconds in total.
    Documented,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClockName {
    /// The clock of this machine.
    Wall,
    /// A clock that stands still until the web page moves it forward.
    Manual,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum OnStop {
    /// Running jobs are stopped and become Terminated.
    Stop,
    /// Running jobs are left, and the next start runs them again from the beginning.
    Leave,
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor.is_finite() && factor > 0.0 => Ok(factor),
        _ => Err("it must be a number above 0, such as 4 or 0.5".to_owned()),
    }
}

/// The running emulator, without its keys.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DevReady {
    /// Address of the service.
    url: String,
    /// Address of OBS.
    obs_url: String,
    /// Id of the project.
    project_id: String,
    /// Data directory, whose file connection.json has the keys.
    data_dir: PathBuf,
    /// Bucket for local code and data.
    bucket: String,
    /// Context that commands can use.
    context: String,
    /// Address of the web page, without its login link; null if there is none.
    console_url: Option<String>,
}

impl Document for DevReady {
    fn text(&self, _: bool, _: Option<u16>) -> String {
        self.url.clone()
    }
}

#[cfg(not(unix))]
impl Dev {
    pub(crate) async fn run(self, _: &Session) -> Result<ExitStatus, Failure> {
        Err(Failure::local(
            "the emulator runs on Linux and macOS only; all other commands work here, also with an \
             emulator in WSL",
        ))
    }
}

#[cfg(unix)]
impl Dev {
    pub(crate) async fn run(self, session: &Session) -> Result<ExitStatus, Failure> {
        // Signals are handled before the ready line is printed, because the parent may send a
        // signal as soon as it has read the line.
        let mut interrupt = Interrupt::new();
        let on_stop = self.on_stop;
        let mut emulator = unix::start(self, session).await?;
        interrupt.received().await;
        if let Some(page) = emulator.page.take() {
            page.shutdown().await;
        }
        let result = emulator.withdraw();
        match on_stop {
            OnStop::Stop => {
                note!("ending with all jobs");
                emulator.emulator.shutdown().await;
            }
            OnStop::Leave => {
                note!("ending; the next start runs the jobs again");
                emulator.emulator.suspend().await;
            }
        }
        result.map(|()| ExitStatus::Interrupted)
    }
}

#[cfg(unix)]
mod unix {
    //! Start of the emulator, and of the files through which other programs find the emulator.

    use std::{
        collections::BTreeMap,
        fs, io,
        net::{SocketAddr, TcpStream},
        path::{Path, PathBuf},
        sync::Arc,
        time::{Duration, SystemTime},
    };

    use etcetera::BaseStrategy;
    use modelarts_console::{Console, ConsoleBuilder};
    use modelarts_emulator::{Emulator, Timing, clock::ManualClock, pools::Pool};
    use modelarts_obs::Obs;

    use super::{ClockName, Dev, DevReady, OnStop, TimingName};
    use crate::{
        commands::{
            console::page::{check_address, start_page},
            setup::context,
        },
        context::{CONNECTION_FILE, ConfigEdit, Contexts, Selection, connection},
        failure::Failure,
        session::Session,
        state,
    };

    /// Default bucket for local code and data.
    const BUCKET: &str = "dev";
    /// Flavor of a new context, so that a job needs only a script.
    const FLAVOR: &str = "modelarts.vm.cpu.8u";
    /// Time limit of the check for an emulator at an address of this machine.
    const PROBE_TIME: Duration = Duration::from_millis(500);

    /// A running emulator that other programs can find.
    pub(super) struct Running {
        pub(super) emulator: Emulator,
        /// Web page; `None` if the user has disabled it, or if it has ended.
        pub(super) page: Option<Console>,
        directory: PathBuf,
    }

    impl Running {
        /// Removes the connection file, which contains the keys. Later commands then report that
        /// the emulator is not running.
        pub(super) fn withdraw(&self) -> Result<(), Failure> {
            let path = self.directory.join(CONNECTION_FILE);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    Err(Failure::local(format_args!("cannot delete {}: {error}", path.display())))
                }
                _ => Ok(()),
            }
        }
    }

    /// Starts the emulator, writes its files and prints its addresses.
    pub(super) async fn start(dev: Dev, session: &Session) -> Result<Running, Failure> {
        let name = &dev.name;
        context::check_name(name)?;
        check_address(dev.console_listen, "--console-listen")?;
        let directory = match &dev.data_dir {
            Some(directory) => std::path::absolute(directory).map_err(Failure::local)?,
            None => default_directory(name)?,
        };
        let config = Contexts::path().map_err(Failure::usage)?;
        // An invalid file of contexts is reported before any job runs.
        let known = Contexts::read(&config).map_err(Failure::usage)?.contexts.remove(name);
        let is_new = known.is_none();
        let mut bucket = dev.bucket.clone();
        if let Some(known) = known {
            let Some(other) = known.data_dir else {
                return Err(Failure::usage(format_args!(
                    "the context {name} in {} is not one of an emulator, and is not overwritten; \
                     --name must give another name",
                    config.display()
                )));
            };
            if other != directory && is_running(&other) {
                return Err(Failure::usage(format_args!(
                    "the context {name} belongs to the emulator in {}, which is running; end that \
                     one, or give another --name",
                    other.display()
                )));
            }
            bucket = bucket.or(known.bucket);
        }
        let bucket = bucket.unwrap_or_else(|| BUCKET.to_owned());
        // An invalid bucket name is reported before any job runs.
        modelarts_obs::ObsPath::new(&bucket, "")?;
        let failed = |error: &dyn std::fmt::Display| {
            Failure::local(format_args!(
                "cannot start the emulator in {}: {error}",
                directory.display()
            ))
        };
        let emulator = builder(&dev, &directory)?.start().await;
        let emulator = emulator.map_err(|error| failed(&error))?;
        let mut ready = DevReady {
            url: emulator.url().to_owned(),
            obs_url: emulator.obs_url().to_owned(),
            project_id: emulator.project_id().to_owned(),
            data_dir: directory.clone(),
            bucket,
            context: name.clone(),
            console_url: None,
        };
        let variables = emulator.envs();
        let objects = Obs::directory(emulator.obs_root());
        let mut running = Running { emulator, page: None, directory };
        let announced = async {
            objects.bucket(&ready.bucket)?.create().await?;
            write_connection(&running.directory, &variables)?;
            if let Some(path) = &dev.env_file {
                let text =
                    context::exports(variables.iter().map(|(name, value)| (*name, value.as_str())));
                state::replace(path, format!("{text}\n").as_bytes()).map_err(|error| {
                    Failure::local(format_args!("--env-file {}: {error}", path.display()))
                })?;
            }
            let mut edit = ConfigEdit::open(&config)?;
            edit.set(name, "data_dir", &running.directory.to_string_lossy())?;
            edit.set(name, "bucket", &ready.bucket)?;
            if is_new {
                edit.set(name, "flavor", FLAVOR)?;
            }
            edit.save()?;
            if !dev.no_console {
                running.page = Some(serve_page(name, dev.console_listen).await?);
            }
            let page = running.page.as_ref();
            ready.console_url = page.map(Console::url);
            print(session, &ready, page, dev.on_stop)
        };
        if let Err(failure) = announced.await {
            // The first failure is the one to report.
            let _ = running.withdraw();
            running.emulator.shutdown().await;
            return Err(failure);
        }
        Ok(running)
    }

    /// Starts the web page with the settings that commands use in this context.
    async fn serve_page(name: &str, listen: Option<SocketAddr>) -> Result<Console, Failure> {
        let selection = Selection::new(Some(name.to_owned()));
        let client = Session::connect(&selection).await?;
        let flavor = &selection.context()?.flavor;
        let settings = |builder: ConsoleBuilder| builder.context(name).flavor(flavor.clone());
        start_page(&client, listen, "--console-listen", settings).await
    }

    /// Prints the addresses, and the commands that use them.
    fn print(
        session: &Session,
        ready: &DevReady,
        page: Option<&Console>,
        on_stop: OnStop,
    ) -> Result<(), Failure> {
        let name = &ready.context;
        note!("ModelArts emulator on {}, OBS on {}", ready.url, ready.obs_url);
        note!("Data in {}, bucket {}", ready.data_dir.display(), ready.bucket);
        if let Some(page) = page {
            note!("Web page, by a link that is valid once:");
            note!("  {}", page.login_url());
        }
        note!("In another shell:");
        note!("  modelarts --context {name} submit train.py    one command on the emulator");
        note!("  modelarts context use {name}                  all commands on the emulator");
        note!(
            "Ctrl-C ends it{}",
            match on_stop {
                OnStop::Stop => " and stops its jobs",
                OnStop::Leave => "; the next start runs its jobs again",
            }
        );
        session.output.document_line(ready)
    }

    fn builder(dev: &Dev, directory: &Path) -> Result<modelarts_emulator::Builder, Failure> {
        let mut builder = Emulator::builder()
            .listen(dev.listen)
            .obs_listen(dev.obs_listen)
            .data_dir(directory.join("data"))
            .obs_root(directory.join("obs"))
            .container(dev.container)
            .cloud(dev.cloud)
            .timing(match (dev.speed, dev.timing) {
                (Some(factor), _) => Timing::faster(factor),
                (None, TimingName::Instant) => Timing::instant(),
                (None, TimingName::Quick) => Timing::default(),
                (None, TimingName::Documented) => Timing::documented(),
            });
        if dev.clock == ClockName::Manual {
            builder = builder.clock(Arc::new(ManualClock::at(SystemTime::now())));
        }
        for pool in &dev.pool {
            let pool = Pool::parse(pool);
            let pool = pool.map_err(|error| Failure::usage(format_args!("--pool {error}")))?;
            builder = builder.pool(pool);
        }
        Ok(builder)
    }

    fn default_directory(name: &str) -> Result<PathBuf, Failure> {
        let base = etcetera::choose_base_strategy().map_err(|_| {
            Failure::usage("the home directory is not known; --data-dir must name a directory")
        })?;
        Ok(base.data_dir().join("modelarts").join(name))
    }

    /// Writes the environment variables of a client to a file that only this user can read.
    fn write_connection(directory: &Path, variables: &[(&str, String)]) -> Result<(), Failure> {
        let variables: BTreeMap<_, _> = variables.iter().cloned().collect();
        let text = format!("{:#}\n", serde_json::json!(variables));
        state::replace(&directory.join(CONNECTION_FILE), text.as_bytes()).map_err(|error| {
            Failure::local(format_args!(
                "cannot write {CONNECTION_FILE} in {}: {error}",
                directory.display()
            ))
        })
    }

    /// Returns `true` if the emulator of a data directory accepts connections.
    fn is_running(directory: &Path) -> bool {
        let variables = connection(directory).ok().flatten();
        let url = variables.and_then(|mut variables| variables.remove("MODELARTS_ENDPOINT"));
        let address = url.and_then(|url| url.strip_prefix("http://")?.parse::<SocketAddr>().ok());
        address.is_some_and(|address| TcpStream::connect_timeout(&address, PROBE_TIME).is_ok())
    }
}
