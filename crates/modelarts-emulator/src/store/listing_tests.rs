//! Tests that compare lists with a plain filter over all jobs.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::json;

use super::*;
use crate::{
    clock::timestamp::Timestamp,
    database::Database,
    job::{
        address::{Host, address, network},
        request::JobRequest,
        state::JobState,
    },
};

/// Generator of pseudo-random numbers that are identical in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % bound
    }

    fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        let at = usize::try_from(self.below(all.len() as u64)).unwrap();
        all[at]
    }

    fn moment(&mut self) -> Timestamp {
        // The times differ by milliseconds, seconds, hours or decades.
        let spread = self.one_of(&[5, 3_000, 9_000_000, 1_500_000_000_000]);
        let sum = 1_600_000_000_000 + self.below(spread);
        Timestamp::from_millis(i64::try_from(sum).unwrap())
    }
}

const STATES: [JobState; 4] =
    [JobState::Queuing, JobState::Running, JobState::Completed, JobState::Failed];
const PARTS: [&str; 5] = ["bert", "Bert", "re", "s-net", "x"];

/// Job of the expected list.
struct ExpectedJob {
    id: String,
    name: String,
    algorithm: String,
    user: String,
    workspace: String,
    runtime: &'static str,
    created: Timestamp,
    state: JobState,
    tags: BTreeMap<String, String>,
    nodes: u32,
    /// `true` if the job has had nodes.
    ran: bool,
}

/// Returns a job ID with one of a few prefixes, so that some jobs share a network.
fn id(number: u64) -> String {
    format!("{:02x}{:02x}-{number}", number % 2, number % 3)
}

impl ExpectedJob {
    fn of(&self, key: Key) -> &str {
        match key {
            Key::Workspace => &self.workspace,
            Key::UserId => &self.user,
            Key::Kind => "job",
            Key::RuntimeType if self.runtime.is_empty() => "production",
            Key::RuntimeType => self.runtime,
            Key::Phase => self.state.phase(),
            Key::Id => &self.id,
            Key::Name => &self.name,
            Key::AlgorithmName => &self.algorithm,
        }
    }

    fn fits(&self, selection: &Selection) -> bool {
        let tagged = |(key, any): &(String, Vec<String>)| {
            let own = self.tags.get(key);
            own.is_some_and(|own| any.is_empty() || any.contains(own))
        };
        let on = |host: &Host| {
            self.ran
                && (0..self.nodes).any(|index| {
                    let own = address(&self.id, index);
                    Host::all_at(own.parse().unwrap()).contains(host)
                })
        };
        selection.from.is_none_or(|from| from <= self.created)
            && selection.to.is_none_or(|to| self.created <= to)
            && selection.tests.iter().all(|(key, test)| test.accepts(self.of(*key)))
            && selection.tags.iter().all(tagged)
            && selection.hosts.as_ref().is_none_or(|hosts| hosts.iter().any(on))
    }

    fn job(&self) -> Job {
        let request = json!({
            "kind": "job",
            "metadata": {"name": self.name, "workspace_id": self.workspace},
            "algorithm": {"name": self.algorithm, "command": "true"},
            "spec": {"resource": {"node_count": self.nodes}, "runtime_type": self.runtime},
        });
        let request = JobRequest::read(request).unwrap();
        let mut job = Job::new(self.id.clone(), request, self.created);
        job.owner.project = "p".to_owned();
        job.owner.user_id.clone_from(&self.user);
        job.state = self.state;
        job.lifecycle.settled = self.state.is_final();
        job.history.started = self.ran.then_some(self.created);
        job.settings.tags.clone_from(&self.tags);
        job
    }
}

fn random_job(random: &mut Random, number: u64) -> ExpectedJob {
    let parts: Vec<&str> = (0..3).map(|_| random.one_of(&PARTS)).collect();
    let state = random.one_of(&STATES);
    ExpectedJob {
        id: id(number),
        name: format!("{}-{number}", parts.join("")),
        algorithm: random.one_of(&["", "resnet", "res-net"]).to_owned(),
        user: random.one_of(&["ann", "bob"]).to_owned(),
        workspace: random.one_of(&["0", "1"]).to_owned(),
        runtime: random.one_of(&["", "debug"]),
        created: random.moment(),
        state,
        tags: tags(random),
        nodes: random.one_of(&[1, 2, 3]),
        ran: state != JobState::Queuing,
    }
}

