//! Puts the credentials of the moment into a request: a token, or a signature.

use std::{
    sync::atomic::Ordering,
    time::{Duration, SystemTime},
};

use reqwest::{
    Request,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};

use crate::{
    credentials::{Credentials, Kind},
    error::{Error, mask::Secrets},
    http::signing,
    transport::{HttpTransport, call::Record},
};

static DATE: HeaderName = HeaderName::from_static(signing::DATE);
static LANGUAGE: HeaderName = HeaderName::from_static("x-language");
static PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");
static SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-security-token");
static AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

/// How many headers are added to most requests, here and by reqwest.
const ADDED: usize = 5;

/// Whether only the client sets this header, whatever kind of credentials it has.
fn is_ours(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || [&DATE, &PROJECT_ID, &SECURITY_TOKEN, &AUTH_TOKEN].contains(&name)
}

/// A copy that can be changed, without the headers that only the client sets. That of reqwest
/// would have no room for more headers.
fn copy(request: &Request) -> Result<Request, Error> {
    let mut copy = Request::new(request.method().clone(), request.url().clone());
    *copy.timeout_mut() = request.timeout().copied();
    *copy.version_mut() = request.version();
    let headers = copy.headers_mut();
    headers.reserve(request.headers().len() + ADDED);
    for (name, value) in request.headers() {
        if !is_ours(name) {
            headers.append(name, value.clone());
        }
    }
    if let Some(body) = request.body() {
        let body = body.as_bytes().ok_or_else(|| {
            Error::invalid("a streaming body cannot be signed, and so it cannot be sent")
        })?;
        *copy.body_mut() = Some(body.to_vec().into());
    }
    Ok(copy)
}

/// What a request was authenticated with.
pub(crate) struct Used {
    pub(crate) secrets: Secrets,
    /// How far the clock of the gateway was taken to be ahead, in seconds.
    pub(crate) skew: i64,
}

impl HttpTransport {
    /// A copy of the request with these credentials, for a gateway whose clock is ahead by
    /// `skew`.
    pub(crate) fn authorize(
        &self,
        request: &Request,
        credentials: &Credentials,
        skew: i64,
        record: &Record,
    ) -> Result<Request, Error> {
        let mut outgoing = copy(request)?;
        match &*credentials.0 {
            Kind::Token(token) => {
                let headers = outgoing.headers_mut();
                headers.append(&AUTH_TOKEN, secret_header("token", token)?);
                headers.append(&PROJECT_ID, self.project_id.clone());
            }
            Kind::Keys {
                access_key,
                secret_key,
                security_token,
            } => {
                let signed = self.sign(
                    &mut outgoing,
                    ahead(self.clock.now(), skew),
                    access_key,
                    secret_key,
                    security_token.as_deref(),
                )?;
                record.update(|facts| facts.canonical_request = Some(signed));
            }
        }
        if let Some(language) = self.language {
            let value = header("language", language.to_string())?;
            outgoing.headers_mut().entry(&LANGUAGE).or_insert(value);
        }
        Ok(outgoing)
    }

    /// The time of the gateway, as far as it is known.
    pub(crate) fn now(&self) -> SystemTime {
        self.time_there(self.clock.now())
    }

    /// What time it is there when it is `here` by our clock.
    pub(crate) fn time_there(&self, here: SystemTime) -> SystemTime {
        ahead(here, self.shared.skew.load(Ordering::Relaxed))
    }

    /// Signs the request; gives back what was signed.
    fn sign(
        &self,
        request: &mut Request,
        now: SystemTime,
        access_key: &str,
        secret_key: &str,
        security_token: Option<&str>,
    ) -> Result<String, Error> {
        let date = signing::date(now);
        let url = request.url();
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}").into(),
            (Some(host), None) => host.into(),
            (None, _) => return Err(Error::invalid("the request has no host")),
        };
        let mut headers = Vec::with_capacity(5);
        headers.push(("host", host));
        headers.push((signing::DATE, date.as_str().into()));
        let project_id = self.project_id.to_str().unwrap_or_default();
        headers.push((PROJECT_ID.as_str(), project_id.into()));
        if let Some(token) = security_token {
            headers.push((SECURITY_TOKEN.as_str(), token.into()));
        }
        if let Some(kind) = request.headers().get(&CONTENT_TYPE)
            && let Ok(kind) = kind.to_str()
        {
            headers.push((CONTENT_TYPE.as_str(), kind.into()));
        }
        let query: Vec<(String, String)> = match url.query() {
            Some(_) => url.query_pairs().into_owned().collect(),
            None => Vec::new(),
        };
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let signature = signing::sign(
            &signing::Request {
                method: request.method().as_str(),
                path: url.path(),
                query: &query,
                headers: &headers,
                body: body.unwrap_or_default(),
            },
            access_key,
            secret_key,
            &self.signing,
        );
        drop(headers);
        if !signature.query.is_empty() {
            // What was signed is what is sent.
            request.url_mut().set_query(Some(&signature.query));
        }
        let headers = request.headers_mut();
        headers.append(&DATE, header(signing::DATE, date)?);
        headers.append(&PROJECT_ID, self.project_id.clone());
        if let Some(token) = security_token {
            headers.append(&SECURITY_TOKEN, secret_header("security token", token)?);
        }
        headers.append(
            AUTHORIZATION,
            secret_header("signature", signature.authorization)?,
        );
        Ok(signature.canonical_request)
    }
}

/// A header, which takes a text over without copying it.
fn header(what: &str, value: impl Into<bytes::Bytes>) -> Result<HeaderValue, Error> {
    HeaderValue::from_maybe_shared(value.into())
        .map_err(|_| Error::config(format!("the {what} cannot be sent as a header")))
}

/// A header that `Debug` does not show.
fn secret_header(what: &str, value: impl Into<String>) -> Result<HeaderValue, Error> {
    let mut value = header(what, value.into())?;
    value.set_sensitive(true);
    Ok(value)
}

/// The time of a clock that is so many seconds ahead.
fn ahead(now: SystemTime, seconds: i64) -> SystemTime {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    let corrected = if seconds >= 0 {
        now.checked_add(distance)
    } else {
        now.checked_sub(distance)
    };
    corrected.unwrap_or(now)
}
