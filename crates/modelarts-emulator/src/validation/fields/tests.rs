//! Tests of the table of fields against the OpenAPI description, and of FIELDS.md against both.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
    path::Path,
    sync::LazyLock,
};

use serde_json::{Value, json};

use crate::validation::fields::{
    CREATION,
    field_spec::{Handling, Need, Type},
    ignored, visible,
};

/// Row of the table for one field: path, type, necessity, handling. In a path, `[]` stands for each
/// element of an array.
type Line = (String, Type, Need, Handling);

/// Returns all rows of the table, one for each field.
pub(in crate::validation) fn field_specs() -> impl Iterator<Item = &'static Line> {
    static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
        let mut lines = Vec::new();
        add_lines(&CREATION, "", Handling::Acted, &mut lines);
        lines
    });
    LINES.iter()
}

fn add_lines(kind: &Type, path: &str, handling: Handling, lines: &mut Vec<Line>) {
    for (names, need, handling, kind) in kind.members() {
        for name in *names {
            let dot = if path.is_empty() { "" } else { "." };
            let path = format!("{path}{dot}{name}");
            lines.push((path.clone(), *kind, *need, *handling));
            add_lines(kind, &path, *handling, lines);
        }
    }
    if let Some(element) = kind.element() {
        let path = format!("{path}[]");
        lines.push((path.clone(), *element, Need::Required, handling));
        add_lines(element, &path, handling, lines);
    }
}

/// Rows that are stricter than the OpenAPI description, each with its reason.
#[rustfmt::skip]
const STRICTER: &[(&str, &str)] = &[
    ("algorithm.environments", "documented in words: names have at most 8,192 characters"),
    ("algorithm.inputs[].name", "documented in words: 1 to 64 letters, digits, - and _"),
    ("algorithm.outputs[].name", "documented in words: 1 to 64 letters, digits, - and _"),
    ("algorithm.parameters[].name", "documented in words: 1 to 64 letters, digits, - and _"),
    ("algorithm.policies.auto_search.algo_configs[].name", "a search cannot run without it"),
    ("algorithm.policies.auto_search.search_params[].name", "a search cannot run without it"),
    ("spec.schedule_policy.required_affinity.affinity_group_size", "documented in words: 1 or more"),
    ("tasks[].role", "it is a part of the names of tasks"),
];

/// Field in the OpenAPI description.
#[derive(Default)]
struct Described {
    required: bool,
    types: BTreeSet<String>,
    /// Limits of the field, such as `minimum` and `maxLength`.
    limits: BTreeMap<String, Value>,
    /// Documented values of the field; empty if the description lists none.
    values: Vec<String>,
    properties: Vec<(String, Value)>,
    required_below: BTreeSet<String>,
    items: Option<Value>,
    others: Option<Value>,
}

impl Described {
    /// Returns the field of a schema, merged with the schemas that compose it.
    fn of(root: &Value, schema: &Value) -> Self {
        let mut described = Self::default();
        described.add(root, schema);
        described
    }

