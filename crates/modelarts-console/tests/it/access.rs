//! Login, sessions, and requests that are rejected.

use crate::support::Fixture;

#[tokio::test]
async fn a_request_without_a_session_is_rejected() {
    let fixture = Fixture::start().await;
    let response = fixture.stranger("GET", "/jobs").send().await.unwrap();
    assert_eq!(response.status(), 401);
    let policy = response.headers()["content-security-policy"]
        .to_str()
        .unwrap();
    assert!(policy.starts_with("default-src 'self';"), "{policy}");
    assert!(response.text().await.unwrap().contains("<h1>Log in</h1>"));
}
