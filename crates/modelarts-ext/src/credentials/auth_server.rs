//! Client of a service that issues credentials: IAM, STS or the metadata service.

use std::{fmt, pin::pin, time::Duration};

use bytes::Bytes;
use futures::future::{Either, select};
use modelarts_api::{error_body, types::ApiError};
use reqwest::{
    Method, Request, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
};
use serde_json::Value;

use crate::{
    clock::since,
    credentials::{Credentials, ProviderContext, authenticate::signature, cache::Fetched},
    error::{CallSummary, Error, ErrorKind, display::chain_message, mask::Mask},
    http::{
        body,
        connection::{ProxyUrl, explain_failure},
        headers,
        observer::Attempt,
        runtime,
        url::{is_base, require_encryption, with_scheme},
    },
    timestamp::Timestamp,
};

pub(super) const TIMEOUT: Duration = Duration::from_secs(60);
/// Length at which a response is truncated, in bytes. The catalog of IAM has some hundred KB.
const BODY_CAP: usize = 4 << 20;
const EXCERPT_CHARS: usize = 300;

#[derive(Clone)]
pub(super) struct AuthServer {
    name: &'static str,
    address: String,
}

pub(super) struct AuthReply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    retry_after: Option<Duration>,
    pub(super) mask: Mask,
}

impl AuthServer {
    /// Creates a client for an endpoint, such as `https://iam.eu-de.otc.t-systems.com` or `…/v3`.
    pub(super) fn new(name: &'static str, address: impl Into<String>) -> Self {
        Self { name, address: address.into() }
    }

    /// Checks the endpoint. The scheme must be https, except for a loopback address.
    pub(super) fn check(&self) -> Result<(), Error> {
        let url = self.url("")?;
        require_encryption(&url, &format!("{url} of {}", self.name)).map(drop)
    }

    pub(super) fn url(&self, path: &str) -> Result<Url, Error> {
        let url = Url::parse(&with_scheme(&self.address)).ok();
        let url = url.filter(|url| is_base(url) && matches!(url.scheme(), "http" | "https"));
        let mut url = url.ok_or_else(|| {
            Error::config(format!(
                "the endpoint of {} must be an address such as https://iam.example.com",
                self.name
            ))
        })?;
        let base = url.path().trim_end_matches('/');
        let base = base.strip_suffix("/v3").unwrap_or(base);
        let path = format!("{base}{path}");
        url.set_path(&path);
        Ok(url)
    }

    /// Sends a request with `secret` in the body. `failure` is the failed action for messages.
    pub(super) async fn post(
        &self,
        context: &ProviderContext,
        request: Request,
        secret: Option<&str>,
        failure: &str,
    ) -> Result<AuthReply, Error> {
        let reply = self.send(context, request, TIMEOUT, &[secret]).await?;
        match reply.status {
            StatusCode::OK | StatusCode::CREATED => Ok(reply),
            _ => Err(self.response_error(&reply, failure)),
        }
    }

