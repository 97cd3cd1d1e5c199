//! `modelarts init`, the job files that it writes, and the schema of job files.

use std::fs;

use serde_json::{Value, json};
use snapbox::cmd::OutputAssert;

use super::fixtures::{FLAVOR, Site, stderr, stdout};
use crate::support::{assert, isolated};

const ENGINE: &str = "PyTorch:pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64";
const WROTE: &str = "\
wrote job.yaml; the next commands:
  modelarts check -f job.yaml
  modelarts run --local -f job.yaml
  modelarts submit -f job.yaml
";

/// Runs the program without a service.
async fn offline(site: &Site, arguments: &str) -> OutputAssert {
    assert(isolated(site.fixture.path()).args(arguments.split(' '))).await
}

/// Returns the mistakes of a document by the schema of job files.
fn mistakes(document: &Value) -> Vec<String> {
    let schema: Value = serde_json::from_str(modelarts_cli::JOB_SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    validator.iter_errors(document).map(|error| error.instance_path().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_is_checked_runs_here_and_is_submitted_as_it_is() {
    let site = Site::start().await;
    site.script("import sys\nprint(*sys.argv[1:])\n");
    let command = format!("init code/train.py --flavor {FLAVOR} --engine {ENGINE}");
    offline(&site, &command).await.code(0).stdout_eq("").stderr_eq(WROTE);
    let text = fs::read_to_string(site.fixture.path().join("job.yaml")).unwrap();
    let schema = site.fixture.path().join("state/job-file.json");
    let first = format!("# yaml-language-server: $schema={}", schema.display());
    assert_eq!(text.lines().next(), Some(first.as_str()));
    assert_eq!(fs::read_to_string(schema).unwrap(), modelarts_cli::JOB_SCHEMA);
    let (name, version) = ENGINE.split_once(':').unwrap();
    let document: Value = yaml(&text);
    let expected = json!({
        "algorithm": {
            "code_dir": "code",
            "boot_file": "train.py",
            "engine": {"engine_name": name, "engine_version": version},
        },
        "spec": {"resource": {"flavor_id": FLAVOR, "node_count": 1}},
    });
    assert_eq!(document, expected);
    assert_eq!(mistakes(&document), [""; 0]);

    let output = offline(&site, "check -f job.yaml -o json").await.code(0);
    let checked: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!((&checked["ok"], &checked["code"]["files"]), (&json!(true), &json!(1)));
    assert!(checked["job"].as_str().unwrap().starts_with("train-"), "{checked}");
    offline(&site, "run --local -f job.yaml").await.code(0);
    let output = assert(site.command("submit -f job.yaml -p epochs=3")).await.code(0);
    assert!(stdout(&output).contains("│ --epochs=3\n"), "{}", stdout(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_examples_of_the_file_are_valid_when_they_are_used() {
    let site = Site::start().await;
    site.script("");
    site.fixture.write("data/rows.csv", "1\n");
    let command = format!("init code/train.py --flavor {FLAVOR} --engine {ENGINE}");
    offline(&site, &command).await.code(0);
    let path = site.fixture.path().join("job.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let sections = ["parameters:", "  - {", "inputs:", "outputs:"];
    let used: Vec<String> = text
        .lines()
        .map(|line| match line.strip_prefix("  # ") {
            Some(rest) if sections.iter().any(|section| rest.starts_with(section)) => {
                format!("  {rest}")
            }
            _ => line.to_owned(),
        })
        .collect();
    let used = used.join("\n");
    fs::write(&path, &used).unwrap();
    assert_eq!(mistakes(&yaml(&used)), [""; 0]);
    let output = assert(site.command("submit -f job.yaml --dry-run -o json")).await.code(0);
    let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let algorithm = &body["algorithm"];
    assert_eq!(algorithm["parameters"], json!([{"name": "epochs", "value": "20"}]));
    let address = |list: &str| {
        let address = algorithm[list][0]["remote"]["obs"]["obs_url"].as_str().unwrap();
        address.strip_prefix("obs://team/modelarts/").unwrap().split('/').next().unwrap().to_owned()
    };
    assert_eq!([address("inputs"), address("outputs")], ["data", "out"]);
    // Flags take precedence over the file.
    let arguments = "submit -f job.yaml --dry-run -o json --data obs://team/other/ --out \
                     train_url=obs://team/new/";
    let output = assert(site.command(arguments)).await.code(0);
    let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
    for (list, address) in [("inputs", "obs://team/other/"), ("outputs", "obs://team/new/")] {
        let channels = &body["algorithm"][list];
        assert_eq!(channels.as_array().unwrap().len(), 1, "{channels}");
        assert_eq!(channels[0]["remote"]["obs"]["obs_url"], address);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_of_a_file_are_those_beside_it() {
    let site = Site::start().await;
    site.fixture.write("jobs/code/train.py", "");
    let job = "algorithm: {code_dir: code, boot_file: train.py, inputs: [{name: d, remote: {obs: \
               {obs_url: rows}}}]}\nspec: {resource: {flavor_id: f}}\n";
    site.fixture.write("jobs/a.yaml", job);
    let output = offline(&site, "check -f jobs/a.yaml").await.code(2);
    assert_eq!(
        stderr(&output),
        "error: algorithm.inputs[0].remote.obs.obs_url jobs/rows does not exist; check the path\n"
    );
    site.fixture.write("jobs/rows/a.csv", "1\n");
    let output = offline(&site, "check -f jobs/a.yaml").await.code(0);
    assert!(stdout(&output).contains("code: 1 file, 0 B\n"), "{}", stdout(&output));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_existing_file_is_replaced_only_with_force() {
    let site = Site::start().await;
    site.fixture.write("train.py", "");
    site.fixture.write("job.yaml", "mine\n");
    let command = format!("init --flavor {FLAVOR} --engine some-id");
    offline(&site, &command)
        .await
        .code(2)
        .stderr_eq("error: job.yaml exists; --force replaces it\n");
    let path = site.fixture.path().join("job.yaml");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    offline(&site, &format!("{command} --force")).await.code(0).stderr_eq(WROTE);
    assert!(fs::read_to_string(&path).unwrap().contains("    engine_id: \"some-id\"\n"));
    let output = offline(&site, "init -f jobs/a.yaml").await.code(2);
    assert_eq!(
        stderr(&output),
        "error: --file jobs/a.yaml: it must be a name that ends in .yaml, of letters, \
         digits, _, - and .\n"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_values_are_those_of_the_service_or_are_named() {
    let site = Site::start().await;
    let output = assert(site.command("init")).await.code(2);
    assert_eq!(stderr(&output), "error: the script train.py does not exist; check the path\n");
    site.fixture.write("model.py", "");
    let output = assert(site.command("init")).await.code(2);
    let text = stderr(&output);
    assert!(text.starts_with("error: --flavor is missing, ") && text.contains(FLAVOR), "{text}");
    assert(site.command(&format!("init --flavor {FLAVOR}"))).await.code(0).stderr_eq(WROTE);
    let text = fs::read_to_string(site.fixture.path().join("job.yaml")).unwrap();
    let (name, version) = ENGINE.split_once(':').unwrap();
    let engine = format!("    engine_name: \"{name}\"\n    engine_version: \"{version}\"\n");
    assert!(text.contains(&engine) && text.contains("  boot_file: \"model.py\"\n"), "{text}");
    let output = offline(&site, "init --force").await.code(2);
    let text = stderr(&output);
    let expected = "error: --flavor and --engine must be given, because the service cannot list ";
    assert!(text.starts_with(expected), "{text}");
}

/// The schema and `check` refuse the same files; `check` also states the field and its line.
#[tokio::test(flavor = "multi_thread")]
async fn the_schema_and_the_check_find_the_same_mistakes() {
    let site = Site::start().await;
    let file = "\
algorithm:
  command: 'true'
  engine: {image_url: o/i:t}
  environments: {SEED: 1, DEBUG: true}
  parameters:
    - {name: lr, value: 0.1}
    - {name: mode, value: fast, constraint: {type: String}}
spec:
  resource: {flavor_id: f, node_count: 1}
  auto_stop: {time_unit: HOURS, duration: 5}
";
    for (right, wrong, line, field) in [
        ("command", "comand", 2, "algorithm.comand"),
        ("node_count: 1", "node_count: many", 9, "spec.resource.node_count"),
        ("node_count: 1", "node_count: 0", 9, "spec.resource.node_count"),
        ("duration: 5", "duration: 100", 10, "spec.auto_stop.duration"),
        ("type: String", "type: Text", 7, "algorithm.parameters[1].constraint.type"),
        ("{flavor_id: f,", "{flavour_id: f,", 9, "spec.resource.flavour_id"),
        ("environments: {SEED: 1, DEBUG: true}", "environments: [1]", 4, "algorithm.environments"),
    ] {
        site.fixture.write("job.yaml", file);
        let document = yaml(file);
        assert_eq!(mistakes(&document), [""; 0]);
        let output = offline(&site, "check -f job.yaml").await.code(0);
        output.stderr_eq("");
        let text = file.replace(right, wrong);
        assert_ne!(text, file, "{right}");
        assert_ne!(mistakes(&yaml(&text)), [""; 0], "{wrong}");
        site.fixture.write("job.yaml", &text);
        let output = offline(&site, "check -f job.yaml -o json").await.code(3);
        let checked: Value = serde_json::from_str(&stdout(&output)).unwrap();
        let first = &checked["violations"][0];
        let found = (first["field"].as_str().unwrap(), first["line"].as_u64());
        assert_eq!(found, (field, Some(line)), "{wrong}");
    }
}

#[test]
fn examples_of_the_service_have_the_schema() {
    let document: Value = serde_json::from_str(modelarts_ext::api::DESCRIPTION).unwrap();
    let operation = &document["paths"]["/v2/{project_id}/training-jobs"]["post"];
    let examples = &operation["requestBody"]["content"]["application/json"]["examples"];
    for (name, example) in examples.as_object().unwrap() {
        assert_eq!(mistakes(&example["value"]), [""; 0], "{name}");
    }
    // Documented values of open enumerations are completed; `check` warns about others.
    let job = json!({"algorithm": {"inputs": [{"name": "d", "access_method": "x", "remote": {}}]}});
    assert_eq!(mistakes(&job), ["/algorithm/inputs/0/access_method"]);
}

/// Returns a document in YAML.
fn yaml(text: &str) -> Value {
    yaml_serde::from_str(text).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_schema_is_printed() {
    let site = Site::start().await;
    let output = offline(&site, "init --schema").await.code(0);
    let printed: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let schema: Value = serde_json::from_str(modelarts_cli::JOB_SCHEMA).unwrap();
    assert_eq!(printed, schema);
    assert!(!site.fixture.path().join("job.yaml").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn flags_take_precedence_over_the_places_of_a_file() {
    let site = Site::start().await;
    for file in ["train.py", "other/train.py", "other/second.py", "data/a.csv"] {
        site.fixture.write(file, "x = 1\n");
    }
    let job = format!(
        "algorithm:\n  code_dir: .\n  boot_file: ./train.py\n  inputs: [{{name: data_url, remote: \
         {{obs: {{obs_url: ./data}}}}}}]\n  outputs: [{{name: train_url}}]\nspec: {{resource: \
         {{flavor_id: {FLAVOR}, node_count: 1}}}}\n"
    );
    site.fixture.write("job.yaml", &job);
    let plan = async |flags: &str| {
        let line = format!("submit -f job.yaml {flags} --dry-run -o json");
        let output = assert(site.command(&line)).await.code(0);
        let body: Value = serde_json::from_str(&stdout(&output)).unwrap();
        body["algorithm"].clone()
    };
    let address = "remote.obs.obs_url";
    let flags = format!(
        "--set algorithm.inputs[0].{address}=obs://team/mine/ --set \
         algorithm.outputs[0].{address}=obs://team/out/ --set algorithm.code_dir=obs://team/code/"
    );
    let set = plan(&flags).await;
    assert_eq!(set["code_dir"], "obs://team/code/");
    assert_eq!(set["boot_file"], "obs://team/code/train.py");
    assert_eq!(set["inputs"][0]["remote"]["obs"]["obs_url"], "obs://team/mine/");
    assert_eq!(set["outputs"][0]["remote"]["obs"]["obs_url"], "obs://team/out/");
    for (flags, end) in [
        ("--code-dir other", "/other/train.py"),
        ("--code-dir other --set algorithm.boot_file=second.py", "/other/second.py"),
        ("", "/train.py"),
    ] {
        let boot_file = plan(flags).await["boot_file"].as_str().unwrap().to_owned();
        assert!(boot_file.ends_with(end), "{flags}: {boot_file}");
    }
}
