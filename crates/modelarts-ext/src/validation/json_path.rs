//! Fields of a request body, with their JSON values and paths.

use modelarts_api::request_path::{fine_tuning_config, job_algorithm};
use serde_json::{Map, Value};

use crate::error::violation::Actual;

/// Field of the request body: the path, and the value if present. `null` counts as absent.
#[derive(Clone, Debug)]
pub(crate) struct Located<'a> {
    path: String,
    value: Option<&'a Value>,
}

impl<'a> Located<'a> {
    pub(crate) fn root(body: &'a Value) -> Self {
        Self::new(String::new(), Some(body))
    }

    pub(crate) fn new(path: String, value: Option<&'a Value>) -> Self {
        let value = value.filter(|value| !value.is_null());
        Self { path, value }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// Returns the field at a path relative to this field, such as `nfs.local_path`.
    pub(crate) fn at(&self, path: &str) -> Self {
        let mut names = path.split('.');
        let value =
            self.value.and_then(|value| names.try_fold(value, |value, name| value.get(name)));
        Self::new(join(&self.path, path), value)
    }

    pub(crate) fn items(&self) -> Fields<'a> {
        let items = self.value.and_then(Value::as_array);
        let items = items.into_iter().flatten().enumerate();
        items
            .map(|(index, value)| Self::new(format!("{}[{index}]", self.path), Some(value)))
            .collect()
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let members = self.value.and_then(Value::as_object);
        members.into_iter().flatten().map(|(name, value)| {
            let member = Self::new(join(&self.path, name), Some(value));
            (name.as_str(), member)
        })
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let entries = self.value.and_then(Value::as_object);
        entries.into_iter().flat_map(Map::keys).map(String::as_str)
    }

    pub(crate) fn entries(&self) -> Fields<'a> {
        self.keys().map(|key| self.entry(key)).collect()
    }

    /// Returns the entry of a map with this key. If the key is missing, the entry is absent.
    pub(crate) fn entry(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self::new(format!("{}[{key:?}]", self.path), value)
    }

    /// Returns the string value, unless it is empty, which means absent in examples of the service.
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

    pub(super) fn is_present(&self) -> bool {
        self.value.is_some()
    }

    pub(super) fn is_given(&self) -> bool {
        self.value.is_some_and(has_content)
    }

    pub(super) fn has(&self, path: &str) -> bool {
        self.at(path).is_given()
    }

    pub(super) fn has_any(&self, paths: &[&str]) -> bool {
        paths.iter().any(|path| self.has(path))
    }

    pub(crate) fn when(self, condition: bool) -> Fields<'a> {
        condition.then_some(self).into_iter().collect()
    }

    pub(super) fn when_text(self, wrong: impl Fn(&str) -> bool) -> Fields<'a> {
        Fields::from(self).texts(wrong)
    }

    /// Returns the missing field of two fields that must be set together, if the other is set.
    pub(super) fn missing_of(&self, paths: [&str; 2]) -> Fields<'a> {
        let missing = Fields::from_iter(paths.map(|path| self.at(path))).missing();
        match missing.0.len() {
            1 => missing,
            _ => Fields::default(),
        }
    }

    pub(crate) fn actual(&self) -> Actual {
        match self.value {
            None => Actual::Missing,
            Some(Value::String(text)) if text.is_empty() => Actual::Missing,
            Some(value) if may_be_secret(&self.path, value) => Actual::Hidden,
            Some(value) => Actual::Value(value.clone()),
        }
    }
}

