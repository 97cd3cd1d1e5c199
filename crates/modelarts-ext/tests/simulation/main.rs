//! Simulation of the client, the network and the service in one process, determined by a seed.

mod checks;
mod clock;
mod conditions;
mod network;
mod run;
mod trace;
mod users;
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
    for seed in 0..6 {
        let (first, second) = (run(seed).unwrap(), run(seed).unwrap());
        assert_eq!(first.trace, second.trace, "{seed}");
        assert_eq!(first.digest, second.digest, "{seed}");
    }
}
