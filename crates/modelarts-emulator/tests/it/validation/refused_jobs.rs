//! Rejected create requests: the violated rule, and the error code.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::Site;

#[tokio::test]
async fn broken_bodies_get_their_codes() {
    let site = Site::start().await;
    for path in ["/training-jobs", "/training-job-searches", "/training-jobs/x/actions"] {
        for body in ["", "{", "nonsense", "{\"kind\": \"job\",}"] {
            let reply = site.send(Method::POST, path, body.into()).await;
            assert_eq!(
                reply.json(),
                json!({
                    "error_msg": "Invalid JSON request body.",
                    "error_code": "ModelArts.2787",
                    "error_solution": "Check the request body.",
                }),
                "{path} {body:?}"
            );
        }
    }
    let reply = site.post("/training-jobs", &json!([])).await;
    assert_eq!(reply.json()["error_msg"], "Invalid parameter(body must be an object).");
    let large = vec![b' '; 12 * 1024 * 1024 + 1];
    let reply = site.send(Method::POST, "/training-jobs", large).await;
    reply.refused(413, "ModelArts.4104");
}

/// Sets the member at a JSON pointer; `null` removes it.
fn set(job: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    let parent = job.pointer_mut(parent).unwrap().as_object_mut().unwrap();
    parent.insert(name.to_owned(), value);
}

/// Cases of one member that breaks a rule: its pointer with the value, then the code with the
/// message of the error; for `ModelArts.2788`, what its message has in parentheses. Lines with a
/// deeper indent continue a message.
const BROKEN: &str = r#"
/kind = null
    2788 kind is required
/metadata = null
    2788 metadata is required
/metadata = "x"
    2788 metadata must be an object
/metadata/name = null
    2788 metadata.name is required
/metadata/name = 7
    2788 metadata.name must be a string
/metadata/name = "a b"
    2788 metadata.name must be 1 to 64 letters, digits, hyphens or underscores
/metadata/name = ""
    2788 metadata.name must be 1 to 64 letters, digits, hyphens or underscores
/metadata/name = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
    2788 metadata.name must be 1 to 64 letters, digits, hyphens or underscores
/metadata/annotations = {"a": 1}
    2788 metadata.annotations.a must be a string
/algorithm = null
    2788 algorithm is required
/algorithm/id = "3f5d6706-7b67-408d-8ba0-ec08048c45ed"
    2755 algorithm not found.
/algorithm/code_dir = null
    2788 algorithm.code_dir is required with algorithm.boot_file
/algorithm/code_dir = "/bucket/none/"
    2792 The boot_file does not belong to the package_id directory.
/algorithm/boot_file = null
    2788 algorithm.boot_file is required
/algorithm/boot_file = "/bucket/other/train.py"
    2792 The boot_file does not belong to the package_id directory.
/algorithm/boot_file = "/bucket/rules/code/none.py"
    2758 code startup file path error.
/algorithm/boot_file = "/bucket/rules/code/data.txt"
    2758 code startup file path error.
/algorithm/engine = {"image_url": "org/image:1"}
    2806 Custom image jobs engine.image_url and command or engine.engine_name cannot be empty.
/algorithm/engine = {}
    2788 algorithm.engine must have engine_id, or engine_name and engine_version, or image_url
/algorithm/local_code_dir = "/tmp"
    2857 The local_code_dir parameter verification failed for reason(it must be a directory below
        /home)
/algorithm/working_dir = "tmp"
    2859 The working_dir parameter verification failed for reason(it must be an absolute path)
/algorithm/parameters = {}
    2788 algorithm.parameters must be an array
/algorithm/parameters = [{"name": "n", "value": 1}]
    2788 algorithm.parameters[0].value must be a string
/algorithm/parameters = [{"name": "n", "value": "\u0000"}]
    2788 algorithm.parameters[0].value must not contain NUL characters
/algorithm/inputs = [{"name": "../x", "remote": {"obs": {"obs_url": "/b/"}}}]
    2788 algorithm.inputs[0].name must be 1 to 64 letters, digits, hyphens or underscores
/algorithm/inputs = [{"name": "a"}]
    2788 algorithm.inputs[0].remote is required
/algorithm/inputs = [{"name": "a", "remote": {"obs": {"obs_url": "/bucket/x/"}}}]
    2791 Invalid obs path: /bucket/x/, reason: not a directory.
/algorithm/environments = []
    2788 algorithm.environments must be an object
/algorithm/environments = {"A=B": ""}
    2788 algorithm.environments must have names of letters, digits and underscores that do not
        start with a digit
/algorithm/environments = {"A": "$B"}
    2788 algorithm.environments.A must not refer to variables by $