    fn add(&mut self, root: &Value, schema: &Value) {
        let mut schema = schema;
        while let Some(reference) = schema["$ref"].as_str() {
            schema = root.pointer(&reference[1..]).unwrap();
        }
        let texts = |name: &str| -> Vec<String> {
            let list = schema[name].as_array().into_iter().flatten();
            list.map(|text| text.as_str().unwrap().to_owned()).collect()
        };
        self.types
            .extend(schema["type"].as_str().map(str::to_owned));
        for limit in [
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "minLength",
            "maxLength",
            "pattern",
            "minItems",
            "maxItems",
            "maxProperties",
        ] {
            if let Some(value) = schema.get(limit) {
                self.limits.insert(limit.to_owned(), value.clone());
            }
        }
        self.values.extend(texts("enum"));
        self.required_below.extend(texts("required"));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            self.properties.push((name.clone(), property.clone()));
        }
        self.items = schema.get("items").cloned().or(self.items.take());
        self.others = schema
            .get("additionalProperties")
            .cloned()
            .or(self.others.take());
        for list in ["allOf", "anyOf", "oneOf"] {
            for part in schema[list].as_array().into_iter().flatten() {
                self.add(root, part);
            }
        }
    }

    fn limit(&self, name: &str) -> Option<f64> {
        self.limits.get(name)?.as_f64()
    }

    fn at_least(&self, least: f64, name: &str) -> bool {
        self.limit(name).is_some_and(|limit| limit >= least)
    }

    fn at_most(&self, most: f64, name: &str) -> bool {
        self.limit(name).is_some_and(|limit| limit <= most)
    }

    /// Returns `true` if a row accepts everything that the description permits.
    fn is_admitted_by(&self, (_, kind, need, _): &Line) -> bool {
        let is = |name: &str| self.types.contains(name);
        let pattern = |text: &str| self.limits.get("pattern") == Some(&json!(text));
        let values = || self.values.iter().map(String::as_str);
        let admitted = match kind {
            Type::Any => true,
            Type::Text => is("string"),
            Type::UpTo(most) => self.at_most(*most as f64, "maxLength"),
            Type::Between(least, most) => {
                self.at_least(*least as f64, "minLength") && self.at_most(*most as f64, "maxLength")
            }
            Type::Plain(most) => {
                pattern("^[-a-zA-Z0-9_./]+$") && self.at_most(*most as f64, "maxLength")
            }
            Type::Name => pattern("^[A-Za-z0-9_-]{1,64}$"),
            Type::OneOf(known) | Type::Open(known) | Type::Known(known) => {
                !self.values.is_empty() && values().all(|value| known.contains(&value))
            }
            Type::Number(least, most) => {
                let (lowest, highest) = (i64::from(i32::MIN), i64::from(i32::MAX));
                is("integer")
                    && (*least <= lowest || self.at_least(*least as f64, "minimum"))
                    && (*most >= highest || self.at_most(*most as f64, "maximum"))
            }
            Type::Decimal(least, most) => {
                self.at_least(*least, "minimum")
                    && (*most == f64::MAX || self.at_most(*most, "maximum"))
            }
            Type::Above(bound) => {
                self.at_least(*bound, "minimum")
                    && self.limits.get("exclusiveMinimum") == Some(&json!(true))
            }
            Type::Bool => is("boolean"),
            Type::Object(_) => is("object"),
            Type::List(_) => is("array"),
            Type::AtMost(most, _) => self.at_most(*most as f64, "maxItems"),
            Type::Exactly(count, _) => {
                self.at_least(*count as f64, "minItems") && self.at_most(*count as f64, "maxItems")
            }
            Type::Texts(pairs, name, value, _) => {
                let longest = &self.others.as_ref().unwrap()["maxLength"];
                (*pairs == usize::MAX || self.at_most(*pairs as f64, "maxProperties"))
                    && *name == usize::MAX
                    && (*value == usize::MAX || *longest == json!(value))
            }
        };
        admitted && (*need == Need::Optional || self.required)
    }
}

/// Collects a field and its descendants, in the order of the schema.
fn walk(root: &Value, path: &str, described: Described, found: &mut Vec<(String, Described)>) {
    let mut below = Vec::new();
    for (name, schema) in &described.properties {
        let mut field = Described::of(root, schema);
        field.required = described.required_below.contains(name);
        let dot = if path.is_empty() { "" } else { "." };
        walk(root, &format!("{path}{dot}{name}"), field, &mut below);
    }
    if let Some(items) = &described.items {
        let mut element = Described::of(root, items);
        element.required = true;
        walk(root, &format!("{path}[]"), element, &mut below);
    }
    if !path.is_empty() {
        found.push((path.to_owned(), described));
    }
    found.append(&mut below);
}

/// Returns all fields of a schema in the description.
fn fields_of(schema: &str) -> Vec<(String, Described)> {
    let root: Value =
        serde_saphyr::from_str(include_str!("../../../../../openapi/modelarts.yaml")).unwrap();
    let described = Described::of(&root, &root["components"]["schemas"][schema]);
    let mut found = Vec::new();
    walk(&root, "", described, &mut found);
    found
}

