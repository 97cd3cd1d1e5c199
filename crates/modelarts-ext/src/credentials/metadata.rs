//! Metadata service: temporary keys of the cloud server that the program runs on.

use std::{fmt, time::Duration};

use modelarts_api::BoxFuture;
use reqwest::{Method, Request, StatusCode, Url, header::HeaderValue};

use crate::{
    credentials::{
        ProviderContext,
        auth_server::{AuthReply, AuthServer, displayable_address},
        cache::{FetchCredentials, Fetched},
    },
    error::Error,
    http::url::is_loopback,
};

/// The address of the metadata service on every cloud server.
const ADDRESS: &str = "http://169.254.169.254";
/// The time limit of a request: the service is on the same machine, or does not exist.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The lifetime of a session, as in the official SDK.
const SESSION_SECONDS: &str = "21600";

/// Requests the temporary keys of the agency of a cloud server (ECS) from its metadata service.
/// They are renewed five minutes before they expire.
///
/// It must be enabled by the program, because on other machines its address is unreachable or
/// belongs to another service.
///
/// ```
/// use modelarts_ext::{Client, credentials::{FetchCredentials, Metadata}};
///
/// let builder = Client::builder().region("eu-de").credentials(Metadata::new().into_provider());
/// ```
#[derive(Clone)]
#[must_use]
pub struct Metadata {
    address: String,
}

impl Metadata {
    /// Creates a provider for the usual address, `http://169.254.169.254`.
    pub fn new() -> Self {
        Self {
            address: ADDRESS.to_owned(),
        }
    }

    /// Sets another address: on this machine, link-local, or with https.
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.address = address.into();
        self
    }

    fn service(&self) -> Result<AuthServer, Error> {
        let service = AuthServer::with_any_scheme("the metadata service", &self.address)?;
        let url = service.url("/");
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
            .field("address", &displayable_address(&self.address))
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

/// Begins a session; older versions of the service have no sessions and work without.
async fn begin_session(
    service: &AuthServer,
    context: &ProviderContext,
    required: bool,
) -> Result<Option<HeaderValue>, Error> {
    let mut request = Request::new(Method::PUT, service.url("/meta-data/latest/api/token"));
    request.headers_mut().insert(
        "x-metadata-token-ttl-seconds",
        HeaderValue::from_static(SESSION_SECONDS),
    );
    let reply = service.send(context, request, TIMEOUT, &[]).await?;
    match reply.status.as_u16() {
        200 => {
            let mut token = HeaderValue::from_bytes(reply.body.trim_ascii())
                .map_err(|_| service.unexpected("in which the session is no text"))?;
            token.set_sensitive(true);
            Ok(Some(token))
        }
        404 | 405 | 503 if !required => Ok(None),
        _ => Err(service.response_error(&reply, "begins no session")),
    }
}

async fn fetch_keys(
    service: &AuthServer,
    context: &ProviderContext,
    session: Option<HeaderValue>,
) -> Result<AuthReply, Error> {
    let mut request = Request::new(Method::GET, service.url("/openstack/latest/securitykey"));
    if let Some(session) = session {
        request.headers_mut().insert("x-metadata-token", session);
    }
    service.send(context, request, TIMEOUT, &[]).await
}

impl FetchCredentials for Metadata {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            let service = self.service()?;
            let session = begin_session(&service, context, false).await?;
            let mut reply = fetch_keys(&service, context, session).await?;
            if reply.status == StatusCode::UNAUTHORIZED && !has_no_agency(&reply) {
                let session = begin_session(&service, context, true).await?;
                reply = fetch_keys(&service, context, session).await?;
            }
            if reply.status != StatusCode::OK {
                let error = service.response_error(&reply, "gives no keys");
                return Err(if has_no_agency(&reply) {
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

/// Returns `true` if the server has no agency, which another request does not change.
fn has_no_agency(reply: &AuthReply) -> bool {
    let text = String::from_utf8_lossy(&reply.body);
    text.contains("configure Cloud Service Agency")
}
