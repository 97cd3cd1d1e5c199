//! Facts about each operation that its types do not carry: effect, paging and error codes.

use crate::generated::OPERATIONS;

/// The effect of sending a request twice, which decides about retries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Changes nothing, whatever its HTTP method is (the job search is a POST).
    Read,
    /// Changes the service; sending it again changes nothing more.
    Idempotent,
    /// Creates a new object each time that it is executed.
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
    /// The effect of sending the request twice.
    pub effect: Effect,
    /// The paging of its list; `None` when the response is a single object.
    pub pagination: Option<Pagination>,
    /// The error codes that it may respond with, besides those of any operation;
    /// [`error_codes`](Self::error_codes) returns both.
    pub own_error_codes: &'static [&'static str],
    /// The fields that its response has and its body lacks, such as `metadata.id` or
    /// `algorithm.outputs[].mode`; the fields below them are not listed. Only for operations that
    /// create an object.
    pub response_only: &'static [&'static str],
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
}

/// Compares like `==`, which constants cannot call.
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
    /// Pages: 0 is the first page, 1 the second, for any limit.
    PageIndex,
    /// Entries: the number of entries to skip.
    Record,
    /// None: the next page is requested by a line number of the previous one.
    LineCursor,
    /// None: one response has all entries.
    SinglePage,
}

/// The part of a request that contains a parameter.
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
    /// The part of the request that contains the parameters.
    pub location: ParameterLocation,
    /// The parameter for the beginning of the page; `None` for a single page.
    pub offset_name: Option<&'static str>,
    /// The parameter for the number of entries on a page.
    pub limit_name: Option<&'static str>,
    /// The largest number of entries that a request may ask for.
    pub max_limit: Option<u32>,
    /// The names for lists that are read by line numbers.
    pub cursor: Option<Cursor>,
    /// The field of the response that holds the entries. A dot joins the names of nested fields;
    /// empty when the response itself is the list.
    pub items: &'static str,
    /// The field of the response that counts all entries, where there is one.
    pub total: Option<&'static str>,
}

/// The names of parameters and fields for [`Offset::LineCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cursor {
    /// The parameter for the number of a line.
    pub name: &'static str,
    /// The parameter for the direction to read in from that line.
    pub order_name: &'static str,
    /// The field of the response with the number of its first line.
    pub first: &'static str,
    /// The field of the response with the number of its last line.
    pub last: &'static str,
}
