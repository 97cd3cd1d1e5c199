//! JSON pointers (RFC 6901).

/// Appends a key to the JSON pointer `place`.
pub fn join(place: &str, key: &str) -> String {
    format!("{place}/{}", escape(key))
}

/// Escapes a key for a JSON pointer.
pub fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_escaped() {
        assert_eq!(join("/paths", "/jobs/~me"), "/paths/~1jobs~1~0me");
    }
}
