//! Tests of the conditions of a job search, evaluated by the service and by the client.

use std::{
    net::{IpAddr, Ipv4Addr},
    time::Duration,
};

use futures::TryStreamExt;
use modelarts_emulator::seeds::Seeds;
use modelarts_ext::{
    Filter, Job,
    jobs::ListJobs,
    types::{FilterOperator, JobKind, Phase, RuntimeType},
};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    server::{Server, json_answer},
    site::Site,
};

/// Returns conditions of all kinds that the emulator evaluates.
fn conditions(jobs: &[Job]) -> Vec<Filter> {
    let made = jobs[1].created_at().unwrap();
    let second = Duration::from_secs(1);
    vec![
        Filter::name().like("bert"),
        Filter::name().like("Bert"),
        Filter::name().is_not_in(["bert-a", "other"]),
        Filter::phase().is(Phase::Creating),
        Filter::phase().is_in([Phase::Failed, Phase::Completed]),
        Filter::phase().is_not(Phase::Completed),
        Filter::kind().is(JobKind::Job),
        Filter::kind().is_in([JobKind::HeteroJob, JobKind::MrsJob]),
        Filter::id().is_in([jobs[0].id(), jobs[2].id()]),
        Filter::id().is_not(jobs[0].id()),
        Filter::create_time().between(made, made),
        Filter::create_time().between(made - second, made + second),
        Filter::create_time().between(made + second, made + 3600 * second),
        Filter::algorithm_name().is_not_in(["other"]),
    ]
}

#[tokio::test]
async fn a_condition_holds_here_as_it_does_there() {
    let site = Site::start().await;
    for (name, script) in [("bert-a", ""), ("bert-b", "exit(3)"), ("resnet", "")] {
        site.run(site.script(name, script)).await;
        site.clock.advance(Duration::from_secs(90));
    }
    let list = || site.client.training_jobs().list().oldest_first();
    let jobs = list().collect(10).await.unwrap();
    assert_eq!(jobs.len(), 3);
    let mut all = 0;
    for filter in conditions(&jobs) {
        let found = list().filter(filter.clone()).collect(10).await.unwrap();
        let found: Vec<_> = found.iter().map(|job| job.name().to_owned()).collect();
        let jobs = list().collect(10).await.unwrap();
        let here = jobs.iter().filter(|job| filter.matches(job) == Some(true));
        let here: Vec<_> = here.map(|job| job.name().to_owned()).collect();
        assert_eq!(found, here, "{filter:?}");
        all += found.len();
    }
    assert!(all > 15, "{all}");
}

