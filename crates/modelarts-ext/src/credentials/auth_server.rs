//! Clients of the services that issue credentials: IAM, STS and the metadata service.

use std::{pin::pin, time::Duration};

use bytes::Bytes;
use futures::future::{Either, select};
use modelarts_api::types::ApiError;
use reqwest::{
    Method, Request, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::{Map, Value};

use crate::{
    credentials::{Credentials, ProviderContext, secrets::signature},
    error::{Error, ErrorKind, call_summary::CallSummary, chain_message, mask::Mask},
    http::{body, headers, url::is_loopback},
};

/// The time limit of a request to IAM or STS.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// The length at which a response is truncated. Those of IAM have some kilobytes, or some hundred
/// with the service catalogue.
const BODY_CAP: usize = 4 << 20;
/// The number of characters of an error page that messages show.
const EXCERPT_CHARS: usize = 300;

/// A service that issues credentials.
#[derive(Clone, Debug)]
pub(super) struct AuthServer {
    /// The name in messages, such as `IAM`.
    name: &'static str,
    url: Url,
}

/// A response, with its complete body.
pub(super) struct AuthReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    /// The `Retry-After` of the response.
    retry_after: Option<Duration>,
    /// The mask for the secrets of the request.
    pub(super) mask: Mask,
}

impl AuthServer {
    /// Creates a client for an address such as `https://iam.eu-de.otc.t-systems.com`, with or
    /// without `/v3`.
    pub(super) fn new(name: &'static str, address: &str) -> Result<Self, Error> {
        let server = Self::with_any_scheme(name, address)?;
        let url = &server.url;
        match url.scheme() {
            "https" => Ok(server),
            "http" if is_loopback(url) => Ok(server),
            _ => Err(Error::config(format!(
                "the endpoint {url} of {name} is not https; over http every secret of a request \
                 can be read on the way, so that is only for this machine"
            ))),
        }
    }

    /// Like [`new`](Self::new), for a service that uses http on another machine.
    pub(super) fn with_any_scheme(name: &'static str, address: &str) -> Result<Self, Error> {
        let address = address.trim();
        let text = if address.contains("://") {
            address.to_owned()
        } else {
            format!("https://{address}")
        };
        let invalid = || {
            Error::config(format!(
                "the endpoint of {name} must be an address such as https://iam.example.com"
            ))
        };
        let mut url = Url::parse(&text).map_err(|_| invalid())?;
        if url.host_str().is_none_or(str::is_empty)
            || !matches!(url.scheme(), "http" | "https")
            || url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return Err(invalid());
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v3").unwrap_or(path).to_owned();
        url.set_path(&path);
        Ok(Self { name, url })
    }

    /// The URL of a path of the service.
    pub(super) fn url(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// Sends a POST request with a JSON body that holds a secret.
    pub(super) async fn post(
        &self,
        context: &ProviderContext,
        url: Url,
        body: &Value,
        secret: &str,
    ) -> Result<AuthReply, Error> {
        let mut request = Request::new(Method::POST, url);
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.to_string().into());
        self.send(context, request, TIMEOUT, &[Some(secret)]).await
    }

    /// Sends a request once, and reads the response within the time limit. Masks the secrets of the
    /// headers and these.
    pub(super) async fn send(
        &self,
        context: &ProviderContext,
        request: Request,
        limit: Duration,
        secrets: &[Option<&str>],
    ) -> Result<AuthReply, Error> {
        let http = context.client_for(request.url())?;
        let mask = {
            let headers = request.headers();
            let header = |name| headers.get(name)?.to_str().ok();
            let sent = [
                header("x-auth-token"),
                header("x-security-token"),
                header("x-metadata-token"),
                headers.get(AUTHORIZATION).and_then(signature),
            ];
            let all = sent.iter().chain(secrets);
            Mask::new(all.filter_map(|secret| *secret))
        };
        let work = pin!(async {
            let mut response = http.execute(request).await?;
            let status = response.status();
            let mut body = body::read(&mut response, BODY_CAP).await?.bytes;
            let mut headers = std::mem::take(response.headers_mut());
            // Successes are not shown, and masking could damage an id that contains a short
            // password.
            if !status.is_success() {
                mask.mask_body(&mut body);
                mask.mask_headers(&mut headers);
            }
            Ok::<_, reqwest::Error>(AuthReply {
                status,
                retry_after: headers::retry_after(&headers, || context.clock.now()),
                headers,
                body,
                mask,
            })
        });
        match select(work, context.clock.sleep(limit)).await {
            Either::Left((Ok(reply), _)) => Ok(reply),
            Either::Left((Err(error), _)) => Err(self.connection_error(error)),
            Either::Right(((), _)) => Err(Error::new(
                ErrorKind::Timeout,
                format!("{self} did not answer within {limit:?}"),
            )),
        }
    }

