//! Tests of requests: their headers, and the connector that sends them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use modelarts_ext::{
    Client, Credentials, ErrorKind, RetryPolicy,
    api::{self, BoxFuture, ClientInfo, Operation},
    connector::{ConnectorError, HttpConnector},
    types::{CreateTrainingExperimentRequest, ExperimentMetadataRequest, Language, TrainingJob},
};

use super::fixtures::{JOB, header, job};
use crate::support::{
    clock::TestClock,
    errors::refused,
    server::{PROJECT, Server},
};

#[tokio::test]
async fn requests_name_the_program_and_the_language() {
    let server = Server::start([job(), job()]).await;
    let clock = TestClock::new();
    let plain = server.client(&clock).build().unwrap();
    plain.training_jobs().get("j").await.unwrap();
    let named = server.client(&clock).user_agent("trainer/7");
    let named = named.language(Language::ZhCn).build().unwrap();
    named.training_jobs().get("j").await.unwrap();

    let requests = server.requests();
    let own = concat!("modelarts-rs/", env!("CARGO_PKG_VERSION"));
    assert_eq!(header(&requests[0], "user-agent"), Some(own));
    assert_eq!(header(&requests[0], "x-language"), None);
    let both = format!("trainer/7 {own}");
    assert_eq!(header(&requests[1], "user-agent"), Some(&*both));
    assert_eq!(header(&requests[1], "x-language"), Some("zh-cn"));
}

#[tokio::test]
async fn a_builder_without_a_required_field_sends_nothing() {
    let server = Server::start([]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let body = ExperimentMetadataRequest::builder().description("x");
    let body = CreateTrainingExperimentRequest::builder().metadata(body);
    let error = client
        .call(|api| api.create_training_experiment().project_id(PROJECT).body(body).send())
        .await
        .unwrap_err();
    let expected = "CreateTrainingExperimentRequest: metadata.name must be given";
    assert_eq!(error.to_string(), expected);
    assert!(server.requests().is_empty());
}

/// Sends a request through the generated client with custom headers, including headers that
/// normally only the client sets.
async fn own_request(client: &Client) {
    let operation = Operation::find("show_training_job_details").unwrap();
    let call = async |api: &api::Client| {
        let mut request = api.client().get(format!("{}/v2/p/training-jobs/j", api.baseurl()));
        for name in
            ["authorization", "x-auth-token", "x-project-id", "x-sdk-date", "x-security-token"]
        {
            request = request.header(name, "mine");
        }
        let request = request.header("x-other", "mine").build()?;
        let response = api::send(api, request, operation).await?;
        api::decode_response::<TrainingJob>(api, response)
    };
    client.call(call).await.unwrap();
}

#[tokio::test]
async fn headers_of_the_client_are_there_once_and_only_those_that_it_needs() {
    let clock = TestClock::new();
    let server = Server::start([job(), job()]).await;
    let keys = server.client(&clock).build().unwrap();
    own_request(&keys).await;
    let token = server.client(&clock).credentials(Credentials::token("t"));
    own_request(&token.build().unwrap()).await;
    let requests = server.requests();
    let times = |request: &str, name: &str| {
        let (head, _) = request.split_once("\r\n\r\n").unwrap();
        let names = head.lines().filter_map(|line| line.split_once(':'));
        names.filter(|(found, _)| found.eq_ignore_ascii_case(name)).count()
    };
    for (name, signed, with_token) in [
        ("authorization", 1, 0),
        ("x-auth-token", 0, 1),
        ("x-project-id", 1, 1),
        ("x-sdk-date", 1, 0),
        ("x-security-token", 0, 0),
        ("x-other", 1, 1),
    ] {
        assert_eq!(times(&requests[0], name), signed, "{name}");
        assert_eq!(times(&requests[1], name), with_token, "{name}");
        for request in &requests {
            let value = header(request, name);
            assert_eq!(value == Some("mine"), name == "x-other", "{name}");
        }
    }
}

/// Connector that returns prepared responses in order.
#[derive(Debug, Default)]
struct Memory {
    requests: Mutex<Vec<String>>,
    replies: Mutex<VecDeque<Result<http::Response<String>, ConnectorError>>>,
}

#[derive(Clone, Debug, Default)]
struct InMemory(Arc<Memory>);

impl HttpConnector for InMemory {
    fn send(
        &self,
        request: reqwest::Request,
    ) -> BoxFuture<'static, Result<reqwest::Response, ConnectorError>> {
        let signed = request.headers().contains_key("authorization");
        let line = format!("{} {} {signed}", request.method(), request.url().path());
        self.0.requests.lock().unwrap().push(line);
        let reply = self.0.replies.lock().unwrap().pop_front().unwrap();
        Box::pin(async { Ok(reply?.into()) })
    }
}

#[tokio::test]
async fn requests_go_through_the_connector() {
    let clock = TestClock::new();
    let connector = InMemory::default();
    let client = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::keys("AK", "SK"))
        .clock(clock)
        .connector(connector.clone())
        .build()
        .unwrap();
    let script = |replies: Vec<Result<http::Response<String>, ConnectorError>>| {
        connector.0.replies.lock().unwrap().extend(replies);
    };
    let answer = |body: &str| Ok(http::Response::new(body.to_owned()));
    let get = format!("GET /v2/{PROJECT}/training-jobs/j true");
    script(vec![
        Err(ConnectorError::Lost("cut".into())),
        Err(ConnectorError::NotSent("no route".into())),
        answer(JOB),
    ]);
    let job = client.training_jobs().get("j").await.unwrap();
    assert_eq!((job.name(), job.call().attempts()), ("n", 3));
    let requests = std::mem::take(&mut *connector.0.requests.lock().unwrap());
    assert_eq!(requests, [&*get; 3]);

    // A create request is repeated only if it was certainly not sent.
    let body: api::types::CreateTrainingJobRequest = serde_json::from_str(JOB).unwrap();
    let create = async || {
        client
            .call(|api| api.create_training_job().project_id(PROJECT).body(body.clone()).send())
            .await
    };
    script(vec![Err(ConnectorError::NotSent("no route".into())), answer(JOB)]);
    assert_eq!(create().await.unwrap().call().attempts(), 2);
    script(vec![Err(ConnectorError::Lost("cut".into()))]);
    let error = refused(create().await);
    assert_eq!(
        error.to_string(),
        "CreateTrainingJob: the connection to https://modelarts.test broke: cut"
    );
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::Connection, 1));
    script(vec![Err(ConnectorError::NotSent("no route".into()))]);
    let hasty = Client::builder()
        .endpoint("https://modelarts.test")
        .project_id(PROJECT)
        .credentials(Credentials::token("t"))
        .retry(RetryPolicy::none())
        .connector(connector.clone())
        .build()
        .unwrap();
    let error = refused(hasty.training_jobs().get("j").await);
    assert_eq!(
        error.to_string(),
        "ShowTrainingJobDetails: cannot connect to https://modelarts.test: no route"
    );
    assert_eq!(error.kind(), ErrorKind::Connection);
}
