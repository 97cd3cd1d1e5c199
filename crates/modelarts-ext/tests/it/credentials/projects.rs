//! Tests of the project look-up.

use std::sync::atomic::{AtomicUsize, Ordering};

use modelarts_ext::{Client, ClientBuilder, Credentials, RetryPolicy, signing::SigningScheme};
use serde_json::json;

use super::{
    fixtures::{in_region, keys, projects, safe_message},
    manual_clock::{ManualClock, minutes},
};
use crate::support::fake_server::{FakeServer, reply};

const TWO: &[(&str, &str)] = &[("eu-de", "p1"), ("eu-de_team", "p2")];

#[tokio::test]
async fn the_project_of_the_region_is_looked_up() {
    let iam = projects(TWO).await;
    let client = in_region(&iam).connect().await.unwrap();
    assert_eq!(client.project_id(), "p1");
    assert_eq!(client.endpoint(), "https://modelarts.eu-de.otc.t-systems.com/");
    let asked = iam.asked().remove(0);
    assert_eq!(asked.line(), "GET /v3/projects?name=eu-de");
    assert_eq!(asked.header("x-sdk-date"), Some("20260115T083045Z"));
    assert_eq!(asked.header("x-security-token"), Some("ST-s3cr3t"));
    let authorization = asked.header("authorization").unwrap();
    assert!(
        authorization.starts_with(
            "SDK-HMAC-SHA256 Access=AK, SignedHeaders=host;x-sdk-date;x-security-token, Signature="
        ),
        "{authorization}"
    );

    let client = in_region(&iam).project_name("eu-de_team").connect().await;
    assert_eq!(client.unwrap().project_id(), "p2");
    // A token is sent unchanged.
    let token = in_region(&iam).credentials(Credentials::token("TK-s3cr3t"));
    assert_eq!(token.connect().await.unwrap().project_id(), "p1");
    let asked = iam.asked().remove(2);
    assert_eq!(asked.header("x-auth-token"), Some("TK-s3cr3t"));
    assert_eq!(asked.header("authorization"), None);
    // A project id that is already set is not looked up.
    let client = in_region(&iam).project_id("p3").connect().await.unwrap();
    assert_eq!(client.project_id(), "p3");
    assert_eq!(iam.asked().len(), 3);
    // Without a region, the client uses the only project.
    let one = projects(&[("cn-north-4", "p4")]).await;
    let client =
        Client::builder().endpoint(&one.url).iam_endpoint(&one.url).credentials(keys()).connect();
    assert_eq!(client.await.unwrap().project_id(), "p4");
}

#[tokio::test]
async fn a_clock_that_is_off_is_corrected_once() {
    let iam = FakeServer::start(|asked| match asked.header("x-sdk-date") {
        Some("20260115T103045Z") => {
            reply(200, json!({"projects": [{"id": "p1", "name": "eu-de"}]}))
        }
        _ => {
            let message = "signature expired, signature time:x,server time:20260115T103045Z";
            reply(401, json!({"error_code": "APIGW.0301", "error_msg": message}))
        }
    })
    .await;
    let client = in_region(&iam).connect().await.unwrap();
    assert_eq!(client.project_id(), "p1");
    assert_eq!(iam.asked().len(), 2);
}

