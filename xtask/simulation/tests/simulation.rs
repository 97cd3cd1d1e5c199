//! Runs simulations: a few in `cargo test`, many in `cargo xtask simulate`.

use modelarts_simulation::{Run, run};

#[test]
fn every_seed_keeps_the_rules() {
    let first: u64 = std::env::var("FIRST")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(0);
    let count: u64 = std::env::var("COUNT")
        .ok()
        .and_then(|v| v.parse().ok())
        .unwrap_or(10);
    let mut failed = Vec::new();
    for seed in first..first + count {
        let started = std::time::Instant::now();
        let Run {
            failures,
            trace,
            digest,
            requests,
            simulated,
            ..
        } = run(seed).unwrap();
        println!(
            "seed {seed}: {requests} requests, {simulated:?} simulated in {:?}, {digest:x}, {failures:?}",
            started.elapsed()
        );
        if count == 1 {
            println!("{}", trace.join("\n"));
        }
        if !failures.is_empty() {
            failed.push(seed);
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}
