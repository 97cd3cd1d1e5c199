//! Call of an operation by its name.

use std::collections::BTreeMap;

use modelarts_api::{Effect, Operation};
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    error::Error,
};

/// A call of an operation by its name, with values for its parameters.
///
/// Operations and parameters are listed in [`OPERATIONS`](modelarts_api::OPERATIONS) and
/// [`PARAMETERS`](modelarts_api::PARAMETERS). The call is signed and retried like every other call,
/// and returns the JSON of the service.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let emulator = modelarts_emulator::Emulator::start().await?;
/// # let client = modelarts_ext::ClientBuilder::from_vars(emulator.vars()).build()?;
/// let created = client
///     .operation("CreateTrainingExperiment")?
///     .body(serde_json::json!({"metadata": {"name": "tokenizer-sweep"}}))
///     .send()
///     .await?;
/// println!("{}", created["metadata"]["id"]);
///
/// let experiments = client.operation("ListTrainingExperiments")?.list().collect(100).await?;
/// assert_eq!(experiments[0]["metadata"]["name"], "tokenizer-sweep");
/// # emulator.shutdown().await;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is sent before send() or list()"]
pub struct OperationCall {
    pub(super) client: Client,
    pub(super) operation: &'static Operation,
    pub(super) values: BTreeMap<String, String>,
    pub(super) body: Option<Value>,
}

impl OperationCall {
    pub(super) fn new(client: Client, operation: &'static Operation) -> Self {
        Self { client, operation, values: BTreeMap::new(), body: None }
    }

    /// Sets a path, query or header parameter by its name in the API. The project id defaults to
    /// that of the client.
    pub fn parameter(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.values.insert(name.into(), value.to_string());
        self
    }

    /// Sets the JSON body.
    pub fn body(mut self, body: impl Into<Value>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Returns the operation, as in the description.
    #[must_use]
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Sends the call, and repeats it according to the retry policy of the client if the effect of
    /// the operation allows retries. The result is null if the service responds without a body,
    /// with `null` (SOURCES D-31) or with an empty string.
    ///
    /// # Errors
    /// Returns an error without sending a request if a parameter is unknown to the operation,
    /// missing or malformed; otherwise the errors of [`Client::call`].
    pub async fn send(self) -> Result<Response<Value>, Error> {
        let request = self.request()?;
        let operation = self.operation;
        let call = async |api: &modelarts_api::Client| {
            let response = modelarts_api::send(api, request, operation).await?;
            // As in `Client::call`, status 204 in response to a read means that the result is not
            // ready yet.
            let is_ready = response.status.as_u16() != 204 || operation.effect != Effect::Read;
            let has_value = !matches!(response.body.trim_ascii(), b"" | b"null" | b"\"\"");
            match !has_value && is_ready {
                true => Ok(modelarts_api::empty_response(response).map(|()| Value::Null)),
                false => modelarts_api::decode_response(api, response),
            }
        };
        self.client.call(call).await
    }
}
