//! Commands on existing jobs.

pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod logs;
pub(crate) mod ls;
pub(crate) mod rm;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod wait;

use std::time::Duration;

/// Parses a span of time such as `4d`, `12h`, `1h30m` or `90s`.
pub(crate) fn time_span(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration = match text.parse::<jiff::Span>() {
        Ok(span) => span
            .to_duration(jiff::SpanRelativeTo::days_are_24_hours())
            .map_err(|error| error.to_string())?,
        Err(_) => return Err("it must be a time such as 4d, 12h, 1h30m or 90s".to_owned()),
    };
    Duration::try_from(span).map_err(|_| "it must not be negative".to_owned())
}
