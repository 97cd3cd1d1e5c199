//! Addresses: detection of the local machine, and removal of secrets.

use reqwest::Url;

/// Returns an address without user, password and query, which may hold secrets.
pub(crate) fn without_secrets(address: &str) -> &str {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let address = &address[..end];
    address.rsplit_once('@').map_or(address, |(_, host)| host)
}

/// Returns `true` if an address is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}
