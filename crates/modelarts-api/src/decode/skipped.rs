//! What decoding leaves out of lists, and whom a transport has told of it.

use bytes::Bytes;

/// What decoding left out of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Elements left out of the outermost list: rows of a page.
    pub rows: usize,
    /// Elements left out of lists inside other lists.
    pub nested: usize,
    /// Why the first element that was not `null` could not be read. It quotes no text of
    /// the answer, which may be a secret.
    pub first_error: Option<String>,
}

impl Dropped {
    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0 && self.nested == 0
    }
}

/// Is told about each body that was decoded, when a transport has put one into the
/// [`Response`].
pub trait Observer: Send + Sync {
    /// `body` was decoded; `dropped` says what had to be left out of lists.
    fn decoded(&self, body: &Bytes, dropped: &Dropped);

    /// A text of an answer as it may stand in an error, where that is not as it came: without
    /// the secrets of the client, which a server may echo.
    fn masked(&self, text: &str) -> Option<String> {
        let _ = text;
        None
    }

    /// Returns whether the time of the call is over, so that decoding ends with an error. The
    /// decoder asks now and then while it decodes an answer, and once when an answer is not
    /// understood.
    fn is_late(&self) -> bool {
        false
    }
}

/// What an error of decoding says, without the text that serde quotes when it did not
/// expect it: that may be a secret.
#[must_use]
pub fn unquoted(error: &str) -> String {
    match (error.find("string \""), error.rfind("\", expected")) {
        (Some(start), Some(end)) if start < end => {
            format!("{}string{}", &error[..start], &error[end + 1..])
        }
        _ => error.to_owned(),
    }
}