    /// Sends a request once. In an error response, masks `secrets` and secrets of the headers.
    pub(super) async fn send(
        &self,
        context: &ProviderContext,
        request: Request,
        limit: Duration,
        secrets: &[Option<&str>],
    ) -> Result<AuthReply, Error> {
        runtime::require()?;
        let http = context.client_for(request.url())?;
        let sent = request.headers();
        let tokens = ["x-auth-token", "x-security-token", "x-metadata-token"]
            .map(|name| sent.get(name)?.to_str().ok());
        let signature = sent.get(AUTHORIZATION).and_then(signature);
        let all = tokens.iter().chain(secrets).copied();
        let mask = Mask::new(all.flatten().chain(signature));
        let work = pin!(async {
            let mut response = http.execute(request).await?;
            let status = response.status();
            let mut body = body::read(&mut response, BODY_CAP).await?.bytes;
            let mut headers = std::mem::take(response.headers_mut());
            // In a successful response, masking could change an id that contains a short password.
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
        let started = context.clock.now();
        let reply = match select(work, context.clock.sleep(limit)).await {
            Either::Left((reply, _)) => {
                reply.map_err(|error| self.connection_error(error, context.proxy()))
            }
            Either::Right(((), _)) => Err(Error::new(
                ErrorKind::Timeout,
                format!("{self} did not answer within {limit:?}"),
            )),
        };
        let result = match &reply {
            Ok(reply) => Ok(reply.status.as_u16()),
            Err(error) => Err(error as _),
        };
        context.observe(&Attempt::new(self.name, result, since(&*context.clock, started)));
        reply
    }

    fn connection_error(&self, error: reqwest::Error, proxy: Option<&ProxyUrl>) -> Error {
        let url = error.url().filter(|_| error.is_connect()).cloned();
        let error = error.without_url();
        let cause =
            std::error::Error::source(&error).map_or_else(|| error.to_string(), chain_message);
        let explained = url.map(|url| explain_failure(&url, &cause, proxy));
        let (proxy, advice) = explained.unwrap_or_default();
        let message = match (error.is_timeout(), error.is_connect()) {
            (true, true) => format!("no connection to {self}{proxy} in time"),
            (true, false) => format!("{self} stopped answering"),
            (false, true) => format!("cannot connect to {self}{proxy}: {cause}"),
            (false, false) => format!("the connection to {self} broke: {cause}"),
        };
        let kind = match error.is_timeout() {
            true => ErrorKind::Timeout,
            false => ErrorKind::Connection,
        };
        Error::new(kind, message).with_source(error).with_advice(advice)
    }

    /// Creates the error for an error response. `what` describes the failed action.
    pub(super) fn response_error(&self, reply: &AuthReply, what: &str) -> Error {
        let status = reply.status.as_u16();
        let mut body = reply.body.clone();
        reply.mask.mask_body(&mut body);
        let (code, reason) = error_body::find(&body).unwrap_or_else(|| {
            let text = String::from_utf8_lossy(&body);
            let excerpt = || text.trim().chars().take(EXCERPT_CHARS).collect();
            (None, Some(error_body::html_page(&text).unwrap_or_else(excerpt)))
        });
        let is_redirect = reply.status.is_redirection();
        let reason = match reason.as_deref().unwrap_or_default() {
            _ if is_redirect => "it redirects, which is not followed; check its address",
            "" => "it gave no reason",
            text => text,
        };
        let message = format!("{self} {what}: {}", reason.trim_end_matches('.'));
        let code = code.filter(|code| *code != status.to_string());
        let error = if matches!(status, 408 | 429 | 500 | 502 | 503 | 504) {
            let mut body = ApiError::default();
            body.error_code = code;
            body.error_msg = Some(message);
            Error::service(status, &body)
        } else {
            Error::new(ErrorKind::Credentials, message).with_status(status).with_code(code)
        };
        error.with_call(CallSummary {
            request_id: headers::request_id(&reply.headers)
                .map(|id| reply.mask.text(id).unwrap_or_else(|| id.to_owned())),
            retry_after: reply.retry_after,
            ..CallSummary::default()
        })
    }

    /// Creates the error for a successful response that differs from the documentation.
    pub(super) fn unexpected(&self, what: &str) -> Error {
        Error::new(ErrorKind::Credentials, format!("{self} gave an answer {what}"))
    }

    /// Parses temporary keys, with the field names of IAM, STS or the metadata service.
    pub(super) fn keys(&self, reply: &AuthReply) -> Result<Fetched, Error> {
        let unexpected = || self.unexpected("without usable temporary keys");
        let body: Value = serde_json::from_slice(&reply.body).map_err(|_| unexpected())?;
        let keys = body.get("credential").or(body.get("credentials"));
        let keys = keys.unwrap_or(&body);
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| keys.get(name)?.as_str());
            found.filter(|text| !text.is_empty()).ok_or_else(unexpected)
        };
        let credentials = Credentials::temporary_keys(
            text(&["access", "accessKeyId", "access_key_id"])?,
            text(&["secret", "secretAccessKey", "secret_access_key"])?,
            text(&["securitytoken", "securityToken", "security_token"])?,
        );
        let end = text(&["expires_at", "expiration"])?;
        let time = Timestamp::parse(end).ok_or_else(|| {
            let end = reply.mask.text(end).unwrap_or_else(|| end.to_owned());
            self.unexpected(&format!("in which temporary keys end at {end:?}, which is no time"))
        })?;
        Ok(Fetched::new(credentials).expires_at(time))
    }
}

pub(super) fn json_request(url: Url, body: &Value) -> Request {
    let mut request = Request::new(Method::POST, url);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    *request.body_mut() = Some(body.to_string().into());
    request
}

impl fmt::Display for AuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // An endpoint that is not a valid URL may contain a password.
        let url = self.url("").map_or_else(|_| "***".to_owned(), String::from);
        write!(f, "{} at {}", self.name, url.trim_end_matches('/'))
    }
}

impl fmt::Debug for AuthServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
