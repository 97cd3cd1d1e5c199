//! Tests that read every list of the description as a stream.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::State,
    http::{Method, Uri},
};
use futures::{StreamExt, TryStreamExt};
use modelarts_ext::{
    Client, Credentials, Error, Job,
    api::{OPERATIONS, Operation},
    jobs::create::HyperparameterSearch,
    pagination::{Offset, PageStream},
    types::Phase,
};
use serde_json::{Value, json};

use crate::support::{
    clock::TestClock,
    errors::{message, refused},
    server::PROJECT,
    site::Site,
};

/// Number of rows in every list of the scripted service.
const ROWS: usize = 130;

/// Returns the row with this number, in the form that the operation returns.
fn row(operation: &str, number: usize) -> Value {
    let text = number.to_string();
    match operation {
        "ListTrainingJobs" | "ListAlgorithms" | "ListTrainingExperiments" => {
            json!({"metadata": {"id": text}})
        }
        "ListTrainingJobEvents" => json!({"time": "", "message": text}),
        "ShowAutoSearchTrials" => json!([text, "x"]),
        "ListTrainingJobsByTags" => json!({"resource_id": text}),
        "ListFtArtifacts" => json!({"artifact_id": text}),
        "ListTrainingJobTags" => json!({"key": text}),
        _ => json!({"task": "worker-0", "record_order": 1, "key": "equal", "name": "equal"}),
    }
}

/// Returns a stream of the whole list of each operation for which the client has one.
fn streams(client: &Client, job: &Job) -> Vec<(&'static str, PageStream<()>)> {
    fn counted<T: 'static>(items: PageStream<T>) -> PageStream<()> {
        items.map_ok(|_| ()).boxed()
    }
    vec![
        ("ListTrainingJobs", counted(client.training_jobs().list().stream())),
        ("ListTrainingJobEvents", counted(job.events().stream())),
        ("ListTrainingJobTasks", counted(job.task_history().stream())),
        ("ListTrainingJobStages", counted(job.stages().stream())),
        ("ListEventCategories", counted(client.event_categories().stream())),
        ("ShowTrainingJobEngines", counted(client.engines().stream())),
        ("ShowTrainingJobFlavors", counted(client.flavors(None).stream())),
        ("ShowTrainingQuotas", counted(client.quotas().stream())),
        ("ListAlgorithms", counted(client.algorithms().stream())),
        ("ShowSearchAlgorithms", counted(client.hyperparameter_search_algorithms().stream())),
        ("ShowAutoSearchTrials", counted(job.trials().stream())),
        ("ShowAutoSearchYamlTemplatesInfo", counted(client.search_templates().stream())),
        ("ListTrainingExperiments", counted(client.experiments().stream())),
        ("ShowTrainJobTags", counted(job.tags().stream())),
        ("ListTrainingJobTags", counted(client.job_tags().stream())),
        ("ListTrainingJobsByTags", counted(client.jobs_by_tags([("a", ["b"])]).stream())),
        ("ListFtArtifacts", counted(job.artifacts().stream())),
    ]
}

/// Returns the response of the scripted service to an operation, in the form that the description
/// defines.
fn answer(operation: &Operation, query: &BTreeMap<String, String>, body: &Value) -> Value {
    let how = operation.pagination.unwrap();
    let number = |name: Option<&str>| {
        let name = name?;
        let query = query.get(name).and_then(|text| text.parse().ok());
        query.or_else(|| body[name].as_u64().and_then(|number| usize::try_from(number).ok()))
    };
    let limit = number(how.limit_name).unwrap_or(ROWS);
    let offset = number(how.offset_name).unwrap_or(0);
    let start = match how.offset {
        Offset::PageIndex => offset * limit,
        _ => offset,
    };
    let rows = (start..ROWS).take(limit).map(|number| row(operation.id, number));
    let mut answer = Value::Array(rows.collect());
    for name in how.items.rsplit('.').filter(|name| !name.is_empty()) {
        answer = json!({name: answer, "header": ["", "status"]});
    }
    if let Some(total) = how.total {
        answer[total] = json!(ROWS);
    }
    answer
}

/// Returns `true` if a path matches a template with parameters in braces.
fn fits(template: &str, path: &str) -> bool {
    let (template, path) = (template.split('/'), path.split('/'));
    template.clone().count() == path.clone().count()
        && template.zip(path).all(|(wanted, is)| wanted.starts_with('{') || wanted == is)
}

type Asked = Arc<Mutex<HashSet<&'static str>>>;

async fn serve(State(asked): State<Asked>, method: Method, uri: Uri, body: String) -> Json<Value> {
    let operation = OPERATIONS
        .iter()
        .find(|operation| operation.method == method.as_str() && fits(operation.path, uri.path()));
    let operation = operation.unwrap();
    asked.lock().unwrap().insert(operation.id);
    if operation.pagination.is_none() {
        return Json(json!({"metadata": {"id": "job-1"}, "status": {"phase": "Completed"}}));
    }
    let query = uri.query().unwrap_or_default().split('&');
    let query = query.filter_map(|pair| pair.split_once('='));
    let query = query.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let body = serde_json::from_str(&body).unwrap_or_default();
    Json(answer(operation, &query.collect(), &body))
}

