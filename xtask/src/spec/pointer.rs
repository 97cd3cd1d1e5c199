//! JSON pointers (RFC 6901).

/// `place` with one more key.
pub fn join(place: &str, key: &str) -> String {
    format!("{place}/{}", escape(key))
}

/// A key as it stands in a pointer.
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
