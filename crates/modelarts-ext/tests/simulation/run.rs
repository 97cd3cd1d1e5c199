//! Runs one simulation.

use std::{
    error::Error,
    hash::{BuildHasher, Hasher, RandomState},
    sync::Arc,
    time::Duration,
};

use fastrand::Rng;
use http::HeaderValue;
use modelarts_emulator::{
    Emulator, Timing,
    jobs::RunnerKind,
    quirks::{EventsOffset, Quirks},
    script::Script,
    seeds::Seeds,
};
use modelarts_ext::{Client, Credentials};
use std::sync::Mutex;
use serde_json::{Value, json};

use crate::{
    clock::SimulatedClock,
    conditions::Conditions,
    network::Network,
    trace::Trace,
    users::all_users,
    world::{JOB_WITH_EVENTS, World},
};

/// Result of a simulation.
#[derive(Clone, Debug)]
pub struct Run {
    /// Seed of the simulation.
    pub seed: u64,
    /// Violations of the rules, each as one sentence.
    pub failures: Vec<String>,
    /// Log of all requests and calls, with the time since the start in seconds.
    pub trace: Vec<String>,
    /// Hash of the trace. Every run of a seed has the same hash.
    pub digest: u64,
    /// Number of requests sent.
    pub requests: u64,
    /// Elapsed time on the simulated clock.
    pub simulated: Duration,
}

/// Maximum simulated time until all users must have finished.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
const TOKEN: &str = "simulation";

/// Runs one simulation on this thread.
///
/// # Errors
/// Returned if the emulator cannot be started.
pub fn run(seed: u64) -> Result<Run, Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    runtime.block_on(simulate(seed))
}

async fn simulate(seed: u64) -> Result<Run, Box<dyn Error>> {
    let mut rng = Rng::with_seed(seed);
    let clock = SimulatedClock::new();
    let trace = Trace::new(clock);
    let conditions = Conditions::draw(&mut rng);
    let huawei = rng.bool();
    let executed: Arc<Mutex<Vec<String>>> = Arc::default();
    // Seeds two generators: names of temporary directories must differ between runs with the same
    // seed, but the jitter of the client must be the same.
    fastrand::seed(RandomState::new().build_hasher().finish());
    let emulator = emulator(clock, huawei, &mut rng, Arc::clone(&executed)).await?;
    fastrand::seed(seed);
    let host = emulator.url().trim_start_matches("http://");
    let network = Network::new(
        emulator.router(),
        HeaderValue::from_str(host)?,
        conditions.clone(),
        clock,
        trace.clone(),
        rng.fork(),
    );
    let client = Client::builder()
        .endpoint(emulator.url())
        .project_id(emulator.project_id())
        .credentials(Credentials::token(TOKEN))
        .cloud(match huawei {
            true => modelarts_ext::config::Cloud::Huawei,
            false => modelarts_ext::config::Cloud::Otc,
        })
        .clock(clock)
        .connector(network.clone())
        .build()?;
    trace.note(format_args!("{conditions:?}"));
    let world = Arc::new(World {
        emulator,
        client,
        huawei,
        clock,
        conditions,
        trace: trace.clone(),
        executed,
    });
    let users = all_users(&world, &mut rng);
    if tokio::time::timeout(LONGEST, users).await.is_err() {
        trace.fail(format_args!("a call has not ended after {LONGEST:?}"));
    }
    Ok(Run {
        seed,
        failures: trace.failures(),
        trace: trace.lines(),
        digest: trace.digest(),
        requests: network.requests(),
        simulated: clock.elapsed(),
    })
}

