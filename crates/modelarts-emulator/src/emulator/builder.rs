//! Settings of an emulator, and its start.

use std::{
    collections::BTreeSet,
    fmt, io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use tokio::net::TcpListener;

use crate::{
    accounts::{Accounts, User},
    api::ids::Ids,
    catalog::{cloud::Cloud, pools::Pool, quirks::Quirks},
    clock::{
        system::{Clock, SystemClock},
        timing::Timing,
    },
    database::{Database, quotas::Quotas},
    emulator::{Emulator, error::StartError},
    execution::{recovery, seeds::Seeds},
    files::confined_dir::ConfinedDir,
    job::{event::Wording, state::RestartOn},
    metrics::Metrics,
    runner::{
        Runner,
        process::{ProcessRunner, Settings, watchdog::Watchdog},
        simulated::{SimulatedRunner, script::Script},
    },
    scheduler::Scheduler,
    server::{connections, host_guard, router},
    state::{EmulatorState, StateParts},
    store::JobStore,
    traffic::{
        observer::{Exchange, Observer},
        request_log::RequestLog,
    },
    validation::creation::Offer,
};

/// How the code of jobs is run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub enum RunnerKind {
    /// As processes on this machine.
    #[default]
    Process,
    /// Not at all: jobs follow the script, on the emulator's clock, without processes, copies and
    /// packages. Everything else is the same.
    Simulated(Script),
}

/// The name of the user when none was given.
const USER_NAME: &str = "emulator";

/// Settings of an [`Emulator`].
#[derive(Clone)]
#[must_use = "nothing starts before `start`"]
pub struct Builder {
    listen: SocketAddr,
    data_dir: Option<PathBuf>,
    obs_root: Option<PathBuf>,
    project_id: Option<String>,
    access_key: Option<String>,
    secret_key: Option<String>,
    tokens: Vec<String>,
    clock: Arc<dyn Clock>,
    timing: Timing,
    wording: Wording,
    cloud: Cloud,
    pools: Vec<Pool>,
    encrypted: BTreeSet<String>,
    organizations: BTreeSet<String>,
    datasets: Option<PathBuf>,
    nfs: Option<PathBuf>,
    log_cap: u64,
    least_disk: u64,
    install_packages: bool,
    restart_on: RestartOn,
    public_nodes: u32,
    users: Vec<User>,
    password: Option<String>,
    high_priority: bool,
    quota: Option<u32>,
    one_job_per_output: bool,
    strict: bool,
    show_secrets: bool,
    script: Option<Script>,
    quirks: Quirks,
    seeds: Vec<Seeds>,
    observer: Option<Observer>,
    id_seed: Option<u64>,
}

impl fmt::Debug for Builder {
    /// Without its secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            data_dir: None,
            obs_root: None,
            project_id: None,
            access_key: None,
            secret_key: None,
            tokens: Vec::new(),
            clock: Arc::new(SystemClock),
            timing: Timing::default(),
            wording: Wording::default(),
            cloud: Cloud::default(),
            pools: Vec::new(),
            encrypted: BTreeSet::new(),
            organizations: BTreeSet::new(),
            datasets: None,
            nfs: None,
            log_cap: 1 << 30,
            least_disk: 100 << 20,
            install_packages: true,
            restart_on: RestartOn::default(),
            public_nodes: u32::MAX,
            users: Vec::new(),
            password: None,
            high_priority: false,
            quota: None,
            one_job_per_output: false,
            strict: false,
            show_secrets: false,
            script: None,
            quirks: Quirks::default(),
            seeds: Vec::new(),
            observer: None,
            id_seed: None,
        }
    }
}

