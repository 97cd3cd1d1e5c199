//! Tests of the cost of lists: a list of many jobs takes about as many steps as a list of few. The
//! tests count steps, because time measurements vary.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use serde_json::json;

use super::*;
use crate::{
    clock::timestamp::Timestamp,
    database::Database,
    job::{address::Host, request::JobRequest, state::JobState},
};

const FEW: u64 = 250;
const MANY: u64 = 5_000;
/// Maximum ratio between the steps of the two lists.
const TARGET: u64 = 3;

/// Returns a store of jobs one second apart, of which 100 are running.
fn filled(jobs: u64) -> JobStore {
    let store = JobStore::new(Arc::new(Database::open(None).unwrap()));
    for number in 0..jobs {
        let some = number % (jobs / 20) == 0;
        let name = if some { "rare" } else { "run" };
        let request = json!({
            "kind": "job",
            "metadata": {"name": format!("{name}-{number}"), "workspace_id": "0"},
            "algorithm": {"name": "resnet", "command": "true"},
            "spec": {"resource": {"node_count": 1}},
        });
        let request = JobRequest::read(request).unwrap();
        let second = i64::try_from(number).unwrap();
        let created = Timestamp::from_millis(1_600_000_000_000 + second * 1000);
        // The first four digits of a job ID represent its network.
        let id = format!("{:04x}-{number}", number % 0x1_0000);
        let mut job = Job::new(id, request, created);
        job.owner.project = "p".to_owned();
        job.state = match number {
            0..100 => JobState::Running,
            _ if number % 3 == 0 => JobState::Failed,
            _ => JobState::Completed,
        };
        job.lifecycle.settled = true;
        job.history.started = Some(created);
        if some {
            job.settings.tags.insert("team".to_owned(), "a".to_owned());
        }
        store.insert(job, usize::MAX, false).unwrap();
    }
    store
}

/// Returns the number of SQLite steps of a list that has already been requested once.
fn steps(store: &JobStore, selection: &Selection) -> u64 {
    let counted = Arc::new(AtomicU64::new(0));
    let first = store.list("p", selection).unwrap();
    assert!(!first.jobs.is_empty(), "{selection:?}");
    let count = |handler: Option<Arc<AtomicU64>>| {
        let handler = handler.map(|steps| {
            move || {
                steps.fetch_add(1, Ordering::Relaxed);
                false
            }
        });
        store.database.configure(|connection| connection.progress_handler(1, handler));
    };
    count(Some(Arc::clone(&counted)));
    let second = store.list("p", selection).unwrap();
    count(None);
    assert_eq!(first.count, second.count);
    counted.load(Ordering::Relaxed)
}

#[test]
fn many_jobs_are_listed_in_the_steps_of_few() {
    let (few, many) = (filled(FEW), filled(MANY));
    let moment = |second: u64| {
        let second = i64::try_from(second).unwrap();
        Some(Timestamp::from_millis(1_600_000_000_000 + second * 1000))
    };
    let phase = |phase: &str| (Key::Phase, Test::In(vec![phase.to_owned()]));
    let name = |part: &str| (Key::Name, Test::Contains(part.to_owned()));
    let with = |tests: Vec<(Key, Test)>| Selection { tests, limit: 10, ..Selection::default() };
    let lists = |jobs: u64| {
        [
            ("all", with(vec![])),
            ("failed", with(vec![phase("Failed")])),
            ("running", with(vec![phase("Running")])),
            ("a name that 20 have", with(vec![name("rare")])),
            ("a name that all have", with(vec![name("run-")])),
            ("a name that all have, failed", with(vec![name("run-"), phase("Failed")])),
            ("a short name that all have", with(vec![name("un")])),
            ("the page in the middle", Selection { skip: jobs / 2, ..with(vec![]) }),
            (
                "half of the time",
                Selection { from: moment(jobs / 4), to: moment(jobs * 3 / 4), ..with(vec![]) },
            ),
            (
                "20 tagged",
                Selection { tags: vec![("team".to_owned(), vec!["a".to_owned()])], ..with(vec![]) },
            ),
            (
                "one node",
                Selection {
                    hosts: Some(vec![Host {
                        network: crate::job::address::network("002a"),
                        index: 0,
                    }]),
                    ..with(vec![])
                },
            ),
        ]
    };
    for ((what, of_few), (_, of_many)) in lists(FEW).iter().zip(lists(MANY)) {
        let (short, long) = (steps(&few, of_few), steps(&many, &of_many));
        assert!(long <= TARGET * short, "{what}: {long} steps for {MANY} jobs, {short} for {FEW}");
    }
}
