//! Access to single members of a request body, with errors that name the member. A request is not
//! decoded into a struct, because each violated rule has its own error. `null` counts as absent.

use std::fmt;

use serde_json::{Map, Value};

use crate::{api::error::ApiError, files::container_path::ContainerPath};

#[derive(Clone, Debug)]
pub(crate) struct JsonField<'a> {
    value: &'a Value,
    path: String,
}

impl<'a> JsonField<'a> {
    pub(crate) fn root(value: &'a Value) -> Self {
        Self { value, path: String::new() }
    }

    pub(crate) fn get(&self, name: &str) -> Result<Option<Self>, ApiError> {
        let member = self.object()?.get(name).filter(|value| !value.is_null());
        Ok(member.map(|value| self.member(name, value)))
    }

    pub(crate) fn required(&self, name: &str) -> Result<Self, ApiError> {
        self.get(name)?.ok_or_else(|| self.missing(name))
    }

    /// Returns a string member. `""` counts as absent, because examples send it (SOURCES X).
    pub(crate) fn text_of(&self, name: &str) -> Result<Option<&'a str>, ApiError> {
        let text = self.get(name)?.map(|field| field.text()).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    }

    /// Returns a member that is a container path. Only directories below `/home` are supported.
    pub(crate) fn container_path_of(&self, name: &str) -> Result<Option<ContainerPath>, ApiError> {
        let Some(text) = self.text_of(name)? else {
            return Ok(None);
        };
        ContainerPath::parse(text).map(Some).map_err(|_| {
            ApiError::not_modelled(format!(
                "{} at {text} (it must be below /home on this emulator: leave it out, \
                 or name a directory such as /home/ma-user/data)",
                self.path_to(name)
            ))
        })
    }

    pub(crate) fn required_text(&self, name: &str) -> Result<&'a str, ApiError> {
        let text = self.required(name)?.text()?;
        let text = Some(text).filter(|text| !text.is_empty());
        text.ok_or_else(|| self.missing(name))
    }

    pub(crate) fn items_of(&self, name: &str) -> Result<Vec<Self>, ApiError> {
        self.get(name)?.map_or_else(|| Ok(Vec::new()), |list| list.items())
    }

    pub(crate) fn is_empty_object(&self) -> bool {
        self.value.as_object().is_some_and(Map::is_empty)
    }

    pub(crate) fn text(&self) -> Result<&'a str, ApiError> {
        let text = self.value.as_str();
        let text = text.ok_or_else(|| self.must("be a string"))?;
        if text.contains('\0') {
            return Err(self.must("not contain NUL characters"));
        }
        Ok(text)
    }

    pub(crate) fn text_up_to(&self, maximum: usize) -> Result<&'a str, ApiError> {
        let text = self.text()?;
        if text.chars().count() > maximum {
            return Err(self.must(format!("have at most {maximum} characters")));
        }
        Ok(text)
    }

    pub(crate) fn integer(&self) -> Result<i64, ApiError> {
        let number = self.value.as_i64();
        number.ok_or_else(|| self.must("be an integer"))
    }

    pub(crate) fn object(&self) -> Result<&'a Map<String, Value>, ApiError> {
        let object = self.value.as_object();
        object.ok_or_else(|| self.must("be an object"))
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, ApiError> {
        let list = self.value.as_array();
        let list = list.ok_or_else(|| self.must("be an array"))?.iter();
        let item = |(at, value)| Self { value, path: format!("{}[{at}]", self.path) };
        Ok(list.enumerate().map(item).collect())
    }

    pub(crate) fn members(&self) -> Result<Vec<(&'a str, Self)>, ApiError> {
        let members = self.object()?.iter();
        let fields = members.map(|(name, value)| (name.as_str(), self.member(name, value)));
        Ok(fields.collect())
    }

    /// Returns the error `Invalid parameter(<path> must <what>).`
    pub(crate) fn must(&self, what: impl fmt::Display) -> ApiError {
        ApiError::invalid_parameter(format!("{self} must {what}"))
    }

    pub(crate) fn value(&self) -> &'a Value {
        self.value
    }

    fn member(&self, name: &str, value: &'a Value) -> Self {
        Self { value, path: self.path_to(name) }
    }

    fn missing(&self, name: &str) -> ApiError {
        ApiError::invalid_parameter(format!("{} is required", self.path_to(name)))
    }

    fn path_to(&self, name: &str) -> String {
        let dot = if self.path.is_empty() { "" } else { "." };
        format!("{}{dot}{name}", self.path)
    }
}

/// Formats the path of the field, for example `algorithm.inputs[0].name`.
impl fmt::Display for JsonField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_root = self.path.is_empty();
        f.write_str(if is_root { "body" } else { &self.path })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::StatusCode;
    use serde_json::json;

    use super::*;

    #[test]
    fn errors_name_the_field() {
        let body = json!({"a": [{"b": 1, "c": null, "d": "x\0"}]});
        let items = JsonField::root(&body).items_of("a").unwrap();
        let item = &items[0];
        let message = |error: ApiError| {
            assert_eq!(error.status, StatusCode::BAD_REQUEST);
            error.body("")["error_msg"].as_str().unwrap().to_owned()
        };
        assert_eq!(
            message(item.text_of("b").unwrap_err()),
            "Invalid parameter(a[0].b must be a string)."
        );
        assert_eq!(
            message(item.required("c").unwrap_err()),
            "Invalid parameter(a[0].c is required)."
        );
        assert_eq!(
            message(item.text_of("d").unwrap_err()),
            "Invalid parameter(a[0].d must not contain NUL characters)."
        );
        assert_eq!(
            message(JsonField::root(&json!([])).get("a").unwrap_err()),
            "Invalid parameter(body must be an object)."
        );
    }
}
