//! Temporary keys of the cloud server that the program runs on.

use std::{fmt, time::Duration};

use modelarts_api::BoxFuture;
use reqwest::{Method, Request, StatusCode, Url, header::HeaderValue};

use crate::{
    client::resolve::is_loopback,
    credentials::{
        ProviderContext,
        auth_server::{AuthReply, AuthServer, shown},
        cache::{FetchCredentials, Fetched},
    },
    error::Error,
};

/// Where the metadata service of every cloud server is.
const ADDRESS: &str = "http://169.254.169.254";
/// How long it may take: it is on the same machine, or not there at all.
const LIMIT: Duration = Duration::from_secs(3);
/// How long a session with it is to live; as in the official SDK.
const SESSION_SECONDS: &str = "21600";

/// Asks the metadata service of a cloud server (ECS) for the temporary keys of the
/// agency that the server has. They are renewed five minutes before they end.
///
/// It is only asked by programs that want so, because anywhere else nobody, or somebody
/// else, answers at its address.
///
/// ```
/// use modelarts_ext::{Client, FetchCredentials, Metadata};
///
/// let builder = Client::builder().region("eu-de").credentials(Metadata::new().renewing());
/// ```
#[derive(Clone)]
#[must_use]
pub struct Metadata {
    address: String,
}

impl Metadata {
    /// The metadata service at its usual address, `http://169.254.169.254`.
    pub fn new() -> Self {
        Self {
            address: ADDRESS.to_owned(),
        }
    }

    /// Another address: on this machine, or link-local, or with https.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    fn service(&self) -> Result<AuthServer, Error> {
        let service = AuthServer::anywhere("the metadata service", &self.address)?;
        let url = service.at("/");
        if url.scheme() == "http" && !is_loopback(&url) && !is_link_local(&url) {
            return Err(Error::config(format!(
                "the metadata service {} is neither on this machine nor link-local nor https",
                self.address
            )));
        }
        Ok(service)
    }
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metadata")
            .field("address", &shown(&self.address))
            .finish()
    }
}

impl Default for Metadata {
    fn default() -> Self {
        Self::new()
    }
}

fn is_link_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_link_local(),
        Some(url::Host::Ipv6(address)) => address.is_unicast_link_local(),
        _ => false,
    }
}

/// Begins a session; older versions of the service know none and answer without.
async fn session(
    service: &AuthServer,
    tools: &ProviderContext,
    required: bool,
) -> Result<Option<HeaderValue>, Error> {
    let mut request = Request::new(Method::PUT, service.at("/meta-data/latest/api/token"));
    request.headers_mut().insert(
        "x-metadata-token-ttl-seconds",
        HeaderValue::from_static(SESSION_SECONDS),
    );
    let reply = service.send(tools, request, LIMIT, &[]).await?;
    match reply.status.as_u16() {
        200 => {
            let mut token = HeaderValue::from_bytes(reply.body.trim_ascii())
                .map_err(|_| service.odd("in which the session is no text"))?;
            token.set_sensitive(true);
            Ok(Some(token))
        }
        404 | 405 | 503 if !required => Ok(None),
        _ => Err(service.refusal(&reply, "begins no session")),
    }
}

async fn keys(
    service: &AuthServer,
    tools: &ProviderContext,
    session: Option<HeaderValue>,
) -> Result<AuthReply, Error> {
    let mut request = Request::new(Method::GET, service.at("/openstack/latest/securitykey"));
    if let Some(session) = session {
        request.headers_mut().insert("x-metadata-token", session);
    }
    service.send(tools, request, LIMIT, &[]).await
}

impl FetchCredentials for Metadata {
    fn fetch<'a>(&'a self, tools: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            let service = self.service()?;
            let begun = session(&service, tools, false).await?;
            let mut reply = keys(&service, tools, begun).await?;
            if reply.status == StatusCode::UNAUTHORIZED && !no_agency(&reply) {
                let begun = session(&service, tools, true).await?;
                reply = keys(&service, tools, begun).await?;
            }
            if reply.status != StatusCode::OK {
                let error = service.refusal(&reply, "gives no keys");
                return Err(if no_agency(&reply) {
                    error.with_solution(Some("attach an agency to this server".to_owned()))
                } else {
                    error
                });
            }
            let (credentials, end) = service.keys(&reply)?;
            Ok(Fetched::new(credentials).expires_at(end.into()))
        })
    }

    fn check(&self) -> Result<(), Error> {
        self.service().map(drop)
    }
}

/// Whether the answer says that the server has no agency, which asking again does not
/// change.
fn no_agency(reply: &AuthReply) -> bool {
    let text = String::from_utf8_lossy(&reply.body);
    text.contains("configure Cloud Service Agency")
}
