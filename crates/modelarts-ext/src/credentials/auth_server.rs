//! The services that hand out credentials (IAM, STS, the metadata service), and the
//! look-up of a project in IAM.

use std::{
    pin::pin,
    time::{Duration, SystemTime},
};

use bytes::{Bytes, BytesMut};
use futures::{
    StreamExt,
    future::{Either, select},
};
use modelarts_api::types::ApiError;
use reqwest::{
    Method, Request, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::mask::{Mask, signature};
use crate::{
    client::resolve::is_loopback,
    credentials::{
        Credentials, Kind, ProviderContext,
        rejection::{self, Refusal},
    },
    error::{Call, Error, ErrorKind, chain},
    http::signing::{self, SigningScheme},
    transport::{attempt::said_id, retry},
};

/// How long IAM may take. Longer than any answer of it that was heard of.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);
/// Answers of IAM are some kilobytes; a token with the whole catalogue some hundred.
const BODY_CAP: usize = 4 << 20;
/// How much of an error page is shown.
const EXCERPT: usize = 300;

/// A service that hands out credentials.
#[derive(Clone, Debug)]
pub(crate) struct AuthServer {
    /// What to call it, such as `IAM`.
    name: &'static str,
    url: Url,
}

/// An answer, read to its end.
pub(crate) struct AuthReply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// How long the service asks to wait.
    retry_after: Option<Duration>,
    /// Masks the secrets of the request.
    mask: Mask,
}

impl AuthServer {
    /// The service at an address such as `https://iam.eu-de.otc.t-systems.com`, with or
    /// without `/v3` behind it.
    pub(crate) fn new(name: &'static str, address: &str) -> Result<Self, Error> {
        let authority = Self::anywhere(name, address)?;
        let url = &authority.url;
        match url.scheme() {
            "https" => Ok(authority),
            "http" if is_loopback(url) => Ok(authority),
            _ => Err(Error::config(format!(
                "the endpoint {url} of {name} is not https; over http every secret of a request \
                 can be read on the way, so that is only for this machine"
            ))),
        }
    }

    /// As [`new`](Self::new), for a service that speaks http outside this machine.
    pub(crate) fn anywhere(name: &'static str, address: &str) -> Result<Self, Error> {
        let address = address.trim();
        let text = if address.contains("://") {
            address.to_owned()
        } else {
            format!("https://{address}")
        };
        let wrong = || {
            Error::config(format!(
                "the endpoint of {name} must be an address such as https://iam.example.com"
            ))
        };
        let mut url = Url::parse(&text).map_err(|_| wrong())?;
        if url.host_str().is_none_or(str::is_empty)
            || !matches!(url.scheme(), "http" | "https")
            || url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some()
        {
            return Err(wrong());
        }
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/v3").unwrap_or(path).to_owned();
        url.set_path(&path);
        Ok(Self { name, url })
    }

    /// An address below that of the service.
    pub(crate) fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// Posts JSON that holds a secret.
    pub(crate) async fn post(
        &self,
        tools: &ProviderContext,
        url: Url,
        body: &Value,
        secret: &str,
    ) -> Result<AuthReply, Error> {
        let mut request = Request::new(Method::POST, url);
        request
            .headers_mut()
            .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        *request.body_mut() = Some(body.to_string().into());
        self.send(tools, request, LIMIT, &[Some(secret)]).await
    }

