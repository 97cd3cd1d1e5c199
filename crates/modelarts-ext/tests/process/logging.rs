//! Tests of logged warnings: secret files that other users can read, and a cloud that contradicts
//! the endpoint. Logs must not contain secrets.

use modelarts_ext::{
    Client, Credentials,
    config::{Cloud, Environment},
};

use crate::{
    captured_log::CapturedLog,
    child::run_alone,
    support::{
        clock::TestClock,
        environment::{TestEnvironment, set_mode},
        errors::refused,
        secrets::{
            ENVIRONMENT, IN_LOCATION, JUPYTER_TOKEN, SECRET_KEY, SECURITY_TOKEN, TOKEN, job_answer,
        },
        server::{PROJECT, Reply, Server, json_answer},
    },
};

#[test]
fn a_cloud_that_is_not_the_one_of_the_endpoint_is_logged() {
    if !run_alone("logging::a_cloud_that_is_not_the_one_of_the_endpoint_is_logged") {
        return;
    }
    let log = CapturedLog::start();
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
    assert_eq!(
        log.warnings(),
        [
            "MODELARTS_CLOUD names huawei, but the endpoint \
             https://modelarts.eu-de.otc.t-systems.com/ belongs to otc; the variable takes \
             precedence",
            "MODELARTS_CLOUD names otc, but the endpoint \
             https://modelarts.cn-north-4.myhuaweicloud.com/ belongs to huawei; the variable \
             takes precedence",
        ]
    );
}

#[test]
#[cfg(unix)]
fn files_that_others_can_read_are_warned_of() {
    if !run_alone("logging::files_that_others_can_read_are_warned_of") {
        return;
    }
    let log = CapturedLog::start();
    let warnings = |place: &TestEnvironment, path: &str, mode| {
        set_mode(&place.path(path), mode);
        log.clear();
        Client::builder()
            .environment(place.environment())
            .endpoint("https://modelarts.test")
            .project_id(PROJECT)
            .clock(TestClock::new())
            .build()
            .unwrap();
        assert!(!log.text().contains("s3cr3t"), "{}", log.text());
        let warnings = log.warnings();
        warnings.iter().map(|text| place.short(text)).collect::<Vec<_>>()
    };
    let path = "home/.huaweicloud/credentials";
    let place = TestEnvironment::new().file(path, "[basic]\nak = AK\nsk = SK-s3cr3t\n");
    assert_eq!(warnings(&place, path, 0o600), [""; 0]);
    assert_eq!(
        warnings(&place, path, 0o644),
        [format!("{path} holds secrets and others can use it (mode 644); run: chmod 600 {path}")]
    );
    let path = "here/secure.yaml";
    let place = TestEnvironment::new()
        .file("here/clouds.yaml", "clouds: {a: {auth: {ak: AK}}}")
        .file(path, "clouds: {a: {auth: {sk: SK-s3cr3t}}}");
    // Other users can read this file, but it contains no secret.
    set_mode(&place.path("here/clouds.yaml"), 0o644);
    assert_eq!(warnings(&place, path, 0o400), [""; 0]);
    assert_eq!(
        warnings(&place, path, 0o640),
        [format!("{path} holds secrets and others can use it (mode 640); run: chmod 600 {path}")]
    );
}

#[tokio::test(flavor = "current_thread")]
async fn logs_show_no_secret() {
    if !run_alone("logging::logs_show_no_secret") {
        return;
    }
    let log = CapturedLog::start();
    let mut signatures = Vec::new();
    for credentials in
        [Credentials::temporary_keys("AK", SECRET_KEY, SECURITY_TOKEN), Credentials::token(TOKEN)]
    {
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
            json_answer("200 OK", "", &format!(r#"{{"endpoints":"{JUPYTER_TOKEN}"}}"#)),
            // The wait receives this response, tolerates it and logs it.
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
            let line = request.lines().find(|line| line.starts_with("authorization"));
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
        "transient error, polling continues",
        // The redirect causes this line.
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
