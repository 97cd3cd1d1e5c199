//! Settings and start of an emulator.

use std::{collections::BTreeSet, fmt, net::SocketAddr, path::PathBuf, sync::Arc};

use crate::{
    accounts::User,
    catalog::{cloud::Cloud, pools::Pool, quirks::Quirks},
    clock::{Clock, timing::Timing},
    emulator::{Emulator, error::StartError, runner::RunnerKind},
    execution::seeds::Seeds,
    job::{event::Wording, state::RestartOn},
    runner::process::view::Container,
    traffic::request_log::{Exchange, Observer},
};

/// Settings of an [`Emulator`].
#[derive(Clone, Default)]
#[must_use = "nothing starts before `start`"]
pub struct Builder {
    pub(super) listen: Option<SocketAddr>,
    #[cfg(feature = "obs")]
    pub(super) obs_listen: Option<SocketAddr>,
    pub(super) data_dir: Option<PathBuf>,
    pub(super) jobs_dir: Option<PathBuf>,
    pub(super) obs_root: Option<PathBuf>,
    pub(super) project_id: Option<String>,
    pub(super) access_key: Option<String>,
    pub(super) secret_key: Option<String>,
    pub(super) tokens: Vec<String>,
    pub(super) clock: Option<Arc<dyn Clock>>,
    pub(super) timing: Timing,
    pub(super) event_wording: Wording,
    pub(super) cloud: Cloud,
    pub(super) pools: Vec<Pool>,
    pub(super) encrypted: BTreeSet<String>,
    pub(super) organizations: BTreeSet<String>,
    pub(super) datasets: Option<PathBuf>,
    pub(super) nfs_root: Option<PathBuf>,
    pub(super) log_cap: Option<u64>,
    pub(super) least_disk: Option<u64>,
    pub(super) install_packages: Option<bool>,
    pub(super) restart_on: RestartOn,
    pub(super) public_nodes: Option<u32>,
    pub(super) users: Vec<User>,
    pub(super) password: Option<String>,
    pub(super) high_priority: bool,
    pub(super) job_quota: Option<u32>,
    pub(super) one_job_per_output: bool,
    pub(super) strict: bool,
    pub(super) show_secrets: bool,
    pub(super) runner: RunnerKind,
    pub(super) container: Container,
    pub(super) quirks: Quirks,
    pub(super) seeds: Vec<Seeds>,
    pub(super) observe: Option<Observer>,
    pub(super) id_seed: Option<u64>,
}

impl fmt::Debug for Builder {
    /// Formats only the address, because other settings contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder").field("listen", &self.listen).finish_non_exhaustive()
    }
}

