//! Tests of the limits in the description, with a value that exceeds each limit and a value at the
//! limit.
//!
//! The tests compare the validation report with the response of the emulator to the same body. The
//! values are derived from the tables, so the tests cover every field. `rules.yaml` contains cases
//! that are written by hand.

use std::collections::BTreeMap;

use modelarts_ext::api::{FIELDS, Field, LIMITS, Rule, Shape};
use serde_json::{Value, json};

use crate::support::{
    create_job::{everything, job},
    errors::refused,
    rule_cases::{patched, plain},
    site::Site,
};

/// Fields that the emulator rejects by separate rules. The request bodies of these tests also
/// violate earlier rules of the emulator; `rules.yaml` contains a case for each field.
const OWN_CASES: [&str; 1] = ["algorithm.parameters[].constraint.type"];

/// Returns all fields of the request body, with their general paths.
fn fields() -> Vec<(String, &'static Field)> {
    let mut found = Vec::new();
    let mut schemas = vec![(String::new(), "CreateTrainingJobRequest")];
    while let Some((parent, schema)) = schemas.pop() {
        assert!(FIELDS.iter().any(|field| field.schema == schema), "{schema} has no fields");
        for field in FIELDS.iter().filter(|field| field.schema == schema) {
            let path = match parent.as_str() {
                "" => field.name.to_owned(),
                parent => format!("{parent}.{}", field.name),
            };
            found.push((path.clone(), field));
            match field.shape {
                Shape::Object(inner) => schemas.push((path, inner)),
                Shape::List(Shape::Object(inner)) => schemas.push((path + "[]", inner)),
                _ => {}
            }
        }
    }
    found
}

/// Returns a task in which all fields are set.
fn task() -> Value {
    let obs = json!({"obs": {"obs_url": "obs://bucket/data/"}});
    let constraint = json!({"type": "Integer", "valid_type": "Choice", "valid_range": ["1"]});
    let description = json!({"language": "en-us", "description": "p"});
    let parameter = json!({"name": "p", "value": "1", "constraint": constraint,
        "i18n_description": description});
    let data = json!({"name": "data", "remote": obs, "access_method": "env",
        "remote_constraint": [{"data_type": "dataset", "attributes": "data_format"}]});
    let out = json!({"name": "out", "remote": obs, "access_method": "env"});
    json!({
        "role": "worker",
        "algorithm": {
            "job_config": {"parameters": [parameter], "inputs": [data], "outputs": [out]},
            "code_dir": "obs://bucket/code/", "boot_file": "obs://bucket/code/a.py",
            "engine": {"image_url": "o/i:1"}, "local_code_dir": "/home/me",
            "inputs": [{"name": "data", "remote": obs}],
            "outputs": [{"name": "out", "remote": obs}],
        },
        "task_resource": {"flavor_id": "f", "node_count": 1},
    })
}

/// Returns a valid job in which the field, or its parent, is set.
fn base(path: &str) -> Value {
    let variable = json!({"env_name": "A", "value": "1", "used_steps": ["train"]});
    match path.split(['.', '[']).next().unwrap() {
        "tasks" => patched(&plain(), &json!({"algorithm": null, "spec": null, "tasks": [task()]})),
        "train_type" | "ftjob_config" => patched(
            &plain(),
            &json!({"algorithm": null, "train_type": "SFT", "ftjob_config": {
                "ft_job_uuid": "u", "checkpoint_config": {}, "task_env": {"envs": [variable]},
            }}),
        ),
        _ => patched(&everything().body(), &form_of(path)),
    }
}

/// Returns the patch that selects the variant to which a field belongs, for fields that exclude
/// each other.
fn form_of(path: &str) -> Value {
    let data = json!({"dataset": {"id": "d", "version_id": "v"}});
    let metrics = |form: Value| json!({"spec": {"custom_metrics": [form]}});
    if path.starts_with("algorithm.inputs[].remote.dataset") {
        json!({"algorithm": {"inputs": [{"name": "data_url", "remote": data}]}})
    } else if path.contains("preferred_affinity") && path.contains("matchFields") {
        let preference = json!({"matchFields": [{"key": "k", "operator": "Exists"}]});
        let wishes = json!([{"weight": 1, "preference": preference}]);
        json!({"spec": {"schedule_policy": {"preferred_affinity": {"node_affinity": wishes}}}})
    } else if path.contains("http_get") {
        metrics(json!({"http_get": {"path": "/m", "port": 10001}}))
    } else if path.contains("exec") {
        metrics(json!({"exec": {"command": ["/bin/a", "b"]}}))
    } else {
        json!({})
    }
}

