//! Type of the secrets in responses, which `Debug` does not print.

use std::{convert::Infallible, fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::decode::slot::{Decode, Slot};

/// Secret in a response, such as an access token of a notebook.
///
/// In JSON, the secret is a plain string. `Debug` prints `Secret(***)` instead of the string.
#[derive(Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a string as a secret.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the secret as plain text. The caller is responsible for protecting the text.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

impl FromStr for Secret {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl Decode for Secret {
    fn slot(value: &mut Option<Self>) -> Slot<'_> {
        Slot::FromText(value)
    }
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "password" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_and_json_keeps() {
        let secret = Secret::new("s3cr3t");
        assert_eq!(format!("{secret:?} {secret:#?}"), "Secret(***) Secret(***)");
        assert_eq!(serde_json::to_string(&secret).unwrap(), "\"s3cr3t\"");
        assert_eq!(secret.expose(), "s3cr3t");
    }
}