impl Builder {
    /// Sets the loopback address to listen on. The default is `127.0.0.1` with a free port.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = Some(address);
        self
    }

    /// Sets the loopback address of OBS over HTTP. The default is `127.0.0.1` with a free port.
    #[cfg(feature = "obs")]
    pub fn obs_listen(mut self, address: SocketAddr) -> Self {
        self.obs_listen = Some(address);
        self
    }

    /// Sets the directory of jobs and of all state (`state.sqlite3`), created if absent. An
    /// emulator on the directory of an earlier emulator continues its jobs, as after a node fault.
    /// The default is a temporary directory, with the state in memory only.
    pub fn data_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(path.into());
        self
    }

    /// Sets the directory with the files of jobs, created if absent, without the state of the
    /// emulator. It stays when the emulator ends. The default is the data directory.
    pub fn jobs_dir(mut self, path: impl Into<PathBuf>) -> Self {
        self.jobs_dir = Some(path.into());
        self
    }

    /// Sets the root directory of OBS, created if absent. The default is a temporary directory.
    pub fn obs_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.obs_root = Some(path.into());
        self
    }

    /// Sets the project id of the first user, in place of that of the [`User`] or a stored one.
    pub fn project_id(mut self, id: impl Into<String>) -> Self {
        self.project_id = Some(id.into());
        self
    }

    /// Sets the access key of the first user, in place of that of the [`User`] or a stored one.
    pub fn access_key(mut self, key: impl Into<String>) -> Self {
        self.access_key = Some(key.into());
        self
    }

    /// Sets the secret key of the first user, in place of that of the [`User`] or a stored one.
    pub fn secret_key(mut self, key: impl Into<String>) -> Self {
        self.secret_key = Some(key.into());
        self
    }

    /// Sets the password of the first user for token logins, in place of that of the [`User`].
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(password.into());
        self
    }

    /// If `on`, the first user may give jobs the priority 3, even if its [`User`] forbids it.
    pub fn high_priority(mut self, on: bool) -> Self {
        self.high_priority = on;
        self
    }

    /// Sets the maximum number of jobs of a project, by default 10,000 (`openapi/SOURCES.md`, G).
    pub fn job_quota(mut self, jobs: u32) -> Self {
        self.job_quota = Some(jobs);
        self
    }

    /// Rejects a job whose output path an active job uses (`openapi/SOURCES.md`, G), if `on`.
    pub fn one_job_per_output(mut self, on: bool) -> Self {
        self.one_job_per_output = on;
        self
    }

    /// Rejects, with status 501, jobs with documented fields that the emulator does not act on. By
    /// default, such fields are stored, and named in the header `X-Emulator-Ignored`, in the log,
    /// and by `GET /_emulator/jobs/{id}/ignored`.
    pub fn strict(mut self, on: bool) -> Self {
        self.strict = on;
        self
    }

    /// Shows the values of environment variables and of credentials in the bodies that
    /// [`Emulator::last_requests`] and `/_emulator/requests/last` return. By default, `***`
    /// replaces such values.
    pub fn show_secrets(mut self, on: bool) -> Self {
        self.show_secrets = on;
        self
    }

    /// Sets the behaviour on which sources are silent or disagree, instead of [`Quirks::default`].
    pub fn quirks(mut self, quirks: Quirks) -> Self {
        self.quirks = quirks;
        self
    }

    /// Sets the clock. The default is [`SystemClock`](crate::clock::SystemClock).
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the durations of the steps of a job. The default is [`Timing::default`].
    pub fn timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Sets the wording of events. The default is [`Wording::Api`].
    pub fn event_wording(mut self, wording: Wording) -> Self {
        self.event_wording = wording;
        self
    }

    /// Sets the cloud, which determines operations and limits. The default is [`Cloud::Huawei`].
    pub fn cloud(mut self, cloud: Cloud) -> Self {
        self.cloud = cloud;
        self
    }

    /// Sets the number of nodes for jobs outside dedicated pools. By default, it is unlimited.
    pub fn public_nodes(mut self, nodes: u32) -> Self {
        self.public_nodes = Some(nodes);
        self
    }

    /// Sets the directory of data sets. Version `v` of data set `d` is the subdirectory `d/v`.
    pub fn datasets(mut self, path: impl Into<PathBuf>) -> Self {
        self.datasets = Some(path.into());
        self
    }

    /// Sets the directory of NFS exports, created if absent: `server:/path` is the subdirectory
    /// `server/path`. The default is `nfs` in the data directory or, with Slurm, in the shared
    /// directory.
    pub fn nfs_root(mut self, path: impl Into<PathBuf>) -> Self {
        self.nfs_root = Some(path.into());
        self
    }

    /// Sets the maximum size of a log, in bytes. Later output is dropped, which a line in the log
    /// states. The default is 1 GiB, as on the service.
    pub fn log_cap(mut self, bytes: u64) -> Self {
        self.log_cap = Some(bytes);
        self
    }

    /// Sets the free disk space that the pre-check of jobs requires, in bytes: 100 MiB by default.
    /// The service requires 32 GB.
    pub fn least_disk(mut self, bytes: u64) -> Self {
        self.least_disk = Some(bytes);
        self
    }

    /// Sets the failures after which jobs may run again. The default is [`RestartOn::AnyFailure`].
    pub fn restart_on(mut self, restart_on: RestartOn) -> Self {
        self.restart_on = restart_on;
        self
    }

    /// Generates the ids of new jobs, algorithms and experiments from a seed, so that a test that
    /// creates them in the same order gets the same ids in each run. The data directory must not
    /// contain jobs with these ids. By default, ids are random.
    pub fn id_seed(mut self, seed: u64) -> Self {
        self.id_seed = Some(seed);
        self
    }

    /// Sets the runner of the code of jobs. The default is [`RunnerKind::Process`].
    pub fn runner(mut self, kind: RunnerKind) -> Self {
        self.runner = kind;
        self
    }

    /// Sets the view of the machine for [`RunnerKind::Process`], by default [`Container::Auto`].
    pub fn container(mut self, container: Container) -> Self {
        self.container = container;
        self
    }

    /// Installs packages from `requirements.txt` into a virtual environment of the job. If that
    /// fails, an event and the log report it, and the job continues. The default is `true`.
    pub fn install_packages(mut self, install: bool) -> Self {
        self.install_packages = Some(install);
        self
    }

    /// Sets a function that is called with each request for an operation of the service and its
    /// response, before the response is sent. Tests use it to check the requests of a client.
    pub fn observe(mut self, observe: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        self.observe = Some(Arc::new(observe));
        self
    }

    /// Adds a token of the first user for the header `X-Auth-Token`. The token does not expire.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.tokens.push(token.into());
        self
    }

    /// Adds a user. By default, there is one user named `emulator`, whose project and keys are
    /// stored in the data directory. The project and keys of added users are not stored. The
    /// project id and the keys set on this builder apply to the first user.
    pub fn user(mut self, user: User) -> Self {
        self.users.push(user);
        self
    }

    /// Adds jobs with a predefined history, which are created at the start. Seeds whose names exist
    /// are skipped, because the data directory already has these jobs.
    pub fn seed_jobs(mut self, seeds: Seeds) -> Self {
        self.seeds.push(seeds);
        self
    }

    /// Adds a dedicated pool. The default pools are `pool-cpu` and `pool-gpu`, with 16 nodes each.
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pools.push(pool);
        self
    }

    /// Adds a bucket that counts as encrypted, so that the emulator rejects jobs that use it.
    pub fn encrypted_bucket(mut self, bucket: impl Into<String>) -> Self {
        self.encrypted.insert(bucket.into());
        self
    }

    /// Adds an organization to which jobs can be saved as images. By default, all are accepted.
    pub fn organization(mut self, name: impl Into<String>) -> Self {
        self.organizations.insert(name.into());
        self
    }
}

impl Emulator {
    /// Starts an emulator with the defaults of [`Builder`], on the tokio runtime of the caller,
    /// whose I/O and time drivers must be enabled.
    ///
    /// # Errors
    /// Returns an error if no port or no temporary directory is available.
    pub async fn start() -> Result<Self, StartError> {
        Self::builder().start().await
    }

    /// Returns a builder with the default settings.
    pub fn builder() -> Builder {
        Builder::default()
    }
}
