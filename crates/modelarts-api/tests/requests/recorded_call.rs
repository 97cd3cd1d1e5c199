//! Arguments of a recorded SDK call, with which the generated client repeats the call.

use std::{cell::RefCell, collections::BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::deviations::DEVIATIONS;

/// A recorded call of the official SDK.
pub struct RecordedCall<'a> {
    arguments: &'a Value,
    body: Value,
    taken: RefCell<BTreeSet<String>>,
}

impl<'a> RecordedCall<'a> {
    /// Creates the call from its record. In the body, deviations replace the SDK's values of other
    /// types, because requests are decoded strictly.
    pub fn new(operation: &str, record: &'a Value) -> Self {
        let mut body = record["request"]["body"].clone();
        for deviation in DEVIATIONS {
            deviation.apply(operation, &mut body);
        }
        Self { arguments: &record["arguments"], body, taken: RefCell::default() }
    }

    /// Returns an argument or the body as the type that the caller requires, and marks it as taken.
    ///
    /// The SDK names fields differently from the service, so the body is decoded from the JSON that
    /// the SDK sent. A field that the generated type lacks is dropped, and the comparison reports
    /// it as a difference.
    pub fn take<T: DeserializeOwned>(&self, name: &str) -> T {
        self.taken.borrow_mut().insert(name.to_owned());
        let value = match name {
            "body" => &self.body,
            name => &self.arguments[name],
        };
        serde_path_to_error::deserialize(value).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// Returns the arguments of the SDK's call that the generated call did not take.
    pub fn not_taken(&self) -> Vec<String> {
        let arguments = self.arguments.as_object().unwrap().keys().cloned();
        let body = (!self.body.is_null()).then(|| "body".to_owned());
        arguments.chain(body).filter(|name| !self.taken.borrow().contains(name)).collect()
    }
}
