//! Comparison of the traffic of these tests with `openapi/modelarts.yaml`.
//!
//! Each [`Site`](crate::support::Site) collects the deviations, and fails at the end of its test. A
//! client of the program fails at the first deviation. The comparison follows these rules:
//!
//! - Every response has a status that its operation declares. Its body matches the schema of the
//!   status, and has no other members. This includes responses to invalid requests.
//! - Path, query and body of every accepted request match the description. Undeclared parameters
//!   and blank values of the query are ignored, because an example of the vendor contains an
//!   undeclared parameter (`?limit=1` of a search). [`STRICTER`] lists requests for which the
//!   description is stricter on purpose.
//! - Where the description declares no body, the body of a response may be empty, `""` or `null`.
//! - The emulator rejects requests that are not in the description.
//! - Requests whose response a fault has changed are exempt.

use std::{
    collections::HashMap,
    fs,
    path::Path,
    sync::{Arc, LazyLock, Mutex},
};

use jsonschema::{Draft, Validator};
use modelarts_emulator::traffic::Exchange;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::json_schema;

/// Requests that the service accepts although the description is stricter for clients
/// (openapi/SOURCES.md): the operation, and the beginning of the deviation message.
const STRICTER: [(&str, &str); 3] = [
    ("ListTrainingJobs", "/filters/"),
    ("ChangeAlgorithm", ": \"job_config\" is a required property"),
    ("ChangeTrainingExperiment", "/description: \"\" is shorter"),
];

/// Parsed OpenAPI description.
pub(crate) struct Description {
    pub(crate) root: Value,
    components: Value,
    operations: Vec<Operation>,
    validators: Mutex<HashMap<String, Arc<Validator>>>,
}

struct Operation {
    method: String,
    /// Segments of the path; those in braces match any segment of a request path.
    path: Vec<String>,
    /// JSON pointer to the operation in the description.
    place: String,
    /// Parameters of the operation and of its path, with references resolved.
    parameters: Vec<Value>,
}

/// OpenAPI description, read from the file in the workspace.
pub(crate) static DESCRIPTION: LazyLock<Description> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../openapi/modelarts.yaml");
    let text = fs::read_to_string(file).unwrap();
    Description::new(serde_saphyr::from_str(&text).unwrap())
});

impl Description {
    fn new(root: Value) -> Self {
        let mut operations = Vec::new();
        for (path, item) in root["paths"].as_object().unwrap() {
            let own = |value: &Value| value["parameters"].as_array().cloned().unwrap_or_default();
            for method in ["get", "put", "post", "delete"] {
                let Some(operation) = item.get(method) else {
                    continue;
                };
                let parameters = own(item).into_iter().chain(own(operation));
                operations.push(Operation {
                    method: method.to_uppercase(),
                    path: path.split('/').map(str::to_owned).collect(),
                    place: format!("/paths/{}/{method}", path.replace('/', "~1")),
                    parameters: parameters.map(|it| resolve(&root, &it).clone()).collect(),
                });
            }
        }
        // Literal segments take precedence over parameters (`training-jobs/batch-delete`).
        operations.sort_by_key(|it| it.path.iter().filter(|segment| is_name(segment)).count());
        Self {
            components: json_schema::components(&root),
            root,
            operations,
            validators: Mutex::default(),
        }
    }

    /// Returns the whole document.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// Returns the deviations of an exchange, as sentences.
    pub(crate) fn check(&self, exchange: &Exchange<'_>) -> Vec<String> {
        self.check_parts(
            exchange.method,
            exchange.path,
            exchange.query,
            exchange.request,
            (exchange.status, exchange.answer),
            exchange.by_fault,
        )
    }

    pub(crate) fn check_parts(
        &self,
        method: &str,
        path: &str,
        query: &str,
        request: &[u8],
        (status, answer): (u16, &[u8]),
        by_fault: bool,
    ) -> Vec<String> {
        if by_fault || !path.starts_with("/v2/") {
            return Vec::new();
        }
        // The use case contains two equivalent spellings of this path (SOURCES D-71).
        let path = path.replace("/job/training-job-", "/training-job-");
        let segments: Vec<&str> = path.split('/').collect();
        let known = self.operations.iter().find(|operation| {
            operation.method == method
                && operation.path.len() == segments.len()
                && operation
                    .path
                    .iter()
                    .zip(&segments)
                    .all(|(template, segment)| is_name(template) || template == segment)
        });
        let mut wrong = Vec::new();
        match known {
            None if status < 400 => wrong.push("no such operation, but it is executed".to_owned()),
            None => {}
            Some(operation) => {
                self.answer(operation, status, answer, &mut wrong);
                if status < 400 {
                    self.request(operation, &segments, query, request, &mut wrong);
                }
            }
        }
        let place = format!("{method} {path} {status}: ");
        wrong.iter().map(|text| format!("{place}{text}")).collect()
    }

