//! Tests of the validation rules and of the table of fields.
//!
//! Each rule is tested with a request body that violates only this rule, and with a body that
//! satisfies the rule at its limit. The exceptions are the rules in `BEHIND_FIELDS`, which are
//! tested separately. Each row of the table is tested with a valid value and, if one exists, with
//! an invalid value.

mod cases;

use std::{collections::BTreeSet, fs};

use modelarts_api::Rule;
use serde_json::{Value, json};

use crate::{
    api::error::ApiError,
    catalog::{
        cloud::Cloud,
        pools::{Pool, PoolKind},
    },
    files::confined_dir::ConfinedDir,
    validation::{
        body_shape,
        creation::{Creation, Offer},
        fields::{
            CREATION,
            field::{Field, Format, Kind},
            tests::{all_fields, alone},
        },
        rule::Basis,
        rules,
        tests::cases::{Case, cases, image, sound, with},
    },
};

struct Fixture {
    _temp: tempfile::TempDir,
    offer: Offer,
    stored: Value,
}

fn fixture(cloud: Cloud) -> Fixture {
    let temp = tempfile::tempdir().unwrap();
    let obs = temp.path().join("obs");
    let code = obs.join("bucket/code");
    fs::create_dir_all(&code).unwrap();
    fs::write(code.join("train.py"), "").unwrap();
    fs::write(code.join("run.sh"), "").unwrap();
    for (name, files) in [("full", 999), ("too-full", 1000)] {
        let directory = obs.join("bucket").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("train.py"), "").unwrap();
        for file in 0..files {
            fs::write(directory.join(file.to_string()), "").unwrap();
        }
    }
    for (name, levels) in [("deep", 32), ("too-deep", 33)] {
        let directory = obs.join("bucket").join(name);
        fs::create_dir_all(directory.join("d/".repeat(levels))).unwrap();
        fs::write(directory.join("train.py"), "").unwrap();
    }
    for (name, bytes) in [("big", 5_u64 << 30), ("too-big", (5 << 30) + 1)] {
        let directory = obs.join("bucket").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("train.py"), "").unwrap();
        // A sparse file has this length but occupies no disk space.
        let file = fs::File::create(directory.join("model")).unwrap();
        file.set_len(bytes).unwrap();
    }
    for input in ["a", "a-b", "b", "data"] {
        fs::create_dir_all(obs.join("bucket").join(input)).unwrap();
    }
    // Directories do not count as files of the code directory.
    fs::create_dir_all(obs.join("bucket/full/empty")).unwrap();
    std::os::unix::fs::symlink("/etc", obs.join("bucket/door")).unwrap();
    let datasets = temp.path().join("datasets");
    fs::create_dir_all(datasets.join("flowers/v1")).unwrap();
    Fixture {
        offer: Offer {
            cloud,
            pools: vec![
                Pool::new("cpu", PoolKind::Cpu, 4),
                Pool::new("gpu", PoolKind::Gpu, 4),
                Pool::new("off", PoolKind::Cpu, 4).stopped(),
                Pool::new("other", PoolKind::Cpu, 4).not_for_training(),
                Pool::new("super", PoolKind::Cpu, 4).supernode(),
            ],
            encrypted: BTreeSet::from(["secret".to_owned()]),
            organizations: BTreeSet::new(),
            datasets: Some(datasets),
            obs: ConfinedDir::create(&obs).unwrap(),
            strict: false,
        },
        stored: json!({
            "job_config": {
                "parameters": [
                    {"name": "fixed", "value": "1", "constraint": {"editable": false}},
                    {"name": "open", "value": "1"},
                ],
                "inputs": [{"name": "data_url", "remote_constraints": [{"data_type": "obs"}]}],
                "outputs": [],
            },
            "resource_requirements": [
                {"key": "flavor_type", "values": ["CPU"], "operator": "in"},
                {"key": "host_distributed_mode", "values": ["singular"], "operator": "in"},
            ],
        }),
        _temp: temp,
    }
}

