//! Tests of stop and delete requests whose responses are lost.

use modelarts_emulator::faults::Fault;
use modelarts_ext::types::Phase;

use crate::support::{
    clock::TestClock,
    errors::refused,
    faults::{DELETE, STOP},
    script_barrier::ScriptBarrier,
    server::{Reply, Server, json_answer},
    site::Site,
};

#[tokio::test]
async fn a_stop_is_sent_again() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("", "");
    let job = site.script("stop", &script).submit().await.unwrap();
    let waiting = barrier.reached().await;
    site.fault(1, STOP, Fault::Reset);
    let stopping = job.terminate().await.unwrap();
    assert_eq!(stopping.phase(), Phase::Terminating);
    assert_eq!(site.count(STOP), (2, 1));
    site.emulator.wait_until_settled(job.id()).await;
    drop(waiting);
}

#[tokio::test]
async fn a_delete_is_sent_again() {
    let site = Site::start().await;
    let job = site.run(site.script("delete", "")).await;
    site.fault(1, DELETE, Fault::Reset);
    job.delete().await.unwrap();
    assert_eq!(site.count(DELETE), (2, 1));
}

#[tokio::test]
async fn a_stop_whose_answer_was_lost_has_worked() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let job = site.script("stop", &barrier.script("", "")).submit().await;
    let job = job.unwrap();
    let waiting = barrier.reached().await;
    site.fault(1, STOP, Fault::LostAnswer);
    let stopping = job.terminate().await.unwrap();
    // The second stop request is rejected, because the first was executed.
    assert_eq!(site.count(STOP), (2, 1));
    assert_eq!(stopping.id(), job.id());
    let phase = stopping.phase();
    assert!(matches!(phase, Phase::Terminating | Phase::Terminated), "{phase:?}");
    site.emulator.wait_until_settled(job.id()).await;
    drop(waiting);

    // No response was lost: the job had already ended.
    assert!(refused(job.terminate().await).is_conflict());
    assert_eq!(site.count(STOP), (3, 1));
}

#[tokio::test]
async fn a_job_that_goes_on_was_not_stopped() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let job = site.script("goes-on", &barrier.script("", "")).submit().await;
    let job = job.unwrap();
    let waiting = barrier.reached().await;
    for code in ["ModelArts.2796", "ModelArts.2878"] {
        site.fault(1, STOP, Fault::Reset);
        let refusal = Fault::Status {
            status: 409,
            retry_after: None,
            error_code: Some(code.into()),
            error_msg: None,
        };
        site.fault(1, STOP, refusal);
        assert_eq!(refused(job.terminate().await).code(), Some(code));
    }
    assert_eq!(site.count(STOP), (4, 0));
    drop(waiting);
}

#[tokio::test]
async fn a_delete_whose_answer_was_lost_has_worked() {
    let job = || json_answer("200 OK", "", r#"{"metadata":{"id":"j","name":"n"}}"#);
    let gone = r#"{"error_code":"ModelArts.2775","error_msg":"no such job"}"#;
    let gone = || json_answer("400 Bad Request", "", gone);
    let lost = || Reply::Reset(Vec::new());
    // The response comes from a load balancer, not from the service.
    let stray = json_answer("404 Not Found", "", "<html></html>");
    let replies = [job(), lost(), gone(), gone(), lost(), stray];
    let server = Server::start(replies).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    job.delete().await.unwrap();
    // No response was lost: the job had already been deleted.
    assert!(refused(job.delete().await).is_not_found());
    assert_eq!(refused(job.delete().await).status(), Some(404));
    assert_eq!(server.left(), 0);
}
