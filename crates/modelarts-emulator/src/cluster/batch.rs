//! Program of a submission, which its batch script starts on the first node. It drives the job and
//! writes the journal.

use std::{
    collections::{BTreeSet, HashMap},
    env, fs,
    io::{self, Write},
    net::{Ipv4Addr, SocketAddr},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    sync::Arc,
    time::Duration,
};

use tokio::{
    process::Child,
    signal::unix::{SignalKind, signal},
    time::{Instant, sleep},
};

use crate::{
    accounts::Accounts,
    catalog::cloud::Cloud,
    clock::{SystemClock, timestamp::Timestamp},
    cluster::{
        commands::{self, Cause},
        journal::Entry,
        layout::{Directory, Order, RUN_MARK, Specification, append, open_files, read_lines},
        recorder::Recorder,
        workers::{NodesLauncher, Workers},
    },
    database::Database,
    execution::{
        driver::{Driver, Ending},
        finish::record_end,
        lifecycle,
    },
    files::confined_dir::ConfinedDir,
    job::{
        Job,
        event::Wording,
        state::{JobState, StopReason},
        submission::{BatchRun, Submission},
    },
    metrics::{Metrics, MinuteRows},
    runner::Runner,
    scheduler::Scheduler,
    state::{EmulatorState, Parts, Settings},
    validation::creation::Offer,
};

/// Time between two looks at the orders of the emulator.
const ORDER_PERIOD: Duration = Duration::from_millis(500);
/// Minimum time between two changes in the journal.
const RECORD_PERIOD: Duration = Duration::from_millis(100);
/// Time between two records of the usage.
const USAGE_PERIOD: Duration = Duration::from_secs(10);
/// Time between two attempts to write the journal.
const RETRY_PERIOD: Duration = Duration::from_secs(5);
/// Time in which Slurm ends this program after the workers. It ends each process of a job by itself,
/// and writes the cause to the output of the script only if this program still runs.
const LOSS_GRACE: Duration = Duration::from_secs(10);
/// Exit code of a program that Slurm ends.
const TERMINATED: u8 = 143;

/// Runs the submission in `directory`, and returns the exit code of the batch script: that of the
/// job, so that the accounting of Slurm is right.
pub(super) async fn run(directory: Directory) -> Result<u8, String> {
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let slurm_id = env::var("SLURM_JOB_ID").unwrap_or_default();
    let restart = env::var("SLURM_RESTART_COUNT").ok().and_then(|count| count.parse().ok());
    let unusable = |error: io::Error| format!("cannot use {}: {error}", directory.0.display());
    let first = fs::read_to_string(directory.claim(0));
    let is_other = first.is_ok_and(|first| first != slurm_id);
    if is_other || !claim(&directory.claim(restart.unwrap_or(0)), &slurm_id).map_err(unusable)? {
        tracing::warn!(slurm_id, "another batch job runs this submission");
        return Ok(0);
    }
    let last_output = directory.last_output();
    let specification = Specification::read(&directory)?;
    let mut job = specification.job()?;
    let (entries, _) = read_lines::<Entry>(&directory.journal(), 0).map_err(unusable)?;
    let usage = replay(&mut job, entries);
    if job.submission.as_ref().is_some_and(|submission| submission.run == BatchRun::Ended) {
        return Ok(exit_code(&job));
    }
    let last_change = directory.last_change();
    write!(io::stderr(), "{RUN_MARK}").map_err(unusable)?;
    append(&directory.journal(), &Entry::Started { slurm_id: slurm_id.clone() })
        .map_err(unusable)?;
    let workers = job.request.node_count as usize;
    let started = Workers::start(&specification.srun, workers, specification.token.clone());
    let (workers, mut srun) = tokio::select! {
        started = started => started.map_err(|error| format!("srun cannot be started: {error}"))?,
        _ = terminate.recv() => return Ok(TERMINATED),
    };
    let program = Program::new(directory, specification, job, workers)?;
    for minutes in &usage {
        // The usage of earlier runs is in the journal already.
        let _ = program.state.work.metrics.set_rows(minutes);
    }
    let code = tokio::select! {
        code = program.drive(&mut srun, (last_output, last_change)) => code?,
        _ = terminate.recv() => {
            // Slurm ends the job, also on the other nodes, and reports the cause.
            let _ = srun.wait().await;
            return Ok(TERMINATED);
        }
    };
    program.workers.end().await;
    let _ = srun.wait().await;
    // A job that was stopped is cancelled in Slurm.
    let state = program.state.store.read(&program.id, |job| job.state);
    if state == Some(JobState::Terminated)
        && let Err(error) = commands::cancel(&[&slurm_id]).await
    {
        tracing::warn!(%error, "the job is not cancelled in Slurm");
    }
    Ok(code)
}

