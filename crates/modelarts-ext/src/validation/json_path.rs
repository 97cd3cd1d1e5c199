//! A place in the body of a request: the way there, and what stands there.

use serde_json::{Map, Value};

use crate::error::violation::Actual;

/// A field, whether it is there or not. Null counts as not there.
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

    /// Such as `spec.volumes[2].nfs.local_path`.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn value(&self) -> Option<&'a Value> {
        self.value
    }

    /// The field at the end of this way, such as `nfs.local_path`.
    pub(crate) fn at(&self, way: &str) -> Self {
        let value = self.value.and_then(|value| {
            way.split('.')
                .try_fold(value, |value, name| value.get(name))
        });
        let path = match self.path.as_str() {
            "" => way.to_owned(),
            path => format!("{path}.{way}"),
        };
        Self::new(path, value)
    }

    /// The field of this very name, which may have dots.
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

    /// The entries of a map, whose keys are free.
    pub(crate) fn entries(&self) -> Vec<(&'a str, Self)> {
        let entries = self.value.and_then(Value::as_object);
        let entries = entries.into_iter().flat_map(Map::keys);
        entries.map(|key| (key.as_str(), self.entry(key))).collect()
    }

    /// One entry of a map.
    pub(crate) fn entry(&self, key: &str) -> Self {
        let value = self.value.and_then(|value| value.get(key));
        Self::new(format!("{}[{key:?}]", self.path), value)
    }

    /// Text that is not empty: the examples of the service send empty text where
    /// they mean none.
    pub(crate) fn text(&self) -> Option<&'a str> {
        self.value?.as_str().filter(|text| !text.is_empty())
    }

    pub(crate) fn whole(&self) -> Option<i64> {
        self.value?.as_i64()
    }

    pub(crate) fn is(&self, text: &str) -> bool {
        self.text() == Some(text)
    }

    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool) == Some(true)
    }

    /// Whether something stands here that says anything.
    pub(crate) fn is_given(&self) -> bool {
        self.value.is_some_and(says_something)
    }

    /// What stands here, for a message.
    pub(crate) fn offender(&self) -> Actual {
        match self.value {
            None => Actual::Missing,
            Some(Value::String(text)) if text.is_empty() => Actual::Missing,
            Some(value) if may_be_secret(&self.path, value) => Actual::Hidden,
            Some(value) => Actual::Value(value.clone()),
        }
    }
}

/// The place, if something is wrong with it.
pub(crate) fn one<'a>(wrong: bool, place: Located<'a>) -> Vec<Located<'a>> {
    wrong.then_some(place).into_iter().collect()
}

/// Those of `places` whose text stood in one before.
pub(crate) fn repeated<'a>(places: impl IntoIterator<Item = Located<'a>>) -> Vec<Located<'a>> {
    repeated_but_for(places, |text| text)
}

/// As [`repeated`], slashes at the end aside: `/mnt/a` and `/mnt/a/` are one.
pub(crate) fn repeated_paths<'a>(
    places: impl IntoIterator<Item = Located<'a>>,
) -> Vec<Located<'a>> {
    repeated_but_for(places, |text| text.trim_end_matches('/'))
}

fn repeated_but_for<'a>(
    places: impl IntoIterator<Item = Located<'a>>,
    normal: fn(&str) -> &str,
) -> Vec<Located<'a>> {
    let mut seen = Vec::new();
    let mut repeated = Vec::new();
    for place in places {
        let Some(text) = place.text().map(normal) else {
            continue;
        };
        if seen.contains(&text) {
            repeated.push(place);
        } else {
            seen.push(text);
        }
    }
    repeated
}

/// Whether there is more than null, empty text and empty containers.
pub(crate) fn says_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(says_something),
        Value::Bool(_) | Value::Number(_) => true,
    }
}

/// The fields that hold environment variables: people put passwords into them.
const VARIABLES: [&str; 2] = ["environments", "task_env"];

fn may_be_secret(path: &str, value: &Value) -> bool {
    VARIABLES.iter().any(|name| path.contains(name)) || holds_variables(value)
}

fn holds_variables(value: &Value) -> bool {
    match value {
        Value::Object(members) => members.iter().any(|(name, member)| {
            VARIABLES.contains(&name.as_str()) && says_something(member) || holds_variables(member)
        }),
        Value::Array(items) => items.iter().any(holds_variables),
        _ => false,
    }
}

/// The field as the tables call it: `spec.volumes[].nfs.local_path`,
/// `algorithm.environments{}`.
pub(crate) fn general(path: &str) -> String {
    let mut general = String::new();
    let mut rest = path;
    while let Some(start) = rest.find('[') {
        general.push_str(&rest[..start]);
        let inside = &rest[start + 1..];
        // Keys are quoted, and may hold anything, a bracket too.
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
    fn places_know_their_way() {
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
    fn places_have_a_general_name() {
        assert_eq!(general("metadata.name"), "metadata.name");
        assert_eq!(
            general("tasks[12].algorithm.inputs[0].name"),
            "tasks[].algorithm.inputs[].name"
        );
        assert_eq!(
            general(r#"metadata.annotations["a]/\"b"]"#),
            "metadata.annotations{}"
        );
    }

    #[test]
    fn values_of_variables_are_not_shown() {
        let body = json!({"algorithm": {"environments": {"PASSWORD": "hunter2"}}});
        let (_, place) = &Located::root(&body).at("algorithm.environments").entries()[0];
        assert_eq!(place.path(), r#"algorithm.environments["PASSWORD"]"#);
        assert_eq!(place.offender(), Actual::Hidden);
        assert_eq!(
            format!("{:?}", place.offender()),
            "`(its value is not shown)`"
        );
    }
}
