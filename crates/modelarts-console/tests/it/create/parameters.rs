//! The 32 parameters of the form, and forms of existing jobs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Field, VALID, attribute, check, post, send, staged, valid_with};
use crate::support::Fixture;

/// Parameters: a line with the number in the form of the service, below it the fields of the form
/// with their values, and the fields of the body, as JSON pointers, with theirs.
const PARAMETERS: &str = r#"
1
    name "oak"
    /metadata/name "oak"
2
    description "two\r\nlines"
    /metadata/description "two\nlines"
3
    engine "pytorch_1.8"
    /algorithm/engine/engine_id "pytorch_1.8"
3
    engine "PyTorch:1.8"
    /algorithm/engine/engine_name "PyTorch"
    /algorithm/engine/engine_version "1.8"
4
    code_dir "obs://b/c"
    /algorithm/code_dir "obs://b/c"
5
    boot_file "./a/t.py"
    /algorithm/boot_file "obs://bucket/code/a/t.py"
5
    boot_file "obs://bucket/code/t.py"
    /algorithm/boot_file "obs://bucket/code/t.py"
6
    mode "custom"
    image "o/i:t"
    /algorithm/engine/image_url "o/i:t"
7
    mode "custom"
    custom_code_dir "obs://b/c/"
    /algorithm/code_dir "obs://b/c/"
    /algorithm/boot_file null
8
    mode "custom"
    run_user "1000"
    /algorithm/engine/run_user "1000"
9
    mode "custom"
    command "a; b"
    /algorithm/command "a; b"
10
    local_code_dir "/home/c"
    /algorithm/local_code_dir "/home/c"
11
    working_dir "/home/w"
    /algorithm/working_dir "/home/w"
12
    mode "stored"
    algorithm "id-1"
    /algorithm/id "id-1"
    /algorithm/code_dir null
    /algorithm/engine null
13
    inputs[3].name "rows"
    /algorithm/inputs/0/name "rows"
14
    inputs[0].dataset "i"
    inputs[0].version "v"
    /algorithm/inputs/0/remote/dataset/id "i"
    /algorithm/inputs/0/remote/dataset/version_id "v"
14
    inputs[0].dataset "i"
    /algorithm/inputs/0/remote/dataset/service_type "V3"
15
    inputs[0].path "obs://b/d/"
    /algorithm/inputs/0/remote/obs/obs_url "obs://b/d/"
16
    inputs[0].access "env"
    /algorithm/inputs/0/access_method "env"
17
    outputs[0].name "model"
    outputs[0].path "obs://b/o/"
    /algorithm/outputs/0/name "model"
18
    outputs[0].path "obs://b/o/"
    /algorithm/outputs/0/remote/obs/obs_url "obs://b/o/"
19
    outputs[0].access "env"
    /algorithm/outputs/0/access_method "env"
20
    outputs[0].predownload "true"
    /algorithm/outputs/0/prefetch_to_local true
21
    parameters[0].name "lr"
    parameters[0].value "1e-05"
    parameters[2].name "e"
    parameters[2].value " 3 "
    /algorithm/parameters/0/name "lr"
    /algorithm/parameters/0/value "1e-05"
    /algorithm/parameters/1/name "e"
    /algorithm/parameters/1/value " 3 "
22
    environments[0].name "SEED"
    environments[0].value "1"
    /algorithm/environments/SEED "1"
23
    restarts "2"
    hang_restart "true"
    /metadata/annotations/fault-tolerance~1job-retry-num "2"
    /metadata/annotations/fault-tolerance~1hang-retry "true"
24
    pool "p-1"
    /spec/resource/pool_id "p-1"
25
    resource_type "CPU"
    /spec/resource/flavor_id "modelarts.vm.cpu.2u"
26
    flavor "modelarts.vm.cpu.8u"
    /spec/resource/flavor_id "modelarts.vm.cpu.8u"
27
    nodes "4"
    /spec/resource/node_count 4
28
    priority "2"
    /spec/schedule_policy/priority 2
29
    nfs[0].source "10.0.0.5:/share"
    nfs[0].local "/mnt/data"
    nfs[0].read_only "true"
    /spec/volumes/0/nfs/nfs_server_path "10.0.0.5:/share"
    /spec/volumes/0/nfs/local_path "/mnt/data"
    /spec/volumes/0/nfs/read_only true