    fn answer(&self, operation: &Operation, status: u16, body: &[u8], wrong: &mut Vec<String>) {
        let responses = self.root.pointer(&format!("{}/responses", operation.place));
        let responses = responses.unwrap();
        let declared = [status.to_string(), format!("{}XX", status / 100)];
        let Some((key, response)) =
            declared.iter().find_map(|key| responses.get(key).map(|response| (key, response)))
        else {
            wrong.push("this status is not declared".to_owned());
            return;
        };
        let response = resolve(&self.root, response);
        let place = format!("{}/responses/{key}", operation.place);
        match response.pointer("/content/application~1json/schema") {
            Some(schema) => {
                if self.body("the answer", &place, schema, body, wrong)
                    && let Ok(body) = serde_json::from_slice(body)
                {
                    self.unknown(schema, &body, "", wrong);
                }
            }
            None if [&b""[..], b"\"\"", b"null"].contains(&body) => {}
            None => wrong.push("it has a body, and none is declared".to_owned()),
        }
    }

    fn request(
        &self,
        operation: &Operation,
        segments: &[&str],
        query: &str,
        body: &[u8],
        wrong: &mut Vec<String>,
    ) {
        for (template, segment) in operation.path.iter().zip(segments) {
            if let Some(name) = template.strip_prefix('{') {
                self.parameter(operation, "path", name.trim_end_matches('}'), segment, wrong);
            }
        }
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            self.parameter(operation, "query", name, value, wrong);
        }
        let place = format!("{}/requestBody", operation.place);
        match self.root.pointer(&place).map(|it| resolve(&self.root, it)) {
            Some(declared) if !body.is_empty() || declared["required"] == true => {
                let schema = &declared["content"]["application/json"]["schema"];
                let before = wrong.len();
                self.body("the request", &place, schema, body, wrong);
                let id = &self.root.pointer(&operation.place).unwrap()["operationId"];
                let (id, rest) = (id.as_str().unwrap(), wrong.split_off(before));
                wrong.extend(rest.into_iter().filter(|text| {
                    !STRICTER.iter().any(|(stricter, part)| {
                        *stricter == id && text.starts_with(&format!("the request, {part}"))
                    })
                }));
            }
            Some(_) => {}
            None if body.is_empty() => {}
            None => wrong.push("the request has a body, and none is declared".to_owned()),
        }
    }

    fn parameter(
        &self,
        operation: &Operation,
        place: &str,
        name: &str,
        text: &str,
        wrong: &mut Vec<String>,
    ) {
        let declared =
            operation.parameters.iter().find(|it| it["in"] == place && it["name"] == name);
        let Some(declared) = declared.filter(|_| !text.is_empty()) else {
            return;
        };
        let text = percent_decode_str(text).decode_utf8_lossy().into_owned();
        let schema = &declared["schema"];
        let value = match resolve(&self.root, schema)["type"].as_str() {
            Some("integer" | "number" | "boolean") => {
                serde_json::from_str(&text).unwrap_or(Value::String(text))
            }
            _ => Value::String(text),
        };
        let key = format!("{}/{place}/{name}", operation.place);
        self.fits(&format!("{place} {name}"), &key, schema, &value, wrong);
    }

    /// Compares a JSON body with its schema.
    fn body(
        &self,
        what: &str,
        key: &str,
        schema: &Value,
        body: &[u8],
        wrong: &mut Vec<String>,
    ) -> bool {
        match serde_json::from_slice(body) {
            Ok(value) => self.fits(what, key, schema, &value, wrong),
            Err(error) => {
                wrong.push(format!("{what} is not JSON: {error}"));
                false
            }
        }
    }

    fn fits(
        &self,
        what: &str,
        key: &str,
        schema: &Value,
        value: &Value,
        wrong: &mut Vec<String>,
    ) -> bool {
        let before = wrong.len();
        let validator = Arc::clone(
            self.validators
                .lock()
                .unwrap()
                .entry(key.to_owned())
                .or_insert_with(|| Arc::new(self.validator(schema))),
        );
        for error in validator.iter_errors(value) {
            wrong.push(format!("{what}, {}: {error}", error.instance_path()));
        }
        wrong.len() == before
    }

    fn validator(&self, schema: &Value) -> Validator {
        // Draft 4 ignores siblings of a reference, so that the schema is nested one level deeper.
        let schema = json!({
            "allOf": [json_schema::rewrite(schema)],
            "components": self.components,
        });
        jsonschema::options().with_draft(Draft::Draft4).build(&schema).unwrap()
    }

    /// Reports members without a schema, which indicate misspellings in the emulator or gaps in the
    /// description.
    fn unknown(&self, schema: &Value, value: &Value, at: &str, wrong: &mut Vec<String>) {
        let mut schemas = Vec::new();
        self.parts(schema, &mut schemas);
        match value {
            Value::Array(items) => {
                for item in items {
                    for schema in schemas.iter().filter_map(|it| it.get("items")) {
                        self.unknown(schema, item, &format!("{at}[]"), wrong);
                    }
                }
            }
            Value::Object(members) => {
                let empty = Map::new();
                let properties: Vec<&Map<String, Value>> = schemas
                    .iter()
                    .map(|it| it["properties"].as_object().unwrap_or(&empty))
                    .collect();
                let open = properties.iter().all(|it| it.is_empty())
                    || schemas.iter().any(|it| it.get("additionalProperties").is_some());
                for (name, member) in members {
                    let known: Vec<&Value> =
                        properties.iter().filter_map(|it| it.get(name)).collect();
                    if known.is_empty() && !open {
                        wrong.push(format!("the answer has {at}.{name}, which no schema names"));
                    }
                    for schema in known {
                        self.unknown(schema, member, &format!("{at}.{name}"), wrong);
                    }
                }
            }
            _ => {}
        }
    }

    /// Collects a schema and the schemas that compose it.
    fn parts<'a>(&'a self, schema: &'a Value, parts: &mut Vec<&'a Value>) {
        let schema = resolve(&self.root, schema);
        parts.push(schema);
        for list in ["allOf", "anyOf", "oneOf"] {
            for part in schema[list].as_array().into_iter().flatten() {
                self.parts(part, parts);
            }
        }
    }
}