#[test]
fn the_table_has_all_fields_and_refuses_no_more_than_the_description() {
    let described = fields_of("CreateTrainingJobRequest");
    assert!(described.len() > 300, "{}", described.len());
    let mut stricter = BTreeSet::new();
    for (path, described) in &described {
        let line = field_specs().find(|line| line.0 == *path);
        let line = line.unwrap_or_else(|| panic!("validation/fields/ has no line for {path}"));
        // Fields whose handling is `Refused` are skipped, because a job with such a field is always
        // rejected.
        if line.3 != Handling::Refused && !described.is_admitted_by(line) {
            stricter.insert(path.as_str());
        }
    }
    let named: BTreeSet<&str> = STRICTER.iter().map(|(path, _)| *path).collect();
    assert_eq!(stricter, named);
}

#[test]
fn only_fields_of_answers_are_given_back() {
    let shown: BTreeSet<String> = fields_of("TrainingJob")
        .into_iter()
        .map(|it| it.0)
        .collect();
    let hidden = |line: &&Line| matches!(line.3, Handling::Unshown | Handling::Silent);
    for (path, _, _, handling) in field_specs().filter(hidden) {
        assert!(
            !shown.contains(path),
            "{path} is in answers: it is not {handling:?} but Stored"
        );
    }
}

/// Returns the expected content of FIELDS.md.
fn page() -> String {
    let mut page = "\
# Fields of CreateTrainingJob

The table lists each field that the description contains in the request body of CreateTrainingJob, with
its treatment by the emulator:

- **acted on**: the field has its effect in the emulator.
- **record**: the field is stored and returned. It has no other effect on the service either.
- **stored**: the field is stored and returned, without the effect that it has on the service.
- **not shown**: the field is not returned, because no response of the service is known to contain it.
- **refused**: the emulator rejects the request with status 501, because the job could not run without
  the effect of the field.
- **read-only**: the service sets the field. It is ignored in requests.

The emulator accepts a job with stored fields. It lists their paths in the response header
`X-Emulator-Ignored`, in its log, and in the response of `GET /_emulator/jobs/{id}/ignored`, together
with fields that no document describes for this request. With `--strict`, the emulator rejects stored
fields with status 501. Null, an empty string, an empty list, `false` and the default value have no
effect; they are neither reported nor rejected.

If a job has `tasks`, then `spec.resource`, `spec.volumes` and `spec.log_export_path` are only stored,
because each element of `tasks` has its own settings.

A test of the emulator writes this page: `UPDATE=1 cargo test -p modelarts-emulator --lib fields_md`.

| field | treatment |
|---|---|
"
    .to_owned();
    let described: Vec<String> = fields_of("CreateTrainingJobRequest")
        .into_iter()
        .map(|(path, _)| path)
        .collect();
    let row = |page: &mut String, line: &Line| {
        let usage = match line.3 {
            Handling::Acted => "acted on",
            Handling::Echoed => "record",
            Handling::Stored => "stored",
            Handling::Unshown => "stored, not shown",
            Handling::Silent => "record, not shown",
            Handling::ReadOnly => "read-only",
            Handling::Refused => "refused",
        };
        writeln!(page, "| `{}` | {usage} |", line.0).unwrap();
    };
    for path in &described {
        row(
            &mut page,
            field_specs().find(|line| line.0 == *path).unwrap(),
        );
    }
    page.push_str(
        "\nFields of other documents, fields of responses, and documented annotations:\n\n\
         | field | treatment |\n|---|---|\n",
    );
    for line in field_specs().filter(|line| !described.contains(&line.0)) {
        row(&mut page, line);
    }
    page
}

#[test]
fn fields_md_is_the_table() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("FIELDS.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&file, &page).unwrap();
    }
    assert!(
        std::fs::read_to_string(&file).is_ok_and(|text| text == page),
        "FIELDS.md is not what the table says; run the tests with UPDATE=1"
    );
}

fn of(body: &Value) -> Vec<String> {
    ignored::ignored_paths(body).into_iter().collect()
}

