//! `modelarts api`.

use modelarts_ext::api::{Effect, OPERATIONS, Operation, ParameterLocation};
use serde_json::{Value, json};

use crate::support::{Fixture, assert, error_of, json_of, lines_of};

/// Returns arguments with a value for every required parameter of an operation.
fn arguments(operation: &Operation) -> Vec<String> {
    let mut arguments = vec!["api".to_owned(), operation.id.to_owned()];
    for parameter in operation.parameters().filter(|parameter| parameter.required) {
        let value = match parameter.name {
            "project_id" => continue,
            "body" => {
                arguments.extend(["--body".to_owned(), "{}".to_owned()]);
                continue;
            }
            "task_id" => "worker-0",
            name if name.ends_with("_id") => "cf63aba9-63b1-4219-b717-708a2665100b",
            _ => "1",
        };
        arguments.push(format!("{}={value}", parameter.name));
    }
    arguments
}

/// Returns the number of requests for operations.
fn received(fixture: &Fixture) -> u64 {
    let counts = fixture.emulator.requests();
    counts.values().map(|count| count.received).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_is_reached() {
    let fixture = Fixture::start().await;
    for operation in OPERATIONS {
        let arguments = arguments(operation);
        let command = fixture.command("--output json").args(&arguments).arg("--dry-run");
        let request = json_of(&assert(command).await.code(0), "request");
        assert_eq!(request["method"], operation.method);
        let url = request["url"].as_str().unwrap();
        let path = url.strip_prefix(fixture.emulator.url()).unwrap();
        let path = path.split('?').next().unwrap();
        let expected = operation.path.split('/');
        assert_eq!(path.split('/').count(), expected.clone().count(), "{url}");
        for (step, expected) in path.split('/').zip(expected) {
            assert!(step == expected || expected.starts_with('{'), "{url}");
        }
        let has_body = operation
            .parameters()
            .any(|parameter| parameter.location == ParameterLocation::Body && parameter.required);
        assert!(!has_body || request["body"] == json!({}), "{}", operation.id);
    }
    // A dry run sends nothing.
    assert_eq!(received(&fixture), 0);

    let mut rejected = Vec::new();
    for operation in OPERATIONS {
        let command = fixture.command("-o json").args(arguments(operation)).arg("--yes");
        let output = assert(command).await;
        let output = output.get_output();
        // The service decides, so that errors are those of the service.
        if !output.status.success() {
            let error: Value = serde_json::from_slice(&output.stderr).unwrap();
            let status = error["error"]["status"].as_u64().unwrap_or_default();
            assert!((400..600).contains(&status), "{}: {error}", operation.id);
        }
        // The emulator rejects the operations that it does not implement.
        match fixture.emulator.requests().get(operation.id) {
            Some(count) => assert_eq!(count.received, 1, "{}", operation.id),
            None => rejected.push(operation.id),
        }
    }
    assert!(rejected.len() < 10, "{rejected:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_listed_and_described_without_settings() {
    let directory = tempfile::TempDir::new().unwrap();
    let run = |arguments: &str| {
        let command = crate::support::isolated(directory.path());
        assert(command.args(arguments.split_whitespace()))
    };
    let list = json_of(&run("api -o json").await.code(0), "operations");
    let list = list["operations"].as_array().unwrap();
    assert_eq!(list.len(), OPERATIONS.len());
    assert!(list.iter().all(|row| row["summary"].is_string()));
    for operation in OPERATIONS {
        let output = run(&format!("api {} --describe -o json", operation.id)).await;
        let details = json_of(&output.code(0), "operation");
        assert!(details["description"].is_string(), "{}", operation.id);
        let names = operation.parameters().filter(|parameter| parameter.name != "body");
        assert_eq!(details["parameters"].as_array().unwrap().len(), names.count());
    }
    let output = run("api CreateTrainingExperiment --describe").await.code(0);
    output.stdout_eq(
        "\
CreateTrainingExperiment  POST /v2/{project_id}/training-experiments
Creates an experiment, a group to which jobs are added by `training_experiment_reference`. The \
name must be unique in its workspace (`ModelArts.2841`). Huawei Cloud only.

Effect  create
Call    modelarts api CreateTrainingExperiment --body FILE

Parameters
  project_id  text  default: that of the client

Fields of the body
  metadata               object  required
  metadata.description   text
  metadata.name          text  required
  metadata.workspace_id  text

Example of a body
{
  \"metadata\": {
    \"description\": \"Which vocabulary size\",
    \"name\": \"tokenizer-sweep\"
  }
}
",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_comes_from_fields_a_file_and_stdin() {
    let fixture = Fixture::start().await;
    fixture.write("body.yaml", "metadata:\n  name: b\n");
    let create = "api CreateTrainingExperiment --jq .metadata.name";
    let fields = fixture.run(&format!("{create} -f metadata.name=a")).await;
    fields.code(0).stdout_eq("a\n");
    let file = fixture.run(&format!("{create} --body body.yaml")).await;
    file.code(0).stdout_eq("b\n");
    let stdin = fixture
        .command(&format!("{create} --body - -f metadata.description=d"))
        .stdin("{\"metadata\": {\"name\": \"c\"}}");
    assert(stdin).await.code(0).stdout_eq("c\n");
    let names = fixture.run("api ListTrainingExperiments --all --jq .items[].metadata.name").await;
    let names = String::from_utf8(names.code(0).get_output().stdout.clone()).unwrap();
    let mut names: Vec<&str> = names.lines().collect();
    names.sort_unstable();
    assert_eq!(names, ["a", "b", "c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_pages_of_a_list_are_read() {
    let fixture = Fixture::start().await;
    let jobs: Vec<Value> = (0..120).map(|n| json!({"name": format!("job-{n}")})).collect();
    fixture.seed(jobs.into()).await;
    let page = fixture.run("api ListTrainingJobs -o json").await.code(0);
    let page: Value = serde_json::from_slice(&page.get_output().stdout).unwrap();
    assert!(page.get("schema_version").is_none());
    assert!(page["items"].as_array().unwrap().len() < 120);
    let all = fixture.run("api ListTrainingJobs --all -o json").await.code(0);
    let all: Value = serde_json::from_slice(&all.get_output().stdout).unwrap();
    assert_eq!(all["items"].as_array().unwrap().len(), 120);
    let ids = fixture.run("api ListTrainingJobs --all -o id").await.code(0);
    let ids = String::from_utf8(ids.get_output().stdout.clone()).unwrap();
    assert_eq!(ids.lines().count(), 120);
    assert_eq!(ids.lines().next().unwrap(), all["items"][0]["metadata"]["id"]);
    let lines = fixture.run("api ListTrainingJobs --all -o ndjson").await.code(0);
    assert_eq!(lines.get_output().stdout.iter().filter(|byte| **byte == b'\n').count(), 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_refused_with_a_suggestion() {
    let fixture = Fixture::start().await;
    for (arguments, message) in [
        (
            "ShowTrainingQuota",
            "no operation is called ShowTrainingQuota; did you mean ShowTrainingQuotas?",
        ),
        ("Xyz", "no operation is called Xyz; `modelarts api` lists all"),
        (
            "ListTrainingJobEvents training_jobid=1",
            "ListTrainingJobEvents has no parameter training_jobid; did you mean training_job_id?",
        ),
        (
            "ListTrainingJobEvents training_job_id",
            "\"training_job_id\": a parameter must be KEY=VALUE, such as training_job_id=ID",
        ),
        ("ListTrainingJobEvents", "ListTrainingJobEvents: training_job_id must be given"),
        (
            "ListTrainingJobEvents training_job_id=1 limit=many",
            "ListTrainingJobEvents: limit \"many\": it must be a whole number",
        ),
        (
            "ShowTrainingQuotas --body {}",
            "ShowTrainingQuotas has no body; --body and --field must be left out",
        ),
        (
            "CreateTrainingExperiment --body none.json",
            "--body none.json: No such file or directory (os error 2); it must be a file, - for \
             stdin, or JSON",
        ),
        (
            "CreateTrainingExperiment --body [",
            "--body: EOF while parsing a list at line 1 column 1; it must be JSON",
        ),
        (
            "ShowTrainingJobDetails --all",
            "--all: ShowTrainingJobDetails does not return a list; the argument must be left out",
        ),
        (
            "DeleteTrainingExperiment experiment_id=a",
            "this would call DeleteTrainingExperiment experiment_id=a; without a terminal to ask \
             on, --yes must be given",
        ),
    ] {
        let output = fixture.run(&format!("api {arguments}")).await.code(2);
        output.stdout_eq("").stderr_eq(format!("error: {message}\n"));
    }
    assert_eq!(received(&fixture), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_of_the_service_has_its_facts_in_json() {
    let fixture = Fixture::start().await;
    let id = "cf63aba9-63b1-4219-b717-708a2665100b";
    let command = format!("api ShowTrainingJobDetails training_job_id={id} -o json");
    let error = error_of(&fixture.run(&command).await.code(4));
    assert_eq!(error["code"], "ModelArts.2775");
    assert_eq!(error["status"], 400);
    assert_eq!(error["exit_code"], 4);
    assert!(error["request_id"].is_string() && error["advice"].is_string());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_deletions_need_a_confirmation() {
    let fixture = Fixture::start().await;
    for operation in OPERATIONS.iter().filter(|operation| operation.effect == Effect::Read) {
        let command = fixture.command("").args(arguments(operation));
        let output = assert(command).await;
        let stderr = String::from_utf8(output.get_output().stderr.clone()).unwrap();
        assert!(!stderr.contains("--yes"), "{stderr}");
    }
    let id = fixture.seed(json!([{"name": "leaves"}])).await.remove(0);
    let delete = format!("api DeleteTrainingJob training_job_id={id}");
    fixture.run(&delete).await.code(2);
    fixture.run(&format!("{delete} --yes")).await.code(0).stdout_eq("");
    let rest = fixture.run("ls -o ndjson").await.code(0);
    assert!(lines_of(&rest, "jobs.line").is_empty());
}
