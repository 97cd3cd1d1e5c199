//! Facts about each operation that its types do not carry: effect, paging and error codes.

use crate::generated::OPERATIONS;

/// The effect of sending a request twice: the one fact that retries depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Changes nothing, whatever its HTTP method is (the job search is a POST).
    Read,
    /// Changes something, and sending it again changes nothing more.
    Idempotent,
    /// Makes a new thing each time that it is executed.
    Create,
}

/// One operation of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// The service's own name, such as `ShowTrainingJobDetails`.
    pub id: &'static str,
    /// The name of the generated method, such as `show_training_job_details`.
    pub method_name: &'static str,
    /// The HTTP method in upper case.
    pub method: &'static str,
    /// The path with its parameters in braces.
    pub path: &'static str,
    /// The effect of sending it twice.
    pub effect: Effect,
    /// The paging of its list; `None` when the answer is a single object.
    pub pagination: Option<Pagination>,
    /// The error codes that it may answer with, beside those of any operation;
    /// [`error_codes`](Self::error_codes) has both.
    pub own_error_codes: &'static [&'static str],
}

impl Operation {
    /// Returns the operation with this generated method, such as `show_training_job_details`.
    #[must_use]
    pub const fn find(method_name: &str) -> Option<&'static Self> {
        let wanted = method_name.as_bytes();
        let mut index = 0;
        while index < OPERATIONS.len() {
            if bytes_equal(OPERATIONS[index].method_name.as_bytes(), wanted) {
                return Some(&OPERATIONS[index]);
            }
            index += 1;
        }
        None
    }

    #[doc(hidden)]
    #[must_use]
    pub const fn new(
        id: &'static str,
        method_name: &'static str,
        method: &'static str,
        path: &'static str,
        effect: Effect,
        pagination: Option<Pagination>,
        own_error_codes: &'static [&'static str],
    ) -> Self {
        Self {
            id,
            method_name,
            method,
            path,
            effect,
            pagination,
            own_error_codes,
        }
    }
}

/// Compares as `==` does, which constants cannot call.
const fn bytes_equal(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// The unit of `offset`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Offset {
    /// Pages: 0 is the first page, 1 the second, whatever the limit is.
    PageIndex,
    /// Entries: the number of entries to skip.
    Record,
    /// Nothing: the next page is asked for by a line number of the last one.
    LineCursor,
    /// Nothing: all entries come in one answer.
    SinglePage,
}

/// The part of a request that a parameter travels in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParameterLocation {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In a header.
    Header,
    /// In the JSON body.
    Body,
}

/// The paging of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pagination {
    /// The unit of the offset.
    pub offset: Offset,
    /// Sources disagree about the unit of the offset (`openapi/SOURCES.md`, "Without a number").
    pub disputed: bool,
    /// The part of the request that holds the parameters.
    pub location: ParameterLocation,
    /// The parameter that says where the page begins; none on a single page.
    pub offset_name: Option<&'static str>,
    /// The parameter that says how many entries a page has.
    pub limit_name: Option<&'static str>,
    /// The largest page that may be asked for.
    pub max_limit: Option<u32>,
    /// For lists that are read by line numbers.
    pub cursor: Option<Cursor>,
    /// The field of the answer that holds the entries. A dot joins two names where
    /// one field holds the other; empty when the answer itself is the list.
    pub items: &'static str,
    /// The field of the answer that counts all entries, where there is one.
    pub total: Option<&'static str>,
}

/// The names that [`Offset::LineCursor`] works with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cursor {
    /// The parameter that takes the number of a line.
    pub name: &'static str,
    /// The parameter that says in which direction to read from there.
    pub order_name: &'static str,
    /// The field of the answer with the number of its first line.
    pub first: &'static str,
    /// The field of the answer with the number of its last line.
    pub last: &'static str,
}
