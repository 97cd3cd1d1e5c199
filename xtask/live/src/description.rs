//! Comparison of recorded calls with the description: finds the operation of a path, and compares
//! values with schemas, field by field.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

/// The OpenAPI description from which the types are generated.
pub struct Description {
    /// The description as JSON.
    pub root: Value,
    operations: Vec<Operation>,
}

/// Operation of the description.
pub struct Operation {
    /// The operationId.
    pub id: String,
    /// The HTTP method in upper case.
    method: String,
    /// The path, which begins with `/v2/{project_id}/`.
    pub path: String,
    /// The definition of the operation.
    value: Value,
    /// The parameters of the operation and of its path.
    parameters: Vec<Value>,
}

/// Body that an operation declares for a response status.
pub enum Declared<'a> {
    /// The status is not declared.
    Nothing,
    /// The status is declared without a body.
    NoBody,
    /// The status is declared with a body of this schema.
    Body(&'a Value),
}

/// Difference between a value and its schema.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// JSON pointer to the value, with `*` for any element of a list.
    pub place: String,
    /// Description of the difference, for messages.
    pub text: String,
}

impl Description {
    /// Loads the description that the crate `modelarts-api` was generated from.
    pub fn load() -> Result<Self> {
        let root: Value = serde_saphyr::from_str(modelarts_api::DESCRIPTION)
            .context("openapi/modelarts.yaml is not YAML")?;
        Ok(Self::new(root))
    }

    fn new(root: Value) -> Self {
        let list = |value: &Value| value["parameters"].as_array().cloned().unwrap_or_default();
        let mut operations = Vec::new();
        for (path, item) in root["paths"].as_object().into_iter().flatten() {
            for (method, value) in item.as_object().into_iter().flatten() {
                let Some(id) = value["operationId"].as_str() else {
                    continue;
                };
                let parameters = list(item).into_iter().chain(list(value));
                operations.push(Operation {
                    id: id.to_owned(),
                    method: method.to_uppercase(),
                    path: path.clone(),
                    parameters: parameters.map(|it| resolve(&root, &it).clone()).collect(),
                    value: value.clone(),
                });
            }
        }
        // Sorts `training-jobs/batch-delete` before `training-jobs/{training_job_id}`.
        operations.sort_by_key(|it| it.path.matches('{').count());
        Self { root, operations }
    }

    /// The version of the description.
    pub fn version(&self) -> &str {
        self.root["info"]["version"].as_str().unwrap_or_default()
    }

    /// Returns the operation of a request, with the values of its path parameters.
    pub fn find(&self, method: &str, path: &str) -> Option<(&Operation, BTreeMap<String, String>)> {
        let sent: Vec<&str> = path.split('/').collect();
        self.operations.iter().find_map(|operation| {
            let template: Vec<&str> = operation.path.split('/').collect();
            if operation.method != method || template.len() != sent.len() {
                return None;
            }
            let mut values = BTreeMap::new();
            for (template, sent) in template.iter().zip(&sent) {
                match template.strip_prefix('{') {
                    Some(name) => {
                        let value = percent_decode_str(sent).decode_utf8_lossy().into_owned();
                        values.insert(name.trim_end_matches('}').to_owned(), value);
                    }
                    None if template == sent => {}
                    None => return None,
                }
            }
            Some((operation, values))
        })
    }

    /// Returns the operation with this id.
    pub fn operation(&self, id: &str) -> Option<&Operation> {
        self.operations.iter().find(|it| it.id == id)
    }

    /// Returns the schema of the request body of an operation.
    pub fn request<'a>(&'a self, operation: &'a Operation) -> Option<&'a Value> {
        let body = resolve(&self.root, operation.value.get("requestBody")?);
        body.pointer("/content/application~1json/schema")
    }

