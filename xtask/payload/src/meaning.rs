//! Comparison of JSON values by meaning: values that are equivalent to an absent field, and
//! different spellings of numbers and booleans.

use serde_json::Value;

/// Returns true if a value is equivalent to an absent field. Nulls in lists and maps are skipped,
/// so a list of nulls is equivalent to an empty list.
pub(crate) fn equals_absence(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(list) => list.iter().all(Value::is_null),
        Value::Object(object) => object.values().all(Value::is_null),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns true if two different JSON values are spellings of the same value.
pub(crate) fn same_meaning(a: &Value, b: &Value) -> bool {
    if equals_absence(a) && equals_absence(b) {
        return true;
    }
    // Different strings have different meanings.
    if a.is_string() && b.is_string() {
        return false;
    }
    let numbers = number(a).zip(number(b)).is_some_and(|(a, b)| a == b);
    let flags = flag(a).zip(flag(b)).is_some_and(|(a, b)| a == b);
    numbers || (flags && (a.is_boolean() || b.is_boolean()))
}

#[derive(PartialEq)]
enum Number {
    Whole(i128),
    Broken(f64),
}

/// Returns the exact number that a value represents. An integer beyond 2^53 that was converted to a
/// float may be a different number.
fn number(value: &Value) -> Option<Number> {
    // Above this value, not all digits of a float are significant.
    const LARGEST: f64 = 1e30;
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.trim().to_owned(),
        _ => return None,
    };
    if let Ok(whole) = text.parse() {
        return Some(Number::Whole(whole));
    }
    let number: f64 = text.parse().ok()?;
    #[allow(clippy::cast_possible_truncation)]
    Some(if number.fract() == 0.0 && number.abs() < LARGEST {
        Number::Whole(number as i128)
    } else {
        Number::Broken(number)
    })
}

fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(flag) => Some(*flag),
        Value::Number(number) => match number.as_i64()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}
