//! Conversion of scalars that the service sends in another form than the description states: as a
//! string, or as a number of another kind.

use serde::de::Unexpected;
use serde_json::Value;

/// Converts a scalar to an integer. Also accepts strings, floats without a fraction, and booleans.
#[inline]
pub(super) fn integer(scalar: Unexpected<'_>) -> Option<i64> {
    match scalar {
        Unexpected::Bool(value) => Some(value.into()),
        Unexpected::Signed(value) => Some(value),
        Unexpected::Unsigned(value) => value.try_into().ok(),
        Unexpected::Float(value) => whole_number(value),
        Unexpected::Str(text) => {
            let float = || text.trim().parse().ok().and_then(whole_number);
            text.trim().parse().ok().or_else(float)
        }
        _ => None,
    }
}

/// Converts a float such as `5.0` to an integer. Returns `None` for a fraction, or above 2^53.
fn whole_number(number: f64) -> Option<i64> {
    // 2^53. Up to this value, a float represents every integer exactly.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[allow(clippy::cast_possible_truncation)]
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// Converts a scalar to a finite number. Also accepts strings.
#[allow(clippy::cast_precision_loss)]
#[inline]
pub(super) fn number(scalar: Unexpected<'_>) -> Option<f64> {
    match scalar {
        Unexpected::Signed(value) => Some(value as f64),
        Unexpected::Unsigned(value) => Some(value as f64),
        Unexpected::Float(value) => Some(value),
        // Rust parses "NaN" and "inf", which JSON cannot represent.
        Unexpected::Str(text) => text.trim().parse().ok().filter(|value: &f64| value.is_finite()),
        _ => None,
    }
}

/// Converts a scalar to a boolean. Also accepts 0, 1, and strings such as `True`, in any case.
#[inline]
pub(super) fn boolean(scalar: Unexpected<'_>) -> Option<bool> {
    let is = |text: &str, known: [&str; 2]| {
        known.iter().any(|known| text.trim().eq_ignore_ascii_case(known))
    };
    match scalar {
        Unexpected::Bool(value) => Some(value),
        Unexpected::Signed(1) => Some(true),
        Unexpected::Signed(0) => Some(false),
        Unexpected::Str(text) if is(text, ["true", "1"]) => Some(true),
        Unexpected::Str(text) if is(text, ["false", "0"]) => Some(false),
        _ => None,
    }
}

/// Converts a scalar to a JSON value. A value that is not a scalar becomes `null`.
#[inline]
pub(super) fn json(scalar: Unexpected<'_>) -> Value {
    match scalar {
        Unexpected::Bool(value) => value.into(),
        Unexpected::Signed(value) => value.into(),
        Unexpected::Unsigned(value) => value.into(),
        Unexpected::Float(value) => value.into(),
        Unexpected::Str(text) => text.into(),
        _ => Value::Null,
    }
}