#[tokio::test]
async fn a_project_that_cannot_be_determined_is_an_error() {
    let fails = async |iam: &FakeServer, builder: ClientBuilder| {
        safe_message(&builder.connect().await.unwrap_err()).replace(&iam.url, "URL")
    };
    let iam = projects(TWO).await;
    assert_eq!(
        fails(&iam, in_region(&iam).project_name("mars")).await,
        "IAM at URL knows no project named \"mars\" that these credentials may use, only eu-de \
         (p1), eu-de_team (p2); set the project id or another project name"
    );
    assert_eq!(
        fails(
            &iam,
            Client::builder().endpoint(&iam.url).iam_endpoint(&iam.url).credentials(keys())
        )
        .await,
        "IAM at URL says that there are several projects: eu-de (p1), eu-de_team (p2); set the \
         project id"
    );
    let twins = projects(&[("eu-de", "p1"), ("eu-de", "p2")]).await;
    assert_eq!(
        fails(&twins, in_region(&twins)).await,
        "IAM at URL says that there are several projects named \"eu-de\": eu-de (p1), eu-de (p2); \
         set the project id"
    );
    let none = projects(&[]).await;
    assert_eq!(
        fails(&none, in_region(&none)).await,
        "IAM at URL knows no project that these credentials may use, \"eu-de\" neither"
    );
    let odd = FakeServer::start(|_| reply(200, "[]")).await;
    assert_eq!(
        fails(&odd, in_region(&odd)).await,
        "IAM at URL gave an answer that is no list of projects"
    );
    let closed = FakeServer::start(|_| reply(403, r#"{"error_msg":"SK-s3cr3t ST-s3cr3t"}"#)).await;
    assert_eq!(
        fails(&closed, in_region(&closed)).await,
        "IAM at URL does not list the projects: *** *** (HTTP 403)"
    );
    let nobody = Client::builder().endpoint(&iam.url).credentials(keys());
    let text = safe_message(&nobody.connect().await.unwrap_err());
    assert!(
        text.starts_with(
            "no project id, and where IAM is to look it up is not known; call project_id(), or \
             region() with one of af-north-1, af-south-1, "
        ) && text.ends_with(", tr-west-1, or iam_endpoint()"),
        "{text}"
    );
    assert_eq!(
        safe_message(&in_region(&iam).build().unwrap_err()),
        "no project id; call project_id(), or set HUAWEICLOUD_SDK_PROJECT_ID or HW_PROJECT_ID or \
         OS_PROJECT_ID, or \
         call connect() instead of build(), which looks it up"
    );
}

#[tokio::test]
async fn a_look_up_is_tried_again_when_that_may_help() {
    let count = AtomicUsize::new(0);
    let iam = FakeServer::start(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => reply(503, "down"),
        _ => reply(200, json!({"projects": [{"id": "p1", "name": "eu-de"}]})),
    })
    .await;
    let patient = ManualClock::new(|time| time < minutes(1));
    let client = in_region(&iam).clock(patient.clone()).connect().await;
    assert_eq!(client.unwrap().project_id(), "p1");
    assert_eq!(iam.asked().len(), 3);
    let iam = FakeServer::start(|_| reply(503, "down")).await;
    let once = in_region(&iam).clock(patient).retry(RetryPolicy::none());
    assert_eq!(once.connect().await.unwrap_err().status(), Some(503));
    assert_eq!(iam.asked().len(), 1);
}

#[tokio::test]
async fn the_scoped_dialect_is_spoken_everywhere() {
    let cloud = FakeServer::start(|asked| match asked.method.as_str() {
        "GET" => reply(200, json!({"projects": [{"id": "p1", "name": "eu-de"}]})),
        _ => reply(200, r#"{"items":[]}"#),
    })
    .await;
    let client = Client::builder()
        .endpoint(&cloud.url)
        .iam_endpoint(&cloud.url)
        .credentials(Credentials::keys("AK", "SK-s3cr3t"))
        .signing(SigningScheme::Scoped { region: String::new(), service: "modelarts".to_owned() })
        .clock(ManualClock::still())
        .connect()
        .await
        .unwrap();
    client.training_jobs().list().collect(1).await.unwrap();
    for asked in cloud.asked() {
        let authorization = asked.header("authorization").unwrap();
        assert!(
            authorization
                .starts_with("SDK-HMAC-SHA256 Credential=AK/20260115//modelarts/sdk_request, "),
            "{authorization}"
        );
    }
    assert_eq!(cloud.asked().len(), 2);
}
