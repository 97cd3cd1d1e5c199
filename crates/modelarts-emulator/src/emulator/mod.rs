//! Starting, asking and ending an emulator.

pub(crate) mod error;
pub(crate) mod stored_job;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::{
    accounts::{Accounts, User},
    api::ids::Ids,
    catalog::{cloud::Cloud, operations::RequestCount, pools::Pool, quirks::Quirks},
    clock::{
        system::{Clock, SystemClock},
        timing::Timing,
    },
    database::{Database, quotas::Quotas},
    emulator::error::{StartError, WaitError},
    execution::{
        recovery,
        seeds::{SeedError, Seeds},
    },
    files::confined_dir::ConfinedDir,
    job::{
        Job,
        event::Wording,
        state::{RestartOn, StopReason},
    },
    metrics::Metrics,
    runner::{
        Runner, RunnerKind,
        process::{ProcessRunner, Settings, python, watchdog::Watchdog},
        simulated::{SimulatedRunner, script::Script},
    },
    scheduler::Scheduler,
    server::{self, host_guard, router},
    state::{EmulatorState, Parts},
    store::JobStore,
    traffic::{
        faults::Faults,
        observer::{Exchange, Observer},
        request_log::{LoggedRequest, RequestLog},
    },
    validation::creation::Offer,
};

/// A running emulator.
///
/// Dropping it ends it at once: its jobs' processes are killed. [`shutdown`](Self::shutdown) gives
/// them time. If the process that holds it ends without either, by a signal, `exit` or `abort`, a
/// watchdog process kills them and removes the temporary directory.
pub struct Emulator {
    pub(crate) core: Arc<EmulatorState>,
    url: String,
    obs_root: PathBuf,
    data_dir: PathBuf,
    server: JoinHandle<()>,
    _temporary: Option<TempDir>,
    /// Of an emulator whose jobs are simulated; a process runner has its own.
    _watchdog: Option<Watchdog>,
}

impl fmt::Debug for Emulator {
    /// Without its secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Emulator")
            .field("url", &self.url)
            .finish_non_exhaustive()
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

    /// Where it listens, `http://127.0.0.1:<port>`, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The id of the first user's project.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.core.accounts.user(0).project_id
    }

    /// The access key of the first user.
    #[must_use]
    pub fn access_key(&self) -> &str {
        &self.core.accounts.user(0).access_key
    }

    /// The secret key of the first user. Worth something to this emulator only.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        &self.core.accounts.user(0).secret_key
    }

    /// The routes that the emulator serves, to be called in-process without a socket, for example
    /// with tower's `oneshot`. Requests are answered as over the socket, so they need the same
    /// headers: `Host` must name [`url`](Self::url)'s address. A fault that cuts the connection
    /// before the answer cannot cut here: it answers 503 without a body.
    pub fn router(&self) -> axum::Router {
        router::router(Arc::clone(&self.core))
    }

    /// The directory in which `obs://bucket/key` is `bucket/key`.
    #[must_use]
    pub fn obs_root(&self) -> &Path {
        &self.obs_root
    }

    /// The directory of the jobs: worker 0 of a job has `jobs/<id>/worker-0`.
    #[must_use]
    pub fn data_dir(&self) -> &Path {
        &self.data_dir
    }

    /// The answers that are to go wrong; the same queue as `/_emulator/faults`.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.core.faults
    }

    /// What became of the requests, by operationId; all modelled operations are there.
    #[must_use]
    pub fn requests(&self) -> BTreeMap<&'static str, RequestCount> {
        self.core.counts.all()
    }

    /// Moves a clock that can be moved, a [`ManualClock`](crate::clock::manual::ManualClock), and returns when the
    /// jobs have done all that was due. On the way it stops wherever something is due, so that
    /// everything happens at its own time: hours of simulated jobs pass in one call. What
    /// processes do takes real time, and no clock waits for it. False if the clock cannot be
    /// moved.
    pub async fn advance(&self, duration: Duration) -> bool {
        self.core.advance(duration).await
    }

    /// Puts jobs with a past there, all or none, and gives their ids.
    ///
    /// # Errors
    /// A sentence, if a member breaks a rule or a name or an id is taken.
    pub async fn seed(&self, seeds: &Seeds) -> Result<Vec<String>, SeedError> {
        seeds.plant(&self.core, false).await
    }

    /// The last 256 requests for operations, the oldest first.
    #[must_use]
    pub fn last_requests(&self) -> Vec<LoggedRequest> {
        self.core.journal.all()
    }

    /// The python3 that runs boot files, if there is one on the PATH.
    pub async fn python3() -> Option<PathBuf> {
        python::python3().await.map(Path::to_owned)
    }

    /// Waits until a job is in `phase`, for example `Running`.
    ///
    /// # Errors
    /// If there is no such job, or it can no longer get there because it has ended.
    pub async fn wait_for(&self, job_id: &str, phase: &str) -> Result<(), WaitError> {
        let look = |job: Option<&Job>| match job {
            None => Some(Err(WaitError::NoSuchJob)),
            Some(job) if job.state.phase() == phase => Some(Ok(())),
            Some(job) if job.state.is_final() => Some(Err(WaitError::Ended {
                phase: job.state.phase(),
            })),
            Some(_) => None,
        };
        self.core.store.wait(job_id, look).await
    }

    /// Waits until nothing will happen to a job any more: its processes have gone, its last event
    /// is written. Also if there is no such job, or no longer.
    pub async fn settled(&self, job_id: &str) {
        let look = |job: Option<&Job>| job.is_none_or(|job| job.settled).then_some(());
        self.core.store.wait(job_id, look).await;
    }

    /// Waits until there is no such job.
    pub async fn gone(&self, job_id: &str) {
        self.core
            .store
            .wait(job_id, |job| job.is_none().then_some(()))
            .await;
    }

    /// Ends the emulator: no more requests, SIGTERM to the processes of its jobs, SIGKILL after
    /// the grace of its [`Timing`], in real time. Returns when they have gone.
    pub async fn shutdown(mut self) {
        self.core.closing.send_replace(true);
        // An error would be the panic of a connection, which has been reported.
        let _ = (&mut self.server).await;
        self.core.store.ask_all_to_stop(StopReason::Shutdown);
        let mut work = self.core.take_work();
        let mut ended = async || while work.join_next().await.is_some() {};
        if tokio::time::timeout(self.core.timing.grace, ended())
            .await
            .is_err()
        {
            self.core.copies.cancel();
            self.core.runner.kill_all();
            let _ = tokio::time::timeout(AFTER_KILL, ended()).await;
        }
    }
}

