//! Comparison of two versions of a schema.

use std::{cell::RefCell, collections::BTreeSet};

use serde_json::{Value, json};

/// Returns the changes from `old` to `new` that a program which reads the documents would notice.
/// Fields may be added, a field that was optional may always be present, and kinds may be added to
/// an enumeration. Descriptions do not count.
pub(super) fn breaks(old: &Value, new: &Value) -> Vec<String> {
    let mut breaks = Vec::new();
    Comparison { old, new, active: RefCell::default() }.compare(old, new, "", &mut breaks);
    breaks
}

/// The documents that references refer to.
struct Comparison<'a> {
    old: &'a Value,
    new: &'a Value,
    /// References that are being followed, because a type may contain itself.
    active: RefCell<Vec<[Value; 2]>>,
}

impl Comparison<'_> {
    fn compare(&self, old: &Value, new: &Value, path: &str, breaks: &mut Vec<String>) {
        let references = [old["$ref"].clone(), new["$ref"].clone()];
        if references.iter().any(Value::is_null) {
            return self.compare_resolved(old, new, path, breaks);
        }
        if !self.active.borrow().contains(&references) {
            self.active.borrow_mut().push(references);
            self.compare_resolved(old, new, path, breaks);
            self.active.borrow_mut().pop();
        }
    }

    fn compare_resolved(&self, old: &Value, new: &Value, path: &str, breaks: &mut Vec<String>) {
        let (old, new) = (resolve(self.old, old), resolve(self.new, new));
        let place = if path.is_empty() { "the document" } else { path };
        if types(old) != types(new) {
            let (old, new) = (types(old), types(new));
            breaks.push(format!("{place} was {old:?} and is {new:?}"));
            return;
        }
        for keyword in ["format", "const", "pattern"] {
            if old.get(keyword) != new.get(keyword) {
                breaks.push(format!("{place} has another {keyword}"));
            }
        }
        for (name, field) in old["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            match new["properties"].get(name) {
                Some(new) => self.compare(field, new, &path, breaks),
                None => breaks.push(format!("{path} was removed")),
            }
        }
        for name in names(&old["required"]).difference(&names(&new["required"])) {
            if new["properties"].get(name).is_some() {
                breaks.push(format!("{path}.{name} was always present and is optional"));
            }
        }
        for value in names(&old["enum"]).difference(&names(&new["enum"])) {
            breaks.push(format!("{place} no longer has the value {value}"));
        }
        for keyword in ["items", "additionalProperties"] {
            match (old.get(keyword), new.get(keyword)) {
                (Some(old), Some(new)) => self.compare(old, new, &format!("{path}[]"), breaks),
                (None, None) => {}
                _ => breaks.push(format!("{place} has other elements")),
            }
        }
        for keyword in ["anyOf", "oneOf"] {
            let variants = |schema: &Value| schema[keyword].as_array().cloned().unwrap_or_default();
            let new = variants(new);
            for (position, old) in variants(old).iter().enumerate() {
                // Variants have no names, so one of the new ones must be compatible.
                let is_compatible = |new: &Value| {
                    let mut breaks = Vec::new();
                    self.compare(old, new, path, &mut breaks);
                    breaks.is_empty()
                };
                if !new.iter().any(is_compatible) {
                    breaks.push(format!("variant {position} of {place} has changed"));
                }
            }
        }
    }
}

/// Follows a reference to a definition of the document.
fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        Some(path) => document.pointer(path).unwrap_or(schema),
        None => schema,
    }
}

fn types(schema: &Value) -> BTreeSet<&str> {
    match &schema["type"] {
        Value::String(name) => BTreeSet::from([name.as_str()]),
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => BTreeSet::new(),
    }
}

