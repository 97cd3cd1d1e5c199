//! Settings and start of an emulator.

use std::{
    collections::{BTreeSet, HashMap},
    fmt,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use tokio::{net::TcpListener, sync::watch};
use tokio_util::sync::CancellationToken;

use crate::{
    accounts::{Accounts, User, log_links::LogLinks},
    api::ids::Ids,
    catalog::{
        cloud::Cloud,
        pools::Pool,
        quirks::{JobObsKeys, Quirks},
    },
    clock::{
        system::{Clock, SystemClock},
        timing::Timing,
    },
    database::{Database, documents::Documents, quotas::Quotas},
    emulator::{
        Emulator,
        error::StartError,
        runner::{self, RunnerKind, RunnerSettings},
    },
    execution::{recovery, seeds::Seeds},
    files::confined_dir::ConfinedDir,
    job::{event::Wording, state::RestartOn},
    logs::index::LogIndexes,
    metrics::Metrics,
    runner::process::{
        environment::{ObsEndpoint, ObsKeys, Surroundings},
        view::Container,
    },
    scheduler::Scheduler,
    server::{connections, router},
    state::{Background, EmulatorState},
    store::JobStore,
    traffic::{
        counts::RequestCounts,
        faults::Faults,
        observer::{Exchange, Observer},
        request_log::RequestLog,
    },
    validation::creation::Offer,
};

/// Default name of the user.
const USER_NAME: &str = "emulator";
/// Default maximum size of a log, in bytes.
const LOG_CAP: u64 = 1 << 30;
/// Default free disk space that the pre-check requires, in bytes.
const LEAST_DISK: u64 = 100 << 20;

/// Settings of an [`Emulator`].
#[derive(Clone, Default)]
#[must_use = "nothing starts before `start`"]
pub struct Builder {
    listen: Option<SocketAddr>,
    #[cfg(feature = "obs")]
    obs_listen: Option<SocketAddr>,
    data_dir: Option<PathBuf>,
    obs_root: Option<PathBuf>,
    project_id: Option<String>,
    access_key: Option<String>,
    secret_key: Option<String>,
    tokens: Vec<String>,
    clock: Option<Arc<dyn Clock>>,
    timing: Timing,
    event_wording: Wording,
    cloud: Cloud,
    pools: Vec<Pool>,
    encrypted: BTreeSet<String>,
    organizations: BTreeSet<String>,
    datasets: Option<PathBuf>,
    nfs_root: Option<PathBuf>,
    log_cap: Option<u64>,
    least_disk: Option<u64>,
    install_packages: Option<bool>,
    restart_on: RestartOn,
    public_nodes: Option<u32>,
    users: Vec<User>,
    password: Option<String>,
    high_priority: bool,
    job_quota: Option<u32>,
    one_job_per_output: bool,
    strict: bool,
    show_secrets: bool,
    runner: RunnerKind,
    container: Container,
    quirks: Quirks,
    seeds: Vec<Seeds>,
    observe: Option<Observer>,
    id_seed: Option<u64>,
}

impl fmt::Debug for Builder {
    /// Writes the address only, because other settings contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("listen", &self.listen)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets the address to listen on, which must be a loopback address. Default: `127.0.0.1` with a
    /// free port.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Sets the address on which OBS is served over HTTP, which must be a loopback address. Default:
    /// `127.0.0.1` with a free port.
    #[cfg(feature = "obs")]
    pub fn obs_listen(mut self, address: SocketAddr) -> Self {
        self.obs_listen = Some(address);
        self
    }

    /// Sets the directory of jobs and of all state (`state.sqlite3`), which is created if it does
    /// not exist. An emulator started on the directory of an earlier one continues its jobs, as
    /// after a node fault. Default: a temporary directory, with the state in memory only.
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(path.into());
        self
    }

    /// Sets the directory that holds OBS, which is created if it does not exist. Default: a
    /// temporary directory.
    pub fn obs_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.obs_root = Some(path.into());
        self
    }

    /// Sets the id of the first user's project. Default: the id stored in the data directory, or a
    /// random id in a new directory. An id that is set here is not stored.
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.project_id = Some(id.into());
        self
    }

    /// Sets the access key of the first user. Default: the key stored in the data directory, or a
    /// random key in a new directory. A key that is set here is not stored.
    pub fn access_key(mut self, key: impl Into<String>) -> Self {
        self.access_key = Some(key.into());
        self
    }

    /// Sets the secret key that belongs to the access key. Default: the key stored in the data
    /// directory, or a random key in a new directory. A key that is set here is not stored.
    pub fn secret_key(mut self, key: impl Into<String>) -> Self {
        self.secret_key = Some(key.into());
        self
    }

    /// Sets the password of the first user, for `POST /v3/auth/tokens`. Default: the password in
    /// the user's own settings, or none.
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// Allows the first user to give jobs the priority 3, which the service does not permit by
    /// default. Default: the user's own setting.
    pub fn high_priority(mut self, on: bool) -> Self {
        self.high_priority = on;
        self
    }

    /// Sets the quota of jobs of a project. Default: 10,000 (`openapi/SOURCES.md`, G).
    pub fn job_quota(mut self, jobs: u32) -> Self {
        self.job_quota = Some(jobs);
        self
    }

    /// Rejects a job whose output path an active job writes to. Only the guide to an old console
    /// documents this rule (`openapi/SOURCES.md`, G). Default: no.
    pub fn one_job_per_output(mut self, on: bool) -> Self {
        self.one_job_per_output = on;
        self
    }

    /// Rejects, with status 501, jobs with documented fields that the emulator does not act on.
    /// Default: no; such fields are stored, returned, and named in the header `X-Emulator-Ignored`,
    /// in the log, and by `GET /_emulator/jobs/{id}/ignored`.
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// Shows the values of environment variables and of credentials in the bodies that
    /// [`Emulator::last_requests`] and `/_emulator/requests/last` return. Default: no; such values
    /// are replaced by `***`.
    pub fn show_secrets(mut self, on: bool) -> Self {
        self.show_secrets = on;
        self
    }

    /// Sets the behaviour on which documents are silent or disagree. Default: [`Quirks::default`].
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// Sets the clock. Default: [`SystemClock`].
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the durations of the steps of a job. Default: [`Timing::default`], with short but
    /// visible steps.
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Sets the wording of events. Default: [`Wording::Api`].
    pub fn event_wording(mut self, wording: Wording) -> Self {
        self.event_wording = wording;
        self
    }

    /// Sets the cloud to emulate, which determines operations, kinds of jobs and limits. Default:
    /// [`Cloud::Huawei`].
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = cloud;
        self
    }

    /// Sets the number of nodes for jobs outside dedicated pools. Default: unlimited.
    pub fn public_nodes(mut self, nodes: u32) -> Self {
        self.public_nodes = Some(nodes);
        self
    }

    /// Sets the directory of data sets: version `v` of the data set `d` is its subdirectory `d/v`.
    /// Default: no data sets.
    pub fn datasets(mut self, path: impl Into<PathBuf>) -> Self {
        self.datasets = Some(path.into());
        self
    }

    /// Sets the directory of NFS exports, which is created if it does not exist: `server:/path` is
    /// its subdirectory `server/path`. Default: `nfs` in the data directory, or in the directory
    /// that a cluster shares.
    pub fn nfs_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.nfs_root = Some(path.into());
        self
    }

    /// Sets the maximum size of a log, in bytes. Later output is dropped, and the last line of the
    /// log says so. Default: 1 GiB, as on the service.
    pub fn log_cap(mut self, bytes: u64) -> Self {
        self.log_cap = Some(bytes);
        self
    }

    /// Sets the free disk space required for the directories of jobs, in bytes. With less, the
    /// pre-check of jobs that may run again fails. Default: 100 MiB; the service requires 32 GB.
    pub fn least_disk(mut self, bytes: u64) -> Self {
        self.least_disk = Some(bytes);
        self
    }

    /// Sets the failures after which a job with `fault-tolerance/job-retry-num` runs again.
    /// Default: [`RestartOn::AnyFailure`].
    pub fn restart_on(mut self, restart_on: RestartOn) -> Self {
        self.restart_on = restart_on;
        self
    }

    /// Generates the ids of new jobs, algorithms and experiments from a seed, so that a test that
    /// creates them in the same order gets the same ids in each run. The data directory must not
    /// contain jobs with these ids. Default: random ids.
    pub fn id_seed(mut self, seed: u64) -> Self {
        self.id_seed = Some(seed);
        self
    }

    /// Sets the runner of the code of jobs. Default: [`RunnerKind::Process`].
    pub fn runner(mut self, kind: RunnerKind) -> Self {
        self.runner = kind;
        self
    }

    /// Sets the view of this machine in which the code of jobs runs, if the runner is
    /// [`RunnerKind::Process`]. Default: [`Container::Auto`].
    pub fn container(mut self, container: Container) -> Self {
        self.container = container;
        self
    }

    /// Installs packages from `requirements.txt` into a virtual environment of the job. If that
    /// fails, an event and the log report it, and the job continues. Default: yes.
    pub fn install_packages(mut self, install: bool) -> Self {
        self.install_packages = Some(install);
        self
    }

    /// Sets a function that is called with each request for an operation of the service and its
    /// response, before the response is sent. Tests use it to check the requests of a client.
    /// Default: none.
    pub fn observe(mut self, observe: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        self.observe = Some(Arc::new(observe));
        self
    }

    /// Adds a token that is accepted in the header `X-Auth-Token`. Default: none.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// Adds a user. Default: one user with the name `emulator`, whose project and keys are stored in
    /// the data directory; those of added users are not. The id of the project and the keys
    /// set on this builder apply to the first user.
    pub fn user(mut self, user: User) -> Self {
        self.users.push(user);
        self
    }

    /// Adds jobs with an invented past, created at the start. Seeds whose names are taken are
    /// skipped, because the data directory already has these jobs. Default: none.
    pub fn seed_jobs(mut self, seeds: Seeds) -> Self {
        self.seeds.push(seeds);
        self
    }

    /// Adds a dedicated pool. Default: `pool-cpu` and `pool-gpu`, with 16 nodes each.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pools.push(pool);
        self
    }

    /// Adds a bucket that counts as encrypted and cannot be used by jobs. Default: none.
    pub fn encrypted_bucket(mut self, bucket: impl Into<String>) -> Self {
        self.encrypted.insert(bucket.into());
        self
    }

    /// Adds an organization of the image registry, to which jobs can be saved as images. Default:
    /// any name is accepted.
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organizations.insert(name.into());
        self
    }

    /// Starts the emulator.
    ///
    /// # Errors
    /// If the address is not a loopback address or is not available, or a directory cannot be
    /// created.
    pub async fn start(self) -> Result<Emulator, StartError> {
        let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listen = self.listen.unwrap_or(listen);
        if !listen.ip().is_loopback() {
            return Err(StartError::NotLoopback(listen));
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
        // The database is opened first, because its holder owns the files in the directory. Without
        // a data directory, the state is in memory.
        let file = self.data_dir.map(|_| data.root().join("state.sqlite3"));
        let database = Database::open(file.as_deref()).map_err(StartError::Database)?;
        let database = Arc::new(database);
        let mut users = self.users;
        if users.is_empty() {
            let mut user = User::new(USER_NAME);
            // The project id is stored, because jobs of an earlier start belong to the project of
            // that start; the keys are, because clients of an earlier start have them.
            for (name, value) in [
                ("project_id", &mut user.project_id),
                ("access_key", &mut user.access_key),
                ("secret_key", &mut user.secret_key),
            ] {
                let stored = database.setting(name, std::mem::take(value));
                *value = stored.map_err(database_error)?;
            }
            // A kill after the start does not lose the keys. If they cannot be stored, each
            // response reports it.
            let _ = database.committed().await;
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
        let accounts = Accounts::new(users, self.tokens, self.cloud.region(), &database);
        let listen_error = |error| StartError::Listen(listen, error);
        let listener = TcpListener::bind(listen).await.map_err(listen_error)?;
        let address = listener.local_addr().map_err(listen_error)?;
        #[cfg(feature = "obs")]
        let (obs_listener, obs_address) = listen_obs(self.obs_listen).await?;
        #[cfg(feature = "obs")]
        let obs_url = Some(format!("http://{obs_address}"));
        #[cfg(not(feature = "obs"))]
        let obs_url: Option<String> = None;
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let metrics = Arc::new(Metrics::new(&database));
        let surroundings = Surroundings {
            url: Some(format!("http://{address}")),
            obs: obs_url.clone().map(|url| ObsEndpoint {
                url,
                region: self.cloud.region(),
                keys: match self.quirks.obs_keys {
                    JobObsKeys::Absent => HashMap::new(),
                    JobObsKeys::Environment => accounts.users().iter().map(obs_keys).collect(),
                },
            }),
            devices: Vec::new(),
        };
        let is_unlimited = self.runner.has_own_queue();
        let starts_processes = matches!(self.runner, RunnerKind::Process);
        let runner = runner::create(RunnerSettings {
            kind: self.runner,
            data_dir: data.root(),
            obs: obs.clone(),
            datasets: self.datasets.clone(),
            nfs: self.nfs_root,
            log_cap: self.log_cap.unwrap_or(LOG_CAP),
            least_disk: self.least_disk.unwrap_or(LEAST_DISK),
            install_packages: self.install_packages.unwrap_or(true),
            temporary: temporary.as_ref().map(|place| place.path().to_owned()),
            surroundings,
            container: self.container,
            clock: &clock,
            metrics: &metrics,
        })
        .await?;
        let pools = if self.pools.is_empty() {
            Pool::defaults()
        } else {
            self.pools
        };
        // The queue of a launcher decides alone.
        let unlimited = is_unlimited.then_some(u32::MAX);
        let nodes = |nodes: u32| unlimited.unwrap_or(nodes);
        let sizes = pools
            .iter()
            .map(|pool| (pool.id.clone(), nodes(pool.nodes)));
        let public_nodes = nodes(self.public_nodes.unwrap_or(u32::MAX));
        // The runner has raised the limit of open files by now.
        let capacity = if starts_processes {
            runner::most_workers()
        } else {
            u32::MAX
        };
        let state = Arc::new(EmulatorState {
            accounts,
            address,
            clock,
            timing: self.timing,
            wording: self.event_wording,
            restart_on: self.restart_on,
            algorithms: Documents::new(&database, "algorithm"),
            experiments: Documents::new(&database, "experiment"),
            publications: Documents::new(&database, "publication"),
            quotas: Quotas::new(&database, self.job_quota),
            store: JobStore::new(database),
            log_links: LogLinks::default(),
            log_indexes: LogIndexes::default(),
            one_job_per_output: self.one_job_per_output,
            scheduler: Scheduler::new(capacity, public_nodes, sizes.collect()),
            offer: Offer {
                cloud: self.cloud,
                pools,
                encrypted: self.encrypted,
                organizations: self.organizations,
                datasets: self.datasets,
                obs: obs.clone(),
                strict: self.strict,
            },
            metrics,
            runner,
            faults: Faults::default(),
            request_counts: RequestCounts::default(),
            request_log: RequestLog::new(self.show_secrets),
            quirks: self.quirks,
            ids: Ids::new(self.id_seed),
            observer: self.observe,
            closing: watch::Sender::new(false),
            copy_cancellation: CancellationToken::new(),
            background: Background::default(),
        });
        #[cfg(feature = "obs")]
        let obs_router = {
            let (state, port) = (Arc::clone(&state), obs_address.port());
            crate::obs::server::router(state, obs.clone(), data.root(), port)
                .map_err(|error| StartError::Directory(data.root().to_owned(), error))?
        };
        let is_own = |id: &str| state.store.read(id, |_| ()).is_some();
        let prepared = state.runner.prepare(&is_own).await;
        prepared.map_err(StartError::Slurm)?;
        recovery::resume(&state).map_err(database_error)?;
        for seeds in self.seeds {
            seeds
                .create_jobs(&state, true)
                .await
                .map_err(StartError::Seeds)?;
        }
        let serve = |listener, router| {
            tokio::spawn(connections::serve(
                listener,
                router,
                state.closing.subscribe(),
            ))
        };
        let servers = vec![
            #[cfg(feature = "obs")]
            serve(obs_listener, obs_router),
            serve(listener, router::router(Arc::clone(&state))),
        ];
        Ok(Emulator {
            url: format!("http://{address}"),
            obs_url,
            obs_root: obs.root().to_owned(),
            data_dir: data.root().to_owned(),
            state,
            servers,
            _temporary: temporary,
        })
    }
}

impl Emulator {
    /// Starts an emulator with the defaults of [`Builder`], on the tokio runtime of the caller,
    /// whose I/O and time drivers must be enabled.
    ///
    /// # Errors
    /// If no port or no temporary directory is available.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }
}

/// Binds the socket of OBS.
#[cfg(feature = "obs")]
async fn listen_obs(address: Option<SocketAddr>) -> Result<(TcpListener, SocketAddr), StartError> {
    let address = address.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    if !address.ip().is_loopback() {
        return Err(StartError::NotLoopback(address));
    }
    let listen_error = |error| StartError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    Ok((listener, address))
}

/// Returns the id of a user, with the keys that the user's jobs get.
fn obs_keys(user: &User) -> (String, ObsKeys) {
    let keys = ObsKeys {
        access_key: user.access_key.clone(),
        secret_key: user.secret_key.clone(),
        security_token: user.security_token.clone(),
    };
    (user.id.clone(), keys)
}

fn database_error(error: rusqlite::Error) -> StartError {
    StartError::Database(error.into())
}
