//! Extensions of the description, as typed values.

use std::collections::BTreeMap;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use serde_path_to_error::Segment;

use super::{error::Error, pointer::join};

/// Extensions of an operation.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Extensions {
    pub x_effect: Effect,
    pub x_clouds: Vec<Cloud>,
    pub x_sources: Vec<String>,
    /// Codes that the operation can return beside those of any operation.
    pub x_error_codes: Vec<String>,
    pub x_pagination: Option<Pagination>,
    /// First version of the vendor's SDK with the operation, and last one, if not all have it.
    #[serde(rename = "x-since")]
    _since: Option<String>,
    #[serde(rename = "x-until")]
    _until: Option<String>,
}

/// Server of the description.
#[derive(Deserialize)]
pub struct Server {
    pub url: String,
    /// Cloud of the regions in `variables`; `None` for the emulator.
    #[serde(rename = "x-cloud")]
    pub cloud: Option<Cloud>,
    #[serde(default)]
    pub variables: BTreeMap<String, Variable>,
}

#[derive(Deserialize)]
pub struct Variable {
    pub default: String,
    #[serde(default)]
    pub r#enum: Vec<String>,
}

/// Result of sending a request twice.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    Read,
    Idempotent,
    Create,
}

/// Cloud on which an operation exists.
#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Cloud {
    Huawei,
    Otc,
}

impl Cloud {
    /// Returns the name of the cloud in `x-clouds`.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Huawei => "huawei",
            Self::Otc => "otc",
        }
    }
}

/// Paging of a list.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Pagination {
    pub offset: Offset,
    #[serde(default)]
    pub disputed: bool,
    pub r#in: Location,
    pub offset_name: Option<String>,
    pub limit_name: Option<String>,
    pub max_limit: Option<u32>,
    /// The only values that the limit can have; empty if it can have each value up to the maximum.
    #[serde(default)]
    pub limits: Vec<u32>,
    pub cursor_name: Option<String>,
    pub order_name: Option<String>,
    pub first: Option<String>,
    pub last: Option<String>,
    pub items: String,
    pub total: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "kebab-case")]
pub enum Offset {
    PageIndex,
    Record,
    LineCursor,
    SinglePage,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Location {
    Path,
    Query,
    Header,
    Body,
}

/// Row of `x-error-table`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ErrorRow {
    pub code: String,
    pub status: u16,
    pub name: String,
    pub retry: Retries,
    pub meaning: String,
    pub advice: String,
    /// Text of the service, with `%s` and `%d` for values.
    pub message: Option<String>,
    /// Advice of the service, which follows the text.
    pub solution: Option<String>,
    #[serde(default)]
    pub any_operation: bool,
    /// Text that the message must contain for a retry.
    pub retry_only_with: Option<String>,
}

/// Retry of a request, by the effect of the operation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retries {
    pub read: Retry,
    pub idempotent: Retry,
    pub create: Retry,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Retry {
    Never,
    Backoff,
    Poll,
    Token,
}

/// Reads the value at a JSON pointer of the description. An error contains the pointer to the part
/// that is wrong.
pub fn read<T: DeserializeOwned>(place: &str, value: &Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let mut place = place.to_owned();
        for part in error.path() {
            match part {
                Segment::Seq { index } => place = join(&place, &index.to_string()),
                Segment::Map { key } => place = join(&place, key),
                Segment::Enum { .. } | Segment::Unknown => {}
            }
        }
        if place.is_empty() {
            place += "(description)";
        }
        Error(format!("{place}: {}", error.inner()))
    })
}

/// Reads the extensions of the object at a JSON pointer.
pub fn of<T: DeserializeOwned>(place: &str, holder: &Value) -> Result<T, Error> {
    let mut extensions = holder.as_object().cloned().unwrap_or_default();
    extensions.retain(|key, _| key.starts_with("x-"));
    read(place, &extensions.into())
}