fn names(list: &Value) -> BTreeSet<&str> {
    let names = list.as_array().into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

fn sample() -> Value {
    json!({
        "type": "object",
        "required": ["id", "tasks"],
        "properties": {
            "id": {"type": "string", "description": "Id."},
            "nodes": {"type": ["integer", "null"], "format": "int64"},
            "phase": {"type": "string", "enum": ["Running", "Failed"]},
            "tasks": {"type": "array", "items": {"$ref": "#/$defs/Task"}},
            "event": {"oneOf": [
                {"type": "object", "properties": {"type": {"const": "log"}}},
                {"type": "object", "properties": {"type": {"const": "end"}}},
            ]},
        },
        "$defs": {"Task": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "name": {"type": "string"},
                "parts": {"type": "array", "items": {"$ref": "#/$defs/Task"}},
            },
        }},
    })
}

/// Returns the breaks of a change to the sample.
fn breaks_of(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut new = sample();
    change(&mut new);
    breaks(&sample(), &new)
}

fn remove(value: &mut Value, key: &str) {
    value.as_object_mut().unwrap().remove(key).unwrap();
}

#[test]
fn additions_are_compatible() {
    let none = Vec::<String>::new();
    assert_eq!(breaks_of(|_| ()), none);
    assert_eq!(
        breaks_of(|new| {
            new["properties"]["why"] = json!({"type": "string"});
            new["properties"]["id"]["description"] = "Id of the job.".into();
            new["$defs"]["Task"]["properties"]["host"] = json!({"type": "string"});
            new["required"] = json!(["id", "tasks", "nodes", "why"]);
            new["properties"]["phase"]["enum"] = json!(["Running", "Failed", "Pending"]);
            let event = json!({"type": "object", "properties": {"type": {"const": "phase"}}});
            new["properties"]["event"]["oneOf"].as_array_mut().unwrap().insert(0, event);
        }),
        none
    );
    // A definition may have another name.
    assert_eq!(
        breaks_of(|new| {
            let mut task = new["$defs"]["Task"].take();
            task["properties"]["parts"]["items"]["$ref"] = "#/$defs/Worker".into();
            new["$defs"]["Worker"] = task;
            new["properties"]["tasks"]["items"]["$ref"] = "#/$defs/Worker".into();
        }),
        none
    );
}

#[test]
fn a_removed_field_is_a_break() {
    assert_eq!(breaks_of(|new| remove(&mut new["properties"], "nodes")), [".nodes was removed"]);
    assert_eq!(
        breaks_of(|new| remove(&mut new["$defs"]["Task"]["properties"], "name")),
        [".tasks[].name was removed"]
    );
}

#[test]
fn another_type_is_a_break() {
    assert_eq!(
        breaks_of(|new| new["properties"]["nodes"]["type"] = "integer".into()),
        [".nodes was {\"integer\", \"null\"} and is {\"integer\"}"]
    );
    assert_eq!(
        breaks_of(|new| new["properties"]["id"]["type"] = json!(["string", "null"])),
        [".id was {\"string\"} and is {\"null\", \"string\"}"]
    );
    assert_eq!(
        breaks_of(|new| new["properties"]["nodes"]["format"] = "uint8".into()),
        [".nodes has another format"]
    );
    assert_eq!(
        breaks_of(|new| new["$defs"]["Task"]["properties"]["name"]["type"] = "integer".into()),
        [".tasks[].name was {\"string\"} and is {\"integer\"}"]
    );
}

#[test]
fn a_field_that_may_be_absent_now_is_a_break() {
    assert_eq!(
        breaks_of(|new| new["required"] = json!(["id"])),
        [".tasks was always present and is optional"]
    );
}

#[test]
fn a_removed_kind_is_a_break() {
    assert_eq!(
        breaks_of(|new| new["properties"]["phase"]["enum"] = json!(["Running"])),
        [".phase no longer has the value Failed"]
    );
    assert_eq!(
        breaks_of(|new| {
            new["properties"]["event"]["oneOf"].as_array_mut().unwrap().pop();
        }),
        ["variant 1 of .event has changed"]
    );
}