/spec = null
    2788 spec is required
/spec/resource/flavor_id = null
    2788 spec.resource.flavor_id is required where there is no spec.resource.pool_id
/spec/resource/node_count = "1"
    2788 spec.resource.node_count must be an integer
/spec/resource/node_count = 0
    2788 spec.resource.node_count must be 1 or more
/spec/resource/node_count = 17
    2793 The number of flavor instances (17) exceeds the maximum (16).
/spec/auto_stop = {"time_unit": "HOURS", "duration": 0}
    2788 spec.auto_stop.duration must be between 1 and 72
"#;

#[tokio::test]
async fn broken_rules_of_a_creation_name_the_field() {
    let site = Site::start().await;
    site.put("bucket/other/train.py", "");
    site.put("bucket/rules/code/data.txt", "");
    let mut cases: Vec<(&str, Value, &str, String)> = Vec::new();
    for line in BROKEN.lines().filter(|line| !line.is_empty()) {
        if let Some((pointer, value)) = line.split_once(" = ") {
            let value = serde_json::from_str(value).unwrap();
            cases.push((pointer, value, "", String::new()));
            continue;
        }
        let (_, _, code, message) = cases.last_mut().unwrap();
        if code.is_empty() {
            let (number, text) = line.trim().split_once(' ').unwrap();
            (*code, *message) = (number, text.to_owned());
        } else {
            *message += &format!(" {}", line.trim());
        }
    }
    let many: serde_json::Map<String, Value> =
        (0..101).map(|n| (format!("V{n}"), "".into())).collect();
    for (pointer, value, message) in [
        (
            "/metadata/description",
            json!("a".repeat(257)),
            "metadata.description must have at most 256 characters",
        ),
        (
            "/algorithm/environments",
            json!(many),
            "algorithm.environments must have at most 100 pairs",
        ),
    ] {
        cases.push((pointer, value, "2788", message.to_owned()));
    }
    assert_eq!(cases.len(), 38);
    for (pointer, value, code, mut message) in cases {
        if code == "2788" {
            message = format!("Invalid parameter({message}).");
        }
        let mut job = site.script("rules", "");
        set(&mut job, pointer, value);
        let reply = site.post("/training-jobs", &job).await;
        assert_eq!(reply.error(), (400, format!("ModelArts.{code}")), "{pointer}: {}", reply.text);
        assert_eq!(reply.json()["error_msg"], message, "{pointer}");
        assert!(reply.json()["error_solution"].is_string(), "{pointer}");
    }
    assert_eq!(site.emulator.requests()["CreateTrainingJob"].executed, 0);

    let mut job = site.script("rules", "");
    job["algorithm"]["code_dir"] = "/bucket/none/".into();
    job["algorithm"]["boot_file"] = "/bucket/none/train.py".into();
    let reply = site.post("/training-jobs", &job).await;
    assert_eq!(reply.json()["error_msg"], "Invalid codeDir path: /bucket/none/.");
    reply.refused(400, "ModelArts.2802");
}

#[tokio::test]
async fn a_custom_image_needs_image_and_command() {
    let site = Site::start().await;
    let job = |algorithm: Value| {
        json!({
            "kind": "job",
            "metadata": {"name": "custom"},
            "algorithm": algorithm,
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
        })
    };
    let image = json!({"image_url": "org/image:1"});
    for (algorithm, code, message) in [
        (
            json!({"command": "ls"}),
            2806,
            "Custom image jobs engine.image_url and command or engine.engine_name cannot be empty.",
        ),
        (
            json!({"engine": image}),
            2806,
            "Custom image jobs engine.image_url and command or engine.engine_name cannot be empty.",
        ),
        (json!({}), 2788, "Invalid parameter(algorithm.boot_file is required)."),
    ] {
        let reply = site.post("/training-jobs", &job(algorithm)).await;
        assert_eq!(reply.error(), (400, format!("ModelArts.{code}")));
        assert_eq!(reply.json()["error_msg"], message);
    }
    let accepted = job(json!({"engine": image, "command": "true"}));
    assert_eq!(site.post("/training-jobs", &accepted).await.status, StatusCode::CREATED);
}

#[tokio::test]
async fn other_kinds_of_jobs_are_refused() {
    let site = Site::start().await;
    let mut job = site.script("ignored", "");
    job["kind"] = "visualization_job".into();
    let reply = site.post("/training-jobs", &job).await;
    reply.refused(501, "Emulator.0501");
    assert_eq!(
        reply.json()["error_msg"],
        "This emulator does not model the job kind \"visualization_job\", so it refuses instead \
         of guessing what the service would do."
    );
}
