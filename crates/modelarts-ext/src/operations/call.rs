//! Call of an operation by name, and creation of the request from validated parameters.

use std::collections::BTreeMap;

use modelarts_api::{
    ClientInfo, Effect, Operation, Parameter, ParameterLocation, Shape, path_segment::PathSegment,
};
use reqwest::{
    Method, Request,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;

use crate::{
    client::{Client, response::Response},
    error::Error,
    spelling::nearest,
    validation::limits,
};

/// Call of an operation by name, with values for the parameters.
///
/// [`OPERATIONS`](modelarts_api::OPERATIONS) and [`PARAMETERS`](modelarts_api::PARAMETERS) list the
/// names. The client signs and retries the call like any other call.
///
/// ```
/// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
/// # fn main() -> Result { run(async |_, client| {
/// let created = client
///     .operation("CreateTrainingExperiment")?
///     .body(serde_json::json!({"metadata": {"name": "tokenizer-sweep"}}))
///     .send()
///     .await?;
/// println!("{}", created["metadata"]["id"]);
///
/// let experiments = client.operation("ListTrainingExperiments")?.list().collect(100).await?;
/// assert_eq!(experiments[0]["metadata"]["name"], "tokenizer-sweep");
/// # Ok(()) }) }
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

    /// Sets a path, query or header parameter. `project_id` defaults to the project of the client.
    pub fn parameter(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.values.insert(name.into(), value.to_string());
        self
    }

    /// Sets the JSON body of the request.
    pub fn body(mut self, body: impl Into<Value>) -> Self {
        self.body = Some(body.into());
        self
    }

    /// Returns the row of the operation in the table of operations.
    #[must_use]
    pub fn operation(&self) -> &'static Operation {
        self.operation
    }

    /// Sends the call, and retries it if the effect of the operation allows retries. Returns `null`
    /// for a response without a body, with `null` (SOURCES D-31), or with an empty string.
    ///
    /// # Errors
    /// Returns an error without sending a request if a parameter is unknown, missing or invalid.
    /// Otherwise, returns the errors of [`Client::call`].
    pub async fn send(self) -> Result<Response<Value>, Error> {
        let request = self.request()?;
        let operation = self.operation;
        let call = async |api: &modelarts_api::Client| {
            let response = modelarts_api::send(api, request, operation).await?;
            // As in `Client::call`, status 204 for a read means that the result is not ready.
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

const PROJECT: &str = "project_id";

impl OperationCall {
    /// Creates the request that [`send`](Self::send) would send, without credentials, for display.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |_, client| {
    /// let request = client.operation("ShowTrainingQuotas")?.request()?;
    /// assert_eq!(request.method().as_str(), "GET");
    /// assert!(request.url().path().ends_with("/training-quotas"));
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a parameter is unknown, missing or invalid.
    pub fn request(&self) -> Result<Request, Error> {
        self.check_names()?;
        let mut path = self.operation.path.to_owned();
        let mut query = Vec::new();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let mut body = None;
        for parameter in self.operation.parameters() {
            let name = parameter.name;
            if parameter.location == ParameterLocation::Body {
                body = self.checked_body(parameter)?;
                continue;
            }
            let value = match self.values.get(name) {
                Some(value) => value,
                None if name == PROJECT => self.client.project_id(),
                None if parameter.required => {
                    return Err(self.invalid(format_args!("{name} must be given")));
                }
                None => continue,
            };
            self.check(parameter, value)?;
            match parameter.location {
                ParameterLocation::Path => {
                    path = path.replace(&format!("{{{name}}}"), &PathSegment(&value).to_string());
                }
                ParameterLocation::Header => {
                    let header = name.parse::<HeaderName>().ok().zip(value.parse().ok());
                    let (header, value) = header.ok_or_else(|| {
                        self.invalid(format_args!("{name} must be text that a header can hold"))
                    })?;
                    headers.insert(header, value);
                }
                _ => query.push((name, value)),
            }
        }
        let method = self.operation.method.parse::<Method>();
        let method = method.map_err(|error| self.invalid(format_args!("{error}")))?;
        let api = self.client.api();
        let url = format!("{}{path}", api.baseurl());
        let mut request = api.client().request(method, url).headers(headers);
        request = request.query(&query);
        if let Some(body) = body {
            request = request.json(body);
        }
        let request = request.build();
        request.map_err(|error| self.invalid(format_args!("{error}")))
    }

    fn check_names(&self) -> Result<(), Error> {
        let (body, others): (Vec<&Parameter>, Vec<&Parameter>) = self
            .operation
            .parameters()
            .partition(|parameter| parameter.location == ParameterLocation::Body);
        let known: Vec<_> = others.iter().map(|parameter| parameter.name).collect();
        for name in self.values.keys().map(String::as_str) {
            if known.contains(&name) {
                continue;
            }
            let hint = match nearest(name, known.iter().copied()) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => format!("it must be {}", limits::one_of(&known)),
            };
            return Err(self.invalid(format_args!("no parameter is called {name}; {hint}")));
        }
        if self.body.is_some() && body.is_empty() {
            return Err(self.invalid(format_args!("it must have no body")));
        }
        Ok(())
    }

    /// Checks the type of a value, and the limits of a path parameter.
    fn check(&self, parameter: &Parameter, value: &str) -> Result<(), Error> {
        let name = parameter.name;
        let fits = match parameter.shape {
            Shape::Integer => value.parse::<i64>().is_ok(),
            Shape::Number => value.parse::<f64>().is_ok_and(f64::is_finite),
            Shape::Boolean => ["true", "false"].contains(&value),
            _ => true,
        };
        if !fits {
            let shape = limits::shape_in_words(parameter.shape);
            return Err(self.invalid(format_args!("{name} {value:?}: it must be {shape}")));
        }
        if parameter.location == ParameterLocation::Path {
            if ["", ".", ".."].contains(&value) {
                return Err(
                    self.invalid(format_args!("{name} {value:?}: it must be a part of the path"))
                );
            }
            if let Some(limit) = limits::broken_limit(parameter.schema, "", value) {
                return Err(self.invalid(format_args!("{name} {value:?}: it must be {limit}")));
            }
        }
        Ok(())
    }

    fn checked_body(&self, parameter: &Parameter) -> Result<Option<&Value>, Error> {
        match &self.body {
            None if parameter.required => {
                Err(self.invalid(format_args!("a body must be given ({})", parameter.schema)))
            }
            Some(body) if matches!(parameter.shape, Shape::Object(_)) && !body.is_object() => {
                Err(self.invalid(format_args!("the body must be an object")))
            }
            body => Ok(body.as_ref()),
        }
    }

    fn invalid(&self, message: std::fmt::Arguments<'_>) -> Error {
        Error::invalid(format!("{}: {message}", self.operation.id))
    }
}
