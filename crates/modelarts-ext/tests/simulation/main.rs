//! Simulation of the client, the network and the service in one process, determined by a seed.
//!
//! ```console
//! cargo xtask simulate --seeds 1000    # runs seeds; prints those that break a rule
//! cargo xtask simulate --seed 7        # runs one seed, and prints every request and every call
//! ```
//!
//! The seed determines the jobs and settings of the service, the actions of users, the skew of the
//! client's clock, and the effect of the network on each request. Client and service share one
//! timer, which advances when all tasks are idle, so that delays take no real time.
//!
//! Users create jobs, several at once under one name, stop, delete and describe them, list them
//! with conditions, follow them, wait for them, and give calls up in the middle. The network loses
//! requests and responses, throttles, and responds with errors whose status is 200. The service
//! gives short pages, states other counts, answers with `null`, and is restarted.
//!
//! These properties are checked against the state of the service and against a record of the
//! changes that it has executed, without functions of the client:
//!
//! - A returned job has the settings that were asked for. A create request is not sent again after
//!   the service has executed it. After an error that is certain, nothing was executed.
//! - A list that is read without an error contains each row that existed and met the conditions
//!   during the whole call, no row twice, and no other row, in the order of the list.
//! - A call that follows a job to its end returns each event once and all lines of the log. A wait
//!   ends with the outcome of the job.
//! - A request is repeated as often as the policy permits, not sooner than `Retry-After`, and not
//!   after it was answered. A watch fails only if nothing was answered for 15 minutes. A call with a
//!   deadline ends by its deadline.
//! - After the end of all faults, each call succeeds.
//!
//! All runs of a seed have the same trace.

mod answers;
mod calls;
mod checks;
mod clock;
mod conditions;
mod network;
mod run;
mod service;
mod trace;
mod users;
mod wish;
mod workload;
mod world;

use std::{
    env,
    panic::catch_unwind,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use crate::run::{Run, run};

/// Reads a number from an environment variable.
fn variable(name: &str) -> Result<Option<u64>, String> {
    let Ok(text) = env::var(name) else {
        return Ok(None);
    };
    let number = text.parse().map(Some);
    number.map_err(|_| format!("{name} must be a number, not {text:?}"))
}

#[derive(Default)]
struct Total {
    seeds: u64,
    requests: u64,
    simulated: Duration,
    failed: Vec<u64>,
}

impl Total {
    fn add(&mut self, run: &Run) {
        self.seeds += 1;
        self.requests += run.requests;
        self.simulated += run.simulated;
        if !run.failures.is_empty() {
            self.broken(run.seed, &run.failures);
        }
    }

    fn broken(&mut self, seed: u64, failures: &[String]) {
        self.failed.push(seed);
        println!("seed {seed} broke a rule; see it with: cargo xtask simulate --seed {seed}");
        for failure in failures {
            println!("    {failure}");
        }
    }
}

#[test]
fn no_seed_breaks_a_rule() -> Result<(), String> {
    if let Some(seed) = variable("SIMULATION_SEED")? {
        let run = run(seed).unwrap();
        println!("{}", run.trace.join("\n"));
        return match run.failures.as_slice() {
            [] => Ok(()),
            failures => Err(format!("rules were broken:\n{}", failures.join("\n"))),
        };
    }
    let first = variable("SIMULATION_FIRST")?.unwrap_or(0);
    let seconds = variable("SIMULATION_SECONDS")?.map(Duration::from_secs);
    let seeds = variable("SIMULATION_SEEDS")?.unwrap_or(match seconds {
        Some(_) => u64::MAX - first,
        None => 20,
    });
    let next = AtomicU64::new(first);
    let over = AtomicBool::new(false);
    let begun = Instant::now();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let totals: Vec<Total> = thread::scope(|scope| {
        let work = || {
            let mut total = Total::default();
            while !over.load(Ordering::Relaxed) {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed - first >= seeds || seconds.is_some_and(|most| begun.elapsed() >= most) {
                    break;
                }
                match catch_unwind(|| run(seed)) {
                    Ok(Ok(run)) => total.add(&run),
                    _ => total.broken(seed, &["it panicked, or did not start".to_owned()]),
                }
                // Ten failures are sufficient for an analysis, so no further seed is run.
                if total.failed.len() >= 10 {
                    over.store(true, Ordering::Relaxed);
                }
            }
            total
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap())
            .collect()
    });
    let count: u64 = totals.iter().map(|total| total.seeds).sum();
    let requests: u64 = totals.iter().map(|total| total.requests).sum();
    let hours = totals
        .iter()
        .map(|total| total.simulated.as_secs())
        .sum::<u64>()
        / 3600;
    let failed: Vec<u64> = totals.into_iter().flat_map(|total| total.failed).collect();
    println!(
        "{count} seeds from {first}: {requests} requests and {hours} hours in {:.0?}, {} broke a rule",
        begun.elapsed(),
        failed.len()
    );
    match failed.as_slice() {
        [] if count > 0 => Ok(()),
        [] => Err("no seed was run".to_owned()),
        failed => Err(format!("these seeds broke a rule: {failed:?}")),
    }
}

/// A failure can be reproduced only if all runs of a seed have the same trace.
#[test]
fn a_seed_gives_the_same_trace_each_time() {
    for seed in 0..20 {
        let (first, second) = (run(seed).unwrap(), run(seed).unwrap());
        let differs = first
            .trace
            .iter()
            .zip(&second.trace)
            .find(|(one, other)| one != other);
        assert_eq!(differs, None, "{seed}");
        assert_eq!(first.trace.len(), second.trace.len(), "{seed}");
    }
}