/// How long a shutdown waits for processes that have been killed.
const AFTER_KILL: Duration = Duration::from_secs(5);

impl Drop for Emulator {
    fn drop(&mut self) {
        self.server.abort();
        // Dropped tasks leave their process groups to the next line.
        self.core.take_work().abort_all();
        self.core.copies.cancel();
        self.core.runner.kill_all();
        // The next emulator on this directory need not wait for the last of those tasks.
        self.core.store.database.close();
    }
}

fn unusable(error: rusqlite::Error) -> StartError {
    StartError::Database(error.into())
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
    simulated: Option<Script>,
    choices: Quirks,
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
            simulated: None,
            choices: Quirks::default(),
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

    /// The password of the first user, for `POST /v3/auth/tokens`. Default: the user's own, or none.
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

    /// How many jobs a project may have. Default: 10,000, as on the service.
    pub fn job_quota(mut self, jobs: u32) -> Self {
        self.quota = Some(jobs);
        self
    }

    /// Whether a job is refused whose output path an active job writes to. Only an old console
    /// is known to do that. Default: no.
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

    /// What becomes of the code of jobs. Default: [`RunnerKind::Process`].
    pub fn runner(mut self, kind: RunnerKind) -> Self {
        self.simulated = match kind {
            RunnerKind::Process => None,
            RunnerKind::Simulated(script) => Some(script),
        };
        self
    }

    /// What no document says, or documents say differently. Default: [`Quirks::default`].
    pub fn choices(mut self, choices: Quirks) -> Self {
        self.choices = choices;
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
    /// in each run of a test that creates them in the same order. Not together with a data directory
    /// that has jobs with these ids. Default: random ids.
    pub fn id_seed(mut self, seed: u64) -> Self {
        self.id_seed = Some(seed);
        self
    }

    /// Who is told of each request for an operation of the service and of its answer, before the
    /// answer is sent: for tests that look at what a client has asked. Default: nobody.
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
        let place = |given: &Option<PathBuf>, name: &str| match (given, &temporary) {
            (Some(path), _) => path.clone(),
            (None, Some(temporary)) => temporary.path().join(name),
            (None, None) => PathBuf::from(name),
        };
        let data_dir = place(&self.data_dir, "data");
        let obs_root = place(&self.obs_root, "obs");
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
        let removed = temporary.as_ref().map(|place| place.path().to_owned());
        let mut watchdog = None;
        let runner: io::Result<Arc<dyn Runner>> = match self.simulated {
            Some(script) => {
                watchdog = Some(Watchdog::new(String::new(), removed));
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
                    temporary: removed,
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
            user.project_id = id.map_err(unusable)?;
            users.push(user);
        }
        if let Some(first) = users.first_mut() {
            for (place, given) in [
                (&mut first.project_id, self.project_id),
                (&mut first.access_key, self.access_key),
                (&mut first.secret_key, self.secret_key),
            ] {
                if let Some(given) = given {
                    *place = given;
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
        let core = EmulatorState::new(Parts {
            accounts: Accounts::new(users, self.tokens, self.cloud.region(), &database),
            quotas: Quotas::new(&database, self.quota),
            store: JobStore::new(database),
            one_job_per_output: self.one_job_per_output,
            address,
            clock: self.clock,
            timing: self.timing,
            wording: self.wording,
            terms: Offer {
                cloud: self.cloud,
                pools,
                encrypted: self.encrypted,
                organizations: self.organizations,
                datasets: self.datasets,
                obs: obs.clone(),
                strict: self.strict,
            },
            restart_on: self.restart_on,
            choices: self.choices,
            ids: Ids::new(self.id_seed),
            scheduler,
            runner,
            metrics,
            journal: RequestLog::new(self.show_secrets),
            observer: self.observer,
        });
        recovery::resume(&core).map_err(unusable)?;
        for seeds in self.seeds {
            seeds.plant(&core, true).await.map_err(StartError::Seeds)?;
        }
        let router = router::router(Arc::clone(&core));
        let server = tokio::spawn(server::serve(listener, router, core.closing.subscribe()));
        Ok(Emulator {
            url: format!("http://{address}"),
            obs_root: obs.root().to_owned(),
            data_dir: data.root().to_owned(),
            core,
            server,
            _temporary: temporary,
            _watchdog: watchdog,
        })
    }
}
