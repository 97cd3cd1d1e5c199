//! A JSON value in the body of a request, with its path.

use serde_json::{Map, Value};

use crate::error::violation::Actual;

/// A field of the body, present or not. Null counts as absent.
#[derive(Clone, Debug)]
pub(crate) struct Located<'a> {
    path: String,
    value: Option<&'a Value>,
}

impl<'a> Located<'a> {
    pub(crate) fn root(body: &'a Value) -> Self {
        Self {
            path: String::new(),
            value: Some(body),
        }
    }

    fn new(path: String, value: Option<&'a Value>) -> Self {
        Self {
            path,
            value: value.filter(|value| !value.is_null()),
        }
    }

    /// The path, such as `spec.volumes[2].nfs.local_path`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// The field at this path, such as `nfs.local_path`.
    pub(crate) fn at(&self, path: &str) -> Self {
        let value = self.value.and_then(|value| {
            path.split('.')
                .try_fold(value, |value, name| value.get(name))
        });
        let path = match self.path.as_str() {
            "" => path.to_owned(),
            parent => format!("{parent}.{path}"),
        };
        Self::new(path, value)
    }

    /// The field of this name, which may contain dots.
    pub(crate) fn at_name(&self, name: &str) -> Self {
        let value = self.value.and_then(|value| value.get(name));
        let path = match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        };
        Self::new(path, value)
    }

    /// The elements of a list.
    pub(crate) fn items(&self) -> Vec<Self> {
        let items = self.value.and_then(Value::as_array);
        let items = items.into_iter().flatten().enumerate();
        items
            .map(|(index, value)| Self::new(format!("{}[{index}]", self.path), Some(value)))
            .collect()
    }

    /// The entries of a map.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Self)> {
        let entries = self.value.and_then(Value::as_object);
        let entries = entries.into_iter().flat_map(Map::keys);
        entries.map(|key| (key.as_str(), self.entry(key))).collect()
    }

    /// One entry of a map.
    pub(super) fn entry(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self::new(format!("{}[{key:?}]", self.path), value)
    }

    /// The text of the field. Empty text counts as absent: the examples of the service send it for
    /// fields without a value.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.value?.as_str().filter(|text| !text.is_empty())
    }

    pub(super) fn integer(&self) -> Option<i64> {
        self.value?.as_i64()
    }

    pub(super) fn is(&self, text: &str) -> bool {
        self.text() == Some(text)
    }

    pub(super) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool) == Some(true)
    }

    /// True if the field has content, see [`has_content`].
    pub(super) fn is_given(&self) -> bool {
        self.value.is_some_and(has_content)
    }

    /// The value, for a message.
    pub(crate) fn actual(&self) -> Actual {
        match self.value {
            None => Actual::Missing,
            Some(Value::String(text)) if text.is_empty() => Actual::Missing,
            Some(value) if may_be_secret(&self.path, value) => Actual::Hidden,
            Some(value) => Actual::Value(value.clone()),
        }
    }
}

/// The field, if it is wrong.
pub(super) fn field_if<'a>(wrong: bool, field: Located<'a>) -> Vec<Located<'a>> {
    wrong.then_some(field).into_iter().collect()
}

/// The fields with the same text as an earlier one.
pub(super) fn repetitions<'a>(fields: impl IntoIterator<Item = Located<'a>>) -> Vec<Located<'a>> {
    repetitions_by(fields, |text| text)
}

/// Like [`repetitions`], without regard to trailing slashes: `/mnt/a` and `/mnt/a/` are the same.
pub(super) fn repeated_paths<'a>(
    fields: impl IntoIterator<Item = Located<'a>>,
) -> Vec<Located<'a>> {
    repetitions_by(fields, |text| text.trim_end_matches('/'))
}

fn repetitions_by<'a>(
    fields: impl IntoIterator<Item = Located<'a>>,
    normal: fn(&str) -> &str,
) -> Vec<Located<'a>> {
    let mut seen = Vec::new();
    let mut repeated = Vec::new();
    for field in fields {
        let Some(text) = field.text().map(normal) else {
            continue;
        };
        if seen.contains(&text) {
            repeated.push(field);
        } else {
            seen.push(text);
        }
    }
    repeated
}

/// True for a value other than null, empty text and empty containers.
pub(crate) fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(has_content),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The fields that hold environment variables, which often contain passwords.
const VARIABLE_FIELDS: [&str; 2] = ["environments", "task_env"];

fn may_be_secret(path: &str, value: &Value) -> bool {
    VARIABLE_FIELDS.iter().any(|name| path.contains(name)) || holds_variables(value)
}

fn holds_variables(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            VARIABLE_FIELDS.contains(&name.as_str()) && has_content(member)
                || holds_variables(member)
        }),
        Value::Array(items) => items.iter().any(holds_variables),
        _ => false,
    }
}

/// The general name of a path, as in the tables: `spec.volumes[].nfs.local_path`,
/// `algorithm.environments{}`.
pub(crate) fn general_name(path: &str) -> String {
    let mut general = String::new();
    let mut rest = path;
    while let Some(start) = rest.find('[') {
        general.push_str(&rest[..start]);
        let inside = &rest[start + 1..];
        // Keys are quoted and may contain any character, including brackets.
        let (mark, end) = match inside.starts_with('"') {
            true => ("{}", inside.rfind("\"]").map(|end| end + 2)),
            false => ("[]", inside.find(']').map(|end| end + 1)),
        };
        general.push_str(mark);
        rest = end.map_or("", |end| &inside[end..]);
    }
    general + rest
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_have_a_path() {
        let body = json!({"spec": {"volumes": [{}, {"nfs": {"local_path": "/a", "x": null}}]}});
        let volume = &Located::root(&body).at("spec.volumes").items()[1];
        let path = volume.at("nfs.local_path");
        assert_eq!(path.path(), "spec.volumes[1].nfs.local_path");
        assert_eq!(path.text(), Some("/a"));
        assert_eq!(volume.at("nfs.x").value(), None);
        assert_eq!(
            volume.at("pfs.local_path").path(),
            "spec.volumes[1].pfs.local_path"
        );
        assert!(!volume.at("pfs").is_given());
        assert!(volume.is_given());
        assert!(!Located::root(&body).at("spec.volumes").items()[0].is_given());
    }

    #[test]
    fn fields_have_a_general_name() {
        assert_eq!(general_name("metadata.name"), "metadata.name");
        assert_eq!(
            general_name("tasks[12].algorithm.inputs[0].name"),
            "tasks[].algorithm.inputs[].name"
        );
        assert_eq!(
            general_name(r#"metadata.annotations["a]/\"b"]"#),
            "metadata.annotations{}"
        );
    }

    #[test]
    fn values_of_variables_are_hidden() {
        let body = json!({"algorithm": {"environments": {"PASSWORD": "hunter2"}}});
        let (_, field) = &Located::root(&body).at("algorithm.environments").entries()[0];
        assert_eq!(field.path(), r#"algorithm.environments["PASSWORD"]"#);
        assert_eq!(field.actual(), Actual::Hidden);
        assert_eq!(
            format!("{:?}", field.actual()),
            "`(its value is not shown)`"
        );
    }
}