30
    nfs[0].source "10.0.0.5:/s"
    pfs[0].source "/fs/dir"
    pfs[0].local "/mnt/pfs"
    /spec/volumes/1/pfs/pfs_path "/fs/dir"
    /spec/volumes/1/pfs/local_path "/mnt/pfs"
31
    log_url "obs://b/logs/"
    /spec/log_export_path/obs_url "obs://b/logs/"
32
    auto_stop "2"
    /spec/auto_stop/time_unit "HOURS"
    /spec/auto_stop/duration 2
"#;

#[tokio::test]
async fn each_parameter_has_a_control_that_sets_its_field() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/create").await;
    let shown: Vec<u8> = page
        .split("data-parameter=\"")
        .skip(1)
        .map(|rest| rest.split_once('"').unwrap().0.parse().unwrap())
        .collect();
    let set: BTreeSet<u8> = shown.iter().copied().collect();
    assert_eq!(set, (1..=32).collect());
    // Settings that each job needs are shown; the rest follows on request.
    let folded = page.split("<details").skip(1).filter_map(|rest| rest.split("</details>").next());
    let folded: String = folded.collect();
    let is_shown = |number: &u8| !folded.contains(&format!("data-parameter=\"{number}\""));
    let always: Vec<u8> = (1..=32).filter(is_shown).collect();
    assert_eq!(always, [1, 3, 4, 5, 6, 7, 9, 12, 26, 27]);
    assert!(
        page.contains(
            "<p id=\"state\" role=\"status\">The form is checked while you fill it in.</p>"
        )
    );
    let mut numbers = BTreeSet::new();
    let lines: Vec<&str> = PARAMETERS.trim().lines().collect();
    for row in lines.chunk_by(|_, line| line.starts_with(' ')) {
        let number: u8 = row[0].parse().unwrap();
        numbers.insert(number);
        let values = row[1..].iter().map(|line| {
            let (name, value) = line.trim().split_once(' ').unwrap();
            (name, serde_json::from_str(value).unwrap())
        });
        let (pointers, fields): (Vec<_>, Vec<_>) =
            values.partition(|(name, _): &(&str, Value)| name.starts_with('/'));
        for (name, _) in &fields {
            // A later row is added by the script or by the server.
            let name = name.replace("[2]", "[0]").replace("[3]", "[0]");
            assert!(page.contains(&format!("name=\"{name}\"")), "{number}: {name}");
        }
        let fields: Vec<Field<'_>> =
            fields.iter().map(|(name, value)| (*name, value.as_str().unwrap())).collect();
        let (body, _) = check(&fixture, &valid_with(&fields)).await;
        for (pointer, expected) in pointers {
            let actual = body.pointer(pointer).unwrap_or(&Value::Null);
            assert_eq!(*actual, expected, "{number}: {pointer} of {body:#}");
        }
    }
    assert_eq!(numbers, (1..=32).collect());
}

#[tokio::test]
async fn the_choices_are_those_of_the_service() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/create").await;
    assert!(page.contains("<optgroup label=\"PyTorch\">"), "{page}");
    assert!(
        page.contains(
            "<option value=\"modelarts.vm.cpu.2u\">modelarts.vm.cpu.2u: 2 CPU cores, 8 GB of \
             memory, 50 GB of disk</option>"
        ),
        "{page}"
    );
    let (_, errors) = check(&fixture, &valid_with(&[("resource_type", "GPU")])).await;
    assert_eq!(errors, ["flavor: must be of the resource type GPU, and is of type CPU ()"]);
    // The rules of the flavor need no further request.
    let (_, errors) = check(&fixture, &valid_with(&[("nodes", "1000")])).await;
    assert_eq!(
        errors,
        ["nodes: must be 1, because the flavor is not for distributed jobs (ModelArts.2793)"]
    );
}

