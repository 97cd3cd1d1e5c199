//! `Secrets`: masks in place of the secrets of a job, until the user asks for them.

use modelarts_ext::masking::mask;
use serde_json::Value;

use crate::access::visitor::Fields;

/// The choice of the user of a page between secrets and masks.
pub(crate) struct Secrets {
    pub(crate) are_shown: bool,
    /// `true` if the page has a secret or its mask.
    pub(crate) exist: bool,
}

impl Secrets {
    /// Returns the choice in the query of the page. The default is masks.
    pub(crate) fn of(fields: &Fields) -> Self {
        Self { are_shown: fields.get("secrets") == Some("shown"), exist: false }
    }

    /// Masks the secrets of a value, unless they are to be shown.
    pub(crate) fn apply(&mut self, value: &mut Value) {
        let mut masked = value.clone();
        self.exist |= mask(&mut masked) > 0;
        if !self.are_shown {
            *value = masked;
        }
    }
}
