//! Parsers of argument values: durations, times and phases.

use std::{
    num::{IntErrorKind, ParseIntError},
    str::FromStr,
    time::{Duration, SystemTime},
};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::{Span, SpanRelativeTo};
use modelarts_console::display::{PHASES, parse_time};
use modelarts_ext::{Timestamp, types::Phase};

const TOO_LARGE: &str = "the number is too large";

/// Returns the parser of a phase, which ignores case if the argument ignores case.
pub(super) fn phase() -> impl TypedValueParser<Value = Phase> {
    let names = PHASES.iter().map(Phase::as_str);
    PossibleValuesParser::new(names).map(|name| Phase::from(name).canonical())
}

/// Parses a duration such as `4d`, `12h`, `1h30m` or `90s`.
pub(crate) fn time_span(text: &str) -> Result<Duration, String> {
    let days = SpanRelativeTo::days_are_24_hours();
    let span = text.parse::<Span>().and_then(|span| span.to_duration(days));
    let span = span.map_err(|_| "it must be a time such as 4d, 12h, 1h30m or 90s".to_owned())?;
    Duration::try_from(span).map_err(|_| "it must not be negative".to_owned())
}

pub(crate) fn whole_number<T: FromStr<Err = ParseIntError>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: ParseIntError| {
        match error.kind() {
            IntErrorKind::PosOverflow => TOO_LARGE,
            _ => "it must be a whole number, 0 or more",
        }
        .to_owned()
    })
}

pub(crate) fn positive_number<T>(text: &str) -> Result<T, String>
where
    T: FromStr<Err = ParseIntError> + PartialOrd + From<u8>,
{
    let rule = || "it must be a whole number, 1 or more".to_owned();
    match whole_number(text) {
        Ok(number) if number >= T::from(1) => Ok(number),
        Err(error) if error == TOO_LARGE => Err(error),
        _ => Err(rule()),
    }
}

/// Parses a time: a duration before now such as `4d`, or a date with or without a time of day such
/// as `2026-01-15` or `2026-01-15T08:30:00Z`. The default time zone is that of the user.
pub(super) fn moment(text: &str) -> Result<Timestamp, String> {
    let wrong = || {
        "it must be a time such as 4d, 12h or 90m before now, or 2026-01-15 or \
         2026-01-15T08:30:00Z"
            .to_owned()
    };
    let time = match time_span(text) {
        Ok(span) => SystemTime::now().checked_sub(span),
        Err(_) => parse_time(text).ok(),
    };
    time.map(Timestamp::from).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_the_usual_units() {
        let seconds = |text: &str| time_span(text).map(|span| span.as_secs());
        for (text, span) in [
            ("4d", 4 * 86_400),
            ("2w", 14 * 86_400),
            ("12h", 12 * 3_600),
            ("1h30m", 5_400),
            ("90s", 90),
            ("0s", 0),
        ] {
            assert_eq!(seconds(text), Ok(span), "{text}");
        }
        let wrong = "it must be a time such as 4d, 12h, 1h30m or 90s".to_owned();
        for text in ["", "4", "soon", "1mo", "4d4", "99999999999d"] {
            assert_eq!(seconds(text), Err(wrong.clone()), "{text}");
        }
        assert_eq!(seconds("-4d"), Err("it must not be negative".to_owned()));
    }

    #[test]
    fn numbers_are_whole_and_not_negative() {
        assert_eq!(whole_number::<u32>("0"), Ok(0));
        assert_eq!(positive_number::<u64>("7"), Ok(7));
        for wrong in ["", "x", "-1", "1.5"] {
            let rule = "it must be a whole number, 0 or more".to_owned();
            assert_eq!(whole_number::<u32>(wrong), Err(rule), "{wrong}");
        }
        let too_large = Err("the number is too large".to_owned());
        assert_eq!(whole_number::<u8>("300"), too_large);
        assert_eq!(positive_number::<u8>("300"), too_large);
        for wrong in ["0", "-1", "many"] {
            let rule = "it must be a whole number, 1 or more".to_owned();
            assert_eq!(positive_number::<u64>(wrong), Err(rule), "{wrong}");
        }
    }

    #[test]
    fn a_time_is_a_span_before_now_or_a_date() {
        let text = |text: &str| moment(text).map(|time| time.to_string());
        assert_eq!(text("2026-01-15T08:30:00Z").unwrap(), "2026-01-15T08:30:00Z");
        assert_eq!(text("2026-01-15T08:30:00+08:00").unwrap(), "2026-01-15T00:30:00Z");
        for local in ["2026-01-15", "2026-01-15T08:30", "2026-01-15 08:30:00"] {
            assert!(text(local).is_ok(), "{local}");
        }
        let hour = moment("1h").unwrap();
        let age = Timestamp::from(SystemTime::now()).duration_since(hour);
        assert!((3_600..3_700).contains(&age.as_secs()), "{age:?}");
        for wrong in ["", "yesterday", "2026-13-15", "-4d", "15"] {
            assert!(text(wrong).is_err(), "{wrong}");
        }
    }
}
