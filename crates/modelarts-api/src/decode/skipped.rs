//! Count of the list elements that decoding skips.

/// Number of list elements that decoding skipped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Number of skipped elements of lists outside of other lists, such as the rows of a page.
    pub rows: usize,
    /// Number of skipped elements of lists inside other lists.
    pub nested: usize,
    /// Error of the first skipped element that was not `null`. The error does not quote values of
    /// the response, because the values may be secrets.
    pub first_error: Option<String>,
}

impl Skipped {
    /// Returns `true` if no element was skipped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0 && self.nested == 0
    }
}

/// Removes the string that serde quotes in an error message, because the string may be a secret.
#[must_use]
pub fn strip_quoted_text(error: &str) -> String {
    match (error.find("string \""), error.rfind("\", expected")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}string{}", &error[..start], &error[end + 1..])
        }
        _ => error.to_owned(),
    }
}
