//! Tests of lists that change while they are read. Each row is returned once, and in order.

use std::sync::atomic::{AtomicU64, Ordering};

use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{Client, Credentials, Error, RetryPolicy};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{cases, file};
use crate::support::{
    fake_server::{FakeRequest, FakeServer, reply},
    scripted_list::ScriptedLists,
    server::PROJECT,
};

/// Rows that a reader must return, and the expected end of the list.
#[derive(Deserialize)]
struct Expectation {
    expected: Vec<String>,
    /// Rows that a reader may return in addition.
    #[serde(default)]
    optional: Vec<String>,
    end: End,
}

#[derive(Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum End {
    Complete,
    /// The list may end with or without an error.
    Doubtful,
}

/// Returns the offset and the limit in the query or the body of a request.
fn window(request: &FakeRequest) -> (u64, u64) {
    let url = Url::parse(&format!("http://localhost{}", request.target)).unwrap();
    let of = |name: &str| {
        let in_query = url.query_pairs().find(|(key, _)| key == name);
        in_query.map_or_else(
            || request.json()[name].as_u64().unwrap(),
            |(_, value)| value.parse().unwrap(),
        )
    };
    (of("offset"), of("limit"))
}

/// Starts a server with the list of a case.
async fn serve(number: usize) -> FakeServer {
    let lists: ScriptedLists = file("pagination.json");
    let requests = AtomicU64::new(0);
    FakeServer::start(move |request| {
        let list = request.method == "POST" || request.target.contains("/events?");
        if !list {
            return reply(200, json!({ "metadata": { "id": "j" }, "status": {} }));
        }
        let (offset, limit) = window(request);
        let count = requests.fetch_add(1, Ordering::SeqCst) + 1;
        let answer = lists.answer(&lists.cases[number], count, offset, limit);
        reply(200, answer.unwrap())
    })
    .await
}

/// Reads a list. Returns the rows, and the error with which the list ended, if any.
async fn read(client: &Client, operation: &str, limit: u32) -> (Vec<String>, Option<Error>) {
    let jobs = client.training_jobs();
    let mut rows = match operation {
        "ListTrainingJobEvents" => {
            let events = jobs.get("j").await.unwrap().events();
            let events = events.page_size(limit).in_flight(1).stream();
            events.map_ok(|event| event.message().to_owned()).left_stream()
        }
        "ListTrainingJobs" => {
            let jobs = jobs.list().page_size(limit).in_flight(1).stream();
            jobs.map_ok(|job| job.name().to_owned()).right_stream()
        }
        unknown => panic!("{unknown} is not read here"),
    };
    let mut read = Vec::new();
    loop {
        match rows.try_next().await {
            Ok(Some(row)) => read.push(row),
            Ok(None) => return (read, None),
            Err(error) => return (read, Some(error)),
        }
    }
}

#[tokio::test]
async fn every_row_comes_once() {
    let lists: ScriptedLists = file("pagination.json");
    let expectations: Vec<Expectation> = cases("pagination.json");
    let mut wrong = Vec::new();
    for (number, (case, expectation)) in lists.cases.iter().zip(&expectations).enumerate() {
        let server = serve(number).await;
        let client = Client::builder()
            .endpoint(&server.url)
            .project_id(PROJECT)
            .credentials(Credentials::keys("AK", "SK"))
            .retry(RetryPolicy::none())
            .build()
            .unwrap();
        let (mut rows, error) = read(&client, &case.operation, case.limit).await;
        let name = &case.name;
        for optional in &expectation.optional {
            if let Some(index) = rows.iter().position(|row| row == optional) {
                rows.remove(index);
            }
        }
        if rows != expectation.expected {
            wrong.push(format!("{name}: {rows:?}"));
        }
        if let (Some(error), End::Complete) = (error, &expectation.end) {
            wrong.push(format!("{name}: {error}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}
