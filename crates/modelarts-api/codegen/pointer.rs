//! JSON pointers (RFC 6901).

/// Appends a key to the JSON pointer `place`.
pub fn join(place: &str, key: &str) -> String {
    format!("{place}/{}", key.replace('~', "~0").replace('/', "~1"))
}