/// Starts an emulator that already contains jobs with events.
async fn emulator(
    clock: SimulatedClock,
    huawei: bool,
    rng: &mut Rng,
    executed: Arc<Mutex<Vec<String>>>,
) -> Result<Emulator, Box<dyn Error>> {
    let mut quirks = Quirks::default();
    // The unit of the offset of events varies between simulations, because sources disagree about
    // it and the client must detect it.
    if rng.bool() {
        quirks.events_offset = EventsOffset::Page;
    }
    let past = [0, 3, 60, 300][rng.usize(..4)];
    let mut seeds = Vec::new();
    if past > 0 {
        // The creation times of the jobs are one second apart, or all equal.
        let created = "2026-01-15T06:00:00Z";
        let jobs: Vec<Value> = match rng.bool() {
            true => vec![json!({"name": "past-{n}", "count": past, "created": created})],
            false => (0..past)
                .map(|n| json!({"name": format!("past-{n}"), "created": created}))
                .collect(),
        };
        seeds.push(Seeds::from_json(&json!({ "jobs": jobs }).to_string())?);
    }
    if rng.bool() {
        let job = json!({
            "name": JOB_WITH_EVENTS,
            "created": "2026-01-15T06:00:00Z",
            "phase": (if rng.bool() { "Running" } else { "Completed" }),
            "events": events(rng),
        });
        seeds.push(Seeds::from_json(&json!({ "jobs": [job] }).to_string())?);
    }
    let timing = match rng.bool() {
        true => Timing::documented(),
        false => Timing::default(),
    };
    let mut builder = Emulator::builder()
        .clock(Arc::new(clock))
        .token(TOKEN)
        .id_seed(rng.u64(..))
        .cloud(match huawei {
            true => modelarts_emulator::Cloud::Huawei,
            false => modelarts_emulator::Cloud::Otc,
        })
        .quirks(quirks)
        .timing(timing)
        .runner(RunnerKind::Simulated(Script::from_json(
            &script(rng).to_string(),
        )?))
        .observe(move |exchange| {
            // The error code ModelArts.2751 means that a job with this name already exists.
            let again = || {
                exchange
                    .answer
                    .windows(14)
                    .any(|part| part == b"ModelArts.2751")
            };
            if exchange.operation == Some("CreateTrainingJob")
                && (exchange.status == 201 || again())
            {
                let body: Value = serde_json::from_slice(exchange.request).unwrap_or_default();
                let name = body["metadata"]["name"].as_str().unwrap_or_default();
                executed.lock().unwrap().push(name.to_owned());
            }
        });
    for seeds in seeds {
        builder = builder.seed_jobs(seeds);
    }
    Ok(builder.start().await?)
}

/// Generates the initial events, up to a few pages. Several events have the same time, and some are
/// equal.
fn events(rng: &mut Rng) -> Vec<Value> {
    let most = [5, 60, 260][rng.usize(..3)];
    let at_once = rng.u64(1..30);
    (0..rng.u64(1..most))
        .map(|number| {
            let seconds = 1_768_457_000 + number / at_once;
            let message = format!("event {}", number / rng.u64(1..3));
            json!({"time": seconds * 1000, "message": message})
        })
        .collect()
}

/// Generates the script of the simulated jobs, which determines the duration and the log lines of
/// each kind of job.
fn script(rng: &mut Rng) -> Value {
    let mut lasts = |most: u32| rng.u32(1..most);
    json!({
        "default": [{"seconds": lasts(900), "log": ["begun", {"at": 1, "every": 7, "line": "batch {n} of {task}"}]}],
        "jobs": [
            {"name": "steps-*", "runs": [{
                "seconds": lasts(1200),
                "log": ["begun", {"at": 2, "every": lasts(5), "line": "step {n}"}, {"at": 3, "every": 11, "line": "same"}]
            }]},
            {"name": "fails-*", "runs": [{"seconds": lasts(300), "exit_code": 3, "log": [{"at": lasts(60), "line": "no"}]}]},
            {"name": "quick-*", "runs": [{"seconds": 0, "log": ["a", "a", "b"]}]},
            {"name": "faulty-*", "runs": [
                {"seconds": 400, "fault": {"node_fault": lasts(400)}, "log": [{"every": 30, "line": "run {run} {n}"}]},
                {"seconds": lasts(200), "log": [{"every": 30, "line": "run {run} {n}"}]}
            ]},
            {"name": "twins-*", "runs": [{
                "seconds": lasts(600),
                "log": [{"every": 20, "line": "{task} {n}"}],
                "tasks": {"worker-1": {"log": [{"every": 3, "line": "other {n}"}]}}
            }]}
        ]
    })
}
