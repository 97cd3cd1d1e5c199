//! `modelarts download`.

use serde_json::json;

use crate::support::{Fixture, json_of};

async fn with_job() -> Fixture {
    let fixture = Fixture::start().await;
    let output = |name: &str| json!({"name": name, "remote": {"obs": {"obs_url": format!("/bucket/out/{name}/")}}});
    fixture
        .seed(json!([{"name": "leaves", "job": {
            "kind": "job", "metadata": {},
            "algorithm": {
                "engine": {"image_url": "org/image:1"}, "command": "true",
                "outputs": [output("train_url"), output("logs")],
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        }}]))
        .await;
    fixture.emulator.put("obs://bucket/out/train_url/model.bin", "weights").unwrap();
    fixture.emulator.put("obs://bucket/out/logs/a.txt", "a").unwrap();
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_are_received_by_their_names() {
    let fixture = with_job().await;
    let output = fixture.run("download leaves").await.code(0);
    output.stderr_eq("").stdout_eq(
        "OUTPUT     FILES  SIZE  DIRECTORY\n\
         train_url  1      7 B   modelarts-output/leaves/train_url\n\
         logs       1      1 B   modelarts-output/leaves/logs\n",
    );
    let ignored = fixture.path().join("modelarts-output/.gitignore");
    assert_eq!(std::fs::read_to_string(ignored).unwrap(), "*\n");
    let output = fixture.run("download leaves train_url ./model -o json").await.code(0);
    let received = json_of(&output, "outputs");
    let row = json!({
        "name": "train_url", "source": "obs://bucket/out/train_url",
        "directory": "./model/train_url", "files": 1, "bytes": 7, "unchanged": 0,
    });
    assert_eq!(received["outputs"], json!([row]));
    // Files that the directory has are not received again.
    let output = fixture.run("download leaves ./model --columns output,unchanged").await.code(0);
    output.stdout_eq("OUTPUT     UNCHANGED\ntrain_url  1\nlogs       0\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_output_is_refused_with_the_names() {
    let fixture = with_job().await;
    fixture.run("download leaves train_urk").await.code(2).stderr_eq(
        "error: OUTPUT train_urk: it must be the name of an output of leaves; did you mean \
         train_url?; a directory for all outputs has a slash: ./train_urk\n",
    );
    assert!(!fixture.path().join("modelarts-output").exists());
}
