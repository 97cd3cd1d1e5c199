//! Tests of signatures and credentials of calls.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use modelarts_ext::{
    Credentials, Error,
    api::BoxFuture,
    credentials::{ProvideCredentials, ProviderContext},
    types::Phase,
};
use tokio::net::TcpListener;

use super::fixtures::{JOB, header, job, keep_alive};
use crate::support::{
    clock::TestClock,
    faults::LIST,
    server::{Server, json_answer, read_request},
    site::Site,
};

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_in_all_calls_that_are_under_way() {
    const OFF: &str = concat!(
        r#"{"error_code":"APIGW.0301","error_msg":"Incorrect IAM authentication information: "#,
        r#"calc aksk signature fail:signature expired, signature time:20260115T083045Z,"#,
        r#"server time:20260115T103045Z"}"#
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = async {
        let (mut one, _) = listener.accept().await.unwrap();
        let (mut two, _) = listener.accept().await.unwrap();
        let mut dates = Vec::new();
        for (status, body) in [("401 Unauthorized", OFF), ("200 OK", JOB)] {
            // The server responds only when both requests have arrived.
            let requests =
                [read_request(&mut one).await.unwrap(), read_request(&mut two).await.unwrap()];
            dates.extend(
                requests.iter().map(|request| header(request, "x-sdk-date").unwrap().to_owned()),
            );
            keep_alive(&mut one, status, body).await;
            keep_alive(&mut two, status, body).await;
        }
        dates
    };
    let scripted = Server::start([]).await;
    let client = scripted.client(&TestClock::new()).endpoint(url);
    let client = client.build().unwrap();
    let jobs = client.training_jobs();
    let calls = async { futures::future::try_join(jobs.get("j"), jobs.get("j")).await };
    let both = async { futures::future::try_join(async { Ok(server.await) }, calls).await };
    let (dates, (one, two)) = both.await.unwrap();
    for job in [one, two] {
        assert_eq!(job.phase(), Phase::Running);
    }
    let (wrong, right) = ("20260115T083045Z", "20260115T103045Z");
    assert_eq!(dates, [wrong, wrong, right, right]);
}

/// Provider with a cached token that is valid until the service rejects it.
#[derive(Debug, Default)]
struct AtHand {
    refused: AtomicBool,
}

impl ProvideCredentials for AtHand {
    fn credentials<'a>(
        &'a self,
        _: &'a ProviderContext,
    ) -> BoxFuture<'a, Result<Credentials, Error>> {
        Box::pin(async { Ok(Credentials::token("asked")) })
    }
    fn cached(&self) -> Option<Credentials> {
        let good = !self.refused.load(Ordering::Relaxed);
        good.then(|| Credentials::token("at hand"))
    }
    fn renew(&self, _: &Credentials) -> bool {
        self.refused.store(true, Ordering::Relaxed);
        true
    }
}

#[tokio::test]
async fn what_is_at_hand_is_used_until_it_is_refused() {
    let expired = r#"{"error_code":"ModelArts.0203","error_msg":"the token has expired"}"#;
    let server = Server::start([job(), json_answer("401 Unauthorized", "", expired), job()]).await;
    let client = server.client(&TestClock::new()).credentials(AtHand::default()).build().unwrap();
    for _ in 0..2 {
        client.training_jobs().get("j").await.unwrap();
    }
    let requests = server.requests();
    let tokens: Vec<_> = requests.iter().map(|request| header(request, "x-auth-token")).collect();
    assert_eq!(tokens, [Some("at hand"), Some("at hand"), Some("asked")]);
}

#[tokio::test]
async fn the_generated_client_signs_too() {
    let site = Site::start().await;
    let job = site.run(site.script("direct", "")).await;
    let call = async |client: &modelarts_ext::Client| {
        client
            .api()
            .show_training_job_details()
            .project_id(client.project_id())
            .training_job_id(job.id())
            .send()
            .await
    };
    let answer = call(&site.client).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.into_inner().metadata.unwrap().name.as_deref(), Some("direct"));

    let wrong = modelarts_ext::Credentials::keys(site.emulator.access_key(), "wrong");
    let client = site.client().credentials(wrong).build().unwrap();
    let error = call(&client).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(401));
    // A reset connection is retried as well.
    let reset = modelarts_emulator::faults::Fault::Reset;
    site.fault(1, "ShowTrainingJobDetails", reset);
    assert_eq!(call(&site.client).await.unwrap().status(), 200);
    assert_eq!(site.clock.slept().len(), 1);
}

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_once() {
    let site = Site::start().await;
    let clock = TestClock::new();
    clock.advance(Duration::from_secs(7200));
    let client = site.client().clock(clock.clone()).build().unwrap();
    let answer = client
        .call(|api| {
            api.list_training_jobs()
                .project_id(client.project_id())
                .body(modelarts_ext::types::ListTrainingJobsRequest::builder())
                .send()
        })
        .await
        .unwrap();
    assert_eq!(answer.call().attempts(), 2);
    // The client corrects the skew in all later requests.
    client.training_jobs().list().collect(1).await.unwrap();
    assert_eq!(site.count(LIST), (2, 2));
    assert_eq!(clock.slept(), [Duration::ZERO; 0]);
}
