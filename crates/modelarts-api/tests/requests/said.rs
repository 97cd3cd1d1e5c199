//! What the SDK was told, so that our client is told the same.

use std::{cell::RefCell, collections::BTreeSet};

use serde::de::DeserializeOwned;
use serde_json::Value;

pub struct Said<'a> {
    arguments: &'a Value,
    body: &'a Value,
    repeated: RefCell<BTreeSet<String>>,
}

impl<'a> Said<'a> {
    pub fn new(record: &'a Value) -> Self {
        Self {
            arguments: &record["arguments"],
            body: &record["request"]["body"],
            repeated: RefCell::default(),
        }
    }

    /// An argument or the body, as whatever the caller takes.
    ///
    /// The SDK's own names of fields are not the service's, so the body is read from
    /// what it sent: what our type does not know is lost here, and missing later.
    pub fn take<T: DeserializeOwned>(&self, name: &str) -> T {
        self.repeated.borrow_mut().insert(name.to_owned());
        let said = match name {
            "body" => self.body,
            name => &self.arguments[name],
        };
        serde_path_to_error::deserialize(said).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// What the SDK was told and we were not.
    pub fn unsaid(&self) -> Vec<String> {
        let arguments = self.arguments.as_object().unwrap().keys().cloned();
        let body = (!self.body.is_null()).then(|| "body".to_owned());
        arguments
            .chain(body)
            .filter(|name| !self.repeated.borrow().contains(name))
            .collect()
    }
}
