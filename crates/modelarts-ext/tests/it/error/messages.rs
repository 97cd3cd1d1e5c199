//! Tests of complete error messages, as shown to users.

use std::time::Duration;

use futures::TryStreamExt;
use modelarts_ext::{
    Client, ClientBuilder, Credentials, ErrorKind, LogItem, Outcome, types::Phase,
};

use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    site::Site,
};

#[tokio::test]
async fn a_wrong_secret_key() {
    let site = Site::start().await;
    let emulator = &site.emulator;
    let client = site
        .client()
        .credentials(Credentials::keys(emulator.access_key(), "wrong"))
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobDetails: Incorrect IAM authentication information: verify aksk signature \
         fail (APIGW.0301, HTTP 401, request id REQUEST); the gateway saw the request as it was \
         signed; check the secret key; after five refusals in a row the key is locked for five \
         minutes"
    );
    // The error also contains the complete message of the gateway.
    assert!(error.message().unwrap().contains(", canonicalRequest:GET|/v2/"));
    assert!(error.is_auth());
    assert!(!error.is_not_found() && !error.is_conflict() && !error.is_retryable());
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.status(), Some(401));
    assert_eq!(error.code(), Some("APIGW.0301"));
    assert!(error.request_id().is_some());
    // The client does not retry the call, because five invalid signatures lock a key.
    assert_eq!(error.attempts(), 1);
    assert_eq!(site.clock.slept(), [Duration::ZERO; 0]);
}

#[tokio::test]
async fn a_wrong_secret_key_of_the_environment_is_named_until_the_key_is_locked() {
    let site = Site::start().await;
    let vars = site.emulator.vars();
    let client = |secret: Option<&'static str>| {
        let vars = vars.clone();
        let builder = ClientBuilder::from_vars(move |name| match (name, secret) {
            ("HUAWEICLOUD_SDK_SK", Some(secret)) => Some(secret.to_owned()),
            _ => vars(name),
        });
        builder.clock(site.clock.clone()).build().unwrap()
    };
    const FAILED: &str = "ShowTrainingJobDetails: Incorrect IAM authentication information: ";
    const ORIGIN: &str = "the credentials are from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK";
    let wrong = client(Some("wrong"));
    for _ in 0..5 {
        let error = refused(wrong.training_jobs().get("some-job").await);
        assert_eq!(
            message(&error),
            format!(
                "{FAILED}verify aksk signature fail (APIGW.0301, HTTP 401, request id REQUEST); \
                 the gateway saw the request as it was signed; check the secret key; after five \
                 refusals in a row the key is locked for five minutes; {ORIGIN}"
            )
        );
        assert_eq!(error.solution(), None);
    }
    // The right keys are locked as well.
    let error = refused(client(None).training_jobs().get("some-job").await);
    assert_eq!(
        message(&error),
        format!(
            "{FAILED}AK access failed to reach the limit,forbidden (APIGW.0301, HTTP 401, request \
             id REQUEST); the key is locked for five minutes after five refusals in a row; wait \
             five minutes; the access key and the secret key may be right; {ORIGIN}"
        )
    );
}

#[tokio::test]
async fn a_wrong_project_is_named_with_its_setting() {
    const OTHER: &str = "0123456789abcdef0123456789abcdef";
    let site = Site::start().await;
    let vars = site.emulator.vars();
    let of_variable = ClientBuilder::from_vars(move |name| match name {
        "HUAWEICLOUD_SDK_PROJECT_ID" => None,
        "OS_PROJECT_ID" => Some(OTHER.to_owned()),
        _ => vars(name),
    });
    let of_variable = of_variable.clock(site.clock.clone());
    let of_builder = ClientBuilder::from_vars(site.emulator.vars()).project_id(OTHER);
    for (builder, origin) in
        [(of_variable, "OS_PROJECT_ID"), (of_builder.clock(site.clock.clone()), "project_id()")]
    {
        let client = builder.build().unwrap();
        let error = refused(client.training_jobs().get("some-job").await);
        assert_eq!(
            message(&error),
            format!(
                "ShowTrainingJobDetails: The project ID ({OTHER}) in the request does not match \
                 that({}) in the token (ModelArts.2786, HTTP 404, request id REQUEST); Change the \
                 request token or change the project ID in the request; the project id is from \
                 {origin}, the credentials from HUAWEICLOUD_SDK_AK, HUAWEICLOUD_SDK_SK",
                site.emulator.project_id()
            )
        );
    }
}

#[tokio::test]
async fn a_wrong_access_key() {
    let site = Site::start().await;
    let client = site.client().credentials(Credentials::keys("NOBODY", "wrong")).build().unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobDetails: Incorrect IAM authentication information: ak NOBODY not exist \
         (APIGW.0301, HTTP 401, request id REQUEST); check access key, secret key, region and \
         clock; after five refusals in a row the key is locked for five minutes"
    );
    assert!(error.is_auth());
    assert_eq!(error.attempts(), 1);
}

