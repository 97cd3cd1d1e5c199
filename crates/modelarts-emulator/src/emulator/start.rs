//! Start of an emulator from its settings.

use std::{
    collections::HashMap,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use tempfile::TempDir;
use tokio::net::TcpListener;

use crate::{
    accounts::{Accounts, User},
    catalog::{
        pools::Pool,
        quirks::{Internet, JobObsKeys},
    },
    clock::SystemClock,
    database::Database,
    emulator::{
        Emulator,
        builder::Builder,
        error::StartError,
        runner::{self, RunnerKind},
    },
    execution::lifecycle,
    files::confined_dir::ConfinedDir,
    metrics::Metrics,
    runner::{
        launcher::WorkerSettings,
        process::environment::{HostEnvironment, ObsEndpoint, ObsKeys},
    },
    scheduler::Scheduler,
    server::{connections, router},
    state::{EmulatorState, Parts, Settings},
    validation::creation::Offer,
};

const USER_NAME: &str = "emulator";
/// Default maximum size of a log, in bytes.
const LOG_CAP: u64 = 1 << 30;
/// Default free disk space that the pre-check requires, in bytes.
const LEAST_DISK: u64 = 100 << 20;

impl Builder {
    /// Starts the emulator.
    ///
    /// # Errors
    /// Returns an error if an address is not a loopback address or is not available, or if a
    /// directory, the state, the runner or a seed cannot be used.
    pub async fn start(mut self) -> Result<Emulator, StartError> {
        let listen = loopback(self.listen)?;
        let temporary = temporary_directory(&self)?;
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
        // The database is opened first, because its lock also protects the files in the directory.
        let file = self.data_dir.is_some().then(|| data.root().join("state.sqlite3"));
        let database_error = |error| StartError::Database(data.root().to_owned(), error);
        let database = Database::open(file.as_deref()).map_err(database_error)?;
        let database = Arc::new(database);
        let users = known_users(&mut self, &database).await;
        let users = users.map_err(|error| database_error(error.into()))?;
        let accounts = Accounts::new(users, self.tokens, self.cloud.region(), &database);
        let (listener, address) = bind(listen).await?;
        #[cfg(feature = "obs")]
        let (obs_listener, obs_address) = bind(loopback(self.obs_listen)?).await?;
        #[cfg(feature = "obs")]
        let obs_url = Some(format!("http://{obs_address}"));
        #[cfg(not(feature = "obs"))]
        let obs_url: Option<String> = None;
        let clock = self.clock.unwrap_or_else(|| Arc::new(SystemClock));
        let metrics = Arc::new(Metrics::new(&database));
        // A further listener of OBS, for the nodes of a cluster.
        #[cfg(all(feature = "slurm", feature = "obs"))]
        let cluster_obs = match self.runner.obs_listen() {
            Some(address) => Some(bind(address).await?),
            None => None,
        };
        #[cfg(feature = "obs")]
        let on_cluster: Option<SocketAddr> = None;
        #[cfg(all(feature = "slurm", feature = "obs"))]
        let on_cluster = on_cluster.or(cluster_obs.as_ref().map(|(_, address)| *address));
        let host = HostEnvironment {
            url: Some(format!("http://{address}")),
            obs: obs_url.clone().map(|url| ObsEndpoint {
                url,
                region: self.cloud.region().to_owned(),
                keys: match self.quirks.obs_keys {
                    JobObsKeys::Absent => HashMap::new(),
                    JobObsKeys::Environment => {
                        let users = accounts.users().iter();
                        users.map(|user| (user.id.clone(), ObsKeys::of(user))).collect()
                    }
                },
            }),
            node: Vec::new(),
            path: None,
            is_offline: self.quirks.internet == Internet::None,
        };
        let is_unlimited = self.runner.has_own_queue();
        let starts_processes = matches!(self.runner, RunnerKind::Process);
        let (kind, container) = (self.runner, self.container);
        #[cfg(all(feature = "slurm", feature = "obs"))]
        let host = match (&kind, on_cluster) {
            (RunnerKind::Slurm(_), address) => host.with_obs_at(address),
            _ => host,
        };
        let place = self.jobs_dir.unwrap_or_else(|| kind.place(data.root()).to_owned());
        let workers = WorkerSettings {
            nfs: self.nfs_root.unwrap_or_else(|| place.join("nfs")),
            place,
            obs: obs.root().to_owned(),
            datasets: self.datasets.clone(),
            log_cap: self.log_cap.unwrap_or(LOG_CAP),
            least_disk: self.least_disk.unwrap_or(LEAST_DISK),
            install_packages: self.install_packages.unwrap_or(true),
            image: None,
            container,
            host,
        };
        let temporary_place = temporary.as_ref().map(|place| place.path().to_owned());
        let created = runner::create(
            kind,
            data.root(),
            workers,
            obs.clone(),
            temporary_place,
            &clock,
            &metrics,
        )
        .await?;
        let pools = if self.pools.is_empty() { Pool::defaults() } else { self.pools };
        // If the launcher has a queue, only that queue limits the number of nodes.
        let unlimited = is_unlimited.then_some(u32::MAX);
        let nodes = |nodes: u32| unlimited.unwrap_or(nodes);
        let sizes: HashMap<_, _> =
            pools.iter().map(|pool| (pool.id.clone(), nodes(pool.nodes))).collect();
        let public_nodes = nodes(self.public_nodes.unwrap_or(u32::MAX));
        // On Linux, the runner has already raised the soft limit of open files.
        let capacity = if starts_processes { runner::most_workers() } else { u32::MAX };
        let state = EmulatorState::new(Parts {
            database,
            accounts,
            address,
            clock,
            settings: Settings {
                timing: self.timing,
                wording: self.event_wording,
                restart_on: self.restart_on,
                one_job_per_output: self.one_job_per_output,
                quirks: self.quirks,
            },
            offer: Offer {
                cloud: self.cloud,
                pools,
                encrypted: self.encrypted,
                organizations: self.organizations,
                datasets: self.datasets,
                obs: obs.clone(),
                strict: self.strict,
            },
            job_quota: self.job_quota,
            scheduler: Scheduler::new(capacity, public_nodes, sizes),
            runner: created.runner,
            #[cfg(feature = "slurm")]
            batch_system: created.batch_system,
            metrics,
            show_secrets: self.show_secrets,
            observer: self.observe,
            id_seed: self.id_seed,
        });
        #[cfg(feature = "obs")]
        let obs_router = {
            let (state, port) = (Arc::clone(&state), obs_address.port());
            crate::obs::server::router(state, obs.clone(), data.root(), port, on_cluster)
                .map_err(|error| StartError::Directory(data.root().to_owned(), error))?
        };
        #[cfg(feature = "slurm")]
        if let Some(batch_system) = &state.work.batch_system {
            batch_system.prepare().await.map_err(StartError::Slurm)?;
        }
        lifecycle::resume(&state).map_err(|error| database_error(error.into()))?;
        for seeds in self.seeds {
            seeds.create_jobs(&state, true).await.map_err(StartError::Seeds)?;
        }
        let serve = |listener, router| {
            tokio::spawn(connections::serve(listener, router, state.work.closing.subscribe()))
        };
        let servers = vec![
            #[cfg(all(feature = "slurm", feature = "obs"))]
            cluster_obs.map(|(listener, _)| serve(listener, obs_router.clone())),
            #[cfg(feature = "obs")]
            Some(serve(obs_listener, obs_router)),
            Some(serve(listener, router::router(Arc::clone(&state)))),
        ];
        let servers = servers.into_iter().flatten().collect();
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

/// Creates a temporary directory if the data directory or the OBS root is not set.
fn temporary_directory(builder: &Builder) -> Result<Option<TempDir>, StartError> {
    if builder.data_dir.is_some() && builder.obs_root.is_some() {
        return Ok(None);
    }
    let mut directory = tempfile::Builder::new();
    let directory = directory.prefix("modelarts-emulator-").tempdir();
    let unusable = |error| StartError::Directory(std::env::temp_dir(), error);
    directory.map(Some).map_err(unusable)
}

/// Returns the users of the settings, or one user whose project and keys are in the database.
async fn known_users(builder: &mut Builder, database: &Database) -> rusqlite::Result<Vec<User>> {
    let mut users = std::mem::take(&mut builder.users);
    if users.is_empty() {
        let mut user = User::new(USER_NAME);
        // Jobs and clients of an earlier start use these values.
        for (name, value) in [
            ("project_id", &mut user.project_id),
            ("access_key", &mut user.access_key),
            ("secret_key", &mut user.secret_key),
        ] {
            *value = database.setting(name, std::mem::take(value))?;
        }
        // After the wait, a kill does not lose the keys. Later responses report an error.
        let _ = database.committed().await;
        users.push(user);
    }
    if let Some(first) = users.first_mut() {
        for (value, given) in [
            (&mut first.project_id, builder.project_id.take()),
            (&mut first.access_key, builder.access_key.take()),
            (&mut first.secret_key, builder.secret_key.take()),
        ] {
            if let Some(given) = given {
                *value = given;
            }
        }
        first.password = builder.password.take().or(first.password.take());
        first.may_set_high_priority |= builder.high_priority;
    }
    Ok(users)
}

/// Returns the address, by default `127.0.0.1:0`, or an error if it is not a loopback address.
fn loopback(address: Option<SocketAddr>) -> Result<SocketAddr, StartError> {
    let address = address.unwrap_or_else(|| SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    if address.ip().is_loopback() { Ok(address) } else { Err(StartError::NotLoopback(address)) }
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), StartError> {
    let listen_error = |error| StartError::Listen(address, error);
    let listener = TcpListener::bind(address).await.map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    Ok((listener, address))
}