#[tokio::test]
async fn a_stream_of_a_listing_operation_has_all_its_rows() {
    let asked = Asked::default();
    let router = Router::new().fallback(serve).with_state(Arc::clone(&asked));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await });
    let client = Client::builder()
        .endpoint(url)
        .project_id(PROJECT)
        .credentials(Credentials::keys("AK", "SK"))
        .clock(TestClock::new())
        .build()
        .unwrap();
    let job = client.training_jobs().get("job-1").await.unwrap();
    for (id, rows) in streams(&client, &job) {
        let rows: Result<Vec<()>, Error> = rows.try_collect().await;
        assert_eq!(rows.unwrap().len(), ROWS, "{id}");
        assert!(asked.lock().unwrap().remove(id), "{id} was not asked for");
    }
    server.abort();
}

#[tokio::test]
async fn algorithms_are_searched_and_sorted() {
    let site = Site::start().await;
    for name in ["bert-b", "bert-a", "resnet"] {
        let body = json!({"metadata": {"name": name},
        "job_config": {"code_dir": "/bucket/code/", "boot_file": "/bucket/code/train.py",
                       "engine": {
                           "engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"
                       }}});
        site.put("bucket/code/train.py", "");
        let body: modelarts_ext::types::AlgorithmRequest = serde_json::from_value(body).unwrap();
        let project = site.client.project_id();
        let made =
            site.client.call(|api| api.create_algorithm().project_id(project).body(body).send());
        made.await.unwrap();
        site.clock.advance(std::time::Duration::from_secs(1));
    }
    let names = |rows: Vec<modelarts_ext::types::Algorithm>| -> Vec<String> {
        rows.into_iter().map(|row| row.metadata.unwrap().name.unwrap()).collect()
    };
    let all = || site.client.algorithms();
    assert_eq!(names(all().collect(10).await.unwrap()), ["resnet", "bert-a", "bert-b"]);
    assert_eq!(names(all().name_like("bert").collect(10).await.unwrap()), ["bert-a", "bert-b"]);
    let sorted = all().sort_by("name").ascending().page_size(1);
    assert_eq!(names(sorted.collect(10).await.unwrap()), ["bert-a", "bert-b", "resnet"]);
    let before = site.count("ListAlgorithms").0;
    for (list, text) in [
        (
            all().search("na:me", "x"),
            "search \"na:me\": a key has at least one character, and no colon",
        ),
        (
            all().name_like(""),
            "search name: the text is empty; leave the condition out to find all",
        ),
        (all().page_size(51), "page_size 51: must be 1 to 50"),
        (all().workspace(" "), "workspace: it is blank; leave it out instead"),
    ] {
        assert_eq!(message(&refused(list.collect(1).await)), text);
    }
    assert_eq!(site.count("ListAlgorithms").0, before);
}

#[tokio::test]
async fn what_the_emulator_lists_is_read() {
    let site = Site::start().await;
    let job = site.run(site.script("listed", "")).await;
    let endless = job.trials().page_size(u32::MAX).collect(1).await;
    assert_eq!(message(&refused(endless)), "page_size 4294967295: must be 1 to 1000");
    let flavors = site.client.flavors(None).collect(1000).await.unwrap();
    assert!(flavors.len() > 1);
    let engines = site.client.engines().collect(1000).await.unwrap();
    assert!(engines.iter().any(|engine| engine.engine_name.as_deref() == Some("PyTorch")));
    let history = job.task_history().collect(10).await.unwrap();
    assert_eq!(history[0].task.as_deref(), Some("worker-0"));
    assert_eq!(job.stages().collect(10).await.unwrap().len(), 1);
    assert_eq!(job.tags().collect(10).await.unwrap().len(), 0);
    assert_eq!(job.trials().collect(10).await.unwrap().len(), 0);
}

#[tokio::test]
async fn the_trials_of_a_search_are_listed() {
    let site = Site::start().await;
    let script = "import argparse
parser = argparse.ArgumentParser()
parser.add_argument('--x')
print('loss=' + parser.parse_known_args()[0].x)
";
    let search =
        HyperparameterSearch::minimize("loss", r"loss=(\w+)").values("x", [4, 2, 3]).algorithm(
            "anneal_search",
            &[("num_samples", "6", "Integer"), ("max_concurrent", "1", "Integer")],
        );
    let job = site.script("searched", script).parameter("x", 4);
    let job = site.run(job.search(search)).await;
    assert_eq!(job.phase(), Phase::Completed);
    let trials = job.trials().page_size(2).collect(100).await.unwrap();
    assert_eq!(trials.len(), 6);
    for trial in &trials {
        let loss = trial.get("loss").unwrap().as_str().unwrap();
        assert!(["2", "3", "4"].contains(&loss), "{loss}");
        let x = &trial.get("config").unwrap()["x"];
        assert_eq!(x.to_string().trim_matches('"'), loss);
    }
}