    /// Sends a request once, and reads the answer within the limit. What it says of the
    /// secrets, which are those of the headers and these, is masked.
    pub(crate) async fn send(
        &self,
        tools: &ProviderContext,
        request: Request,
        limit: Duration,
        secrets: &[Option<&str>],
    ) -> Result<AuthReply, Error> {
        let http = tools.client_for(request.url())?;
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
            let response = http.execute(request).await?;
            let status = response.status();
            let mut headers = response.headers().clone();
            let mut body = BytesMut::new();
            let mut chunks = response.bytes_stream();
            while let Some(chunk) = chunks.next().await {
                let chunk = chunk?;
                if body.len() + chunk.len() > BODY_CAP {
                    break;
                }
                body.extend_from_slice(&chunk);
            }
            let mut body = body.freeze();
            // A success is not for people, and a short password may be a part of an id in it.
            if !status.is_success() {
                mask.body(&mut body);
                mask.headers(&mut headers);
            }
            Ok::<_, reqwest::Error>(AuthReply {
                status,
                retry_after: retry::retry_after(&headers, || tools.clock.now()),
                headers,
                body,
                mask,
            })
        });
        match select(work, tools.clock.sleep(limit)).await {
            Either::Left((Ok(reply), _)) => Ok(reply),
            Either::Left((Err(error), _)) => Err(self.broken(error)),
            Either::Right(((), _)) => Err(Error::new(
                ErrorKind::Timeout,
                format!("{self} did not answer within {limit:?}"),
            )),
        }
    }

    fn broken(&self, error: reqwest::Error) -> Error {
        let error = error.without_url();
        let cause = std::error::Error::source(&error).map_or_else(|| error.to_string(), chain);
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

    /// An answer that is not what was asked for. `what` says what the service did not do.
    pub(crate) fn refusal(&self, reply: &AuthReply, what: &str) -> Error {
        let status = reply.status.as_u16();
        let mut body = reply.body.clone();
        // Where the status says success, it came as it is.
        reply.mask.body(&mut body);
        let (code, said) = said(&body);
        let said = match (said.is_empty(), reply.status.is_redirection()) {
            (_, true) => "it redirects, which is not followed; check its address".to_owned(),
            (true, false) => "it gave no reason".to_owned(),
            (false, false) => said,
        };
        let message = format!("{self} {what}: {}", said.trim_end_matches('.'));
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
        error.in_call(Call {
            request_id: said_id(&reply.headers)
                .map(|id| reply.mask.text(id).unwrap_or_else(|| id.to_owned())),
            retry_after: reply.retry_after,
            ..Call::default()
        })
    }

    /// An answer that says "done" and is not what the documents say.
    pub(crate) fn odd(&self, what: &str) -> Error {
        Error::new(
            ErrorKind::Credentials,
            format!("{self} gave an answer {what}"),
        )
    }

    /// Temporary keys, in one of the spellings that STS and the metadata service use.
    pub(crate) fn keys(&self, reply: &AuthReply) -> Result<(Credentials, jiff::Timestamp), Error> {
        let odd = || self.odd("without usable temporary keys");
        let mut value: Value = serde_json::from_slice(&reply.body).map_err(|_| odd())?;
        for name in ["credential", "credentials"] {
            if let Some(inner) = value.get_mut(name) {
                value = inner.take();
                break;
            }
        }
        let text = |names: &[&str]| {
            let found = names.iter().find_map(|name| value.get(name)?.as_str());
            found.filter(|text| !text.is_empty()).ok_or_else(odd)
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
            self.odd(&format!(
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

/// An address as it may be shown: not when it could hold a password.
pub(crate) fn shown(address: &str) -> String {
    AuthServer::anywhere("it", address).map_or_else(
        |_| "***".to_owned(),
        |authority| authority.url.as_str().trim_end_matches('/').to_owned(),
    )
}

/// Code and message of an error body: those of IAM are one level down.
fn said(body: &[u8]) -> (Option<String>, String) {
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
            (None, text.trim().chars().take(EXCERPT).collect())
        }
    }
}

#[derive(Deserialize)]
struct Projects {
    projects: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    id: String,
    #[serde(default)]
    name: String,
}

/// Asks IAM for the id of a project: the one with this name, or the only one.
pub(crate) async fn find_project(
    iam: &AuthServer,
    tools: &ProviderContext,
    credentials: &Credentials,
    signing: &SigningScheme,
    name: Option<&str>,
) -> Result<String, Error> {
    let (mut found, mask) = list_projects(iam, tools, credentials, signing, name).await?;
    if let Some(name) = name {
        found.retain(|project| project.name == name);
    }
    if found.len() > 1 {
        let what = name.map_or_else(
            || "there are several projects".to_owned(),
            |name| format!("there are several projects named {name:?}"),
        );
        return Err(Error::config(format!(
            "{iam} says that {what}: {}; set the project id",
            written(&found, &mask)
        )));
    }
    if let Some(project) = found.pop() {
        return Ok(project.id);
    }
    let Some(name) = name else {
        return Err(Error::config(format!(
            "{iam} knows no project that these credentials may use"
        )));
    };
    let (all, mask) = list_projects(iam, tools, credentials, signing, None).await?;
    Err(Error::config(if all.is_empty() {
        format!("{iam} knows no project that these credentials may use, {name:?} neither")
    } else {
        format!(
            "{iam} knows no project named {name:?} that these credentials may use, only {}; set \
             the project id or another project name",
            written(&all, &mask)
        )
    }))
}

fn written(projects: &[Listed], mask: &Mask) -> String {
    let mut texts: Vec<_> = projects
        .iter()
        .map(|project| format!("{} ({})", project.name, project.id))
        .collect();
    texts.sort();
    let text = texts.join(", ");
    mask.text(&text).unwrap_or(text)
}

async fn list_projects(
    iam: &AuthServer,
    tools: &ProviderContext,
    credentials: &Credentials,
    signing: &SigningScheme,
    name: Option<&str>,
) -> Result<(Vec<Listed>, Mask), Error> {
    let ask = async |now| {
        let mut request = Request::new(Method::GET, iam.at("/v3/projects"));
        authenticate(&mut request, now, credentials, signing, name)?;
        iam.send(tools, request, LIMIT, &credentials.secrets())
            .await
    };
    let mut reply = ask(tools.clock.now()).await?;
    // As calls do: once more by the clock of the gateway.
    if let Some(Refusal::Clock { server }) = rejection::read(reply.status, &reply.body) {
        reply = ask(server).await?;
    }
    if reply.status != StatusCode::OK {
        return Err(iam.refusal(&reply, "does not list the projects"));
    }
    let list: Projects =
        serde_json::from_slice(&reply.body).map_err(|_| iam.odd("that is no list of projects"))?;
    Ok((list.projects, reply.mask))
}

fn authenticate(
    request: &mut Request,
    now: SystemTime,
    credentials: &Credentials,
    signing: &SigningScheme,
    name: Option<&str>,
) -> Result<(), Error> {
    let query: Vec<_> = name
        .map(|name| ("name".to_owned(), name.to_owned()))
        .into_iter()
        .collect();
    let mut headers = Vec::new();
    let mut authorization = None;
    let query = match &*credentials.0 {
        Kind::Token(token) => {
            headers.push(("x-auth-token".to_owned(), token.clone()));
            signing::canonical_query(&query)
        }
        Kind::Keys {
            access_key,
            secret_key,
            security_token,
        } => {
            let url = request.url();
            let host = url.host_str().unwrap_or_default();
            let host = match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            };
            headers.push(("host".to_owned(), host));
            headers.push((signing::DATE.to_owned(), signing::date(now)));
            if let Some(token) = security_token {
                headers.push(("x-security-token".to_owned(), token.clone()));
            }
            let to_sign: Vec<_> = headers
                .iter()
                .map(|(name, value): &(String, String)| (name.as_str(), value.as_str().into()))
                .collect();
            let signature = signing::sign(
                &signing::Request {
                    method: request.method().as_str(),
                    path: url.path(),
                    query: &query,
                    headers: &to_sign,
                    body: &[],
                },
                access_key,
                secret_key,
                signing,
            );
            authorization = Some(signature.authorization);
            signature.query
        }
    };
    request
        .url_mut()
        .set_query(Some(query.as_str()).filter(|query| !query.is_empty()));
    headers.retain(|(name, _)| name != "host");
    headers.extend(authorization.map(|value| (AUTHORIZATION.as_str().to_owned(), value)));
    for (name, value) in headers {
        let unfit = |_| Error::config(format!("{name} cannot be sent as a header"));
        let mut value = HeaderValue::from_str(&value).map_err(unfit)?;
        value.set_sensitive(true);
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            request.headers_mut().insert(name, value);
        }
    }
    Ok(())
}
