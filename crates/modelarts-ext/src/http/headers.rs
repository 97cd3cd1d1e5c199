//! Response headers of all services: request id, `Date` and `Retry-After`.

use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, HeaderName};

static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
static TRACE_ID: HeaderName = HeaderName::from_static("x-iam-trace-id");

/// Returns the request id. The caller must mask it, because a server may echo a secret.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<&str> {
    [&REQUEST_ID, &TRACE_ID].into_iter().find_map(|name| headers.get(name)?.to_str().ok())
}

pub(crate) fn retry_after(
    headers: &HeaderMap,
    now: impl FnOnce() -> SystemTime,
) -> Option<Duration> {
    let value = headers.get(reqwest::header::RETRY_AFTER)?.to_str().ok()?;
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number that is too large counts as the maximum delay, and not as a missing header.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let date = parse_date(value)?;
    Some(date.duration_since(now()).unwrap_or_default())
}

pub(crate) fn date(headers: &HeaderMap) -> Option<SystemTime> {
    parse_date(headers.get(reqwest::header::DATE)?.to_str().ok()?)
}

fn parse_date(text: &str) -> Option<SystemTime> {
    jiff::fmt::rfc2822::parse(text).ok()?.timestamp().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        let header = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert("retry-after", value.parse().unwrap());
            retry_after(&headers, || now)
        };
        assert_eq!(header("7"), Some(Duration::from_secs(7)));
        assert_eq!(header("99999999999999999999999"), Some(Duration::from_secs(u64::MAX)));
        assert_eq!(header("Sun, 06 Nov 1994 08:50:37 GMT"), Some(Duration::from_secs(60)));
        assert_eq!(header("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for text in ["soon", "", "-7", "7 s"] {
            assert_eq!(header(text), None, "{text}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), || now), None);
    }
}