#[test]
fn ignored_fields_are_named_once_and_by_the_highest_path() {
    let body = json!({
        "kind": "job",
        "note": "x",
        "metadata": {
            "name": "a",
            "id": "read-only",
            "annotations": {"tensorboard/enable": "true", "jupyter-lab/enable": "false", "own": "1"},
        },
        "algorithm": {
            "engine": {"install_sys_packages": false, "run_user": "1000", "colour": "red"},
            "environments": {"ANY": "1"},
            "inputs": [
                {"name": "a", "remote": {"dataset": {"id": "d", "dataset_proportion": 5}}},
                {"name": "b", "remote": {"dataset": {"id": "d", "dataset_proportion": 6}}, "x": 1},
            ],
        },
        "spec": {
            "resource": {"policy": "regular", "node_count": 1},
            "runtime_type": "production",
            "notification": {"topic_urn": "t", "events": ["JobFailed"]},
            "log_export_config": {"version": null},
            "custom_metrics": [],
            "retention": {"policy": "enabled"},
        },
        "status": {"phase": "Completed"},
    });
    assert_eq!(
        of(&body),
        [
            "algorithm.engine.colour",
            "algorithm.engine.run_user",
            "algorithm.inputs[].remote.dataset.dataset_proportion",
            "algorithm.inputs[].x",
            "metadata.annotations.tensorboard/enable",
            "note",
            "spec.notification",
            "spec.resource.policy",
            "spec.retention",
        ]
    );
    assert_eq!(
        of(&json!({"spec": {"runtime_type": "debug"}})),
        ["spec.runtime_type"]
    );
    for other in [json!(null), json!([]), json!("x"), json!({})] {
        assert_eq!(of(&other), [""; 0]);
    }
}

#[test]
fn the_header_is_bounded_and_has_no_strange_bytes() {
    let header = |paths: &[&str]| {
        let paths = paths.iter().map(|path| (*path).to_owned()).collect();
        ignored::header(&paths).map(|value| value.to_str().unwrap().to_owned())
    };
    assert_eq!(header(&[]), None);
    assert_eq!(header(&["b", "a"]).unwrap(), "a,b");
    assert_eq!(header(&["ä,b\r\nX: 1"]).unwrap(), "%C3%A4%2Cb%0D%0AX:%201");
    assert_eq!(header(&["x".repeat(3000).as_str()]).unwrap(), "...");
    let names: Vec<String> = (1000..2000).map(|n| format!("name-{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let long = header(&names).unwrap();
    assert!(
        long.starts_with("name-1000,name-1001,") && long.ends_with(",..."),
        "{long}"
    );
    assert!((2000..=2048).contains(&long.len()), "{}", long.len());
}

#[test]
fn fields_are_given_back_where_answers_have_them() {
    let given = json!({
        "algorithm": {
            "autosearch_config_path": "/config/a.yaml",
            "inputs": [
                {"name": "a", "remote_constraint": [{"data_type": "obs"}]},
                {"name": "b", "remote": {"dataset": {"name": "n", "dataset_proportion": 5}}},
            ],
        },
        "spec": {
            "asset_model": {"name": "m", "model_desc": "d", "unknown": 1},
            "notification": {"topic_urn": "t", "events": ["JobFailed"]},
            "auto_stop": {"duration": 1},
            "retention": {"policy": "enabled"},
            "runtime_type": null,
        },
        "train_type": "SFT",
        "unknown": 1,
    });
    let mut shown = json!({
        "algorithm": {"inputs": [{"name": "a"}, {"name": "b", "remote": {"dataset": {"id": "d"}}}]},
        "spec": {"custom_metrics": null},
    });
    visible::give_back(&mut shown, &given);
    assert_eq!(
        shown,
        json!({
            "algorithm": {
                "autosearch_config_path": "/config/a.yaml",
                "inputs": [
                    {"name": "a", "remote_constraint": [{"data_type": "obs"}]},
                    {"name": "b", "remote": {"dataset": {"id": "d", "name": "n"}}},
                ],
            },
            "spec": {
                "asset_model": {"name": "m"},
                "custom_metrics": null,
                "notification": {"topic_urn": "t", "events": ["JobFailed"]},
            },
        })
    );
}
