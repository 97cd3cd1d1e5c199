//! JSON paths such as `items[0].metadata.name` and `items[*].run_user`.

use serde_json::Value;

enum Step<'a> {
    Member(&'a str),
    Element(usize),
    Every,
}

fn steps(path: &str) -> impl Iterator<Item = Step<'_>> {
    path.split('.').flat_map(|part| {
        let (name, indexes) = part.split_at(part.find('[').unwrap_or(part.len()));
        let member = (!name.is_empty()).then_some(Step::Member(name));
        let indexes = indexes.split(['[', ']']).filter(|index| !index.is_empty());
        member.into_iter().chain(indexes.map(|index| match index {
            "*" => Step::Every,
            number => Step::Element(number.parse().unwrap()),
        }))
    })
}

/// Returns all values at a path: at most one unless the path contains `[*]`.
pub fn all<'a>(root: &'a Value, path: &str) -> Vec<&'a Value> {
    steps(path).fold(vec![root], |found, step| {
        let next = |value: &'a Value| match step {
            Step::Member(name) => value.get(name).into_iter().collect(),
            Step::Element(index) => value.get(index).into_iter().collect(),
            Step::Every => value.as_array().into_iter().flatten().collect::<Vec<_>>(),
        };
        found.into_iter().flat_map(next).collect()
    })
}

pub fn set(root: &mut Value, path: &str, new: Value) {
    let place = steps(path).fold(root, |value, step| match step {
        Step::Member(name) => value.get_mut(name).expect(path),
        Step::Element(index) => value.get_mut(index).expect(path),
        Step::Every => panic!("{path} has more than one place"),
    });
    *place = new;
}

pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

pub fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .filter(|(_, member)| !member.is_null())
            .map(|(name, member)| (name.clone(), without_nulls(member)))
            .collect(),
        Value::Array(items) => items.iter().map(without_nulls).collect(),
        other => other.clone(),
    }
}

/// Returns the paths of `expected` at which the value in `actual` differs or is missing.
pub fn missing(expected: &Value, actual: &Value) -> Vec<String> {
    fn collect(at: String, expected: &Value, actual: Option<&Value>, found: &mut Vec<String>) {
        match expected {
            Value::Object(members) if !members.is_empty() => {
                for (name, member) in members {
                    let actual = actual.and_then(|actual| actual.get(name));
                    let dot = if at.is_empty() { "" } else { "." };
                    collect(format!("{at}{dot}{name}"), member, actual, found);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                for (index, item) in items.iter().enumerate() {
                    let actual = actual.and_then(|actual| actual.get(index));
                    collect(format!("{at}[{index}]"), item, actual, found);
                }
            }
            _ if actual == Some(expected) || (is_empty(expected) && actual.is_none()) => {}
            _ => found.push(at),
        }
    }
    let mut found = Vec::new();
    collect(String::new(), expected, Some(actual), &mut found);
    found
}