    fn connection_error(&self, error: reqwest::Error) -> Error {
        let error = error.without_url();
        let cause =
            std::error::Error::source(&error).map_or_else(|| error.to_string(), chain_message);
        let (kind, what) = match (error.is_timeout(), error.is_connect()) {
            (true, true) => (
                ErrorKind::Timeout,
                format!("no connection to {self} in time"),
            ),
            (true, false) => (ErrorKind::Timeout, format!("{self} stopped answering")),
            (false, true) => (
                ErrorKind::Connection,
                format!("cannot connect to {self}: {cause}"),
            ),
            (false, false) => (
                ErrorKind::Connection,
                format!("the connection to {self} broke: {cause}"),
            ),
        };
        Error::new(kind, what).with_source(error)
    }

    /// The error for a response without credentials. `what` names the failed action.
    pub(super) fn response_error(&self, reply: &AuthReply, what: &str) -> Error {
        let status = reply.status.as_u16();
        let mut body = reply.body.clone();
        // The body of a success is not masked yet.
        reply.mask.mask_body(&mut body);
        let (code, reason) = code_and_message(&body);
        let reason = match (reason.is_empty(), reply.status.is_redirection()) {
            (_, true) => "it redirects, which is not followed; check its address".to_owned(),
            (true, false) => "it gave no reason".to_owned(),
            (false, false) => reason,
        };
        let message = format!("{self} {what}: {}", reason.trim_end_matches('.'));
        let code = code.filter(|code| *code != status.to_string());
        let error = if matches!(status, 408 | 429 | 500 | 502 | 503 | 504) {
            let mut body = ApiError::default();
            body.error_code = code;
            body.error_msg = Some(message);
            Error::service(status, &body)
        } else {
            Error::new(ErrorKind::Credentials, message)
                .with_status(status)
                .with_code(code)
        };
        error.with_call(CallSummary {
            request_id: headers::request_id(&reply.headers)
                .map(|id| reply.mask.text(id).unwrap_or_else(|| id.to_owned())),
            retry_after: reply.retry_after,
            ..CallSummary::default()
        })
    }

    /// The error for a successful response that is not as documented.
    pub(super) fn unexpected(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Credentials,
            format!("{self} gave an answer {what}"),
        )
    }

    /// Parses temporary keys, in the spellings of STS and of the metadata service.
    pub(super) fn keys(&self, reply: &AuthReply) -> Result<(Credentials, jiff::Timestamp), Error> {
        let unexpected = || self.unexpected("without usable temporary keys");
        let mut value: Value = serde_json::from_slice(&reply.body).map_err(|_| unexpected())?;
        for name in ["credential", "credentials"] {
            if let Some(inner) = value.get_mut(name) {
                value = inner.take();
                break;
            }
        }
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| value.get(name)?.as_str());
            found.filter(|text| !text.is_empty()).ok_or_else(unexpected)
        };
        let credentials = Credentials::temporary_keys(
            text(&["access", "accessKeyId", "access_key_id"])?,
            text(&["secret", "secretAccessKey", "secret_access_key"])?,
            text(&["securitytoken", "securityToken", "security_token"])?,
        );
        let end = text(&["expires_at", "expiration"])?;
        let end = end.parse().map_err(|_| {
            let masked = reply.mask.text(end);
            let end = masked.as_deref().unwrap_or(end);
            self.unexpected(&format!(
                "in which temporary keys end at {end:?}, which is no time"
            ))
        })?;
        Ok((credentials, end))
    }
}

impl std::fmt::Display for AuthServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let url = self.url.as_str().trim_end_matches('/');
        write!(f, "{} at {url}", self.name)
    }
}

/// An address for `Debug`, replaced by asterisks if it may hold a password.
pub(super) fn displayable_address(address: &str) -> String {
    AuthServer::with_any_scheme("it", address).map_or_else(
        |_| "***".to_owned(),
        |server| server.url.as_str().trim_end_matches('/').to_owned(),
    )
}

/// The code and the message of an error body. IAM nests them one level deeper.
fn code_and_message(body: &[u8]) -> (Option<String>, String) {
    fn find(object: &Map<String, Value>) -> Option<(Option<String>, String)> {
        let text = |names: &[&str]| {
            names.iter().find_map(|name| match object.get(*name)? {
                Value::String(text) => Some(text.clone()),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            })
        };
        match text(&["error_msg", "message", "errorMsg", "error_message", "title"]) {
            Some(message) => Some((text(&["error_code", "code", "errorCode"]), message)),
            None => object.values().find_map(|value| find(value.as_object()?)),
        }
    }
    match serde_json::from_slice(body) {
        Ok(Value::Object(object)) => find(&object).unwrap_or_default(),
        _ => {
            let text = String::from_utf8_lossy(body);
            (None, text.trim().chars().take(EXCERPT_CHARS).collect())
        }
    }
}
