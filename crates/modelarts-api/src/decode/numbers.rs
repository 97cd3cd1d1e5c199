//! Numbers and booleans in other spellings: as text, or as a number of the other kind.

/// Converts a number without a fraction, which a JSON parser may return as a float (`5.0`).
pub(super) fn whole_number(number: f64) -> Option<i64> {
    // 2^53: up to this value, every integer has an exact float.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation)]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Converts text to an integer, including the form `5.0`.
pub(super) fn parse_integer(text: &str) -> Option<i64> {
    let float = || text.parse().ok().and_then(whole_number);
    text.parse().ok().or_else(float)
}

/// Converts text to a finite number.
pub(super) fn parse_number(text: &str) -> Option<f64> {
    // Rust parses "NaN" and "inf", which JSON cannot represent.
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

/// Converts `true`, `false`, `1` or `0` to a boolean, regardless of case.
pub(super) fn parse_boolean(text: &str) -> Option<bool> {
    let is = |known: &str| text.eq_ignore_ascii_case(known);
    if is("true") || is("1") {
        Some(true)
    } else if is("false") || is("0") {
        Some(false)
    } else {
        None
    }
}
