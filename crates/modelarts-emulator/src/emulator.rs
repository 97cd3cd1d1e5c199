//! Starting, asking and ending an emulator.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::clock::{Clock, SystemClock};
use crate::confined::Confined;
use crate::core::{Core, Identity, Parts};
use crate::events::Wording;
use crate::faults::Faults;
use crate::guard;
use crate::lifecycle::Stop;
use crate::operation::RequestCount;
use crate::routes;
use crate::runner::{self, ProcessRunner, Runner};
use crate::server;
use crate::store::Job;
use crate::timing::Timing;

/// A running emulator.
///
/// Dropping it ends it at once: its jobs' process groups are killed. [`shutdown`](Self::shutdown)
/// gives them time.
pub struct Emulator {
    core: Arc<Core>,
    url: String,
    obs_root: PathBuf,
    data_dir: PathBuf,
    server: JoinHandle<()>,
    _temporary: Option<TempDir>,
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

    /// The id of its only project.
    #[must_use]
    pub fn project_id(&self) -> &str {
        &self.core.identity.project_id
    }

    /// The access key of its only user.
    #[must_use]
    pub fn access_key(&self) -> &str {
        &self.core.identity.access_key
    }

    /// The secret key of its only user. Worth something to this emulator only.
    #[must_use]
    pub fn secret_key(&self) -> &str {
        &self.core.identity.secret_key
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

    /// The python3 that runs boot files, if there is one on the PATH.
    pub async fn python3() -> Option<PathBuf> {
        runner::python3().await.map(Path::to_owned)
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
        self.core.store.all(|jobs| {
            for job in jobs {
                job.ask_to_stop(Stop::Shutdown);
            }
        });
        let mut work = self.core.take_work();
        let mut ended = async || while work.join_next().await.is_some() {};
        if tokio::time::timeout(self.core.timing.grace, ended())
            .await
            .is_err()
        {
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
        self.core.runner.kill_all();
    }
}

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
        }
    }
}

impl Builder {
    /// Where to listen: a loopback address. Default: `127.0.0.1` with a free port.
    pub fn listen(mut self, address: SocketAddr) -> Self {
        self.listen = address;
        self
    }

    /// Where jobs have their directories; made if it does not exist. Default: temporary.
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

    /// Starts it.
    ///
    /// # Errors
    /// If the address is not a loopback address or cannot be had, or a directory cannot be made.
    pub async fn start(self) -> Result<Emulator, StartError> {
        if !guard::may_listen_on(self.listen.ip()) {
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
        let obs =
            Confined::create(&obs_root).map_err(|error| StartError::Directory(obs_root, error))?;
        let data =
            Confined::create(&data_dir).map_err(|error| StartError::Directory(data_dir, error))?;
        let runner = ProcessRunner::new(data.root(), obs.clone(), Arc::clone(&self.clock))
            .map_err(|error| StartError::Directory(data.root().to_owned(), error))?;

        let listener = TcpListener::bind(self.listen)
            .await
            .map_err(|error| StartError::Listen(self.listen, error))?;
        let address = listener
            .local_addr()
            .map_err(|error| StartError::Listen(self.listen, error))?;
        let random = || Uuid::new_v4().simple().to_string();
        let core = Core::new(Parts {
            identity: Identity {
                project_id: self.project_id.unwrap_or_else(random),
                access_key: self
                    .access_key
                    .unwrap_or_else(|| random()[..20].to_ascii_uppercase()),
                secret_key: self
                    .secret_key
                    .unwrap_or_else(|| format!("{}{}", random(), random())),
                tokens: self.tokens,
            },
            port: address.port(),
            clock: self.clock,
            timing: self.timing,
            wording: self.wording,
            obs: obs.clone(),
            runner: Arc::new(runner) as Arc<dyn Runner>,
        });
        let router = routes::router(Arc::clone(&core));
        let server = tokio::spawn(server::serve(listener, router, core.closing.subscribe()));
        Ok(Emulator {
            url: format!("http://{address}"),
            obs_root: obs.root().to_owned(),
            data_dir: data.root().to_owned(),
            core,
            server,
            _temporary: temporary,
        })
    }
}

/// Why an emulator did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum StartError {
    /// It was to listen on an address that others can reach.
    NotLoopback(SocketAddr),
    /// The address cannot be had.
    Listen(SocketAddr, io::Error),
    /// A directory cannot be made.
    Directory(PathBuf, io::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotLoopback(address) => write!(
                f,
                "cannot listen on {address}: the emulator executes what it is sent, so it listens on loopback addresses only, for example 127.0.0.1:0"
            ),
            Self::Listen(address, error) => write!(f, "cannot listen on {address}: {error}"),
            Self::Directory(path, error) => {
                write!(f, "cannot use the directory {}: {error}", path.display())
            }
        }
    }
}

impl std::error::Error for StartError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NotLoopback(_) => None,
            Self::Listen(_, error) | Self::Directory(_, error) => Some(error),
        }
    }
}

/// Why [`Emulator::wait_for`] gave up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// There is no such job.
    NoSuchJob,
    /// The job has ended in another phase.
    Ended {
        /// That phase.
        phase: &'static str,
    },
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchJob => f.write_str("there is no such job"),
            Self::Ended { phase } => write!(f, "the job has ended in the phase {phase}"),
        }
    }
}

impl std::error::Error for WaitError {}