/// Returns a reference to the value at a general path, using the first element of each list.
fn slot<'a>(body: &'a mut Value, path: &str) -> &'a mut Value {
    let mut here = body;
    for step in path.split('.') {
        let name = step.trim_end_matches(['[', ']', '{', '}']);
        if here.is_null() {
            *here = json!({});
        }
        here = &mut here[name];
        if step.ends_with("{}") {
            here = &mut here["KEY"];
        } else if step.ends_with("[]") {
            if here.is_null() {
                *here = json!([null]);
            }
            here = &mut here[0];
        }
    }
    here
}

/// Returns a path in the form that messages use.
fn shown(path: &str) -> String {
    path.replace("[]", "[0]").replace("{}", "[\"KEY\"]")
}

/// Returns a value that exceeds a limit, and a value at the limit. `current` is the present value
/// of the field.
fn around(rule: Rule, current: &Value) -> Option<(Value, Option<Value>)> {
    let size = |n: u64| usize::try_from(n).unwrap();
    let text = |n: u64| Value::from("x".repeat(size(n)));
    let list = |n: u64| {
        let element = current.get(0).cloned().unwrap_or_else(|| "x".into());
        Value::from(vec![element; size(n)])
    };
    let whole = |n: f64| Value::from(format!("{n}").parse::<i64>().unwrap());
    let pair = match rule {
        // An empty string counts as absent, so it violates a limit only if the field is required.
        Rule::MinLength(0 | 1) => return None,
        Rule::MinLength(least) => (text(least - 1), Some(text(least))),
        Rule::MaxLength(most) => (text(most + 1), Some(text(most))),
        Rule::Pattern(_) => ("\r".into(), None),
        Rule::Minimum(least) => (whole(least - 1.0), Some(whole(least))),
        Rule::Maximum(most) => (whole(most + 1.0), Some(whole(most))),
        Rule::ExclusiveMinimum(bound) => (whole(bound), Some(json!(bound + 0.1))),
        Rule::MinItems(least) => (list(least - 1), Some(list(least))),
        Rule::MaxItems(most) => (list(most + 1), Some(list(most))),
        Rule::MaxProperties(most) => {
            let pairs = |n| Value::Object((0..n).map(|at| (format!("K{at}"), "".into())).collect());
            (pairs(most + 1), Some(pairs(most)))
        }
        other => panic!("a kind of limit that this test does not know: {other:?}"),
    };
    Some(pair)
}

/// Returns the type and the limits of each field in words, as listed in `PARAMETERS.md`.
fn documented() -> BTreeMap<String, (String, String)> {
    let page = include_str!("../../../PARAMETERS.md");
    let (_, table) = page.split_once("## All fields").unwrap();
    let rows = table.lines().filter_map(|row| row.strip_prefix("| `"));
    rows.map(|row| {
        let mut cells = row.split(" | ");
        let path = cells.next().unwrap().trim_end_matches('`').to_owned();
        let (holds, _, limit) = (cells.next(), cells.next(), cells.next());
        let limit = limit.unwrap_or_default().trim_end_matches([' ', '|']);
        (path, (holds.unwrap_or_default().to_owned(), limit.to_owned()))
    })
    .collect()
}

/// Returns the requirement that a violation states for these limits.
fn must(limits: &str) -> String {
    let counts = ["characters", "elements", "entries"];
    let verb = match counts.iter().any(|unit| limits.contains(unit)) {
        true => "have",
        false => "be",
    };
    format!("must {verb} {limits}")
}

/// Body that violates a single limit, and the expected violation or warning.
struct Case {
    /// The general path of the field.
    path: String,
    body: Value,
    rule: String,
    /// Body that satisfies the limit at its bound, if such a value exists.
    kept: Option<Value>,
    /// `true` for an enumeration that the service may extend. Unknown values then cause warnings.
    is_open: bool,
}

/// Fields whose enumeration is complete.
const CLOSED: [&str; 4] = ["operator", "policy", "language", "type"];

/// Returns the cases that yield violations.
fn cases() -> Vec<Case> {
    let cases = all_cases().into_iter();
    cases.filter(|case| !case.is_open).collect()
}

