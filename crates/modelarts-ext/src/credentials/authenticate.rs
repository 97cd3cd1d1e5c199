//! Authentication of requests with a token or a signature, and secrets to mask in responses.

use std::time::SystemTime;

use reqwest::{
    Request,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};

use crate::{
    credentials::{CredentialKind, Credentials, Keys},
    error::{Error, mask::Mask},
    http::signing::{self, SigningScheme},
};

static DATE: HeaderName = HeaderName::from_static(signing::DATE);
static PROJECT_ID: HeaderName = HeaderName::from_static("x-project-id");
static SECURITY_TOKEN: HeaderName = HeaderName::from_static("x-security-token");
static AUTH_TOKEN: HeaderName = HeaderName::from_static("x-auth-token");

const ADDED_HEADERS: usize = 5;

fn is_reserved(name: &HeaderName) -> bool {
    *name == AUTHORIZATION || [&DATE, &PROJECT_ID, &SECURITY_TOKEN, &AUTH_TOKEN].contains(&name)
}

pub(crate) fn copy_without_auth(request: &Request) -> Result<Request, Error> {
    let mut copy = Request::new(request.method().clone(), request.url().clone());
    *copy.timeout_mut() = request.timeout().copied();
    *copy.version_mut() = request.version();
    let headers = copy.headers_mut();
    headers.reserve(request.headers().len() + ADDED_HEADERS);
    for (name, value) in request.headers() {
        if !is_reserved(name) {
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

/// Adds the token or the signature to a request. Returns the canonical request, if it is signed.
pub(crate) fn authenticate(
    request: &mut Request,
    credentials: &Credentials,
    signing: &SigningScheme,
    project_id: Option<&HeaderValue>,
    now: SystemTime,
) -> Result<Option<String>, Error> {
    let headers = request.headers_mut();
    if let Some(project_id) = project_id {
        headers.append(&PROJECT_ID, project_id.clone());
    }
    let keys = match &*credentials.0 {
        CredentialKind::Token(token) => {
            headers.append(&AUTH_TOKEN, secret_header("token", token.expose())?);
            return Ok(None);
        }
        CredentialKind::Keys(keys) => keys,
    };
    headers.append(&DATE, header(signing::DATE, signing::date(now))?);
    if let Some(token) = &keys.security_token {
        let token = secret_header("security token", token.expose())?;
        headers.append(&SECURITY_TOKEN, token);
    }
    sign(request, keys, signing).map(Some)
}

fn sign(request: &mut Request, keys: &Keys, signing: &SigningScheme) -> Result<String, Error> {
    let url = request.url();
    let host = match (url.host_str(), url.port()) {
        (Some(host), Some(port)) => format!("{host}:{port}").into(),
        (Some(host), None) => host.into(),
        (None, _) => return Err(Error::invalid("the request has no host")),
    };
    let mut headers = Vec::with_capacity(5);
    headers.push(("host", host));
    for name in [&PROJECT_ID, &DATE, &SECURITY_TOKEN, &CONTENT_TYPE] {
        let value = request.headers().get(name);
        if let Some(value) = value.and_then(|value| value.to_str().ok()) {
            headers.push((name.as_str(), value.into()));
        }
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
        keys.access_key.expose(),
        keys.secret_key.expose(),
        signing,
    );
    drop(headers);
    if !signature.query.is_empty() {
        // The request must contain the query in the signed form.
        request.url_mut().set_query(Some(&signature.query));
    }
    let authorization = secret_header("signature", signature.authorization)?;
    request.headers_mut().append(AUTHORIZATION, authorization);
    Ok(signature.canonical_request)
}

fn header(name: &str, value: impl Into<bytes::Bytes>) -> Result<HeaderValue, Error> {
    HeaderValue::from_maybe_shared(value.into())
        .map_err(|_| Error::config(format!("the {name} cannot be sent as a header")))
}

pub(super) fn secret_header(name: &str, value: impl Into<String>) -> Result<HeaderValue, Error> {
    let mut value = header(name, value.into())?;
    value.set_sensitive(true);
    Ok(value)
}

#[derive(Clone)]
pub(crate) struct Secrets {
    pub(crate) credentials: Credentials,
    pub(crate) authorization: Option<HeaderValue>,
}

impl Secrets {
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let [secret, token] = self.credentials.secrets();
        let signature = self.authorization.as_ref().and_then(signature);
        [secret, token, signature].into_iter().flatten()
    }

    pub(crate) fn mask(&self) -> Mask {
        Mask::new(self.texts())
    }

    pub(crate) fn mask_id(&self, id: &str) -> String {
        // An id that is shorter than all secrets contains no secret, because no encoding shortens
        // a secret.
        let room = self.texts().any(|secret| secret.len() <= id.len());
        let masked = room.then(|| self.mask().text(id)).flatten();
        masked.unwrap_or_else(|| id.to_owned())
    }
}

pub(super) fn signature(authorization: &HeaderValue) -> Option<&str> {
    let (_, signature) = authorization.to_str().ok()?.split_once("Signature=")?;
    Some(signature)
}
