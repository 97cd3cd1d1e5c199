//! Comparison of a body with the result of decoding and encoding it.

use std::{collections::BTreeSet, fmt};

use modelarts_api::decode::Skipped;
use serde_json::{Map, Value};

use crate::types;

type Object = Map<String, Value>;

/// Difference between a body and its encoding.
#[derive(Debug)]
pub struct Finding {
    /// One of `note` (another spelling of the same value), `unknown` (the type has no such field),
    /// `filler` (a string in a list of objects, SOURCES D-13), `dropped` (elements of a list are
    /// missing in the encoding), `lost` (another value is missing) and `changed`.
    pub kind: &'static str,
    /// JSON pointer to the value; empty for the whole body.
    pub pointer: String,
    text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, text, .. } = self;
        let pointer = Some(&*self.pointer).filter(|pointer| !pointer.is_empty());
        write!(f, "{kind:7}  {}: {text}", pointer.unwrap_or("(body)"))
    }
}

/// Decodes a body with the type of a schema, encodes it again and returns the differences. The
/// description distinguishes fields that a type lacks from values that are lost.
pub fn of(root: &Value, name: &str, body: &[u8]) -> Result<(Vec<Finding>, Skipped), String> {
    let trip = types::find(name)?;
    let sent: Value = match serde_json::from_slice(body) {
        Err(_) if name == "Empty" && body.trim_ascii().is_empty() => Value::Null,
        parsed => parsed.map_err(|error| format!("not JSON: {error}"))?,
    };
    let (returned, skipped) = trip(body).map_err(|error| format!("cannot be decoded: {error}"))?;
    let schema = &root["components"]["schemas"][name];
    Ok((between(root, schema, &sent, &returned), skipped))
}

/// Returns the differences between a body and its encoding.
pub fn between(root: &Value, schema: &Value, sent: &Value, returned: &Value) -> Vec<Finding> {
    let findings = Vec::new();
    let mut comparison = Comparison { root, findings };
    comparison.values("", schema, sent, returned);
    comparison.findings
}

struct Comparison<'a> {
    root: &'a Value,
    findings: Vec<Finding>,
}

impl<'a> Comparison<'a> {
    fn add(&mut self, kind: &'static str, at: &str, sent: &Value, returned: &Value) {
        let [sent, returned] = [sent, returned].map(Value::to_string);
        let (pointer, text) = (at.to_owned(), format!("{sent:.60} became {returned:.60}"));
        self.findings.push(Finding { kind, pointer, text });
    }

    /// Returns the schema to which references lead.
    fn resolve(&self, schema: &'a Value) -> &'a Value {
        let references = [&schema["$ref"], &schema["allOf"][0]["$ref"]];
        let mut targets = references.iter().filter_map(|target| target.as_str());
        match targets.find_map(|target| self.root.pointer(&target[1..])) {
            Some(schema) => self.resolve(schema),
            None => schema,
        }
    }

    /// Compares a value with its encoding. An absent field is the same as null.
    fn values(&mut self, at: &str, schema: &'a Value, sent: &Value, returned: &Value) {
        let schema = self.resolve(schema);
        match (sent, returned) {
            _ if sent == returned => {}
            // 8 and 8.0 are the same number in JSON.
            (Value::Number(_), Value::Number(_)) if same_meaning(sent, returned) => {}
            (Value::Object(sent), Value::Object(returned)) => {
                self.objects(at, schema, sent, returned);
            }
            (Value::Array(sent), Value::Array(returned)) => {
                self.lists(at, &schema["items"], sent, returned);
            }
            // Decoding merges a list of objects where the type has one object.
            (Value::Array(parts), Value::Object(whole)) if parts.iter().all(Value::is_object) => {
                self.add("note", at, sent, returned);
                for (index, part) in parts.iter().enumerate() {
                    let mut whole = whole.clone();
                    whole.retain(|key, _| part.get(key).is_some());
                    self.values(&join(at, index), schema, part, &Value::Object(whole));
                }
            }
            (_, Value::Array(list)) if list.len() == 1 => {
                self.add("note", at, sent, returned);
                self.values(at, &schema["items"], sent, &list[0]);
            }
            _ if same_meaning(sent, returned) => self.add("note", at, sent, returned),
            (_, Value::Null) => self.add("lost", at, sent, returned),
            _ => self.add("changed", at, sent, returned),
        }
    }

    fn objects(&mut self, at: &str, schema: &'a Value, sent: &Object, returned: &Object) {
        let keys: BTreeSet<_> = sent.keys().chain(returned.keys()).collect();
        for key in keys {
            let at = join(at, key);
            let field = schema["properties"].get(key);
            let field = field.or(schema.get("additionalProperties"));
            let sent = sent.get(key).unwrap_or(&Value::Null);
            match (field, returned.get(key)) {
                (None, None) => self.add("unknown", &at, sent, &Value::Null),
                (field, returned) => {
                    let returned = returned.unwrap_or(&Value::Null);
                    self.values(&at, field.unwrap_or(&Value::Null), sent, returned);
                }
            }
        }
    }

    fn lists(&mut self, at: &str, items: &'a Value, sent: &[Value], returned: &[Value]) {
        // Lists of any JSON keep null. Other lists skip it, and lists of objects skip fillers.
        let has_fillers = self.resolve(items).get("properties").is_some();
        let skipped: [fn(&Value) -> bool; 3] =
            [|_| false, Value::is_null, |it| it.is_null() || it.is_string()];
        let skipped = &skipped[..if has_fillers { 3 } else { 2 }];
        let count = |skipped: &fn(&Value) -> bool| sent.iter().filter(|it| skipped(it)).count();
        let fits = |skipped: &&fn(&Value) -> bool| count(skipped) + returned.len() == sent.len();
        let Some(is_skipped) = skipped.iter().find(fits) else {
            let [sent, returned] = [sent, returned].map(|list| Value::Array(list.to_vec()));
            return self.add("dropped", at, &sent, &returned);
        };
        let mut returned = returned.iter();
        for (index, value) in sent.iter().enumerate() {
            let at = join(at, index);
            if value.is_string() && is_skipped(value) {
                self.add("filler", &at, value, &Value::Null);
            } else if !is_skipped(value) {
                self.values(&at, items, value, returned.next().unwrap_or(&Value::Null));
            }
        }
    }
}

/// Appends a key or index to a JSON pointer (RFC 6901).
fn join(pointer: &str, key: impl fmt::Display) -> String {
    let key = key.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{key}")
}

/// Returns true if a value is equivalent to an absent field. Lists and maps skip nulls.
fn equals_absence(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.iter().all(Value::is_null),
        Value::Object(object) => object.values().all(Value::is_null),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if two different JSON values are spellings of the same value.
fn same_meaning(a: &Value, b: &Value) -> bool {
    if equals_absence(a) || equals_absence(b) || a.is_string() && b.is_string() {
        return equals_absence(a) && equals_absence(b);
    }
    let texts = [a, b].map(|value| match value.as_str() {
        Some(text) => text.trim().to_lowercase(),
        None => value.to_string(),
    });
    if a.is_boolean() || b.is_boolean() {
        let all = |spellings: [&str; 2]| texts.iter().all(|text| spellings.contains(&&**text));
        return all(["true", "1"]) || all(["false", "0"]);
    }
    // An integer beyond 2^53 is another number after a conversion to a float.
    let number = |text: &String| match text.parse::<i128>() {
        Ok(number) => Some(number.to_string()),
        Err(_) => text.parse::<f64>().ok().map(|number| number.to_string()),
    };
    number(&texts[0]).is_some_and(|first| number(&texts[1]) == Some(first))
}