fn all_cases() -> Vec<Case> {
    let documented = documented();
    let mut cases = Vec::new();
    for (path, field) in fields() {
        // These fields are validated by the rules between fields.
        let ruled = ["kind", "run_user", "priority"].contains(&field.name)
            || path == "algorithm.command"
            || path.ends_with("algorithm.local_code_dir");
        // Tasks do not support data sets, although their inputs have the same schema as those of
        // jobs.
        let of_dataset = path.starts_with("tasks") && path.contains(".dataset.");
        if ruled || of_dataset {
            continue;
        }
        let with = |path: &str, value: Value| {
            let mut body = base(path);
            *slot(&mut body, path) = value;
            body
        };
        let current = slot(&mut base(&path), &path).clone();
        for limit in LIMITS.iter().filter(|limit| limit.schema == field.schema) {
            let path = match limit.field.strip_prefix(field.name) {
                Some(suffix @ ("" | "[]" | "{}")) => format!("{path}{suffix}"),
                _ => continue,
            };
            let Some((beyond, within)) = around(limit.rule, &current) else {
                continue;
            };
            cases.push(Case {
                body: with(&path, beyond),
                rule: must(&documented[&path].1),
                kept: within.map(|value| with(&path, value)),
                is_open: false,
                path,
            });
        }
        let (suffix, shape) = match field.shape {
            Shape::List(inner) => ("[]", *inner),
            shape => ("", shape),
        };
        if let Shape::OneOf(values) = shape {
            let holds = documented[&path].0.trim_start_matches("list of: ");
            let path = format!("{path}{suffix}");
            cases.push(Case {
                body: with(&path, "other".into()),
                rule: format!("must be {holds}"),
                kept: values.last().map(|value| with(&path, (*value).into())),
                is_open: !CLOSED.contains(&field.name),
                path,
            });
        }
        if field.required {
            let kept = base(&path);
            cases.push(Case {
                body: with(&path, Value::Null),
                rule: match (field.schema, field.name) {
                    ("InputRequest", "name") => "an input has a name, unless the job tunes a model",
                    _ => "must be given",
                }
                .into(),
                kept: (!current.is_null()).then_some(kept),
                is_open: false,
                path,
            });
        }
    }
    cases
}

#[test]
fn each_limit_is_broken_alone_and_kept() {
    let cases = cases();
    assert_eq!(cases.len(), 103);
    let mut wrong = Vec::new();
    for case in cases {
        let path = shown(&case.path);
        let hidden = path.contains("environments") || path.contains("task_env");
        let value = slot(&mut case.body.clone(), &case.path).clone();
        let value = Some(&value).filter(|value| !value.is_null() && !hidden);
        let report = job(&case.body).check();
        let as_expected = match report.violations.as_slice() {
            [violation] => {
                violation.field() == path
                    && violation.rule() == case.rule
                    && violation.value() == value
                    && violation.code().is_some()
            }
            _ => false,
        };
        if !as_expected {
            wrong.push(format!("{path}: {}:\n{report}", case.rule));
        }
        if let Some(kept) = case.kept {
            let report = job(&kept).check();
            if report.violations.iter().any(|violation| violation.field() == path) {
                wrong.push(format!("{path} within its limit: {report}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn other_values_of_an_open_enumeration_are_warnings() {
    let mut count = 0;
    for case in all_cases().into_iter().filter(|case| case.is_open) {
        count += 1;
        let report = job(&case.body).check();
        assert_eq!(report.violations, [], "{}", case.path);
        let path = shown(&case.path);
        let message = format!(
            "{path} = \"other\": should be {}; check the spelling (documents list no other value, \
             but the service may accept more)",
            case.rule.trim_start_matches("must be ")
        );
        let warnings: Vec<_> = report.warnings.iter().map(ToString::to_string).collect();
        assert!(warnings.contains(&message), "{message}\n{report}");
        let kept = job(&case.kept.unwrap()).check();
        assert!(
            kept.warnings.iter().all(|warning| warning.field() != path),
            "{path} within its limit: {kept}"
        );
    }
    assert_eq!(count, 21);
}

#[tokio::test]
async fn the_emulator_refuses_each_with_the_same_code() {
    let site = Site::start().await;
    for case in cases() {
        if OWN_CASES.contains(&case.path.as_str()) {
            continue;
        }
        let jobs = site.client.training_jobs();
        let job = jobs.from_value(&case.body).unwrap();
        let code = job.check().violations[0].code().unwrap();
        let error = refused(job.unchecked().submit().await);
        assert_eq!(error.code(), Some(code), "{}: {error}", case.path);
        // Most limits have the same code, so the message must name the field.
        let field = shown(case.path.trim_end_matches("{}"));
        let named = error.message().is_some_and(|message| message.contains(&field));
        assert!(named || code != "ModelArts.2788", "{field}: {error}");
    }
}
