//! Jobs by their names, and deletion of several jobs by ids, handles and jobs.

use modelarts_emulator::Cloud;
use modelarts_ext::{ClientBuilder, ErrorKind, jobs::JobHandle};
use serde_json::{Value, json};

use super::fixtures::details_of;
use crate::support::{
    clock::TestClock,
    errors::refused,
    faults::{LIST, SHOW},
    server::{Server, json_answer},
    site::Site,
};

const BATCH_DELETE: &str = "BatchDeleteTrainingJob";

#[tokio::test]
async fn a_job_is_found_by_exactly_its_name() {
    let site = Site::start().await;
    let mut ids = Vec::new();
    for name in ["bert", "bert-2", "my-bert", "Bert"] {
        ids.push(site.run(site.script(name, "")).await.id().to_owned());
    }
    let jobs = site.client.training_jobs();
    let before = (site.count(LIST).0, site.count(SHOW).0);
    let job = jobs.get_by_name("bert").await.unwrap();
    assert_eq!((job.name(), job.id()), ("bert", ids[0].as_str()));
    assert!(!job.raw().is_empty());
    let calls = (site.count(LIST).0 - before.0, site.count(SHOW).0 - before.1);
    assert_eq!(calls, (2, 1));

    for name in ["ber", "BERT", "bert-"] {
        let error = refused(jobs.get_by_name(name).await);
        assert!(error.is_not_found());
        assert_eq!(error.kind(), ErrorKind::NotFound);
        assert!(!error.is_retryable() && !error.is_uncertain());
        assert_eq!(
            error.to_string(),
            format!(
                "no job is named {name:?}; the search had no workspace id; a job of another \
                 workspace than 0 is found by list().workspace(id).get_by_name(name)"
            )
        );
    }
}

#[tokio::test]
async fn a_job_of_another_workspace_is_found_by_its_name() {
    let site = Site::start().await;
    let workspace = "0c1f3b6a2d9e4f588a7b6c5d4e3f2a1b";
    let other = site.run(site.script("bert", "").workspace(workspace)).await;
    let jobs = site.client.training_jobs();
    assert!(refused(jobs.get_by_name("bert").await).is_not_found());
    let search = || jobs.list().workspace(workspace);
    let found = search().get_by_name("bert").await.unwrap();
    assert_eq!(found.id(), other.id());
    assert!(!found.raw().is_empty());
    // A job of workspace 0 is found only there.
    let own = site.run(site.script("own", "")).await;
    assert_eq!(jobs.get_by_name("own").await.unwrap().id(), own.id());
    assert!(refused(search().get_by_name("own").await).is_not_found());
    let error = refused(search().get_by_name("ber").await);
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), format!("no job in workspace {workspace} is named \"ber\""));
}

#[tokio::test]
async fn a_name_that_no_job_can_have_is_not_sent() {
    let server = Server::start([]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let long = "x".repeat(65);
    for name in ["", " ", "a b", "a%", "a*", "名", &long] {
        let error = refused(client.training_jobs().get_by_name(name).await);
        assert_eq!(
            error.to_string(),
            format!("the job name {name:?} is wrong; it must be 1 to 64 letters, digits, _ and -")
        );
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(!error.is_not_found());
    }
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn several_jobs_of_one_name_are_listed() {
    let row = |id: &str, name: &str| json!({"metadata": {"id": id, "name": name}});
    let rows = [row("new", "n"), row("other", "n-2"), row("old", "n")];
    let page = |rows: &[Value]| {
        let page = json!({"total": 3, "count": 3, "limit": 50, "items": rows});
        json_answer("200 OK", "", &page.to_string())
    };
    let server = Server::start([page(&rows), page(&rows[2..])]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let error = refused(client.training_jobs().get_by_name("n").await);
    assert_eq!(
        error.to_string(),
        "2 jobs are named \"n\": new, old; use `get` with one of these ids"
    );
    assert!(!error.is_not_found());
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn several_jobs_are_deleted_by_ids_handles_and_jobs() {
    let site = Site::start().await;
    let mut done = Vec::new();
    for number in 0..7 {
        done.push(site.run(site.script(&format!("j{number}"), "")).await);
    }
    let jobs = site.client.training_jobs();
    let ids: Vec<String> = done.iter().map(|job| job.id().to_owned()).collect();
    jobs.delete_many([ids[0].as_str()]).await.unwrap();
    jobs.delete_many(&ids[1..2]).await.unwrap();
    jobs.delete_many(vec![ids[2].clone()]).await.unwrap();
    jobs.delete_many([JobHandle::from(&done[3])]).await.unwrap();
    jobs.delete_many([&JobHandle::from(&done[4])]).await.unwrap();
    jobs.delete_many(&done[5..6]).await.unwrap();
    jobs.delete_many(done.pop()).await.unwrap();
    for id in &ids {
        site.emulator.wait_until_gone(id).await;
    }
    assert_eq!(site.list().await.unwrap().len(), 0);
    assert_eq!(site.count(BATCH_DELETE), (7, 7));
}

#[tokio::test]
async fn a_deletion_skips_jobs_that_no_longer_exist() {
    for cloud in [Cloud::Huawei, Cloud::Otc] {
        let site = Site::with(|builder| builder.cloud(cloud)).await;
        let mut done = Vec::new();
        for number in 0..3 {
            done.push(site.run(site.script(&format!("j{number}"), "")).await);
        }
        done[1].delete().await.unwrap();
        site.emulator.wait_until_gone(done[1].id()).await;
        let client = ClientBuilder::from_vars(site.emulator.vars()).build().unwrap();
        client.training_jobs().delete_many(&done).await.unwrap();
        for job in &done {
            site.emulator.wait_until_gone(job.id()).await;
        }
        assert_eq!(site.list().await.unwrap().len(), 0, "{cloud:?}");
    }
}

#[tokio::test]
async fn a_deletion_sends_the_kind_of_jobs_that_were_read() {
    let board = json!({"kind": "visualization_job", "metadata": {"id": "v", "name": "v"}});
    let server = Server::start([
        json_answer("200 OK", "", &board.to_string()),
        details_of("j", "Completed"),
        json_answer("202 Accepted", "", ""),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let jobs = client.training_jobs();
    let (board, job) = (jobs.get("v").await.unwrap(), jobs.get("j").await.unwrap());
    let handles = [JobHandle::from(board), JobHandle::from(job), jobs.job("h").unwrap()];
    jobs.delete_many(&handles).await.unwrap();
    let requests = server.requests();
    let body: Value = serde_json::from_str(requests[2].split("\r\n\r\n").nth(1).unwrap()).unwrap();
    let row = |kind: &str, id: &str| json!({"kind": kind, "metadata": {"id": id}});
    let rows = [row("visualization_job", "v"), row("job", "j"), row("job", "h")];
    assert_eq!(body, json!({"jobs": rows}));

    // Nothing is sent for no jobs, and if an id is invalid.
    jobs.delete_many(Vec::<String>::new()).await.unwrap();
    let error = refused(jobs.delete_many(["j", "../other"]).await);
    assert_eq!(
        error.to_string(),
        "the job id \"../other\" is wrong; it has 1 to 128 letters, digits, and -_.~, and does not \
         begin with a dot"
    );
    assert_eq!(server.requests().len(), 3);
}
