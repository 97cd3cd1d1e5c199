//! Injected faults and counts of requests for OBS.

use std::time::Duration;

use modelarts_emulator::{
    clock::Clock,
    faults::{Fault, FaultRule},
};
use reqwest::Method;

use crate::obs::{ObsSite, manual_clock, noise};

#[tokio::test]
async fn a_fault_replaces_the_next_response_of_its_operation() {
    let site = ObsSite::start().await;
    let faults = site.emulator.faults();
    let content = noise(200_000);
    faults.add(FaultRule::once("obs.PutObject", Fault::retry_after(503, 7))).unwrap();
    faults.add(FaultRule::once("obs.PutObject", Fault::error(403, "Quota", "no space"))).unwrap();
    let slow = site.put("/bucket/k", &content).await;
    slow.refused(503, "SlowDown");
    assert_eq!(slow.header("retry-after"), "7");
    let refused = site.put("/bucket/k", &content).await;
    assert_eq!(
        (refused.error(), refused.one("Message")),
        ((403, "Quota".to_owned()), "no space".to_owned())
    );
    assert_eq!(site.get("/bucket/k").await.status, 404);
    assert_eq!(site.put("/bucket/k", &content).await.status, 200);
    let counts = site.emulator.requests()["obs.PutObject"];
    assert_eq!((counts.received, counts.executed), (3, 1));

    faults.add(FaultRule::once("obs.GetObject", Fault::html())).unwrap();
    let page = site.get("/bucket/k").await;
    assert_eq!((page.status.as_u16(), page.header("content-type")), (502, "text/html"));
    for fault in [Fault::Reset, Fault::LostAnswer] {
        faults.add(FaultRule::once("obs.DeleteObject", fault.clone())).unwrap();
        let request = site.request(Method::DELETE, "/bucket/k", &[], b"");
        assert!(request.send().await.is_err());
        let gone = site.get("/bucket/k").await.status == 404;
        assert_eq!(gone, fault == Fault::LostAnswer);
    }
    let last = site.emulator.last_requests();
    let last: Vec<_> = last.iter().map(|it| (it.operation, it.status)).collect();
    assert_eq!(
        last[..3],
        [("obs.CreateBucket", 200), ("obs.PutObject", 503), ("obs.PutObject", 403)]
    );
}

#[tokio::test]
async fn a_body_can_be_cut_in_its_middle() {
    let site = ObsSite::start().await;
    site.write("k", noise(2 << 20));
    let rule = FaultRule::once("obs.GetObject", Fault::ResetMidBody);
    site.emulator.faults().add(rule).unwrap();
    let request = site.request(Method::GET, "/bucket/k", &[], b"");
    let mut response = request.send().await.unwrap();
    assert_eq!(response.content_length(), Some(2 << 20));
    let mut received = 0;
    let error = loop {
        match response.chunk().await {
            Ok(Some(chunk)) => received += chunk.len(),
            Ok(None) => panic!("the body is whole"),
            Err(error) => break error,
        }
    };
    assert!(received <= 1 << 20, "{received}: {error}");
}

#[tokio::test]
async fn one_rule_delays_all_responses() {
    let clock = manual_clock();
    let site = ObsSite::with(|builder| builder.clock(clock.clone())).await;
    let rule = FaultRule::always("obs.*", Fault::delay(Duration::from_millis(20)));
    site.emulator.faults().add(rule.clone()).unwrap();
    for target in ["/", "/bucket", "/bucket?list-type=2"] {
        let reply = site.get(target);
        let moved = async {
            while clock.next_wake().is_none() {
                tokio::task::yield_now().await;
            }
            assert!(site.emulator.advance(Duration::from_millis(20)).await);
        };
        let (reply, ()) = tokio::join!(reply, moved);
        assert_eq!(reply.status, 200);
    }
    assert_eq!(site.emulator.faults().list(), [rule]);
}

#[tokio::test]
async fn rules_that_would_do_nothing_are_refused() {
    let site = ObsSite::start().await;
    let faults = site.emulator.faults();
    let error = faults.add(FaultRule::once("obs.Nothing", Fault::Reset)).unwrap_err().to_string();
    assert!(error.starts_with("unknown operation `obs.Nothing`, expected * or one of "), "{error}");
    assert!(error.ends_with(", obs.*"), "{error}");
    let error = faults.add(FaultRule::once("obs.*", Fault::NullLists)).unwrap_err().to_string();
    assert!(error.starts_with("the fault changes JSON"), "{error}");
    // The rule for all operations of the API does not apply to OBS.
    faults.add(FaultRule::once("*", Fault::Reset)).unwrap();
    assert_eq!(site.get("/bucket").await.status, 200);
    assert_eq!(faults.list().len(), 1);
}