/// Returns `true` if this batch job may run the submission. Another may have been submitted by an
/// emulator that was killed before it knew the id.
fn claim(path: &Path, slurm_id: &str) -> io::Result<bool> {
    let created = fs::File::options().write(true).create_new(true).mode(0o600).open(path);
    match created {
        Ok(mut file) => file.write_all(slurm_id.as_bytes()).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(fs::read_to_string(path)? == slurm_id)
        }
        Err(error) => Err(error),
    }
}

/// Applies the journal of earlier runs to a job, and returns their usage.
fn replay(job: &mut Job, entries: Vec<Entry>) -> Vec<MinuteRows> {
    job.submission.get_or_insert_with(Submission::default);
    let mut usage = Vec::new();
    for entry in entries {
        match entry {
            Entry::Usage(minutes) => usage.push(minutes),
            entry => entry.apply(job),
        }
    }
    // These events are in the journal already.
    job.events.clear();
    usage
}

struct Program {
    state: Arc<EmulatorState>,
    id: String,
    directory: Directory,
    workers: Arc<Workers>,
    /// State of the job when the program started.
    before: JobState,
}

impl Program {
    fn new(
        directory: Directory,
        specification: Specification,
        job: Job,
        workers: Arc<Workers>,
    ) -> Result<Self, String> {
        let files = open_files(&specification.workers);
        let files = files.map_err(|error| format!("cannot use the shared directory: {error}"))?;
        let obs = files.obs.clone();
        let launcher = NodesLauncher { files, workers: Arc::clone(&workers) };
        let settings = Settings {
            timing: specification.timing,
            wording: Wording::default(),
            restart_on: specification.restart_on,
            one_job_per_output: false,
            quirks: specification.quirks,
        };
        let pool = job.request.pool_id.clone().unwrap_or_default();
        let state = state(Runner::Process(Arc::new(launcher)), obs, settings, pool)?;
        let (id, before) = (job.id.clone(), job.state);
        state.store.insert(job, usize::MAX, false).map_err(|error| error.message)?;
        Ok(Self { state, id, directory, workers, before })
    }

    /// Drives the job to its end, and returns the exit code of the script.
    async fn drive(
        &self,
        srun: &mut Child,
        last: (String, Option<Timestamp>),
    ) -> Result<u8, String> {
        let journal = self.directory.journal();
        let mut recorder = Recorder::new(journal, Arc::clone(&self.state), self.id.clone());
        let is_ready = self.workers.are_ready();
        let driver = self.state.store.read(&self.id, |job| Driver::new(&self.state, job, None));
        let mut driver = driver.ok_or("the job was deleted")?;
        let driven = async {
            match self.before {
                JobState::Running => {
                    self.requeue(&mut driver, last).await;
                    retry(|| recorder.record(Entry::Requeued)).await;
                }
                // The job was being stopped when its nodes were lost.
                JobState::Terminating => driver.settle(StopReason::ByUser.into()).await,
                _ => {}
            }
            if self.state.store.read(&self.id, |job| job.lifecycle.settled) == Some(true) {
                return;
            }
            if !is_ready {
                sleep(LOSS_GRACE).await;
                let cause = "srun did not start the workers; see the output of the job in Slurm";
                return driver.settle(Ending::Unprepared(cause.to_owned())).await;
            }
            tokio::select! {
                () = lifecycle::drive(Arc::clone(&self.state), self.id.clone(), None) => {}
                () = record_changes(&mut recorder) => {}
            }
        };
        let loss = tokio::select! {
            biased;
            () = self.workers.lost.cancelled(), if is_ready => {
                Some("a worker does not respond".to_owned())
            }
            ended = srun.wait(), if is_ready => {
                Some(format!("the workers are lost: srun ended with {ended:?}"))
            }
            () = self.obey() => None,
            () = driven => None,
        };
        if let Some(loss) = loss {
            tracing::warn!("{loss}");
            sleep(LOSS_GRACE).await;
            return Err(loss);
        }
        retry(|| recorder.record_usage()).await;
        retry(|| recorder.record(Entry::Changed)).await;
        retry(|| append(&self.directory.journal(), &Entry::Ended)).await;
        Ok(self.state.store.read(&self.id, exit_code).unwrap_or(1))
    }

