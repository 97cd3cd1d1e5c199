//! Temporary keys from the metadata service of the cloud server on which the program runs.

use std::time::Duration;

use modelarts_api::BoxFuture;
use reqwest::{Method, Request, StatusCode, Url, header::HeaderValue};

use crate::{
    credentials::{
        ProviderContext,
        auth_server::{AuthReply, AuthServer},
        cache::{FetchCredentials, Fetched},
    },
    error::Error,
    http::url::is_loopback,
};

const ADDRESS: &str = "http://169.254.169.254";
/// Time limit of a request. Short, because the metadata service is close or does not exist.
const TIMEOUT: Duration = Duration::from_secs(3);
const SESSION_SECONDS: &str = "21600";

/// Source of the temporary keys of the agency of a cloud server (ECS): the metadata service.
///
/// The source must be enabled, because outside of the cloud another service may have the address.
///
/// ```
/// use modelarts_ext::{Client, credentials::{FetchCredentials, Metadata}};
///
/// let builder = Client::builder().region("eu-de").credentials(Metadata::new().into_provider());
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Metadata(AuthServer);

impl Metadata {
    /// Creates a source with the usual endpoint, `http://169.254.169.254`.
    pub fn new() -> Self {
        Self(AuthServer::new("the metadata service", ADDRESS))
    }

    /// Sets the endpoint: a loopback address, a link-local address, or a URL with https.
    pub fn address(self, address: impl Into<String>) -> Self {
        Self(AuthServer::new("the metadata service", address))
    }

    async fn send(
        &self,
        context: &ProviderContext,
        method: Method,
        path: &str,
        header: Option<(&'static str, HeaderValue)>,
    ) -> Result<AuthReply, Error> {
        let mut request = Request::new(method, self.0.url(path)?);
        if let Some((name, value)) = header {
            request.headers_mut().insert(name, value);
        }
        self.0.send(context, request, TIMEOUT, &[]).await
    }

    /// Requests the keys in a session. Unless `required`, also accepts a service without sessions.
    async fn request_keys(
        &self,
        context: &ProviderContext,
        required: bool,
    ) -> Result<AuthReply, Error> {
        let ttl = HeaderValue::from_static(SESSION_SECONDS);
        let ttl = Some(("x-metadata-token-ttl-seconds", ttl));
        let path = "/meta-data/latest/api/token";
        let reply = self.send(context, Method::PUT, path, ttl).await?;
        let session = match reply.status.as_u16() {
            200 => {
                let mut token = HeaderValue::from_bytes(reply.body.trim_ascii())
                    .map_err(|_| self.0.unexpected("in which the session is no text"))?;
                token.set_sensitive(true);
                Some(("x-metadata-token", token))
            }
            404 | 405 | 503 if !required => None,
            _ => return Err(self.0.response_error(&reply, "begins no session")),
        };
        let path = "/openstack/latest/securitykey";
        self.send(context, Method::GET, path, session).await
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

impl FetchCredentials for Metadata {
    fn fetch<'a>(&'a self, context: &'a ProviderContext) -> BoxFuture<'a, Result<Fetched, Error>> {
        Box::pin(async move {
            self.check()?;
            let mut reply = self.request_keys(context, false).await?;
            if reply.status == StatusCode::UNAUTHORIZED && !has_no_agency(&reply) {
                reply = self.request_keys(context, true).await?;
            }
            if reply.status == StatusCode::OK {
                return self.0.keys(&reply);
            }
            let error = self.0.response_error(&reply, "gives no keys");
            Err(if has_no_agency(&reply) {
                error.with_solution(Some("attach an agency to this server".to_owned()))
            } else {
                error
            })
        })
    }

    fn advice(&self) -> Option<String> {
        Some(format!(
            "the temporary keys were issued by {} for the agency of this server; check that the \
             endpoint belongs to the region of the server, and the clock",
            self.0
        ))
    }

    fn check(&self) -> Result<(), Error> {
        let url = self.0.url("")?;
        if url.scheme() == "https" || is_loopback(&url) || is_link_local(&url) {
            return Ok(());
        }
        Err(Error::config(format!(
            "the metadata service {} is neither on this machine nor link-local nor https",
            url.as_str().trim_end_matches('/')
        )))
    }
}

fn has_no_agency(reply: &AuthReply) -> bool {
    let text = String::from_utf8_lossy(&reply.body);
    text.contains("configure Cloud Service Agency")
}
