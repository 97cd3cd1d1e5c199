//! Tests of the jobs of a wait and of the requests of a round, without a network.

use std::sync::Arc;

use modelarts_api::types::Phase;
use serde_json::json;

use crate::{
    client::Client,
    credentials::Credentials,
    jobs::{
        job::Job,
        wait::{
            Waited,
            job_set::{Condition, JobSet},
            outcome::Outcome,
            round::{Answer, Pace, Request, Round, SearchState, take_found},
        },
    },
};

/// Returns a client without a network.
fn client() -> Client {
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id("0123456789abcdef0123456789abcdef")
        .credentials(Credentials::token("t"));
    client.build().unwrap()
}

/// Returns a job as it was read. The id `w/a` is that of the job `a` in the workspace `w`.
fn job(client: &Client, id: &str, phase: &str) -> Job {
    let (workspace, id) = id.split_once('/').unwrap_or(("", id));
    let details = json!({"metadata": {"id": id, "name": id, "workspace_id": workspace},
                         "status": {"phase": phase}});
    let details = serde_json::from_value(details).unwrap();
    Job::from_details(client.clone(), details, Arc::default()).unwrap()
}

/// A read, or the answer that the job is gone (`-`), changes the state of a job.
#[test]
fn reads_of_a_round_become_results_at_its_end() {
    let client = client();
    let pending = || Some(Condition::new(|job: &Job| job.phase() == Phase::Pending));
    for (reads, until, expected) in [
        (&[][..], None, "left"),
        (&["Running"], None, "left"),
        (&["Completed"], None, "completed"),
        (&["Failed"], None, "ended"),
        (&["Abnormal"], None, "ended"),
        (&["-"], None, "vanished: the job was deleted"),
        // Two searches of a round return a job twice; the last one counts.
        (&["Completed", "Running"], None, "left"),
        (&["Running", "Completed"], None, "completed"),
        (&["Failed", "-"], None, "vanished: the job was deleted"),
        (&["-", "Running"], None, "vanished: the job was deleted"),
        (&["Running"], pending(), "left"),
        (&["Pending"], pending(), "reached the condition of the wait"),
        (&["Pending", "Running"], pending(), "reached the condition of the wait"),
        (&["Pending", "-"], pending(), "reached the condition of the wait"),
        (&["Completed"], pending(), "completed"),
    ] {
        let mut jobs = JobSet::new(until);
        jobs.add(job(&client, "a", "Running"));
        for phase in reads {
            match *phase {
                "-" => jobs.record_gone("a"),
                phase => assert!(jobs.record_read(job(&client, "a", phase))),
            }
        }
        let found_end = jobs.end_round();
        let found = match (jobs.len(), jobs.has_ended_jobs(), jobs.next_result()) {
            (1, false, None) => "left".to_owned(),
            (0, true, None) => "ended".to_owned(),
            (0, false, Some(waited)) => waited.outcome().to_string(),
            other => panic!("{reads:?}: {other:?}"),
        };
        assert_eq!((found.as_str(), found_end), (expected, expected != "left"));
    }
}

#[test]
fn results_come_in_the_order_of_ids_and_once() {
    let client = client();
    let mut jobs = JobSet::default();
    for id in ["c", "a", "b", "a"] {
        jobs.add(job(&client, id, "Running"));
    }
    assert!(!jobs.record_read(job(&client, "other", "Completed")));
    jobs.record_gone("other");
    for id in ["c", "b"] {
        jobs.record_read(job(&client, id, "Completed"));
    }
    assert!(!jobs.is_done() && jobs.end_round());
    jobs.time_out();
    let results: Vec<Waited> = std::iter::from_fn(|| jobs.next_result()).collect();
    let ids: Vec<_> = results.iter().map(|end| end.job().id()).collect();
    assert_eq!((ids, jobs.is_done()), (vec!["b", "c", "a"], true));
    assert_eq!(*results[2].outcome(), Outcome::TimedOut);
}

