//! Tests of jobs that are described by YAML and JSON documents.

use modelarts_ext::ErrorKind;
use serde_json::json;

use crate::support::{
    create_job::{client, everything},
    errors::refused,
};

#[test]
fn a_job_is_read_from_yaml() {
    let text = "
metadata:
  name: bert
  annotations: {fault-tolerance/job-retry-num: 3}
algorithm:
  code_dir: obs://bucket/code/
  boot_file: obs://bucket/code/train.py
  engine: {engine_name: PyTorch, engine_version: pytorch_1.8.0}
  parameters:
    - {name: epochs, value: 3}
    - {name: shuffle, value: true}
    - {name: rate, value: 0.5}
  environments: {PORT: 80}
  policies: {auto_search: null}
spec:
  resource: {flavor_id: modelarts.vm.cpu.8u}
";
    let job = client().training_jobs().from_yaml(text).unwrap();
    assert_eq!(job.check().violations, []);
    assert_eq!(
        job.body(),
        json!({
            "kind": "job",
            "metadata": {"name": "bert", "annotations": {"fault-tolerance/job-retry-num": "3"}},
            "algorithm": {
                "code_dir": "obs://bucket/code/", "boot_file": "obs://bucket/code/train.py",
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
                "parameters": [
                    {"name": "epochs", "value": "3"}, {"name": "shuffle", "value": "true"},
                    {"name": "rate", "value": "0.5"},
                ],
                "environments": {"PORT": "80"},
                "policies": {},
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        })
    );
}

#[test]
fn fields_that_no_request_has_are_refused_with_the_nearest_name() {
    let text = r#"{
        "kind": "job", "metdata": {}, "status": {"phase": "Running"},
        "metadata": {"id": "1", "name": "a", "xyz": 1},
        "algorithm": {
            "bootfile": "secret", "codeDir": "x",
            "inputs": [{"name": "a", "remote": {"obs": {"obsurl": "x"}}}],
            "environments": ["secret"], "engine": "PyTorch"
        },
        "spec": {"volumes": {"nfs": {}}, "resource": {"node_count": "two"},
                 "schedule_policy": {"preemptible": "no"}}
    }"#;
    let error = client().training_jobs().from_json(text).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let mut lines: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
    lines.sort();
    assert_eq!(
        lines,
        [
            "algorithm.bootfile: there is no such field; did you mean boot_file?",
            "algorithm.codeDir: there is no such field; did you mean code_dir?",
            "algorithm.engine = \"PyTorch\": must be an object; change its type",
            "algorithm.environments (its value is not shown): must be an object; change its type",
            "algorithm.inputs[0].remote.obs.obsurl: there is no such field; did you mean obs_url?",
            "metadata.xyz: there is no such field; leave it out",
            "metdata: there is no such field; did you mean metadata?",
            "spec.resource.node_count = \"two\": must be a whole number; change its type",
            "spec.schedule_policy.preemptible = \"no\": must be true or false; change its type",
            "spec.volumes = {\"nfs\":{}}: must be a list; change its type",
        ]
    );
    assert!(error.to_string().starts_with("the document breaks 10 rules, so nothing was sent:\n"));
    assert!(!error.to_string().contains("secret"));

    let message = |text: &str| refused(client().training_jobs().from_json(text)).to_string();
    assert_eq!(
        message("[]"),
        "the document is no object; a job is one, with metadata, algorithm and spec"
    );
    assert!(message("{").starts_with("not JSON: "), "{}", message("{"));
    assert_eq!(
        message(
            r#"{"metadata": {"name": "a",
                                 "name": "b"}}"#
        ),
        "not JSON: the key \"name\" comes twice at line 2 column 39"
    );
}

#[test]
fn fields_that_only_answers_have_are_not_sent_and_named_in_warnings() {
    let mut details = everything().body();
    details["status"] = json!({"phase": "Failed", "tasks": ["worker-0"]});
    details["metadata"]["id"] = "1".into();
    details["spec"]["resource"]["policy"] = "regular".into();
    let job = client().training_jobs().from_value(&details).unwrap();
    assert_eq!(job.body(), everything().body());
    let lines: Vec<_> = job.check().warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines[..3],
        [
            "metadata.id: only the service sets this field, so it is not sent",
            "spec.resource.policy: only the service sets this field, so it is not sent",
            "status: only the service sets this field, so it is not sent",
        ]
    );
}