fn tags(random: &mut Random) -> BTreeMap<String, String> {
    let count = random.below(3);
    let tags =
        (0..count).map(|_| (random.one_of(&["a", "b", "c"]), random.one_of(&["", "1", "2"])));
    tags.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn random_test(random: &mut Random, number: u64) -> (Key, Test) {
    let two = |random: &mut Random, all: &[&str]| {
        let values = (0..1 + random.below(2)).map(|_| random.one_of(all).to_owned());
        values.collect::<Vec<_>>()
    };
    let some = id(random.below(number));
    let (key, values) = match random.below(6) {
        0 => (Key::Phase, two(random, &["Pending", "Running", "Completed", "Failed"])),
        1 => (Key::UserId, two(random, &["ann", "bob", "eve"])),
        2 => (Key::RuntimeType, two(random, &["debug", "production"])),
        3 => (Key::Workspace, two(random, &["0", "1"])),
        4 => (Key::Id, two(random, &[&some, &id(1), &id(2)])),
        _ => {
            let key = random.one_of(&[Key::Name, Key::AlgorithmName]);
            let part = random.one_of(&["bert", "ert", "e", "tre", "s-net", "\"", "-1", "res"]);
            return (key, Test::Contains(part.to_owned()));
        }
    };
    let test = if random.below(4) == 0 { Test::NotIn(values) } else { Test::In(values) };
    (key, test)
}

/// Adds tags or hosts to some of the selections.
fn narrow(random: &mut Random, selection: &mut Selection) {
    if random.below(4) == 0 {
        for key in ["a", "b"].into_iter().take(1 + usize::from(random.below(3) == 0)) {
            let values = (0..random.below(3)).map(|_| random.one_of(&["", "1", "2"]).to_owned());
            selection.tags.push((key.to_owned(), values.collect()));
        }
    }
    if random.below(5) == 0 {
        let hosts = (0..1 + random.below(2)).map(|_| Host {
            network: network(&id(random.below(7))),
            index: u32::try_from(random.below(4)).unwrap(),
        });
        selection.hosts = Some(hosts.collect());
    }
}

/// Returns a store after random changes, and the expected jobs in order.
fn filled(random: &mut Random) -> (JobStore, Vec<ExpectedJob>) {
    let store = JobStore::new(Arc::new(Database::open(None).unwrap()));
    let mut expected: Vec<ExpectedJob> = Vec::new();
    for number in 0..400 {
        let job = random_job(random, number);
        store.insert(job.job(), 1000, false).unwrap();
        expected.push(job);
        change(random, &store, &mut expected);
    }
    // The sort is stable: jobs with the same time keep their order.
    expected.sort_by_key(|job| job.created);
    (store, expected)
}

/// Deletes a job, changes a job, or leaves the store unchanged.
fn change(random: &mut Random, store: &JobStore, expected: &mut Vec<ExpectedJob>) {
    let other = usize::try_from(random.below(expected.len() as u64)).unwrap();
    match random.below(8) {
        0 => store.remove(&expected.remove(other).id),
        1..4 => {
            let other = &mut expected[other];
            other.state = random.one_of(&STATES);
            other.ran |= other.state != JobState::Queuing;
            other.tags = tags(random);
            store
                .update(&other.id, |job| {
                    job.state = other.state;
                    job.settings.tags.clone_from(&other.tags);
                    if other.ran {
                        job.history.started.get_or_insert(other.created);
                    }
                })
                .unwrap();
        }
        _ => {}
    }
}

/// Lists of created, changed and deleted jobs equal the result of a filter over all jobs.
#[test]
fn lists_equal_a_filter_over_all_jobs() {
    let mut random = Random(7);
    let (store, expected) = filled(&mut random);
    let mut pages = 0;
    for round in 0..800 {
        let mut selection = Selection {
            ascending: random.below(2) == 0,
            limit: 1 + random.below(12),
            ..Selection::default()
        };
        for _ in 0..random.below(3) {
            selection.tests.push(random_test(&mut random, 400));
        }
        narrow(&mut random, &mut selection);
        for end in [&mut selection.from, &mut selection.to] {
            if random.below(3) == 0 {
                let near = usize::try_from(random.below(expected.len() as u64)).unwrap();
                *end = Some(random.one_of(&[expected[near].created, Timestamp::from_millis(1)]));
            }
        }
        let mut right: Vec<&str> =
            expected.iter().filter(|job| job.fits(&selection)).map(|job| job.id.as_str()).collect();
        if !selection.ascending {
            right.reverse();
        }
        selection.skip = random.below(right.len() as u64 + 2);
        let found = store.list("p", &selection).unwrap();
        let ids: Vec<&str> = found.jobs.iter().map(|job| job.id.as_str()).collect();
        let skip = usize::try_from(selection.skip).unwrap();
        let limit = usize::try_from(selection.limit).unwrap();
        let page: Vec<&str> = right.iter().skip(skip).take(limit).copied().collect();
        assert_eq!(found.total, expected.len() as u64, "{round}: {selection:?}");
        assert_eq!(found.count, right.len() as u64, "{round}: {selection:?}");
        assert_eq!(ids, page, "{round}: {selection:?}");
        pages += u32::from(!page.is_empty());
    }
    assert!(pages > 400, "only {pages} of the lists had a page");
    assert_eq!(store.list("other", &Selection::default()).unwrap().total, 0);
}

/// Cached counts are updated when jobs are created, changed and deleted.
#[test]
fn cached_counts_follow_changes() {
    let mut random = Random(11);
    let (store, mut expected) = filled(&mut random);
    let questions: Vec<Vec<(Key, Test)>> = (0..24)
        .map(|_| (0..1 + random.below(3)).map(|_| random_test(&mut random, 400)).collect())
        .collect();
    let mut known = 0;
    for round in 0..800 {
        for _ in 0..random.below(3) {
            change(&mut random, &store, &mut expected);
        }
        if random.below(4) == 0 {
            let job = random_job(&mut random, 1000 + round);
            store.insert(job.job(), 10_000, false).unwrap();
            expected.push(job);
            expected.sort_by_key(|job| job.created);
        }
        let question = usize::try_from(random.below(24)).unwrap();
        let mut selection = Selection {
            tests: questions[question].clone(),
            ascending: random.below(2) == 0,
            skip: random.below(20),
            limit: 1 + random.below(12),
            ..Selection::default()
        };
        if question.is_multiple_of(3) {
            selection.to = Some(Timestamp::from_millis(1_600_000_003_000));
        }
        let asked = CountKey::new("p", &selection).unwrap();
        known += u32::from(store.count_cache.lock().count(&asked).is_some());
        let mut right: Vec<&ExpectedJob> =
            expected.iter().filter(|job| job.fits(&selection)).collect();
        if !selection.ascending {
            right.reverse();
        }
        let found = store.list("p", &selection).unwrap();
        assert_eq!(found.count, right.len() as u64, "{round}: {selection:?}");
        let ids: Vec<&str> = found.jobs.iter().map(|job| job.id.as_str()).collect();
        let skip = usize::try_from(selection.skip).unwrap();
        let limit = usize::try_from(selection.limit).unwrap();
        let page = right.iter().skip(skip).take(limit);
        let page: Vec<&str> = page.map(|job| job.id.as_str()).collect();
        assert_eq!(ids, page, "{round}: {selection:?}");
    }
    assert!(known > 300, "only {known} of the counts were remembered");
}

/// Creation counts are removed together with the jobs.
#[test]
fn creation_counts_are_removed_with_the_jobs() {
    let store = JobStore::new(Arc::new(Database::open(None).unwrap()));
    let mut random = Random(3);
    for number in 0..20 {
        let job = random_job(&mut random, number);
        store.insert(job.job(), 1000, false).unwrap();
        store.update(&job.id, |job| job.state = JobState::Failed).unwrap();
    }
    for number in 0..20 {
        store.remove(&id(number));
    }
    for table in ["tallies", "jobs", "job_names", "requests", "states", "events", "tags"] {
        let sql = format!("SELECT count(*) FROM {table}");
        let rows: i64 = store
            .database
            .read(|connection| connection.query_row(&sql, [], |row| row.get(0)))
            .unwrap();
        assert_eq!(rows, 0, "{table}");
    }
}
