//! `modelarts algorithms`.

use crate::support::{Fixture, json_of};

/// An algorithm with a hyper-parameter that is a secret.
const ALGORITHM: &str = r#"{
    "metadata": {"name": "resnet", "description": "For images"},
    "job_config": {
        "code_dir": "/my-bucket/code/",
        "boot_file": "/my-bucket/code/train.py",
        "engine": {"engine_id": "pytorch-cp36-1.4.0-v2"},
        "inputs": [{"name": "data_url"}],
        "outputs": [{"name": "train_url"}],
        "parameters": [
            {"name": "epochs", "value": "3", "constraint": {"type": "Integer", "required": true}},
            {"name": "key", "value": "hunter2", "constraint": {"type": "String", "sensitive": true}}
        ]
    }
}"#;

async fn with_algorithm() -> (Fixture, String) {
    let fixture = Fixture::start().await;
    fixture.emulator.put("obs://my-bucket/code/train.py", "").unwrap();
    fixture.write("algorithm.json", ALGORITHM);
    let created =
        fixture.run("api CreateAlgorithm --body algorithm.json --jq .metadata.id").await.code(0);
    let id = String::from_utf8(created.get_output().stdout.clone()).unwrap();
    (fixture, id.trim().to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn algorithms_are_listed_and_shown() {
    let (fixture, id) = with_algorithm().await;
    let output = fixture.run("algorithms --columns name,id,engine").await.code(0);
    output.stdout_eq(format!("NAME    ID{:34}  ENGINE\nresnet  {id}  pytorch-cp36-1.4.0-v2\n", ""));
    let output = fixture.run("algorithms --name bert").await.code(0);
    output.stdout_eq("").stderr_eq("no algorithms\n");

    let by_id = fixture.run(&format!("algorithms show {id} -o json")).await;
    let by_id = json_of(&by_id.code(0), "algorithm");
    assert_eq!(by_id["name"], "resnet");
    assert_eq!(by_id["inputs"][0], "data_url");
    assert_eq!(by_id["parameters"][0]["value"], "3");
    assert_eq!(by_id["parameters"][1]["value"], serde_json::Value::Null);
    let by_name = fixture.run("algorithms show resnet -o json").await;
    assert_eq!(json_of(&by_name.code(0), "algorithm"), by_id);
    let text = fixture.run("algorithms show resnet").await.code(0);
    let text = String::from_utf8(text.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with(&format!("resnet\n  Id           {id}\n")), "{text}");
    assert!(text.contains("    epochs = 3  Integer, required\n"), "{text}");
    assert!(text.contains("    key = -  String"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_algorithm_that_does_not_exist_is_refused_with_similar_ones() {
    let (fixture, _) = with_algorithm().await;
    let output = fixture.run("algorithms show res").await.code(4);
    output.stderr_eq("error: no algorithm is called \"res\"; did you mean resnet?\n");
    let output = fixture.run("algorithms show bert").await.code(4);
    output.stderr_eq("error: no algorithm is called \"bert\"; `modelarts algorithms` lists all\n");
    let id = "6c1ad8a5-0d5b-4b0e-9e3f-0f8a3c8a7c11";
    let output = fixture.run(&format!("algorithms show {id}")).await.code(4);
    output.stderr_eq(format!(
        "error: no algorithm has the id {id}; `modelarts algorithms` lists all\n"
    ));
}
