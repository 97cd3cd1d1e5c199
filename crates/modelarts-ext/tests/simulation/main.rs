//! Simulation of the client, the network and the service in one process, determined by a seed.
//!
//! ```sh
//! # Runs seeds, and prints those that break a rule. SIMULATION_FIRST is the first, 0 if not set.
//! SIMULATION_SEEDS=1000 cargo test -p modelarts-ext --test simulation -- --nocapture
//! # Runs one seed, and prints every request and every call.
//! SIMULATION_SEED=7 cargo test -p modelarts-ext --test simulation -- --nocapture
//! ```
//!
//! A seed takes about two seconds of a processor; for many seeds, `--release` is worth its build.
//!
//! The seed determines everything, so that all its runs have the same trace. Client and service
//! share one timer, which advances when all tasks are idle, so that delays take no real time.
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
mod prelude;
mod run;
mod service;
mod trace;
mod users;
mod wish;
mod workload;
mod world;

use std::{env, panic::catch_unwind, thread, time::Instant};

use crate::{
    prelude::*,
    run::{Run, run},
};

/// Number of seeds that break a rule after which no further seed is run.
const MOST_BROKEN: usize = 5;

/// Reads a number from an environment variable.
fn variable(name: &str) -> Option<u64> {
    let text = env::var(name).ok()?;
    let number = text.parse();
    Some(number.unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

/// Runs a seed. A panic, or a service that does not start, counts as a broken rule.
fn run_safely(seed: u64) -> Run {
    let error = match catch_unwind(|| run(seed)) {
        Ok(Ok(run)) => return run,
        Ok(Err(error)) => error.to_string(),
        Err(_) => "it panicked".to_owned(),
    };
    Run { failures: vec![error], ..Run::default() }
}

/// Runs the seed in `SIMULATION_SEED`, or as many seeds as `SIMULATION_SEEDS` says, beginning with
/// that in `SIMULATION_FIRST`.
#[test]
fn no_seed_breaks_a_rule() {
    if let Some(seed) = variable("SIMULATION_SEED") {
        let Run { failures, trace, .. } = run_safely(seed);
        println!("{}", trace.join("\n"));
        let count = failures.len();
        assert!(count == 0, "{count} rules were broken:\n{}", failures.join("\n"));
        return;
    }
    let first = variable("SIMULATION_FIRST").unwrap_or(0);
    let end = first + variable("SIMULATION_SEEDS").unwrap_or(100);
    let (next, begun) = (AtomicU64::new(first), Instant::now());
    // The seeds that broke a rule, and the number of seeds, requests and simulated seconds.
    let total = Mutex::new((Vec::new(), [0; 3]));
    let work = || {
        while total.lock().unwrap().0.len() < MOST_BROKEN {
            let seed = next.fetch_add(1, Relaxed);
            if seed >= end {
                break;
            }
            let run = run_safely(seed);
            let (broken, counts) = &mut *total.lock().unwrap();
            for (sum, count) in counts.iter_mut().zip([1, run.requests, run.simulated.as_secs()]) {
                *sum += count;
            }
            if !run.failures.is_empty() {
                broken.push(seed);
                println!("seed {seed} broke a rule; see it with SIMULATION_SEED={seed}");
                println!("    {}", run.failures.join("\n    "));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let (broken, [seeds, requests, seconds]) = total.into_inner().unwrap();
    let (hours, took) = (seconds / 3600, begun.elapsed());
    println!("{seeds} seeds from {first}: {requests} requests and {hours} hours in {took:.0?}");
    assert!(broken.is_empty(), "these seeds broke a rule: {broken:?}");
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