fn creation<'a>(fixture: &'a Fixture, body: &'a Value) -> Creation<'a> {
    let known = body.pointer("/algorithm/id") == Some(&json!("known"));
    Creation {
        body,
        offer: &fixture.offer,
        stored: known.then_some(&fixture.stored),
        is_algorithm: body["metadata"]["name"] == "algorithm",
        may_prioritise: body["metadata"]["name"] != "modest",
    }
}

/// Returns the names and errors of the rules that a body violates. An error in the structure of the
/// body takes precedence over all rules.
fn broken(fixture: &Fixture, body: &Value) -> Vec<(&'static str, ApiError)> {
    if let Err(error) = body_shape::check(body) {
        return vec![("the table of fields", error)];
    }
    let creation = creation(fixture, body);
    rules().filter_map(|rule| Some((rule.name, (rule.check)(&creation)?))).collect()
}

#[test]
fn every_rule_is_broken_by_one_body_alone_and_kept_at_its_limit() {
    let fixture = fixture(Cloud::Otc);
    let (mut breaking, mut passing) = (BTreeSet::new(), BTreeSet::new());
    let cases = cases();
    assert_eq!(cases.len(), 242);
    for Case { rule, body, error } in &cases {
        let found = broken(&fixture, body);
        match error {
            None => {
                assert!(found.is_empty(), "{rule}: {found:?}\n{body}");
                passing.insert(rule.as_str());
            }
            Some((status, number, part)) => {
                let names: Vec<&str> = found.iter().map(|(name, _)| *name).collect();
                assert_eq!(names, [rule.as_str()], "{body}\n{found:?}");
                let error = &found[0].1;
                let body = error.body("");
                assert_eq!(error.status.as_u16(), *status, "{rule}");
                assert_eq!(body["error_code"], format!("ModelArts.{number:04}"), "{rule}");
                let message = body["error_msg"].as_str().unwrap();
                assert!(message.contains(part), "{rule}: {message}");
                assert!(body["error_solution"].is_string(), "{rule}");
                breaking.insert(rule.as_str());
            }
        }
    }
    let all: BTreeSet<&str> = rules().map(|rule| rule.name).collect();
    assert_eq!(all.len(), rules().count());
    let all: BTreeSet<&str> = all.difference(&BEHIND_FIELDS.into()).copied().collect();
    assert_eq!(breaking, all);
    assert_eq!(passing, all);
}

/// Rules tested separately, because the fields may reject bodies that violate them.
const BEHIND_FIELDS: [&str; 6] = [
    "volume-path",
    "input-named",
    "metrics-http-get",
    "notification-topic",
    "notification-events",
    "ssh-key-pairs",
];