fn is_name(segment: &str) -> bool {
    segment.starts_with('{')
}

pub(crate) fn resolve<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let mut value = value;
    while let Some(reference) = value.get("$ref").and_then(Value::as_str) {
        value = root.pointer(reference.trim_start_matches('#')).unwrap();
    }
    value
}

/// Deviations in the traffic of one site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deviations(Arc<Mutex<Vec<String>>>);

/// Guard that fails a test at its end if its traffic has deviations, unless the test has already
/// failed.
#[derive(Debug)]
pub(crate) struct DeviationCheck(Deviations);

impl Deviations {
    pub(crate) fn verdict(&self) -> DeviationCheck {
        DeviationCheck(self.clone())
    }

    pub(crate) fn look(&self, exchange: &Exchange<'_>) {
        let wrong = DESCRIPTION.check(exchange);
        self.0.lock().unwrap().extend(wrong);
    }
}

impl Drop for DeviationCheck {
    fn drop(&mut self) {
        let wrong = self.0.0.lock().unwrap();
        if !std::thread::panicking() {
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

#[test]
fn deviations_are_found() {
    let check = |method, path, query, request: &str, status, answer: &str| {
        let path = format!("/v2/0f{path}");
        let (request, answer) = (request.as_bytes(), (status, answer.as_bytes()));
        DESCRIPTION.check_parts(method, &path, query, request, answer, false)
    };
    let job = r#"{"kind": "job", "metadata": {"name": "a"}}"#;
    assert_eq!(check("POST", "/training-jobs", "", job, 201, job), [""; 0]);
    for (wrong, expected) in [
        (
            check("POST", "/training-job", "", job, 201, job),
            "POST /v2/0f/training-job 201: no such operation, but it is executed",
        ),
        (
            check("POST", "/training-jobs", "", job, 200, job),
            "POST /v2/0f/training-jobs 200: this status is not declared",
        ),
        (
            check("POST", "/training-jobs", "", job, 201, r#"{"kind": 1, "metadata": {}}"#),
            "POST /v2/0f/training-jobs 201: the answer, /kind: 1 is not valid under any of the \
             schemas listed in the 'anyOf' keyword",
        ),
        (
            check(
                "POST",
                "/training-jobs",
                "",
                job,
                201,
                r#"{"kind": "job", "metadata": {"nam": "a"}}"#,
            ),
            "POST /v2/0f/training-jobs 201: the answer has .metadata.nam, which no schema names",
        ),
        (
            check("POST", "/training-jobs", "", r#"{"kind": "job"}"#, 201, job),
            "POST /v2/0f/training-jobs 201: the request, : \"metadata\" is a required property",
        ),
        (
            check("GET", "/training-jobs/a/events", "limit=101", "", 200, "{}"),
            "GET /v2/0f/training-jobs/a/events 200: query limit, : 101 is greater than the \
             maximum of 100",
        ),
        (
            check("DELETE", "/training-jobs/a", "", "", 202, "{}"),
            "DELETE /v2/0f/training-jobs/a 202: it has a body, and none is declared",
        ),
        (
            check("GET", "/training-jobs/a", "", "", 400, "<html>"),
            "GET /v2/0f/training-jobs/a 400: the answer is not JSON: expected value at line 1 \
             column 1",
        ),
    ] {
        assert_eq!(wrong, [expected]);
    }
}
