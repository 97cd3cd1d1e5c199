//! Runs one simulation.

use std::hash::{BuildHasher, Hasher, RandomState};

use modelarts_ext::{Credentials, config::Cloud};

use crate::{network::Network, prelude::*, service::TOKEN, users::all_users};

/// Result of a simulation.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    /// Violations of the rules, each as one sentence.
    pub(crate) failures: Vec<String>,
    /// Log of all requests and calls, with the time since the start in seconds.
    pub(crate) trace: Vec<String>,
    pub(crate) requests: u64,
    /// Elapsed time on the simulated clock.
    pub(crate) simulated: Duration,
}

/// Address of the service, which the messages of errors contain. No server listens on it.
const ENDPOINT: &str = "http://127.0.0.1:9";
/// Maximum simulated time until all users must have finished.
const LONGEST: Duration = Duration::from_secs(24 * 3600);

/// Runs one simulation on this thread.
pub(crate) fn run(seed: u64) -> Result<Run, AnyError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(simulate(seed))
}

async fn simulate(seed: u64) -> Result<Run, AnyError> {
    let mut rng = Rng::with_seed(seed);
    let clock = ServiceClock::new();
    let trace = Trace::new(clock);
    let conditions = Conditions::draw(&mut rng);
    // Seeds two generators: names of temporary directories must differ between runs with the same
    // seed, but the jitter of the client must be the same.
    fastrand::seed(RandomState::new().build_hasher().finish());
    let service = Arc::new(Service::start(clock, &conditions, &mut rng).await?);
    fastrand::seed(seed);
    let network = Network {
        service: Arc::clone(&service),
        conditions: conditions.clone(),
        clock,
        trace: trace.clone(),
        rng: Arc::new(Mutex::new(rng.fork())),
        requests: Arc::default(),
        last: Arc::default(),
    };
    let client = Client::builder()
        .endpoint(ENDPOINT)
        .project_id(&service.project)
        .credentials(Credentials::token(TOKEN))
        .cloud(match conditions.huawei {
            true => Cloud::Huawei,
            false => Cloud::Otc,
        })
        .clock(ClientClock::new(clock, &conditions.skews))
        .connector(network.clone())
        .build()?;
    trace.note(format_args!("{conditions:?}"));
    let world = Arc::new(World {
        service,
        client,
        clock,
        conditions,
        trace: trace.clone(),
        calls: AtomicUsize::new(0),
    });
    let users = all_users(&world, &mut rng);
    if timeout(LONGEST, users).await.is_err() {
        trace.fail(format_args!("a call has not ended after {LONGEST:?}"));
    }
    let (trace, failures) = trace.lines();
    Ok(Run {
        failures,
        trace,
        requests: network.requests.load(Relaxed),
        simulated: clock.elapsed(),
    })
}