#[test]
fn rules_behind_the_table_of_fields() {
    let fixture = fixture(Cloud::Otc);
    let says = |name: &str, body: Value| {
        let rule = rules().find(|rule| rule.name == name).unwrap();
        let creation = creation(&fixture, &body);
        let answer = (rule.check)(&creation).map(|error| error.message);
        answer.unwrap_or_default()
    };
    let volume = |volume: Value| with(image(), &[("spec|volumes", json!([volume]))]);
    assert_eq!(
        says("volume-path", volume(json!({"obs": {}}))),
        "Invalid parameter(spec.volumes: obs must have a path or local_path)."
    );
    assert_eq!(says("volume-path", volume(json!({"pfs": {"local_path": "/mnt"}}))), "");
    assert_eq!(says("volume-path", volume(json!({"nfs": {}}))), "");
    let spec = |way: &str, value: Value| with(sound(), &[(way, value)]);
    for (name, body, message) in [
        (
            "metrics-http-get",
            spec("spec|custom_metrics", json!([{"http_get": {"path": "/m"}}])),
            "Invalid parameter(spec.custom_metrics[0].http_get.port is required).",
        ),
        (
            "metrics-http-get",
            spec(
                "spec|custom_metrics",
                json!([{"http_get": {"path": "/m", "port": 10001}}, {"exec": {"command": ["a",
                    "b"]}}]),
            ),
            "",
        ),
        (
            "notification-topic",
            spec("spec|notification", json!({"events": ["JobFailed"]})),
            "Invalid parameter(spec.notification.topic_urn is required).",
        ),
        ("notification-topic", spec("spec|notification", json!({"topic_urn": "urn"})), ""),
        (
            "notification-events",
            spec("spec|notification", json!({"topic_urn": "urn", "events": []})),
            "Invalid parameter(spec.notification.events is required).",
        ),
        ("notification-events", spec("spec|notification", json!({"events": ["JobFailed"]})), ""),
        (
            "ssh-key-pairs",
            spec("endpoints", json!({"ssh": {}})),
            "Invalid parameter(endpoints.ssh.key_pair_names is required).",
        ),
        ("ssh-key-pairs", spec("endpoints", json!({"ssh": {"key_pair_names": ["mine"]}})), ""),
    ] {
        assert_eq!(says(name, body), message, "{name}");
    }
    let unnamed = json!([{"remote": {"obs": {"obs_url": "/bucket/data/"}}}]);
    let unnamed = with(sound(), &[("algorithm|inputs", unnamed)]);
    assert_eq!(
        says("input-named", unnamed.clone()),
        "Invalid parameter(algorithm.inputs[0].name is required)."
    );
    let tuning = with(unnamed, &[("train_type", "SFT".into())]);
    assert_eq!(says("input-named", tuning), "");
}

/// A body that violates only advice is accepted.
#[test]
fn a_body_that_breaks_only_advice_is_accepted() {
    let fixture = fixture(Cloud::Otc);
    let is_advice = |name: &str| {
        let rule = rules().find(|rule| rule.name == name).unwrap();
        rule.basis == Basis::Advice
    };
    for Case { rule, body, error } in cases() {
        let answer = super::check(&creation(&fixture, &body));
        let refused = answer.is_err_and(|error| !error.code.starts_with("Emulator."));
        assert_eq!(refused, error.is_some() && !is_advice(&rule), "{rule}: {body}");
    }
}

/// For a create request for an algorithm, the values of required hyper-parameters may be empty, and
/// an invalid code directory results in a separate error code.
#[test]
fn an_algorithm_that_is_stored_has_rules_of_its_own() {
    let fixture = fixture(Cloud::Otc);
    let required = json!([{"name": "p", "value": "", "constraint": {"required": true}}]);
    let body =
        with(sound(), &[("metadata|name", "algorithm".into()), ("algorithm|parameters", required)]);
    assert_eq!(broken(&fixture, &body), []);
    let body = with(
        image(),
        &[("metadata|name", "algorithm".into()), ("algorithm|code_dir", "/bucket/none/".into())],
    );
    let found = broken(&fixture, &body);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1.code, "ModelArts.2773");
}

