//! Calls of operations by name, for all operations of the description.
//!
//! For programs that receive the name of an operation as a string, such as command-line tools, or
//! need the JSON of the service. Parameters and body are validated against the description.
//!
//! [`Client::call`] sends a generated call, whose request and response have Rust types.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! let quotas = client.operation("ShowTrainingQuotas")?.send().await?;
//! println!("{}", quotas["quotas"]);
//!
//! let experiments = client.operation("ListTrainingExperiments")?.list().collect(100).await?;
//! assert!(experiments.is_empty());
//!
//! let error = client.operation("ShowTrainingQuota").unwrap_err();
//! assert!(error.to_string().ends_with("did you mean ShowTrainingQuotas?"));
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```

// `call` validates parameters and body against the tables of the description; `rows` reads a list.
// The code names no operation, so a new one requires no change here.

mod call;
mod rows;
#[cfg(test)]
mod tests;

pub use call::OperationCall;

use serde_json::Value;

use crate::{
    client::Client, error::Error, operations::rows::OperationRows, pagination::list::List,
    spelling::nearest,
};

impl Client {
    /// Creates a call of the operation with this name, such as `ListTrainingJobEvents`.
    ///
    /// # Errors
    /// Returns an error for a name that is not in the description.
    pub fn operation(&self, name: &str) -> Result<OperationCall, Error> {
        let known = || modelarts_api::OPERATIONS.iter();
        let Some(operation) = known().find(|operation| operation.id == name) else {
            let hint = match nearest(name, known().map(|operation| operation.id)) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => "it must be one of modelarts_api::OPERATIONS".to_owned(),
            };
            return Err(Error::invalid(format!("no operation is called {name}; {hint}")));
        };
        Ok(OperationCall::new(self.clone(), operation))
    }
}

impl OperationCall {
    /// Returns a list that calls the operation for each page. A row without an `id` or
    /// `metadata.id` is identified by its content, and may be returned twice if it changes.
    ///
    /// # Errors
    /// The errors of [`send`](Self::send), and an operation that returns no list with offsets.
    pub fn list(self) -> List<Value> {
        List::new(Box::new(OperationRows(self)))
    }
}