fn join(parent: &str, name: &str) -> String {
    match parent {
        "" => name.to_owned(),
        parent => format!("{parent}.{name}"),
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Fields<'a>(Vec<Located<'a>>);

impl<'a> Fields<'a> {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Located<'a>> {
        self.0.iter()
    }

    pub(crate) fn at(&self, path: &str) -> Self {
        self.iter().map(|field| field.at(path)).collect()
    }

    pub(super) fn at_all(&self, paths: &[&str]) -> Self {
        let fields = self.iter();
        let all = fields.flat_map(|field| paths.iter().map(|path| field.at(path)));
        all.collect()
    }

    pub(super) fn items(&self) -> Self {
        self.iter().flat_map(Located::items).collect()
    }

    pub(super) fn filter(mut self, keep: impl Fn(&Located<'a>) -> bool) -> Self {
        self.0.retain(keep);
        self
    }

    pub(super) fn given(self) -> Self {
        self.filter(Located::is_given)
    }

    pub(super) fn missing(self) -> Self {
        self.filter(|field| !field.is_given())
    }

    pub(super) fn present(self) -> Self {
        self.filter(Located::is_present)
    }

    pub(super) fn texts(self, wrong: impl Fn(&str) -> bool) -> Self {
        self.filter(|field| field.text().is_some_and(&wrong))
    }

    pub(super) fn repeated(self) -> Self {
        self.repeated_by(|text| text)
    }

    /// Returns the fields that repeat the path of an earlier field, ignoring trailing slashes.
    pub(super) fn repeated_paths(self) -> Self {
        self.repeated_by(|text| text.trim_end_matches('/'))
    }

    pub(super) fn repeated_by(mut self, normal: fn(&str) -> &str) -> Self {
        let mut earlier = Vec::new();
        self.0.retain(|field| {
            let Some(text) = field.text().map(normal) else {
                return false;
            };
            let is_repeated = earlier.contains(&text);
            earlier.push(text);
            is_repeated
        });
        self
    }
}

impl<'a> From<Located<'a>> for Fields<'a> {
    fn from(field: Located<'a>) -> Self {
        Self(vec![field])
    }
}

impl<'a> FromIterator<Located<'a>> for Fields<'a> {
    fn from_iter<I: IntoIterator<Item = Located<'a>>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl<'a> IntoIterator for Fields<'a> {
    type Item = Located<'a>;
    type IntoIter = std::vec::IntoIter<Located<'a>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Returns `false` for `null`, empty strings, empty lists, and objects without content.
pub(crate) fn has_content(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(has_content),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

const VARIABLE_FIELDS: [&str; 2] = [job_algorithm::ENVIRONMENTS, fine_tuning_config::TASK_ENV];

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

/// Returns the path without indexes and keys, such as `spec.volumes[].nfs.local_path`.
pub(crate) fn general_name(path: &str) -> String {
    let mut general = String::new();
    let mut rest = path;
    while let Some(start) = rest.find('[') {
        general.push_str(&rest[..start]);
        let inside = &rest[start + 1..];
        // A key is quoted, and may contain any character, including brackets.
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
        let volume = &Located::root(&body).at("spec.volumes").items().0[1];
        let path = volume.at("nfs.local_path");
        assert_eq!(path.path(), "spec.volumes[1].nfs.local_path");
        assert_eq!(path.text(), Some("/a"));
        assert_eq!(volume.at("nfs.x").value(), None);
        assert_eq!(volume.at("pfs.local_path").path(), "spec.volumes[1].pfs.local_path");
        assert!(!volume.at("pfs").is_given());
        assert!(volume.is_given());
        assert!(!Located::root(&body).at("spec.volumes").items().0[0].is_given());
    }

    #[test]
    fn fields_have_a_general_name() {
        assert_eq!(general_name("metadata.name"), "metadata.name");
        assert_eq!(
            general_name("tasks[12].algorithm.inputs[0].name"),
            "tasks[].algorithm.inputs[].name"
        );
        assert_eq!(general_name(r#"metadata.annotations["a]/\"b"]"#), "metadata.annotations{}");
    }

    #[test]
    fn values_of_variables_are_hidden() {
        let body = json!({"algorithm": {"environments": {"PASSWORD": "hunter2"}}});
        let field = &Located::root(&body).at("algorithm.environments").entries().0[0];
        assert_eq!(field.path(), r#"algorithm.environments["PASSWORD"]"#);
        assert_eq!(field.actual(), Actual::Hidden);
        assert_eq!(format!("{:?}", field.actual()), "`(its value is not shown)`");
    }
}
