//! URL utilities: default scheme, detection of loopback addresses, and removal of secrets.

use reqwest::Url;

use crate::error::Error;

pub(crate) fn with_scheme(address: &str) -> String {
    let address = address.trim();
    let scheme = if address.contains("://") { "" } else { "https://" };
    format!("{scheme}{address}")
}

pub(crate) fn is_base(url: &Url) -> bool {
    let is_named = url.host_str().is_some_and(|host| !host.is_empty());
    let has_user = !url.username().is_empty() || url.password().is_some();
    is_named && !has_user && url.query().is_none() && url.fragment().is_none()
}

pub(crate) fn without_secrets(address: &str) -> &str {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let address = &address[..end];
    address.rsplit_once('@').map_or(address, |(_, host)| host)
}

pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Returns `true` for https, `false` for loopback without https, and an error for any other URL.
pub(crate) fn require_encryption(url: &Url, place: &str) -> Result<bool, Error> {
    let is_https = url.scheme() == "https";
    if is_https || is_loopback(url) {
        return Ok(is_https);
    }
    Err(Error::config(format!(
        "the endpoint {place} is not https; over http every secret of a request can be \
         read on the way, so that is only for this machine"
    )))
}