#[tokio::test]
async fn a_missing_field_of_a_job_is_not_guessed() {
    let body = json!({
        "kind": "hetero_job",
        "metadata": {"id": "j", "name": "n", "user_name": "ann", "create_time": 1000,
                     "training_experiment_reference": {"id": "e"}},
        "status": {"phase": "RUNNING"},
        "spec": {"resource": {"pool_id": "p"}, "runtime_type": "debug",
                 "schedule_policy": {"priority": 2}},
        "algorithm": {"id": "a", "name": "resnet"},
    });
    let bare = json!({"metadata": {"id": "k"}});
    let answer = |body: &serde_json::Value| json_answer("200 OK", "", &body.to_string());
    let server = Server::start([answer(&body), answer(&bare)]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let full = client.training_jobs().get("j").await.unwrap();
    let bare = client.training_jobs().get("k").await.unwrap();

    for (filter, on_full, on_bare) in [
        (Filter::phase().is(Phase::Running), Some(true), Some(false)),
        (Filter::kind().is(JobKind::HeteroJob), Some(true), None),
        (Filter::pool_id().is("p"), Some(true), None),
        (Filter::pool_id().is_not("p"), Some(false), None),
        (Filter::priority().is_in([2, 3]), Some(true), None),
        (Filter::priority().is(3), Some(false), None),
        (Filter::runtime_type().is(RuntimeType::Debug), Some(true), None),
        (Filter::algorithm_id().is("a"), Some(true), None),
        (Filter::algorithm_name().like("res"), Some(true), None),
        (Filter::training_experiment_id().is("e"), Some(true), Some(false)),
        (Filter::user_name().is("ann"), Some(true), None),
        (Filter::user_id().is("u"), None, None),
        (Filter::raw("odd", FilterOperator::In, ["x"]), None, None),
    ] {
        assert_eq!(filter.matches(&full), on_full, "{filter:?}");
        assert_eq!(filter.matches(&bare), on_bare, "{filter:?}");
    }
    let time = Filter::create_time();
    let epoch = std::time::SystemTime::UNIX_EPOCH;
    let second = Duration::from_secs(1);
    assert_eq!(time.between(epoch, epoch + second).matches(&full), Some(true));
    let time = Filter::create_time().between(epoch, epoch);
    assert_eq!((time.matches(&full), time.matches(&bare)), (Some(false), None));
}

/// The client also applies conditions to the results of searches by tags and by hosts.
#[tokio::test]
async fn conditions_hold_beside_tags_and_hosts() {
    let site = Site::start().await;
    let tagged = |name: &str, team: &str| json!({"name": name, "tags": {"team": team}});
    let seeds =
        json!({"jobs": [tagged("bert-a", "a"), tagged("resnet", "a"), tagged("bert-b", "b")]});
    let seeds = Seeds::from_json(&seeds.to_string()).unwrap();
    site.emulator.seed(&seeds).await.unwrap();
    let names = |jobs: &[Job]| -> Vec<String> {
        let mut names: Vec<_> = jobs.iter().map(|job| job.name().to_owned()).collect();
        names.sort();
        names
    };
    let list = || site.client.training_jobs().list();
    let jobs = list().collect(10).await.unwrap();
    for filter in [Filter::name().like("bert"), Filter::phase().is(Phase::Completed)] {
        for (team, own) in [
            (vec!["a"], ["bert-a", "resnet"].as_slice()),
            (vec![], &["bert-a", "bert-b", "resnet"]),
            (vec!["a", "b"], &["bert-a", "bert-b", "resnet"]),
            (vec!["c"], &[]),
        ] {
            let search = list().tag("team", team).filter(filter.clone());
            let found = search.collect(10).await.unwrap();
            let mut here = names(&jobs);
            here.retain(|name| {
                let job = jobs.iter().find(|job| job.name() == name).unwrap();
                own.contains(&name.as_str()) && filter.matches(job) == Some(true)
            });
            assert_eq!(names(&found), here, "{filter:?}");
        }
        for job in &jobs {
            let tasks = job.task_history().stream();
            let tasks: Vec<_> = tasks.try_collect().await.unwrap();
            let address: IpAddr = tasks[0].ip.as_ref().unwrap().parse().unwrap();
            let search = list().host_ips([address]).filter(filter.clone());
            let found = search.collect(10).await.unwrap();
            assert_eq!(found.len() == 1, filter.matches(job) == Some(true));
            assert!(found.iter().all(|found| found.name() == job.name()));
        }
    }
}

#[tokio::test]
async fn a_search_is_sent_as_it_was_put_together() {
    let server = Server::start([json_answer("200 OK", "", r#"{"items":[]}"#)]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let list = client
        .training_jobs()
        .list()
        .filter(Filter::phase().is(Phase::Running))
        .filter(Filter::name().like("bert"))
        .workspace("0")
        .tag("team", ["a", "b"])
        .tag("gpu", [""; 0])
        .host_ips([Ipv4Addr::new(10, 0, 0, 1)])
        .sort_by("create_time")
        .oldest_first()
        .page_size(7);
    assert_eq!(list.collect(10).await.unwrap().len(), 0);
    let requests = server.requests();
    let body = requests[0].split_once("\r\n\r\n").unwrap().1;
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        body,
        json!({
            "filters": [
                {"key": "phase", "operator": "in", "value": ["Running"]},
                {"key": "name", "operator": "like", "value": ["bert"]},
            ],
            "workspace_id": "0",
            "tags": [{"key": "team", "values": ["a", "b"]}, {"key": "gpu"}],
            "host_ips": ["10.0.0.1"],
            "sort_by": "create_time", "order": "asc", "limit": 7, "offset": 0,
        })
    );
}

#[tokio::test]
async fn a_search_that_cannot_be_right_is_not_sent() {
    let server = Server::start([]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let list = || client.training_jobs().list();
    let many = |count: usize, add: fn(ListJobs, usize) -> ListJobs| (0..count).fold(list(), add);
    let ip = Ipv4Addr::LOCALHOST;
    for (list, expected) in [
        (
            many(21, |list, _| list.filter(Filter::name().like("x"))),
            "filter: 21 conditions; must be at most 20",
        ),
        (
            many(11, |list, number| list.tag(number.to_string(), ["x"])),
            "tag: 11 tags; must be at most 10",
        ),
        (list().tag("a", ["x"; 11]), "tag a: 11 values; must be at most 10"),
        (
            list().tag("a", ["x"]).tag("a", ["y"]),
            "tag a: it is there twice; give its values together",
        ),
        (list().host_ips([ip; 11]), "host_ips: 11 addresses; must be at most 10"),
        (
            list().filter(Filter::user_id().is_in(["u"; 11])),
            "filter user_id: 11 values; must be at most 10",
        ),
    ] {
        assert_eq!(message(&refused(list.collect(1).await)), expected);
    }
    assert_eq!(server.requests(), [""; 0]);
}
