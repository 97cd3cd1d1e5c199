//! Percent-encoding of values in the path of a request URL.

use std::fmt::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Characters that must be percent-encoded: all except letters, digits, `-`, `.`, `_` and `~`.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Value that is displayed as a percent-encoded segment of a path.
pub struct PathSegment<'a, T>(pub &'a T);

impl<T: fmt::Display> fmt::Display for PathSegment<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(PercentEncoder(f), "{}", self.0)
    }
}

struct PercentEncoder<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for PercentEncoder<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // Most values need no percent-encoding.
        if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-') {
            return self.0.write_str(text);
        }
        fmt::Display::fmt(&utf8_percent_encode(text, UNRESERVED), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreserved_characters_stay() {
        assert_eq!(PathSegment(&"Job-1_a.b~c").to_string(), "Job-1_a.b~c");
        assert_eq!(PathSegment(&"a/b?c d%ä").to_string(), "a%2Fb%3Fc%20d%25%C3%A4");
    }
}
