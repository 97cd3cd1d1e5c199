//! Jobs of a simulation: those that exist at its start, and the course of those that users create.

use crate::prelude::*;

/// Name of the job that has events from the start of the simulation. The job runs until a user
/// stops it, or has already ended.
pub(crate) const JOB_WITH_EVENTS: &str = "with-events";
/// Start of the names of the jobs that have ended before the simulation.
pub(crate) const PAST: &str = "past-";
/// Kinds of jobs: the starts of their names, which determine their course.
pub(crate) const KINDS: [&str; 5] = ["steps", "fails", "quick", "faulty", "twins"];
/// Time of creation of the first jobs.
const CREATED: &str = "2026-01-15T06:00:00Z";

/// Returns documents with the jobs that exist at the start.
pub(crate) fn past_jobs(rng: &mut Rng) -> Vec<Value> {
    let past = [0, 3, 30, 120][rng.usize(..4)];
    let mut seeds = Vec::new();
    if past > 0 {
        // The creation times of the jobs are one second apart, or all equal.
        let jobs: Vec<Value> = match rng.bool() {
            true => {
                vec![json!({"name": format!("{PAST}{{n}}"), "count": past, "created": CREATED})]
            }
            false => (0..past)
                .map(|n| json!({"name": format!("{PAST}{n}"), "created": CREATED}))
                .collect(),
        };
        seeds.push(json!({ "jobs": jobs }));
    }
    if rng.bool() {
        let job = json!({
            "name": JOB_WITH_EVENTS,
            "created": CREATED,
            "phase": (if rng.bool() { "Running" } else { "Completed" }),
            "events": events(rng),
        });
        seeds.push(json!({ "jobs": [job] }));
    }
    seeds
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
pub(crate) fn script(rng: &mut Rng) -> Value {
    let mut lasts = |most: u32| rng.u32(1..most);
    let batches = json!({"at": 1, "every": 7, "line": "batch {n} of {task}"});
    let steps = json!({"at": 2, "every": lasts(5), "line": "step {n}"});
    let equal = json!({"at": 3, "every": 11, "line": "same"});
    let runs = json!([{"every": 30, "line": "run {run} {n}"}]);
    let others = json!([{"every": 3, "line": "other {n}"}]);
    json!({
        "default": [{"seconds": lasts(900), "log": ["begun", batches]}],
        "jobs": [
            {"name": "steps-*", "runs": [{"seconds": lasts(1200), "log": ["begun", steps, equal]}]},
            {"name": "fails-*", "runs": [
                {"seconds": lasts(300), "exit_code": 3, "log": [{"at": lasts(60), "line": "no"}]}
            ]},
            {"name": "quick-*", "runs": [{"seconds": 0, "log": ["a", "a", "b"]}]},
            {"name": "faulty-*", "runs": [
                {"seconds": 400, "fault": {"node_fault": lasts(400)}, "log": runs},
                {"seconds": lasts(200), "log": runs}
            ]},
            {"name": "twins-*", "runs": [{
                "seconds": lasts(600),
                "log": [{"every": 20, "line": "{task} {n}"}],
                "tasks": {"worker-1": {"log": others}}
            }]}
        ]
    })
}