    /// Records that the cluster has taken the nodes of the last run. Ends the job if it may not run
    /// again.
    async fn requeue(&self, driver: &mut Driver, (output, at): (String, Option<Timestamp>)) {
        let cause = commands::cause_in_output(&output);
        let ending = match cause {
            Some(Cause::Preempted) => Ending::Preempted,
            _ => Ending::NodeFault(driver.workers[0].task()),
        };
        if let Some(at) = at {
            let end = record_end(&ending, at.whole_second());
            self.state.store.update(&self.id, |job| job.end_record(end));
        }
        if !driver.requeue(&ending).await {
            driver.settle(ending).await;
        }
    }

    /// Follows the orders of the emulator. Does not return.
    async fn obey(&self) {
        let (path, mut read) = (self.directory.orders(), 0);
        loop {
            match read_lines(&path, read) {
                Ok((orders, end)) => {
                    read = end;
                    for order in orders {
                        self.follow(order);
                    }
                }
                Err(error) => tracing::warn!(%error, "the orders cannot be read"),
            }
            sleep(ORDER_PERIOD).await;
        }
    }

    fn follow(&self, order: Order) {
        let now = Timestamp::now(self.state.clock.as_ref());
        self.state.store.update(&self.id, |job| match order {
            Order::Stop(reason) => {
                job.advance(JobState::Terminating, now);
                job.ask_to_stop(reason);
            }
            Order::StopTrial(id) => {
                for trial in job.trials.iter_mut().filter(|trial| trial.id == id) {
                    trial.stop = true;
                    trial.changed = true;
                }
            }
        });
    }
}

/// Returns the exit code of the script for the end of a job.
fn exit_code(job: &Job) -> u8 {
    match (job.state, &job.history.failure) {
        (JobState::Completed, _) => 0,
        (JobState::Terminated, _) => TERMINATED,
        (_, Some(failure)) => u8::try_from(failure.exit_code).unwrap_or(1).max(1),
        _ => 1,
    }
}

/// Returns the state of an emulator in memory, with one pool and without users.
fn state(
    runner: Runner,
    obs: ConfinedDir,
    settings: Settings,
    pool: String,
) -> Result<Arc<EmulatorState>, String> {
    let database = Database::open(None).map_err(|error| error.to_string())?;
    let database = Arc::new(database);
    let cloud = Cloud::default();
    Ok(EmulatorState::new(Parts {
        accounts: Accounts::new(Vec::new(), Vec::new(), cloud.region(), &database),
        address: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
        clock: Arc::new(SystemClock),
        settings,
        offer: Offer {
            cloud,
            pools: Vec::new(),
            encrypted: BTreeSet::new(),
            organizations: BTreeSet::new(),
            datasets: None,
            obs,
            strict: false,
        },
        job_quota: None,
        scheduler: Scheduler::new(u32::MAX, u32::MAX, HashMap::from([(pool, u32::MAX)])),
        runner,
        batch_system: None,
        metrics: Arc::new(Metrics::new(&database)),
        show_secrets: false,
        observer: None,
        id_seed: None,
        database,
    }))
}

/// Repeats a write to the journal until it succeeds: the disk of the shared directory may be full.
async fn retry(mut write: impl FnMut() -> io::Result<()>) {
    while let Err(error) = write() {
        tracing::warn!(%error, "the journal cannot be written");
        sleep(RETRY_PERIOD).await;
    }
}

/// Writes the changes of the job while it is driven. Does not return.
async fn record_changes(recorder: &mut Recorder) {
    let state = Arc::clone(&recorder.state);
    let id = recorder.id.clone();
    let mut changes = state.store.changes(&id);
    let mut measured = Instant::now();
    loop {
        retry(|| recorder.record(Entry::Changed)).await;
        if measured.elapsed() >= USAGE_PERIOD {
            measured = Instant::now();
            retry(|| recorder.record_usage()).await;
        }
        sleep(RECORD_PERIOD).await;
        let _ = tokio::time::timeout(USAGE_PERIOD, changes.changed()).await;
    }
}