#[test]
fn text_is_taken_as_it_is_written() {
    let text = "
metadata: {name: 007, description: null}
algorithm:
  environments: {A: 010, B: yes, C: 1e3, D: 0x10, E: 1.50, F: null, 7: ~, G: \"null\", H: $HOME}
  parameters:
    - {name: rate, value: 1e-05, constraint: {required: yes, valid_range: [0.10, 1.0]}}
spec: {resource: {flavor_id: f, node_count: 2}}
";
    let job = client().training_jobs().from_yaml(text).unwrap();
    assert_eq!(
        job.body(),
        json!({
            "kind": "job",
            "metadata": {"name": "007"},
            "algorithm": {
                "environments": {
                    "A": "010", "B": "yes", "C": "1e3", "D": "0x10", "E": "1.50", "G": "null",
                    "H": "$HOME",
                },
                "parameters": [{"name": "rate", "value": "1e-05",
                    "constraint": {"required": true, "valid_range": ["0.10", "1.0"]}}],
            },
            "spec": {"resource": {"flavor_id": "f", "node_count": 2}},
        })
    );
}

#[test]
fn yaml_may_refer_to_itself() {
    let text = "
metadata: {name: a}
algorithm:
  inputs:
    - &data {name: data_url, access_method: env, remote: {obs: {obs_url: /bucket/a}}}
    - {<<: *data, name: more}
";
    let job = client().training_jobs().from_yaml(text).unwrap();
    assert_eq!(
        job.body()["algorithm"]["inputs"][1],
        json!({"name": "more", "access_method": "env",
            "remote": {"obs": {"obs_url": "/bucket/a"}}})
    );
}

#[test]
fn yaml_that_is_none_is_refused_with_its_line_and_without_its_text() {
    let refusal = |text: &str| {
        let error = refused(client().training_jobs().from_yaml(text));
        assert_eq!(error.kind(), ErrorKind::Invalid);
        error.to_string()
    };
    let deep = "a: ".to_owned() + &"[".repeat(100_000);
    let bomb: String = (b'b'..=b'z').fold("a: &a [x, x, x, x]\n".into(), |text, name| {
        let (name, before) = (char::from(name), char::from(name - 1));
        text + &format!("{name}: &{name} [*{before}, *{before}, *{before}, *{before}]\n")
    });
    for (text, wanted) in [
        (
            "metadata: {name: a}\nmetadata: {name: b}",
            "not YAML: duplicate mapping key `metadata` is not allowed here at line 2, column 1",
        ),
        (
            "algorithm:\n\tenvironments: {PASSWORD: hunter2}",
            "not YAML: tabs disallowed within this context (block indentation) at line 2, column 2",
        ),
        (
            "metadata: {name: a}\n---\nmetadata: {name: b}",
            "not YAML: only single YAML document expected but multiple found at line 3, column 1",
        ),
        ("metadata: *gone", "not YAML: reference to unknown value at line 1, column 11"),
        ("", "the document is empty; a job is an object with metadata, algorithm and spec"),
        (
            "# a comment",
            "the document is empty; a job is an object with metadata, algorithm and spec",
        ),
        ("job", "the document is no object; a job is one, with metadata, algorithm and spec"),
        (
            "metadata: {name: a, <<: 5}",
            "not YAML: YAML merge value must be mapping or sequence of mappings at line 1, column \
             25",
        ),
        (deep.as_str(), "not YAML: "),
        (bomb.as_str(), "not YAML: "),
    ] {
        let message = refusal(text);
        assert!(message.starts_with(wanted), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
        assert!(message.len() < 200, "{message}");
    }
}

#[test]
fn a_field_is_set_by_its_path_with_the_type_of_the_field() {
    let job = client().training_jobs().create("bert");
    let job = job.parameter("lr", "0.1").env("A.B", "1");
    let fields = [
        ("metadata.description", "007"),
        ("spec.resource.node_count", "4"),
        ("algorithm.parameters[0].value", "1e-05"),
        ("algorithm.parameters[1].name", "n"),
        ("algorithm.parameters[1].value", "true"),
        ("algorithm.environments.A.B", "2"),
        ("algorithm.environments[\"C.D\"]", "3"),
        ("algorithm.engine.install_sys_packages", "true"),
        ("spec.schedule_policy", r#"{"priority": 2}"#),
        ("algorithm.inputs", r#"[{"name": "d", "remote": {"obs": {"obs_url": "obs://b/d/"}}}]"#),
        ("spec.notification.events", r#"["JobFailed"]"#),
    ];
    let job =
        fields.into_iter().fold(job, |job, (path, value)| job.set_field(path, value).unwrap());
    assert_eq!(
        job.body(),
        json!({
            "kind": "job",
            "metadata": {"name": "bert", "description": "007"},
            "algorithm": {
                "parameters": [{"name": "lr", "value": "1e-05"}, {"name": "n", "value": "true"}],
                "environments": {"A.B": "2", "C.D": "3"},
                "engine": {"install_sys_packages": true},
                "inputs": [{"name": "d", "remote": {"obs": {"obs_url": "obs://b/d/"}}}],
            },
            "spec": {
                "resource": {"node_count": 4},
                "schedule_policy": {"priority": 2},
                "notification": {"events": ["JobFailed"]},
            },
        })
    );
    let without = job.set_field("spec.schedule_policy", "null").unwrap();
    assert!(without.body()["spec"].get("schedule_policy").is_none());
}

#[test]
fn a_wrong_path_or_value_of_a_field_is_refused_with_the_path() {
    for (path, value, expected) in [
        (
            "spec.resource.nod_count",
            "4",
            "spec.resource.nod_count: there is no such field; did you mean node_count?",
        ),
        (
            "spec.resource.node_count.x",
            "4",
            "spec.resource.node_count.x: there is no such field; spec.resource.node_count is a \
             whole number",
        ),
        (
            "spec.resource.node_count",
            "four",
            "spec.resource.node_count = \"four\": must be a whole number; change its type",
        ),
        (
            "algorithm.parameters.lr",
            "4",
            "algorithm.parameters.lr: the field is a list; the name must be followed by an index \
             from [0] to [0]",
        ),
        (
            "algorithm.parameters[2].name",
            "lr",
            "algorithm.parameters[2].name: the field is a list; the name must be followed by an \
             index from [0] to [0]",
        ),
        (
            "algorithm.inputs[0].remote",
            r#"{"obz": {}}"#,
            "algorithm.inputs[0].remote.obz: there is no such field; did you mean obs?",
        ),
    ] {
        let job = client().training_jobs().create("bert");
        let error = job.set_field(path, value).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::Invalid, expected));
    }
    let job = client().training_jobs().create("bert");
    let error = job.set_field("", "x").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
}
