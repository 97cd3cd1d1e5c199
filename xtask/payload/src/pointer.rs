//! JSON pointers (RFC 6901).

use std::fmt::Display;

/// Appends a key or index to `pointer`.
pub fn join(pointer: &str, key: impl Display) -> String {
    let key = key.to_string().replace('~', "~0").replace('/', "~1");
    format!("{pointer}/{key}")
}

/// Returns the JSON pointer to a field that the type does not have.
pub fn of_ignored(path: &serde_ignored::Path) -> String {
    use serde_ignored::Path;
    match path {
        Path::Root => String::new(),
        Path::Seq { parent, index } => join(&of_ignored(parent), index),
        Path::Map { parent, key } => join(&of_ignored(parent), key),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => of_ignored(parent),
    }
}

/// Returns the JSON pointer to the innermost list element that contains an error.
pub fn of_element(path: &serde_path_to_error::Path) -> Option<String> {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    let mut element = None;
    for segment in path {
        match segment {
            Segment::Seq { index } => {
                pointer = join(&pointer, index);
                element = Some(pointer.clone());
            }
            Segment::Map { key } | Segment::Enum { variant: key } => pointer = join(&pointer, key),
            Segment::Unknown => {}
        }
    }
    element
}
