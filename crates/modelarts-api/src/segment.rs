//! Values in the path of a request.

use std::fmt::{self, Write};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// What is written in a path as it is.
const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// Prints as the segment of a path that has this value.
pub struct Segment<'a, T>(pub &'a T);

impl<T: fmt::Display> fmt::Display for Segment<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Encoded(f), "{}", self.0)
    }
}

struct Encoded<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Encoded<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // So are nearly all values.
        if text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        {
            return self.0.write_str(text);
        }
        fmt::Display::fmt(&utf8_percent_encode(text, UNRESERVED), self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_unreserved_stays() {
        assert_eq!(Segment(&"Job-1_a.b~c").to_string(), "Job-1_a.b~c");
        assert_eq!(Segment(&"a/b?c d%ä").to_string(), "a%2Fb%3Fc%20d%25%C3%A4");
    }
}