#[tokio::test]
async fn ids_of_pools_and_data_sets_that_jobs_use_are_suggested() {
    let sets = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(sets.path().join("set-<1>/version-1")).unwrap();
    let fixture = Fixture::with(|emulator| emulator.datasets(sets.path()), |console| console).await;
    let dataset = json!({ "id": "set-<1>", "version_id": "version-1" });
    let job = |pool: &str| {
        json!({
            "kind": "job",
            "metadata": { "name": "unused" },
            "algorithm": {
                "engine": { "image_url": "a/b:1" }, "command": "true",
                "inputs": [{ "name": "data_url", "remote": { "dataset": dataset } }],
            },
            "spec": { "resource": { "flavor_id": "modelarts.pool.visual.xlarge",
                                    "pool_id": pool, "node_count": 1 } },
        })
    };
    fixture
        .seed(json!([
            { "name": "older", "created": "2026-01-14T08:30:00Z", "job": job("pool-gpu") },
            { "name": "newer", "created": "2026-01-15T08:30:00Z", "job": job("pool-gpu") },
        ]))
        .await;
    let page = fixture.page("/create").await;
    for list in [
        "<datalist id=\"pools\"><option value=\"pool-gpu\">used by newer</option></datalist>",
        "<datalist id=\"datasets\"><option value=\"set-&#60;1&#62;\">used by newer</option></datalist>",
        "<datalist id=\"versions\"><option value=\"version-1\">of set-&#60;1&#62;, used by newer</option></datalist>",
    ] {
        assert!(page.contains(list), "{list} in {page}");
    }
    assert!(page.contains("name=\"inputs[0].dataset\""), "{page}");
    assert_eq!(page.matches("list=\"pools\"").count(), 1);
    // The empty row, and the row of the template.
    assert_eq!(page.matches("list=\"versions\"").count(), 2);
}

#[tokio::test]
async fn a_job_is_created_without_a_script() {
    let fixture = Fixture::start().await;
    fixture.emulator.put("bucket/code/train.py", "print('hello')").unwrap();
    let (body, errors) = check(&fixture, VALID).await;
    assert_eq!(errors, [""; 0]);
    let mut fields = VALID.to_vec();
    fields.push(("action", "create"));
    let response = post(&fixture, "/create", &fields).await;
    assert_eq!(response.status(), 303);
    let location = response.headers()["location"].to_str().unwrap();
    let id = location.strip_prefix("/jobs/").unwrap();
    fixture.emulator.wait_for(id, "Completed").await.unwrap();
    let job = fixture.client().training_jobs().get(id).await.unwrap();
    assert_eq!(job.name(), "leaves");
    let copy = job.copy_as("leaves").await.unwrap().body();
    let resource = "/spec/resource/flavor_id";
    assert_eq!(copy.pointer(resource), body.pointer(resource));
}

#[tokio::test]
async fn the_command_has_a_flag_for_each_control() {
    let fixture = Fixture::start().await;
    let fields = valid_with(&[
        ("parameters[0].name", "lr"),
        ("parameters[0].value", "1e-05"),
        ("inputs[0].name", "data_url"),
        ("inputs[0].path", "obs://bucket/my data/"),
        ("inputs[0].access", "env"),
        ("auto_stop", "2"),
        ("image", "not/of:this-mode"),
    ]);
    let checked = send(&fixture, "/create/check", &fields).await;
    let engine = "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64";
    assert_eq!(
        checked["command"].as_str().unwrap().replace(" \\\n ", ""),
        format!(
            "modelarts submit obs://bucket/code/train.py --name leaves \
             --engine {engine} --data 'data_url=obs://bucket/my data/' --pass-by-env data_url \
             -p lr=1e-05 --flavor modelarts.vm.cpu.2u --auto-stop 2h"
        )
    );
}

#[tokio::test]
async fn a_copy_has_the_settings_of_a_job_and_new_outputs() {
    let (fixture, _cache) = staged().await;
    fixture.emulator.put("bucket/code/train.py", "print('hello')").unwrap();
    let job = fixture.client().training_jobs().create("oak");
    let job = job
        .preset_image("PyTorch", "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/code/train.py")
        .output("train_url", "obs://bucket/out/")
        .parameter("lr", "1e-05")
        .flavor("modelarts.vm.cpu.2u")
        .notify("urn:smn:topic", [modelarts_ext::types::NotificationEvent::JobFailed]);
    let job = job.submit().await.unwrap();
    let page = fixture.page(&format!("/create?from={}", job.id())).await;
    let name = attribute(&page, "name=\"name\" type=\"text\" value=\"");
    assert!(name.starts_with("oak-") && name.len() == 8, "{name}");
    assert_eq!(attribute(&page, "name=\"parameters[0].value\" type=\"text\" value=\""), "1e-05");
    assert_eq!(attribute(&page, "name=\"outputs[0].name\" type=\"text\" value=\""), "train_url");
    assert_eq!(attribute(&page, "name=\"outputs[0].path\" type=\"text\" value=\""), "");
    assert!(page.contains("This form has the settings of the job oak."), "{page}");
    assert!(page.contains("urn:smn:topic"), "{page}");
    assert!(page.contains("The job breaks no rule."), "{page}");
    assert!(page.contains("obs://bucket/modelarts/out/new/train_url/"), "{page}");

    let missing = fixture.request("GET", "/create?from=00000000-0000-4000-8000-000000000000");
    assert_eq!(missing.send().await.unwrap().status(), 404);
}