impl Builder {
    /// Where to listen: a loopback address. Default: `127.0.0.1` with a free port.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Where jobs have their directories, and where all state is stored (`state.sqlite3`); made if
    /// it does not exist. An emulator that starts on the directory of an earlier one goes on with
    /// its jobs, as after the fault of a node. Default: temporary, and the state is in memory only.
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(path.into());
        self
    }

    /// The directory that is OBS; made if it does not exist. Default: temporary.
    pub fn obs_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.obs_root = Some(path.into());
        self
    }

    /// The id of the project. Default: another one at each start.
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.project_id = Some(id.into());
        self
    }

    /// The access key that is accepted. Default: another one at each start.
    pub fn access_key(mut self, key: impl Into<String>) -> Self {
        self.access_key = Some(key.into());
        self
    }

    /// The secret key that belongs to the access key. Default: another one at each start.
    pub fn secret_key(mut self, key: impl Into<String>) -> Self {
        self.secret_key = Some(key.into());
        self
    }

    /// One more token that is accepted in the header `X-Auth-Token`. Default: none.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// One more user. Without any there is one with the name `emulator`; the id of the project and
    /// the keys that this builder was given are those of the first.
    pub fn user(mut self, user: User) -> Self {
        self.users.push(user);
        self
    }

    /// The password of the first user, for `POST /v3/auth/tokens`. Default: the user's own, or
    /// none.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Lets the first user give jobs the priority 3, which the service does not grant by default.
    /// Default: as the user says.
    pub fn high_priority(mut self, on: bool) -> Self {
        self.high_priority = on;
        self
    }

    /// The most jobs that a project may have. Default: 10,000 (`openapi/SOURCES.md`, G).
    pub fn job_quota(mut self, jobs: u32) -> Self {
        self.quota = Some(jobs);
        self
    }

    /// Refuses a job whose output path an active job writes to. Only the guide to an old console
    /// says so (`openapi/SOURCES.md`, G). Default: no.
    pub fn one_job_per_output(mut self, on: bool) -> Self {
        self.one_job_per_output = on;
        self
    }

    /// Refuses jobs with documented fields that the emulator does not act on, with status 501.
    /// Default: no. Such fields are stored, given back, and named in the header
    /// `X-Emulator-Ignored`, in the log, and by `GET /_emulator/jobs/{id}/ignored`.
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// Shows the values of environment variables and of credentials in bodies, in
    /// [`Emulator::last_requests`] and `/_emulator/requests/last`. Default: off, they are `***`.
    pub fn show_secrets(mut self, on: bool) -> Self {
        self.show_secrets = on;
        self
    }

    /// How the code of jobs is run. Default: [`RunnerKind::Process`].
    pub fn runner(mut self, kind: RunnerKind) -> Self {
        self.script = match kind {
            RunnerKind::Process => None,
            RunnerKind::Simulated(script) => Some(script),
        };
        self
    }

    /// The behaviour where the documents are silent or disagree. Default: [`Quirks::default`].
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// More jobs with a past that are to be there at the start. Those whose names are taken,
    /// because the data directory has them already, are left as they are. Default: none.
    pub fn seed_jobs(mut self, seeds: Seeds) -> Self {
        self.seeds.push(seeds);
        self
    }

    /// The clock. Default: [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// How long the steps of a job take. Default: [`Timing::default`], quick but visible.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Which texts events get. Default: [`Wording::Api`].
    pub fn event_wording(mut self, wording: Wording) -> Self {
        self.wording = wording;
        self
    }

    /// The cloud whose service it is: operations, kinds of jobs and limits differ. Default:
    /// [`Cloud::Huawei`].
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = cloud;
        self
    }

    /// One more dedicated pool. Default: `pool-cpu` and `pool-gpu`, with 16 nodes each.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pools.push(pool);
        self
    }

    /// How many nodes there are for jobs outside of dedicated pools. Default: as many as are asked
    /// for.
    pub fn public_nodes(mut self, nodes: u32) -> Self {
        self.public_nodes = nodes;
        self
    }

    /// One more bucket that counts as encrypted, which jobs cannot use. Default: none.
    pub fn encrypted_bucket(mut self, bucket: impl Into<String>) -> Self {
        self.encrypted.insert(bucket.into());
        self
    }

    /// One more organization of the image registry that jobs can be saved to. Default: any name is
    /// one.
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organizations.insert(name.into());
        self
    }

    /// The directory of data sets: version `v` of the data set `d` is `d/v` in there.
    /// Default: there are none.
    pub fn datasets(mut self, path: impl Into<PathBuf>) -> Self {
        self.datasets = Some(path.into());
        self
    }

    /// The directory of NFS servers: what `server:/path` exports is `server/path` in there, made
    /// if it does not exist. Default: `nfs` in the data directory.
    pub fn nfs_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.nfs = Some(path.into());
        self
    }

    /// The most bytes of a log; what comes after is dropped, with a line that says so.
    /// Default: 1 GiB, as on the service.
    pub fn log_cap(mut self, bytes: u64) -> Self {
        self.log_cap = bytes;
        self
    }

    /// How many bytes must be free where jobs have their directories: less fails the pre-check of
    /// jobs that may run again. Default: 100 MiB; the service asks for 32 GB.
    pub fn least_disk(mut self, bytes: u64) -> Self {
        self.least_disk = bytes;
        self
    }

    /// Whether packages from `requirements.txt` are installed, into a virtual environment of the
    /// job. Default: yes. Where that fails, an event and the log say so, and the job goes on.
    pub fn install_packages(mut self, install: bool) -> Self {
        self.install_packages = install;
        self
    }

    /// After which failures a job with `fault-tolerance/job-retry-num` runs again.
    /// Default: [`RestartOn::AnyFailure`].
    pub fn restart_on(mut self, restart_on: RestartOn) -> Self {
        self.restart_on = restart_on;
        self
    }

    /// Takes the ids of new jobs, algorithms and experiments from a seed, so that they are the same
    /// in each run of a test that creates them in the same order. Not together with a data
    /// directory that has jobs with these ids. Default: random ids.
    pub fn id_seed(mut self, seed: u64) -> Self {
        self.id_seed = Some(seed);
        self
    }

    /// A function that is called with each request for an operation of the service and its
    /// response, before the response is sent: for tests of the requests of a client. Default: none.
    pub fn observe(mut self, observe: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        self.observer = Some(Observer::new(observe));
        self
    }

    /// Starts it.
    ///
    /// # Errors
    /// If the address is not a loopback address or cannot be had, or a directory cannot be made.
    pub async fn start(self) -> Result<Emulator, StartError> {
        if !host_guard::may_listen_on(self.listen.ip()) {
            return Err(StartError::NotLoopback(self.listen));
        }
        let temporary = match (&self.data_dir, &self.obs_root) {
            (Some(_), Some(_)) => None,
            _ => Some(
                tempfile::Builder::new()
                    .prefix("modelarts-emulator-")
                    .tempdir()
                    .map_err(|error| StartError::Directory(std::env::temp_dir(), error))?,
            ),
        };
        let directory = |given: &Option<PathBuf>, name: &str| match (given, &temporary) {
            (Some(path), _) => path.clone(),
            (None, Some(temporary)) => temporary.path().join(name),
            (None, None) => PathBuf::from(name),
        };
        let data_dir = directory(&self.data_dir, "data");
        let obs_root = directory(&self.obs_root, "obs");
        let obs = ConfinedDir::create(&obs_root)
            .map_err(|error| StartError::Directory(obs_root, error))?
            .with_umask_mode();
        let data = ConfinedDir::create(&data_dir)
            .map_err(|error| StartError::Directory(data_dir, error))?;
        // Before anything else: who holds the database may touch what is in the directory.
        // Without a directory of its own, an emulator keeps its state in memory.
        let file = self.data_dir.map(|_| data.root().join("state.sqlite3"));
        let database = Database::open(file.as_deref()).map_err(StartError::Database)?;
        let database = Arc::new(database);
        let listener = TcpListener::bind(self.listen)
            .await
            .map_err(|error| StartError::Listen(self.listen, error))?;
        let address = listener
            .local_addr()
            .map_err(|error| StartError::Listen(self.listen, error))?;
        let metrics = Arc::new(Metrics::new(&database));
        let temporary_path = temporary
            .as_ref()
            .map(|directory| directory.path().to_owned());
        let mut watchdog = None;
        let runner: io::Result<Arc<dyn Runner>> = match self.script {
            Some(script) => {
                watchdog = Some(Watchdog::new(String::new(), temporary_path));
                let (obs, clock) = (obs.clone(), Arc::clone(&self.clock));
                let metrics = Arc::clone(&metrics);
                SimulatedRunner::new(data.root(), script, obs, clock, metrics, self.log_cap)
                    .map(|runner| Arc::new(runner) as _)
            }
            None => {
                let settings = Settings {
                    obs: obs.clone(),
                    datasets: self.datasets.clone(),
                    nfs: self.nfs.unwrap_or_else(|| data.root().join("nfs")),
                    url: format!("http://{address}"),
                    log_cap: self.log_cap,
                    least_disk: self.least_disk,
                    install_packages: self.install_packages,
                    temporary: temporary_path,
                };
                ProcessRunner::new(data.root(), settings).map(|runner| Arc::new(runner) as _)
            }
        };
        let runner =
            runner.map_err(|error| StartError::Directory(data.root().to_owned(), error))?;
        let mut users = self.users;
        if users.is_empty() {
            let mut user = User::new(USER_NAME);
            // The jobs of the last start belong to its project.
            let id = database.setting("project_id", user.project_id);
            user.project_id = id.map_err(database_error)?;
            users.push(user);
        }
        if let Some(first) = users.first_mut() {
            for (value, given) in [
                (&mut first.project_id, self.project_id),
                (&mut first.access_key, self.access_key),
                (&mut first.secret_key, self.secret_key),
            ] {
                if let Some(given) = given {
                    *value = given;
                }
            }
            first.password = self.password.or(first.password.take());
            first.may_set_high_priority |= self.high_priority;
        }
        let pools = if self.pools.is_empty() {
            Pool::defaults()
        } else {
            self.pools
        };
        let sizes = pools.iter().map(|pool| (pool.id.clone(), pool.nodes));
        let scheduler = Scheduler::new(self.public_nodes, sizes.collect());
        let state = EmulatorState::new(StateParts {
            accounts: Accounts::new(users, self.tokens, self.cloud.region(), &database),
            quotas: Quotas::new(&database, self.quota),
            store: JobStore::new(database),
            one_job_per_output: self.one_job_per_output,
            address,
            clock: self.clock,
            timing: self.timing,
            wording: self.wording,
            offer: Offer {
                cloud: self.cloud,
                pools,
                encrypted: self.encrypted,
                organizations: self.organizations,
                datasets: self.datasets,
                obs: obs.clone(),
                strict: self.strict,
            },
            restart_on: self.restart_on,
            quirks: self.quirks,
            ids: Ids::new(self.id_seed),
            scheduler,
            runner,
            metrics,
            request_log: RequestLog::new(self.show_secrets),
            observer: self.observer,
        });
        recovery::resume(&state).map_err(database_error)?;
        for seeds in self.seeds {
            seeds
                .create_jobs(&state, true)
                .await
                .map_err(StartError::Seeds)?;
        }
        let router = router::router(Arc::clone(&state));
        let server = tokio::spawn(connections::serve(
            listener,
            router,
            state.closing.subscribe(),
        ));
        Ok(Emulator {
            url: format!("http://{address}"),
            obs_root: obs.root().to_owned(),
            data_dir: data.root().to_owned(),
            state,
            server,
            _temporary: temporary,
            _watchdog: watchdog,
        })
    }
}

impl Emulator {
    /// Starts an emulator with the defaults of [`Builder`], on the tokio runtime of the caller,
    /// which needs its I/O and its time enabled.
    ///
    /// # Errors
    /// If no port or no temporary directory can be had.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Settings before the start.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

fn database_error(error: rusqlite::Error) -> StartError {
    StartError::Database(error.into())
}
