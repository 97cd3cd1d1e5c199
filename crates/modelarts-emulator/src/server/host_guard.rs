//! Protection against requests from web pages, because the emulator executes code. `Host` must be a
//! loopback address or `localhost`, against DNS rebinding, and `Origin` the emulator's own origin.

use std::net::Ipv4Addr;

use axum::http::{
    HeaderMap,
    header::{HOST, ORIGIN},
    uri::Uri,
};

use crate::api::error::ApiError;

/// Checks `Host` and `Origin`. `port` is the emulator's port; `is_own_host` accepts further hosts.
pub(crate) fn check(
    uri: &Uri,
    headers: &HeaderMap,
    port: u16,
    is_own_host: impl Fn(&str) -> bool,
) -> Result<(), ApiError> {
    let is_own_host = |host: &str| is_loopback(host) || is_own_host(host);
    let mut hosts = headers.get_all(HOST).iter();
    let (host, more) = (hosts.next(), hosts.next());
    let host = host.and_then(|value| value.to_str().ok());
    match host {
        Some(host) if more.is_none() && is_own_host(host) => {}
        _ => return Err(refuse_host(host.unwrap_or("(none)"))),
    }
    // A request to a proxy has a complete URL in its request line.
    if let Some(authority) = uri.authority()
        && !is_own_host(authority.as_str())
    {
        return Err(refuse_host(authority.as_str()));
    }
    for origin in headers.get_all(ORIGIN) {
        let own = origin.to_str().is_ok_and(|origin| is_own(origin, port));
        if !own {
            return Err(ApiError::forbidden(format!(
                "This emulator runs jobs on this machine, so it answers no web page: the request \
                 comes from the origin {origin:?}."
            )));
        }
    }
    Ok(())
}

fn refuse_host(host: &str) -> ApiError {
    ApiError::forbidden(format!(
        "This emulator runs jobs on this machine, so it answers only as 127.0.0.1, localhost or \
         [::1]: the request asks for the host {host:?}."
    ))
}

/// Returns `true` for 127.0.0.0/8, `localhost` or `[::1]`, alone or with a port.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port =
        |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    port.is_none_or(is_port)
        && (name == "[::1]"
            || name.eq_ignore_ascii_case("localhost")
            || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback()))
}

fn is_own(origin: &str, port: u16) -> bool {
    origin.strip_prefix("http://").is_some_and(|host| {
        is_loopback(host) && host.rsplit_once(':').is_some_and(|(_, p)| p == port.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_loopback() {
        for host in [
            "127.0.0.1",
            "127.0.0.1:80",
            "127.9.8.7:1",
            "localhost",
            "LocalHost:9",
            "[::1]",
            "[::1]:80",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "example.com",
            "127.0.0.1.example.com",
            "localhost.example.com",
            "0.0.0.0",
            "10.0.0.1:80",
            "[::]",
            "::1",
            "127.1",
            "user@127.0.0.1",
            "127.0.0.1/",
            "[::1].evil",
            "[::1].evil:80",
            "[::1]evil",
            "[::1]:80.evil",
            "[::1]:",
            "[::1]:+80",
            "[::1]:65536",
            "[0:0:0:0:0:0:0:1].evil",
            "localhost:",
            "127.0.0.1:x",
            "2130706433",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn only_the_emulators_own_origin_is_accepted() {
        for origin in ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"] {
            assert!(is_own(origin, 8080), "{origin}");
        }
        for origin in [
            "null",
            "http://127.0.0.1",
            "http://127.0.0.1:3000",
            "https://127.0.0.1:8080",
            "http://example.com:8080",
            "http://localhost.example.com:8080",
        ] {
            assert!(!is_own(origin, 8080), "{origin}");
        }
    }
}