#[tokio::test]
async fn other_settings_are_a_part_of_the_body() {
    let fixture = Fixture::start().await;
    let other = r#"{"metadata": {"name": "other", "workspace_id": "7"}, "spec": {"volumes": [
        {"obs": {"obs_path": "/b/c", "local_path": "/mnt/o"}}]}}"#;
    let fields =
        valid_with(&[("other", other), ("pfs[0].source", "/fs"), ("pfs[0].local", "/mnt/p")]);
    let (body, errors) = check(&fixture, &fields).await;
    assert_eq!(errors, [""; 0]);
    assert_eq!(body["metadata"], json!({"name": "leaves", "workspace_id": "7"}));
    assert_eq!(body["spec"]["volumes"].as_array().unwrap().len(), 2);
    let wrong = r#"{"spec": {"resource": {"nodes": 2}}}"#;
    let (_, errors) = check(&fixture, &valid_with(&[("other", wrong)])).await;
    assert_eq!(errors, ["other: there is no such field ()"]);
    let (_, errors) = check(&fixture, &valid_with(&[("other", "{\"spec\": ")])).await;
    assert!(errors.len() == 1 && errors[0].starts_with("other: "), "{errors:?}");
}

#[tokio::test]
async fn the_query_of_the_page_fills_the_form() {
    let fixture = Fixture::start().await;
    let page = fixture.page("/create?name=oak&mode=custom&image=o/i:t&inputs[0].name=rows").await;
    assert_eq!(attribute(&page, "name=\"name\" type=\"text\" value=\""), "oak");
    assert_eq!(attribute(&page, "name=\"inputs[0].name\" type=\"text\" value=\""), "rows");
    assert!(page.contains("value=\"custom\" checked"), "{page}");
}

#[tokio::test]
async fn an_algorithm_has_its_parameters_channels_and_flavors() {
    let fixture = Fixture::start().await;
    fixture.emulator.put("bucket/code/train.py", "1\n").unwrap();
    let body = json!({
        "metadata": {"name": "resnet"},
        "job_config": {
            "code_dir": "/bucket/code/", "boot_file": "/bucket/code/train.py",
            "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            "parameters": [{"name": "epochs", "value": "20", "constraint": {"type": "Integer", "editable": true,
                "required": false, "sensitive": false}}],
            "parameters_customization": true,
            "inputs": [{"name": "data_url", "description": ""}],
            "outputs": [{"name": "train_url", "description": ""}],
        },
        "resource_requirements": [{"key": "flavor_type", "values": ["CPU"], "operator": "in"}],
    });
    let client = fixture.client();
    let api = client.api();
    let request = serde_json::from_value::<modelarts_ext::types::AlgorithmRequest>(body).unwrap();
    let created = api.create_algorithm().project_id(client.project_id()).body(request).send().await;
    let id = created.unwrap().into_inner().metadata.unwrap().id.unwrap();
    let response = fixture.request("GET", &format!("/create/algorithms/{id}"));
    let found: Value = response.send().await.unwrap().json().await.unwrap();
    assert_eq!(found["parameters"], json!([["epochs", "20"]]));
    assert_eq!(
        (&found["inputs"], &found["outputs"]),
        (&json!(["data_url"]), &json!(["train_url"]))
    );
    let flavors = found["flavors"].to_string();
    assert!(
        flavors.contains("modelarts.vm.cpu.8u") && !flavors.contains("modelarts.p3"),
        "{flavors}"
    );
    let absent = fixture.request("GET", "/create/algorithms/absent").send().await.unwrap();
    assert_eq!(absent.status(), 404);
}
