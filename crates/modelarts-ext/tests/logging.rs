//! Logs have no secrets in them, and say that the named cloud is not the endpoint's.
//!
//! A program of its own, because `tracing` decides once for all threads whether
//! anybody listens to a place in the code.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests fail by panicking; clippy.toml excuses only the tests themselves"
)]

mod support;

use std::{
    io,
    sync::{Arc, Mutex},
};

use modelarts_ext::{Client, Cloud, Credentials, Environment};
use support::{Reply, Server, TestClock, json_answer, refused};
use tracing::subscriber::DefaultGuard;
use tracing_subscriber::fmt::format::FmtSpan;

const SECRET_KEY: &str = "sk-hidden-1";
const SECURITY_TOKEN: &str = "st-hidden-2";
const TOKEN: &str = "tk-hidden-3";
const JUPYTER_TOKEN: &str = "jl-hidden-4";
const ENVIRONMENT: &str = "env-hidden-5";
const IN_LOCATION: &str = "location-hidden-6";

/// A job with JupyterLab beside it.
fn job_answer(phase: &str) -> Reply {
    let body = format!(
        r#"{{"kind":"job","metadata":{{"id":"some-job","name":"n"}},"status":{{"phase":"{phase}"}},
            "endpoints":{{"jupyter_lab":{{"url":"https://jl.test/","token":"{JUPYTER_TOKEN}"}}}}}}"#
    );
    json_answer("200 OK", "x-request-id: r1\r\n", &body)
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// All that this thread logs, while the guard lives.
fn logged() -> (Log, DefaultGuard) {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
        .with_span_events(FmtSpan::FULL)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    let guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);
    (log, guard)
}

#[test]
fn a_cloud_that_is_not_the_one_of_the_endpoint_is_logged() {
    let (log, _guard) = logged();
    let build = |endpoint: &str, named: &'static str, cloud: Option<Cloud>| {
        let environment =
            Environment::new(move |name| (name == "MODELARTS_CLOUD").then(|| named.to_owned()));
        let mut builder = Client::builder()
            .environment(environment)
            .endpoint(endpoint)
            .project_id("p")
            .credentials(Credentials::keys("A", "S"));
        if let Some(cloud) = cloud {
            builder = builder.cloud(cloud);
        }
        builder.build().unwrap();
    };
    let otc = "https://modelarts.eu-de.otc.t-systems.com";
    let huawei = "https://modelarts.cn-north-4.myhuaweicloud.com";
    build(otc, "otc", None);
    build(huawei, "huawei", None);
    build("https://modelarts.internal.example", "otc", None);
    build(otc, "huawei", Some(Cloud::Otc));
    assert!(!log.text().contains("WARN"), "{}", log.text());
    build(otc, "huawei", None);
    build(huawei, "OTC", None);
    let text = log.text();
    let warnings: Vec<_> = text
        .lines()
        .filter_map(|line| Some(line.split_once("WARN")?.1.split_once(": ")?.1))
        .collect();
    assert_eq!(
        warnings,
        [
            "MODELARTS_CLOUD names huawei, but the endpoint \
             https://modelarts.eu-de.otc.t-systems.com/ is of otc; the variable decides",
            "MODELARTS_CLOUD names otc, but the endpoint \
             https://modelarts.cn-north-4.myhuaweicloud.com/ is of huawei; the variable decides",
        ]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn logs_show_no_secret() {
    let (log, _guard) = logged();
    let mut signatures = Vec::new();
    for credentials in [
        Credentials::temporary_keys("AK", SECRET_KEY, SECURITY_TOKEN),
        Credentials::token(TOKEN),
    ] {
        let location = format!("location: https://elsewhere.test/{IN_LOCATION}\r\n");
        let server = Server::start([
            json_answer("503 Unavailable", "", "{}"),
            Reply::Reset(Vec::new()),
            job_answer("Running"),
            json_answer(
                "401 Unauthorized",
                "",
                &format!(
                    r#"{{"error_code":"APIGW.0301","error_msg":"verify aksk signature fail,
                        canonicalRequest:GET|x-security-token:{SECURITY_TOKEN}|"}}"#
                ),
            ),
            json_answer("302 Found", &location, ""),
            json_answer(
                "200 OK",
                "",
                &format!(r#"{{"endpoints":"{JUPYTER_TOKEN}"}}"#),
            ),
            // For the wait, which passes over it and says so.
            json_answer("200 OK", "", &format!(r#"{{"spec":"{JUPYTER_TOKEN}"}}"#)),
            job_answer("Completed"),
            json_answer("400 Bad Request", "", "{}"),
        ])
        .await;
        let client = server.client(&TestClock::new()).credentials(credentials);
        let jobs = client.build().unwrap().training_jobs();
        let job = jobs.get("some-job").await.unwrap();
        for _ in 0..3 {
            refused(jobs.get("some-job").await);
        }
        assert_eq!(job.wait().await.unwrap().errors(), 1);
        let create = jobs.create("n").env("PASSWORD", ENVIRONMENT).unchecked();
        refused(create.submit().await);
        assert_eq!(server.left(), 0);
        for request in server.requests() {
            let line = request
                .lines()
                .find(|line| line.starts_with("authorization"));
            signatures.extend(
                line.and_then(|line| line.split_once("Signature="))
                    .map(|(_, signature)| signature.to_owned()),
            );
        }
    }
    let text = log.text();
    for expected in [
        "operation=\"ShowTrainingJobDetails\"",
        "sending again",
        "request_id=\"r1\"",
        "passed over",
        // Of the redirect.
        "status=302",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(!text.contains("-hidden-"), "{text}");
    assert!(signatures.len() > 4);
    for signature in signatures {
        assert_eq!(signature.len(), 64);
        assert!(!text.contains(&signature), "{text}");
    }
}