#[tokio::test]
async fn an_unknown_job_id() {
    let site = Site::start().await;
    let error = refused(site.client.training_jobs().get("no-such-job").await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobDetails: Training job (ID: no-such-job) not found (ModelArts.2775, HTTP \
         400, request id REQUEST); Check whether the training job information in the request is \
         valid"
    );
    assert!(error.is_not_found());
    assert!(!error.is_auth() && !error.is_conflict() && !error.is_retryable());
    assert_eq!(error.kind(), ErrorKind::Service);
    assert_eq!(error.operation(), Some("ShowTrainingJobDetails"));
    assert_eq!(error.status(), Some(400));
    assert_eq!(error.code(), Some("ModelArts.2775"));
    assert_eq!(error.message(), Some("Training job (ID: no-such-job) not found."));
    assert_eq!(
        error.solution(),
        Some("Check whether the training job information in the request is valid.")
    );
    assert!(error.request_id().is_some());
    assert_eq!(error.attempts(), 1);
}

#[tokio::test]
async fn an_id_that_cannot_be_one_is_not_sent() {
    let site = Site::start().await;
    let error = refused(site.client.training_jobs().get("../jobs").await);
    assert_eq!(
        message(&error),
        "the job id \"../jobs\" is wrong; it has 1 to 128 letters, digits, and -_.~, and does not \
         begin with a dot"
    );
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.attempts(), 0);
    assert_eq!(site.count("ShowTrainingJobDetails"), (0, 0));
}

#[tokio::test]
async fn a_second_job_of_the_same_name() {
    let site = Site::start().await;
    let job = site.script("twice", "");
    site.run(job.clone()).await;
    let error = refused(job.submit().await);
    assert_eq!(
        message(&error),
        "CreateTrainingJob: Duplicate training job (name twice) (ModelArts.2751, HTTP 400, request \
         id REQUEST); Change training job name"
    );
    assert!(error.is_conflict());
    assert!(!error.is_auth() && !error.is_not_found() && !error.is_retryable());
    assert_eq!(error.status(), Some(400));
    assert_eq!(error.code(), Some("ModelArts.2751"));
    assert!(error.request_id().is_some());
    assert_eq!(error.attempts(), 1);
    assert_eq!(site.count("CreateTrainingJob"), (2, 1));
}

#[tokio::test]
async fn an_endpoint_without_a_listener() {
    // A listener that was closed just before the call ensures that the port is free.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let clock = TestClock::new();
    let client = Client::builder()
        .endpoint(&url)
        .project_id("p")
        .credentials(Credentials::keys("AK", "SK"))
        .clock(clock.clone())
        .timeout(Duration::from_secs(3600))
        .build()
        .unwrap();
    let error = refused(client.training_jobs().get("some-job").await);
    // The expected message includes the message of the operating system.
    let why = std::net::TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap_err();
    assert_eq!(
        message(&error),
        format!("ShowTrainingJobDetails: cannot connect to {url}: {why} (5 attempts)")
    );
    assert!(error.is_retryable());
    assert!(!error.is_auth() && !error.is_not_found() && !error.is_conflict());
    assert_eq!(error.kind(), ErrorKind::Connection);
    assert_eq!((error.status(), error.code(), error.request_id()), (None, None, None));
    assert_eq!(error.attempts(), 5);
    assert_eq!(clock.slept().len(), 4);
}

#[tokio::test]
async fn a_boot_file_that_does_not_exist() {
    let site = Site::start().await;
    let job = site.script("bootless", "").boot_file("obs://bucket/bootless/code/other.py");
    let error = refused(job.submit().await);
    assert_eq!(
        message(&error),
        "CreateTrainingJob: code startup file path error (ModelArts.2758, HTTP 400, request id \
         REQUEST); Check whether the training project information in the request is valid; check \
         that the object \"obs://bucket/bootless/code/other.py\" exists in the code directory \
         \"obs://bucket/bootless/code/\"; names of objects are case-sensitive"
    );
    assert!(!error.is_auth() && !error.is_conflict() && !error.is_not_found());
    assert_eq!(error.status(), Some(400));
    assert_eq!(error.code(), Some("ModelArts.2758"));
    assert!(error.request_id().is_some());
    assert_eq!(error.attempts(), 1);
    assert_eq!(site.count("CreateTrainingJob"), (1, 0));
}

#[tokio::test]
async fn a_script_that_exits_with_3() {
    let site = Site::start().await;
    let script = "print('loading')\nraise SystemExit(3)\n";
    let job = site.run(site.script("exits", script)).await;
    let end = job.wait().await.unwrap();
    assert_eq!(
        *end.outcome(),
        Outcome::Failed {
            exit_code: Some(3),
            task: Some("worker-0".into()),
            message: Some("exit with 3".into()),
        }
    );
    assert!(!end.is_completed());
    assert_eq!(end.errors(), 0);
    assert_eq!(end.job().phase(), Phase::Failed);

    let lines: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    assert_eq!(lines, [LogItem::Line("loading".into())]);
    let events: Vec<_> = job.events().stream().try_collect().await.unwrap();
    let texts: Vec<_> = events.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts[texts.len() - 4..],
        [
            "2026-01-15T16:30:45+08:00 Info    Task [worker-0] Training finished. Exit code 3.",
            &format!(
                "2026-01-15T16:30:45+08:00 Info    K8S  [Job: modelarts-job-{}] ExecuteAction: \
                 Start to execute action TerminateJob",
                job.id()
            ),
            "2026-01-15T16:30:45+08:00 Error   Job  Training job failed.",
            "2026-01-15T16:30:45+08:00 Info    Job  Billing information synchronized.",
        ]
    );
}
