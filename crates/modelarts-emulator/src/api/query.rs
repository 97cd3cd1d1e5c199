//! Decoding of values in the query of a URL.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Decodes a percent-encoded value, with `+` as a space. Returns `None` if the result is not UTF-8.
pub(crate) fn decode(value: &str) -> Option<String> {
    let value = value.replace('+', " ");
    let decoded = percent_decode_str(&value).decode_utf8().ok();
    decoded.map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_come_in_three_spellings() {
        for text in ["a b+c", "a+b%2Bc", "a%20b%2bc"] {
            let meant = if text == "a b+c" { "a b c" } else { "a b+c" };
            assert_eq!(decode(text).as_deref(), Some(meant), "{text}");
        }
        assert_eq!(decode("%ff"), None);
    }
}
