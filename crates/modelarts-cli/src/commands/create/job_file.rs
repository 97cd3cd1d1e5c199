//! `JobFile`: a job in YAML or JSON, with the lines of its fields.

use std::{collections::BTreeMap, fmt, fs, io::Read, path::Path};

use modelarts_ext::{CreateJob, TrainingJobs, error::Violation};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use serde_saphyr::Spanned;

use crate::failure::Failure;

#[derive(Clone, Debug)]
pub(crate) struct JobFile {
    name: String,
    /// Line and value of each field, by the path of the field.
    fields: BTreeMap<String, (u64, Value)>,
    /// Unknown fields, and values of wrong types. The job does not contain them.
    pub(crate) violations: Vec<Violation>,
}

impl JobFile {
    /// Reads a file, or stdin for `-`. Fields with mistakes are left out of the job, so that
    /// mistakes in the other fields are found as well.
    pub(crate) fn read(path: &Path, jobs: &TrainingJobs) -> Result<(Self, CreateJob), Failure> {
        let (name, text) = read(path)?;
        let is_json = match path.extension() {
            Some(extension) => extension == "json",
            None => text.trim_start().starts_with('{'),
        };
        let parsed = match is_json {
            true => jobs.from_json(&text),
            false => jobs.from_yaml(&text),
        };
        let mut file = Self { fields: fields(&text), name, violations: Vec::new() };
        match parsed {
            Ok(job) => Ok((file, job)),
            Err(error) if error.violations().is_empty() => {
                Err(Failure::usage(format_args!("{}: {error}", file.name)))
            }
            Err(error) => {
                let mut document: Value = match is_json {
                    true => serde_json::from_str(&text).map_err(Failure::usage)?,
                    false => serde_saphyr::from_str(&text).map_err(Failure::usage)?,
                };
                for violation in error.violations() {
                    remove(&mut document, violation.field());
                }
                file.violations = error.violations().to_vec();
                let job = jobs.from_value(&document);
                Ok((file, job?))
            }
        }
    }

    /// Returns the line of the field of a violation; `None` if the value is not from the file.
    pub(crate) fn line(&self, violation: &Violation) -> Option<u64> {
        let (line, value) = self.fields.get(violation.field())?;
        let is_same = violation.value().is_none_or(|checked| {
            // Numbers and booleans become text where the service expects text.
            checked == value || checked.as_str() == Some(&value.to_string())
        });
        is_same.then_some(*line)
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

fn read(path: &Path) -> Result<(String, String), Failure> {
    let unreadable =
        |name: &str, error| Failure::usage(format_args!("cannot read the job in {name}: {error}"));
    if path == Path::new("-") {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| unreadable("stdin", error))?;
        return Ok(("stdin".to_owned(), text));
    }
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| unreadable(&name, error))?;
    Ok((name, text))
}

/// A value, with the lines of all values that it contains.
enum Node {
    Scalar(Value),
    List(Vec<Spanned<Node>>),
    Object(Vec<(Spanned<String>, Node)>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Node, A::Error> {
        let mut object = Vec::new();
        while let Some(member) = members.next_entry()? {
            object.push(member);
        }
        Ok(Node::Object(object))
    }
}

/// Returns the line and the value of each field, by its path. JSON is read as YAML. The result is
/// empty if the text cannot be parsed.
fn fields(text: &str) -> BTreeMap<String, (u64, Value)> {
    let mut fields = BTreeMap::new();
    if let Ok(node) = serde_saphyr::from_str::<Node>(text) {
        collect(&node, "", None, &mut fields);
    }
    fields
}

fn collect(
    node: &Node,
    path: &str,
    line: Option<u64>,
    fields: &mut BTreeMap<String, (u64, Value)>,
) {
    let value = match node {
        Node::Scalar(value) => value.clone(),
        Node::List(items) => {
            for (index, item) in items.iter().enumerate() {
                let line = item.referenced.line();
                collect(&item.value, &format!("{path}[{index}]"), Some(line), fields);
            }
            Value::Null
        }
        Node::Object(members) => {
            for (key, member) in members {
                let line = Some(key.referenced.line());
                let key = &key.value;
                let dotted = match path {
                    "" => key.clone(),
                    path => format!("{path}.{key}"),
                };
                collect(member, &dotted, line, fields);
                // Violations name an entry of a map in this form.
                if let Node::Scalar(_) = member {
                    collect(member, &format!("{path}[{key:?}]"), line, fields);
                }
            }
            Value::Null
        }
    };
    if let Some(line) = line {
        fields.insert(path.to_owned(), (line, value));
    }
}

/// Removes the member at a path. An element of a list becomes null instead, which counts as absent,
/// so that the indexes of the other elements do not change.
fn remove(document: &mut Value, path: &str) {
    let (step, rest) = match path.strip_prefix('[') {
        Some(index) => index.split_once(']').unwrap_or((index, "")),
        None => {
            let end = path.find(['.', '[']).unwrap_or(path.len());
            path.split_at(end)
        }
    };
    let rest = rest.strip_prefix('.').unwrap_or(rest);
    let key = step.trim_matches('"');
    match (document, rest.is_empty()) {
        (Value::Object(members), true) => {
            members.remove(key);
        }
        (Value::Object(members), false) => {
            if let Some(member) = members.get_mut(key) {
                remove(member, rest);
            }
        }
        (Value::Array(items), is_last) => {
            let item = step.parse().ok().and_then(|index: usize| items.get_mut(index));
            match (item, is_last) {
                (Some(item), true) => *item = Value::Null,
                (Some(item), false) => remove(item, rest),
                (None, _) => {}
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_their_lines() {
        let fields = fields(
            "metadata:\n  name: bert\nspec:\n  resource: {flavor_id: f,\n    node_count: 2}\n\
             algorithm:\n  parameters:\n    - name: lr\n      value: 1\n    - {name: n}\n",
        );
        let line = |path: &str| fields.get(path).map(|(line, _)| *line);
        assert_eq!(line("metadata"), Some(1));
        assert_eq!(line("metadata.name"), Some(2));
        assert_eq!(line("spec.resource.node_count"), Some(5));
        assert_eq!(line("algorithm.parameters[0].value"), Some(9));
        assert_eq!(line("algorithm.parameters[1]"), Some(10));
        assert_eq!(line("spec.pool"), None);
    }

    #[test]
    fn json_has_lines_too() {
        let fields = fields("{\n  \"spec\": {\n    \"x\": 1\n  }\n}\n");
        assert_eq!(fields["spec.x"], (3, 1.into()));
    }

    #[test]
    fn a_value_is_removed_by_its_path() {
        let mut document = serde_json::json!({"a": {"b": [{"c": 1}, {"c": 2}]}, "m": {"x.y": 1}});
        remove(&mut document, "a.b[1].c");
        remove(&mut document, "a.b[0]");
        remove(&mut document, "m[\"x.y\"]");
        remove(&mut document, "a.missing.c");
        let expected = serde_json::json!({"a": {"b": [null, {}]}, "m": {}});
        assert_eq!(document, expected);
    }
}