#[test]
fn a_stopped_job_stays_until_its_events_may_be_read() {
    let client = client();
    let mut jobs = JobSet::default();
    for (id, phase) in [("a", "Terminated"), ("b", "Failed"), ("c", "Terminated")] {
        jobs.add(job(&client, id, "Running"));
        jobs.record_read(job(&client, id, phase));
    }
    jobs.end_round();
    let mut next = |may_read| jobs.next_ended(may_read).map(|job| job.id().to_owned());
    let order = [false, false, true, true, true].map(&mut next);
    let id = |id: &str| Some(id.to_owned());
    assert_eq!(order, [id("b"), None, id("a"), id("c"), None]);
}

/// Returns a request as text.
fn text(request: &Request) -> String {
    let (name, group) = match request {
        Request::Ids(group) => ("ids", group),
        Request::Unfinished(group) => ("unfinished", group),
        Request::Ended { group, worth: 1 } => ("ended, worth 1", group),
        Request::Ended { group, .. } => ("ended", group),
        Request::Read(id) => return format!("read {id}"),
    };
    let jobs = match group.jobs.len() {
        count @ ..=3 => group.jobs[..count].iter().map(|job| job.id()).collect(),
        count => format!("{} ({count})", group.jobs[0].id()),
    };
    let workspace = group.workspace.as_deref().unwrap_or("-");
    format!("{name} {workspace}: {jobs}")
}

/// Round with jobs that the answers find by their stage.
struct Scene {
    client: Client,
    jobs: JobSet,
    search: SearchState,
}

impl Scene {
    fn new(ids: impl IntoIterator<Item = String>, budget: usize) -> Self {
        let client = client();
        let mut jobs = JobSet::default();
        for id in ids {
            jobs.add(job(&client, &id, "Running"));
        }
        let search =
            SearchState { budget, pace: Pace::new(1.0), last_read: None, searches_ids: true };
        Self { client, jobs, search }
    }

    /// Runs a round. The requests of each stage have the answers that `answer` returns for their
    /// texts: ids of running jobs, `-` and an id of a job that is gone, or `no ids`.
    fn round(&mut self, answer: impl Fn(&str) -> &'static [&'static str]) -> Vec<Vec<String>> {
        let mut round = Round::new(&self.jobs);
        let mut stages = Vec::new();
        loop {
            let requests = round.next(&self.jobs, &mut self.search);
            if requests.is_empty() {
                return stages;
            }
            stages.push(requests.iter().map(text).collect());
            for request in requests {
                for found in answer(&text(&request)) {
                    let answer = match (*found, &request) {
                        ("no ids", Request::Ids(group)) => Answer::NoIdSearch(group.clone()),
                        (id, _) => match id.strip_prefix('-') {
                            Some(id) => Answer::Gone(id.to_owned()),
                            None => Answer::Jobs(vec![job(&self.client, id, "Running")]),
                        },
                    };
                    round.record(answer, &mut self.jobs, &mut self.search);
                }
            }
        }
    }
}

fn numbered(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|number| format!("j{number:03}"))
}

#[test]
fn a_few_jobs_are_searched_for_by_ids_and_then_read() {
    let ids = || ["a", "w/b", "w/c"].map(str::to_owned);
    let searches = ["ids -: a", "ids w: bc"];
    for (answers, then) in [
        (&["a", "b", "c"][..], &[][..]),
        // They were searched for by ids already.
        (&["a"], &["read b", "read c"]),
        (&["a", "-b"], &["read c"]),
        (&["a", "b", "c", "other"], &[]),
    ] {
        let mut scene = Scene::new(ids(), 10);
        let stages = scene.round(|request| if request == searches[0] { answers } else { &[] });
        let expected = [&searches[..], then].into_iter().filter(|stage| !stage.is_empty());
        assert!(stages.iter().eq(expected), "{answers:?}: {stages:?}");
    }
}

#[test]
fn a_service_without_a_search_by_ids_is_searched_by_phase() {
    let ids = ["a", "w/b"].map(str::to_owned);
    let mut scene = Scene::new(ids, 10);
    let stages = scene.round(|request| match request {
        "ids -: a" | "ids w: b" => &["no ids"],
        _ => &[],
    });
    let phases = vec!["unfinished -: a", "unfinished w: b"];
    let reads = vec!["read a", "read b"];
    assert_eq!(stages, [vec!["ids -: a", "ids w: b"], phases.clone(), reads]);
    // The next round begins with the phases.
    let stages = scene.round(|_| &["a", "b"]);
    assert_eq!(stages, [phases]);
}

