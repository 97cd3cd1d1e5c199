//! Request of a call by name, built from its validated parameters.

use modelarts_api::{ClientInfo, Parameter, ParameterLocation, Shape, path_segment::PathSegment};
use reqwest::{
    Method, Request,
    header::{ACCEPT, HeaderMap, HeaderName, HeaderValue},
};
use serde_json::Value;

use crate::{error::Error, operations::call::OperationCall, spelling::nearest, validation::limits};

/// Parameter that defaults to the project id of the client.
const PROJECT: &str = "project_id";

impl OperationCall {
    /// Builds the request that [`send`](Self::send) would send, without its signature, for display.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let emulator = modelarts_emulator::Emulator::start().await?;
    /// # let client = modelarts_ext::ClientBuilder::from_vars(emulator.vars()).build()?;
    /// let request = client.operation("ShowTrainingQuotas")?.request()?;
    /// assert_eq!(request.method().as_str(), "GET");
    /// assert!(request.url().path().ends_with("/training-quotas"));
    /// # emulator.shutdown().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if a parameter is unknown to the operation, missing or malformed.
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

    /// Rejects parameters that are unknown to the operation.
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

    /// Rejects a value whose type differs from the description, or that would change the structure
    /// of the path. The service validates other limits, as for generated calls.
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