#[test]
fn every_rule_is_in_sources_with_its_basis() {
    let sources = include_str!("../../../../../openapi/SOURCES.md");
    let (_, section) = sources.split_once("\n## Rules\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let rows = section.lines().filter_map(|row| row.strip_prefix("| `"));
    let cells = rows.map(|row| row.trim_end_matches(" |").split(" | ").collect::<Vec<_>>());
    // The columns are | `name` | basis | evidence | client | emulator |.
    let documented: BTreeSet<_> = cells
        .filter(|cells| cells[4] == "yes")
        .map(|cells| (cells[0].trim_end_matches('`'), cells[1].to_owned()))
        .collect();
    let rules = rules();
    let rules: BTreeSet<_> =
        rules.map(|rule| (rule.name, format!("{:?}", rule.basis).to_lowercase())).collect();
    assert_eq!(documented, rules);
}

#[test]
fn the_other_cloud_has_other_limits() {
    let fixture = fixture(Cloud::Huawei);
    let retries = |number: &str| {
        with(sound(), &[("metadata|annotations|fault-tolerance/job-retry-num", number.into())])
    };
    assert!(broken(&fixture, &retries("128")).is_empty());
    assert_eq!(broken(&fixture, &retries("129")).len(), 1);
    assert!(broken(&fixture, &with(sound(), &[("kind", "edge_job".into())])).is_empty());
    for (path, refused) in [
        ("/home/ma-user", true),
        ("/home/ma-user/modelarts/", true),
        ("/home/ma-user/infer/x", true),
        ("/home/ma-user/inferno", false),
        ("/home/ma-user/modelarts/user-job-dir", false),
        ("/home/ma-user/modelarts/other", false),
    ] {
        let body = with(sound(), &[("algorithm|local_code_dir", path.into())]);
        assert_eq!(!broken(&fixture, &body).is_empty(), refused, "{path}");
    }
}

/// Returns two values of a field: one at its limit, and one that violates the limit, if such a
/// value exists.
fn examples(field: &Field) -> (Value, Option<Value>) {
    let limit = |pick: fn(&Rule) -> Option<f64>| field.limits.iter().find_map(pick);
    let count = |pick: fn(&Rule) -> Option<u64>| {
        let count = field.limits.iter().find_map(pick)?;
        usize::try_from(count).ok()
    };
    let length = count(|limit| match limit {
        Rule::MaxLength(most) => Some(*most),
        _ => None,
    });
    let least = limit(|limit| match limit {
        Rule::Minimum(least) => Some(*least),
        _ => None,
    });
    let bound = limit(|limit| match limit {
        Rule::ExclusiveMinimum(bound) => Some(*bound),
        _ => None,
    });
    let most = limit(|limit| match limit {
        Rule::Maximum(most) => Some(*most),
        _ => None,
    });
    let items = count(|limit| match limit {
        Rule::MaxItems(most) => Some(*most),
        _ => None,
    });
    let pairs = count(|limit| match limit {
        Rule::MaxProperties(most) => Some(*most),
        _ => None,
    });
    let number = |number: f64| match field.kind {
        Kind::Integer => json!(number as i64),
        _ => json!(number),
    };
    match (field.kind, &field.format) {
        (Kind::Any, _) => (json!(7), None),
        (Kind::Text, Format::Name) => (json!("x".repeat(64)), Some(json!("x".repeat(65)))),
        (Kind::Text, Format::Word) => (json!("-".repeat(length.unwrap())), Some(json!("a;b"))),
        (Kind::Text, Format::OneOf(values)) => (json!(values.last()), Some(json!("other"))),
        (Kind::Text, Format::Effective(values) | Format::Supported(values)) => {
            (json!(values[0]), Some(json!(7)))
        }
        (Kind::Text, Format::Any) => match length {
            Some(most) => (json!("é".repeat(most)), Some(json!("x".repeat(most + 1)))),
            None => (json!("x"), Some(json!(7))),
        },
        (Kind::Integer | Kind::Number, _) => match (bound, least, most) {
            (Some(bound), ..) => (json!(bound + 0.1), Some(json!(bound))),
            (_, _, Some(most)) => (number(most), Some(number(most + 1.0))),
            (_, Some(least), _) => (number(least), Some(number(least - 1.0))),
            _ => (json!(7), Some(json!("7"))),
        },
        (Kind::Boolean, _) => (json!(true), Some(json!("true"))),
        (Kind::Object, _) => (json!({}), Some(json!([]))),
        (Kind::List, _) => match items {
            Some(most) => (json!(vec![0; most]), Some(json!(vec![0; most + 1]))),
            None => (json!([]), Some(json!({}))),
        },
        (Kind::Map, _) => match pairs {
            Some(pairs) => {
                let value = "x".repeat(usize::try_from(field.value_length().unwrap()).unwrap());
                let full: serde_json::Map<String, Value> =
                    (0..pairs).map(|at| (format!("k{at}"), value.clone().into())).collect();
                let mut more = full.clone();
                more.insert("one-more".into(), "".into());
                (full.into(), Some(more.into()))
            }
            None => (json!({"k": "v"}), Some(json!({"k": 1}))),
        },
    }
}

#[test]
fn an_error_of_a_line_comes_before_those_of_later_lines_in_any_element() {
    let inputs = json!([
        {"name": "first", "local_dir": 5, "remote": {"obs": {"obs_url": "/bucket/in/"}}},
        {"name": "second one", "remote": {"obs": {"obs_url": "/bucket/in/"}}},
    ]);
    let body = with(sound(), &[("algorithm|inputs", inputs)]);
    let error = body_shape::check(&body).unwrap_err().body("");
    assert_eq!(
        error["error_msg"],
        "Invalid parameter(algorithm.inputs[1].name must be 1 to 64 letters, digits, hyphens or \
         underscores)."
    );
}

#[test]
fn every_line_of_the_table_is_checked() {
    for (path, field) in all_fields(&CREATION) {
        let steps: Vec<&str> = path.split('.').collect();
        let (good, bad) = examples(field);
        // The body contains only the field and its parents.
        let nest = |value: Option<Value>| {
            let (last, parents) = steps.split_last().unwrap();
            let mut body = match (last.strip_suffix("[]"), value) {
                (Some(name), Some(value)) => json!({ name: [value] }),
                (None, Some(value)) => json!({ *last: value }),
                (_, None) => json!({}),
            };
            for step in parents.iter().rev() {
                body = match step.strip_suffix("[]") {
                    Some(name) => json!({ name: [body] }),
                    None => json!({ *step: body }),
                };
            }
            body
        };
        let alone = alone(&path, field);
        let check = |value: Option<Value>| body_shape::check_against(&alone, &nest(value));
        assert_eq!(check(Some(good)), Ok(()), "{path}");
        let shown = path.replace("[]", "[0]");
        if let Some(bad) = bad {
            let error = check(Some(bad)).unwrap_err().body("");
            assert_eq!(error["error_code"], "ModelArts.2788", "{path}");
            let message = error["error_msg"].as_str().unwrap();
            assert!(message.contains(&shown), "{path}: {message}");
        }
        let absent = check(None);
        if field.required && !path.ends_with("[]") {
            assert_eq!(
                absent.unwrap_err().body("")["error_msg"],
                format!("Invalid parameter({shown} is required)."),
            );
        } else {
            assert_eq!(absent, Ok(()), "{path}");
        }
    }
    let long = json!({"algorithm": {"environments": {"k".repeat(8193): ""}}});
    assert!(
        body_shape::check(&with(
            sound(),
            &[("algorithm|environments", long["algorithm"]["environments"].clone())]
        ))
        .is_err()
    );
    let most = json!({"k".repeat(8192): "v".repeat(4096)});
    assert_eq!(body_shape::check(&with(sound(), &[("algorithm|environments", most)])), Ok(()));
    let most = json!({"k": "v".repeat(4097)});
    assert!(body_shape::check(&with(sound(), &[("algorithm|environments", most)])).is_err());
}

#[test]
fn read_only_fields_are_ignored() {
    let fixture = fixture(Cloud::Otc);
    let body = with(
        sound(),
        &[
            ("metadata|id", "x".into()),
            ("metadata|create_time", "then".into()),
            ("metadata|user_name", 1.into()),
            ("status", "Completed".into()),
            ("spec|resource|flavor_name", "x".into()),
            ("spec|resource|flavor_detail", json!({})),
        ],
    );
    assert!(broken(&fixture, &body).is_empty());
}