    /// Returns the schema of a query parameter.
    pub fn query<'a>(&self, operation: &'a Operation, name: &str) -> Option<&'a Value> {
        let declared = |it: &&Value| it["in"] == "query" && it["name"] == name;
        operation.parameters.iter().find(declared)?.get("schema")
    }

    /// Returns the body that an operation declares for a status.
    pub fn answer<'a>(&'a self, operation: &'a Operation, status: u16) -> Declared<'a> {
        let keys = [status.to_string(), format!("{}XX", status / 100)];
        let response = keys
            .iter()
            .find_map(|key| operation.value["responses"].get(key));
        let Some(response) = response else {
            return Declared::Nothing;
        };
        match resolve(&self.root, response).pointer("/content/application~1json/schema") {
            Some(schema) => Declared::Body(schema),
            None => Declared::NoBody,
        }
    }

    /// Returns true if the description lists this error code with this status for the operation.
    pub fn documents(&self, operation: &Operation, status: u16, code: &str) -> bool {
        let own = operation.value["x-error-codes"].as_array();
        let is_own = own.into_iter().flatten().any(|own| own == code);
        let rows = self.root["x-error-table"].as_array();
        rows.into_iter().flatten().any(|row| {
            row["code"] == code
                && row["status"] == status
                && (is_own || row["any-operation"] == true)
        })
    }

    /// Collects the keywords of a schema and of the schemas that it is composed of.
    pub fn facts<'a>(&'a self, schema: &'a Value) -> Facts<'a> {
        let mut facts = Facts::default();
        self.collect(schema, true, &mut facts);
        facts
    }

    fn collect<'a>(&'a self, schema: &'a Value, certain: bool, facts: &mut Facts<'a>) {
        let schema = resolve(&self.root, schema);
        facts.nullable |= schema["nullable"] == true;
        facts.types.extend(schema["type"].as_str());
        let known = schema["enum"].as_array().into_iter().flatten();
        facts.known.extend(known.filter_map(Value::as_str));
        if certain {
            let required = schema["required"].as_array().into_iter().flatten();
            facts.required.extend(required.filter_map(Value::as_str));
        }
        facts.minimum = facts.minimum.or(schema["minimum"].as_f64());
        facts.maximum = facts.maximum.or(schema["maximum"].as_f64());
        facts.items = facts.items.or(schema.get("items"));
        facts.additional = facts.additional.or(schema.get("additionalProperties"));
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            facts.properties.insert(name, property);
        }
        for (list, certain) in [("allOf", certain), ("anyOf", false), ("oneOf", false)] {
            for part in schema[list].as_array().into_iter().flatten() {
                self.collect(part, certain, facts);
            }
        }
    }

    /// Returns the name of the schema that a reference points to. The bodies of requests and
    /// responses are such references.
    pub fn name(schema: &Value) -> Option<&str> {
        schema["$ref"].as_str()?.rsplit('/').next()
    }

    /// Returns all differences between a value and a schema. Formats, patterns and lengths of texts
    /// are not compared, because redaction changes them.
    pub fn differences(&self, schema: &Value, value: &Value) -> BTreeSet<Difference> {
        let mut found = BTreeSet::new();
        self.compare("", schema, value, &mut found);
        found
    }

    fn compare(&self, at: &str, schema: &Value, value: &Value, found: &mut BTreeSet<Difference>) {
        let facts = self.facts(schema);
        let mut say = |place: &str, text: String| {
            let place = place.to_owned();
            found.insert(Difference { place, text });
        };
        if !facts.admits(value) {
            let types: Vec<&str> = facts.types.iter().copied().collect();
            let (is, described) = (type_of(value), types.join(" or "));
            say(at, format!("is {is}, described as {described}"));
            return;
        }
        match value {
            Value::String(text) => {
                // Known values are compared without regard to case, because the service also spells
                // `K8S` as `K8s`.
                let is_known = |known: &&str| known.eq_ignore_ascii_case(text);
                let open = facts.known.is_empty() || text.is_empty();
                if !open && !facts.known.iter().any(is_known) {
                    say(at, format!("{text:?} is no known value"));
                }
            }
            Value::Number(number) => {
                let number = number.as_f64().unwrap_or_default();
                if let Some(least) = facts.minimum.filter(|least| number < *least) {
                    say(at, format!("{number} is less than {least}"));
                }
                if let Some(most) = facts.maximum.filter(|most| number > *most) {
                    say(at, format!("{number} is more than {most}"));
                }
            }
            Value::Array(list) => {
                for (schema, value) in facts
                    .items
                    .into_iter()
                    .flat_map(|it| list.iter().map(move |value| (it, value)))
                {
                    self.compare(&format!("{at}/*"), schema, value, found);
                }
            }
            Value::Object(members) => {
                for name in &facts.required {
                    if !members.contains_key(*name) {
                        say(
                            &format!("{at}/{name}"),
                            "is missing, described as required".into(),
                        );
                    }
                }
                for (name, value) in members {
                    match facts.property(name) {
                        Member::Named(schema) => {
                            self.compare(&format!("{at}/{name}"), schema, value, found);
                        }
                        Member::OfMap(schema) => {
                            self.compare(&format!("{at}/*"), schema, value, found);
                        }
                        Member::Free => {}
                        Member::Unknown => {
                            let place = format!("{at}/{name}");
                            let text = format!("is not described; it is {}", type_of(value));
                            found.insert(Difference { place, text });
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Keywords of a schema and of the schemas that it is composed of.
#[derive(Default)]
pub struct Facts<'a> {
    nullable: bool,
    types: BTreeSet<&'a str>,
    /// The values of an enumeration, closed or open.
    pub known: BTreeSet<&'a str>,
    required: BTreeSet<&'a str>,
    minimum: Option<f64>,
    maximum: Option<f64>,
    /// The schema of the elements of a list.
    pub items: Option<&'a Value>,
    additional: Option<&'a Value>,
    properties: BTreeMap<&'a str, &'a Value>,
}

/// The description of a member of an object.
pub enum Member<'a> {
    /// The object has a schema for this member.
    Named(&'a Value),
    /// The object is a map, all of whose values have this schema.
    OfMap(&'a Value),
    /// The object may have any members.
    Free,
    /// The object has no such member.
    Unknown,
}

impl<'a> Facts<'a> {
    /// Returns the description of the member with this name.
    pub fn property(&self, name: &str) -> Member<'a> {
        match (self.properties.get(name), self.additional) {
            (Some(schema), _) => Member::Named(schema),
            (None, Some(schema)) if schema.is_object() => Member::OfMap(schema),
            (None, Some(Value::Bool(true))) => Member::Free,
            (None, None) if self.properties.is_empty() => Member::Free,
            _ => Member::Unknown,
        }
    }

    fn admits(&self, value: &Value) -> bool {
        let is = |name| self.types.contains(name);
        self.types.is_empty()
            || match value {
                Value::Null => self.nullable,
                Value::Bool(_) => is("boolean"),
                Value::Number(number) => {
                    is("number")
                        || is("integer") && number.as_f64().is_some_and(|it| it.fract() == 0.0)
                }
                Value::String(_) => is("string"),
                Value::Array(_) => is("array"),
                Value::Object(_) => is("object"),
            }
    }
}

/// Returns the JSON type of a value, for messages.
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn resolve<'a>(root: &'a Value, value: &'a Value) -> &'a Value {
    let mut value = value;
    while let Some(next) = value["$ref"]
        .as_str()
        .and_then(|it| root.pointer(it.strip_prefix('#')?))
    {
        value = next;
    }
    value
}

/// Calls `found` with every text of a description. The words of these texts are regarded as words
/// of the service.
pub fn texts<'a>(value: &'a Value, found: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(list) => list.iter().for_each(|value| texts(value, found)),
        Value::Object(members) => of_members(members, found),
        _ => {}
    }
}

fn of_members<'a>(members: &'a Map<String, Value>, found: &mut impl FnMut(&'a str)) {
    for (name, value) in members {
        found(name);
        // Examples are skipped, because their names are fictitious.
        if !matches!(name.as_str(), "example" | "examples") {
            texts(value, found);
        }
    }
}

impl Description {
    /// Returns the values of all enumerations.
    pub fn known_values(&self) -> BTreeSet<String> {
        let schemas = self.root["components"]["schemas"].as_object();
        let schemas = schemas.into_iter().flat_map(Map::values);
        let known = schemas.flat_map(|schema| self.facts(schema).known);
        known.map(str::to_owned).collect()
    }

    /// Returns the values of the enumerations that occur in requests.
    pub fn sent_values(&self) -> BTreeSet<&str> {
        let (mut seen, mut values) = (BTreeSet::new(), BTreeSet::new());
        let mut left: Vec<&Value> = self
            .operations
            .iter()
            .filter_map(|it| self.request(it))
            .collect();
        while let Some(schema) = left.pop() {
            match schema {
                Value::Array(list) => left.extend(list),
                Value::Object(members) => {
                    let known = schema["enum"].as_array().into_iter().flatten();
                    values.extend(known.filter_map(Value::as_str));
                    left.extend(members.values());
                    if let Some(name) = schema["$ref"].as_str().filter(|it| seen.insert(*it)) {
                        left.extend(self.root.pointer(name.trim_start_matches('#')));
                    }
                }
                _ => {}
            }
        }
        values
    }

    /// Returns the keys that the descriptions of the maps with these names list.
    pub fn switches(&self, maps: &[&str]) -> BTreeSet<&str> {
        let schemas = self.root["components"]["schemas"].as_object();
        let schemas = schemas.into_iter().flat_map(Map::values);
        let texts = schemas.flat_map(|schema| {
            let maps = maps.iter().map(|it| &schema["properties"][it]);
            maps.filter_map(|it| it["description"].as_str())
        });
        texts
            .flat_map(|it| it.split('`').skip(1).step_by(2))
            .collect()
    }

    /// Returns the words of the description, except those of its examples.
    pub fn words(&self) -> BTreeSet<&str> {
        let mut words = BTreeSet::new();
        texts(&self.root, &mut |text| {
            words.extend(
                text.split(|c: char| !c.is_ascii_alphabetic())
                    .filter(|it| !it.is_empty()),
            );
        });
        words
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_found_field_by_field() {
        let root = json!({"components": {"schemas": {
            "Phase": {"anyOf": [{"$ref": "#/components/schemas/KnownPhase"}, {"type": "string"}]},
            "KnownPhase": {"type": "string", "enum": ["Running", "Failed"]},
            "Part": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
            "Job": {
                "allOf": [{"$ref": "#/components/schemas/Part"}],
                "properties": {
                    "phase": {"allOf": [{"$ref": "#/components/schemas/Phase"}]},
                    "count": {"type": "integer", "minimum": 1, "maximum": 3, "nullable": true},
                    "rows": {"type": "array", "items": {"$ref": "#/components/schemas/Part"}},
                    "map": {"type": "object", "additionalProperties": {"type": "string"}},
                    "any": {"type": "object", "additionalProperties": {}},
                },
            },
        }}});
        let description = Description::new(root);
        let schema = json!({"$ref": "#/components/schemas/Job"});
        let differences = |value: Value| {
            let found = description.differences(&schema, &value).into_iter();
            found
                .map(|it| format!("{} {}", it.place, it.text))
                .collect::<Vec<_>>()
        };
        let fits = json!({
            "id": "a", "phase": "RUNNING", "count": null, "rows": [{"id": "b"}],
            "map": {"a": "b"}, "any": {"a": [1]},
        });
        assert_eq!(differences(fits), [""; 0]);
        let does_not = json!({
            "phase": "Paused", "count": 4, "rows": [{"id": null}, {"id": "a", "new": {}}],
            "map": {"a": 1}, "new": 1.5,
        });
        assert_eq!(
            differences(does_not),
            [
                "/count 4 is more than 3",
                "/id is missing, described as required",
                "/map/* is number, described as string",
                "/new is not described; it is number",
                "/phase \"Paused\" is no known value",
                "/rows/*/id is null, described as string",
                "/rows/*/new is not described; it is object",
            ]
        );
        assert_eq!(
            differences(json!({"id": "a", "count": 1.5})),
            ["/count is number, described as integer"]
        );
        assert_eq!(differences(json!([])), [" is array, described as object"]);
    }
}