#[test]
fn many_jobs_are_searched_for_by_phase_and_the_missing_ones_by_ids() {
    // The answers to the search by phase, and the requests after it.
    for (count, budget, found, then) in [
        (11, 2, "j000", vec![vec!["ids -: j001 (10)"], vec!["read j001", "read j002"]]),
        (12, 2, "j011", vec![vec!["ids -: j000 (10)"], vec!["read j000", "read j001"]]),
        (
            62,
            1,
            "j000",
            vec![
                vec!["ended -: j001 (61)"],
                vec![
                    "ids -: j001 (10)",
                    "ids -: j011 (10)",
                    "ids -: j021 (10)",
                    "ids -: j031 (10)",
                    "ids -: j041 (10)",
                ],
                vec!["read j001"],
            ],
        ),
    ] {
        let mut scene = Scene::new(numbered(count), budget);
        let stages = scene.round(|request| match request.starts_with("unfinished") {
            true if found == "j000" => &["j000"],
            true => &["j011"],
            false => &[],
        });
        let mut expected = vec![vec![format!("unfinished -: j000 ({count})")]];
        for stage in then {
            expected.push(stage.into_iter().map(str::to_owned).collect());
        }
        assert_eq!(stages, expected);
    }
    let mut scene = Scene::new(numbered(51), 1);
    scene.search.searches_ids = false;
    let stages = scene.round(|_| &[]);
    assert_eq!(stages[1], ["ended, worth 1 -: j000 (51)"]);
    // A page of jobs is not enough for a search by the final phases.
    let mut scene = Scene::new(numbered(50), 0);
    let stages = scene.round(|_| &[]);
    assert!(stages[1][0].starts_with("ids"), "{stages:?}");
}

/// Jobs that no search returns take turns.
#[test]
fn a_round_continues_after_the_job_that_was_read_last() {
    let ids = ["a", "b", "c", "d"].map(str::to_owned);
    let mut scene = Scene::new(ids, 2);
    scene.search.searches_ids = false;
    for reads in [["a", "b"], ["c", "d"], ["a", "b"]] {
        let stages = scene.round(|_| &[]);
        assert_eq!(stages[1], reads.map(|id| format!("read {id}")));
    }
    scene.search.budget = 3;
    let stages = scene.round(|request| if request == "read a" { &["-a"] } else { &[] });
    assert_eq!(stages[1], ["read c", "read d", "read a"]);
    // The job that is gone is not read again.
    let stages = scene.round(|_| &[]);
    assert_eq!(stages[1], ["read b", "read c", "read d"]);
}

#[test]
fn a_search_by_final_phases_ends_when_its_pages_have_few_of_the_jobs() {
    let client = client();
    let page = ["a", "b", "x"].map(|id| job(&client, id, "Failed"));
    for (missing, worth, more, left) in [
        (&["a", "b", "c"][..], 2, true, 1),
        (&["a", "b", "c"], 3, false, 1),
        (&["a", "c", "d"], 1, true, 2),
        (&["c", "d"], 1, false, 2),
        // Nothing is missing.
        (&["a", "b"], 1, false, 0),
    ] {
        let mut missing = missing.iter().map(|id| (*id).to_owned()).collect();
        assert_eq!(take_found(&mut missing, &page, worth), more, "{missing:?} {worth}");
        assert_eq!(missing.len(), left);
    }
}

#[test]
fn the_number_of_requests_grows_with_the_rate_limit() {
    for (rate, in_flight, id_searches) in [
        (f64::MIN_POSITIVE, 16, 5),
        (1.0, 16, 5),
        (50.0, 50, 250),
        (200.0, 64, 1000),
        (f64::INFINITY, 64, 1000),
    ] {
        assert_eq!(Pace::new(rate), Pace { in_flight, id_searches }, "{rate}");
    }
}
