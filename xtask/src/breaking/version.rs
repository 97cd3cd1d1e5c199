//! Versions of descriptions, and the rules by which they permit breaking changes.

use std::fmt;

use anyhow::{Context, Result};
use serde_json::Value;

/// Versions of two descriptions, as major, minor and patch.
pub struct Versions {
    before: [u64; 3],
    after: [u64; 3],
}

impl Versions {
    pub fn new(before: &Value, after: &Value) -> Result<Self> {
        Ok(Self {
            before: read(before)?,
            after: read(after)?,
        })
    }

    pub fn differ(&self) -> bool {
        self.before != self.after
    }

    /// Returns true if the new version permits breaking changes. According to Semantic Versioning,
    /// the minor version must increase below 1.0, and the major version otherwise.
    pub fn admit_breaks(&self) -> bool {
        let ([major, minor, _], [new_major, new_minor, _]) = (self.before, self.after);
        new_major > major || (major == 0 && new_major == 0 && new_minor > minor)
    }

    /// Returns the lowest version that permits breaking changes.
    pub fn needed(&self) -> String {
        match self.before {
            [0, minor, _] => format!("0.{}.0", minor + 1),
            [major, ..] => format!("{}.0.0", major + 1),
        }
    }
}

fn read(description: &Value) -> Result<[u64; 3]> {
    let version = &description["info"]["version"];
    version
        .as_str()
        .and_then(|text| {
            let numbers: Result<Vec<u64>, _> = text.split('.').map(str::parse).collect();
            numbers.ok()?.try_into().ok()
        })
        .with_context(|| format!("info.version is {version}; write three numbers with dots"))
}

impl fmt::Display for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |[major, minor, patch]: [u64; 3]| format!("{major}.{minor}.{patch}");
        write!(f, "was {}, is {}", text(self.before), text(self.after))
    }
}
