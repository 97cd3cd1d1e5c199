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
//!   after it was answered. A watch fails only if nothing was answered for 15 minutes. A call with
//!   a deadline ends by its deadline.
//! - After the end of all faults, each call succeeds.
//!
//! All runs of a seed have the same trace.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

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
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crate::run::{Run, run};

/// Number of seeds that breaks a rule after which no further seed is run.
const MOST_BROKEN: usize = 5;

/// Reads a number from an environment variable.
fn variable(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")),
    )
}

#[derive(Default)]
struct Total {
    seeds: u64,
    requests: u64,
    simulated: Duration,
    failed: Vec<u64>,
}

impl Total {
    fn add(&mut self, seed: u64, run: &Run) {
        self.seeds += 1;
        self.requests += run.requests;
        self.simulated += run.simulated;
        if !run.failures.is_empty() {
            self.failed.push(seed);
            println!("seed {seed} broke a rule; see it with: cargo xtask simulate --seed {seed}");
            println!("    {}", run.failures.join("\n    "));
        }
    }
}

/// Runs a seed. A panic, or a service that does not start, counts as a broken rule.
fn run_safely(seed: u64) -> Run {
    match catch_unwind(|| run(seed)) {
        Ok(Ok(run)) => run,
        Ok(Err(error)) => Run::failed(error.to_string()),
        Err(_) => Run::failed("it panicked".to_owned()),
    }
}

/// Runs the seed in `SIMULATION_SEED`, or as many seeds as `SIMULATION_SEEDS` says, beginning with
/// that in `SIMULATION_FIRST`.
#[test]
fn no_seed_breaks_a_rule() {
    if let Some(seed) = variable("SIMULATION_SEED") {
        let run = run_safely(seed);
        println!("{}", run.trace.join("\n"));
        assert!(
            run.failures.is_empty(),
            "rules were broken:\n{}",
            run.failures.join("\n")
        );
        return;
    }
    let first = variable("SIMULATION_FIRST").unwrap_or(0);
    let end = first + variable("SIMULATION_SEEDS").unwrap_or(20);
    let (next, total, begun) = (
        AtomicU64::new(first),
        Mutex::<Total>::default(),
        Instant::now(),
    );
    let work = || {
        while total.lock().unwrap().failed.len() < MOST_BROKEN {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                break;
            }
            let run = run_safely(seed);
            total.lock().unwrap().add(seed, &run);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let total = total.into_inner().unwrap();
    let (seeds, requests, failed) = (total.seeds, total.requests, total.failed);
    let (hours, took) = (total.simulated.as_secs() / 3600, begun.elapsed());
    println!("{seeds} seeds from {first}: {requests} requests and {hours} hours in {took:.0?}");
    assert!(failed.is_empty(), "these seeds broke a rule: {failed:?}");
}

/// A failure can be reproduced only if all runs of a seed have the same trace.
#[test]
fn a_seed_gives_the_same_trace_each_time() {
    for seed in 0..20 {
        let (first, second) = (run_safely(seed), run_safely(seed));
        let mut pairs = first.trace.iter().zip(&second.trace);
        assert_eq!(pairs.find(|(one, other)| one != other), None, "{seed}");
        assert_eq!(first.trace.len(), second.trace.len(), "{seed}");
    }
}
