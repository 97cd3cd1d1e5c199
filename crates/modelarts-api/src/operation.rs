//! Properties of operations that generated types do not contain: effect, paging and error codes.

use crate::generated::OPERATIONS;

/// Effect of sending a request twice, which determines whether the request may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Does not change the service. The HTTP method may still be POST, as for the job search.
    Read,
    /// Changes the service. Sending the request again has no further effect.
    Idempotent,
    /// Creates a new object each time the request is executed.
    Create,
}

/// One operation of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Name of the operation in the API, such as `ShowTrainingJobDetails`.
    pub id: &'static str,
    /// The name of the generated method, such as `show_training_job_details`.
    pub method_name: &'static str,
    /// The HTTP method in upper case.
    pub method: &'static str,
    /// The path with its parameters in braces.
    pub path: &'static str,
    /// The effect of sending the request twice.
    pub effect: Effect,
    /// The clouds that document the operation: `huawei`, `otc`.
    pub clouds: &'static [&'static str],
    /// Paging of the list in the response; `None` if the response is a single object.
    pub pagination: Option<Pagination>,
    /// Error codes of this operation, excluding the codes that every operation may return.
    /// [`error_codes`](Self::error_codes) returns both.
    pub own_error_codes: &'static [&'static str],
    /// Fields that occur in the response but not in the request body, such as `metadata.id` or
    /// `algorithm.outputs[].mode`. Fields inside a listed field are omitted. Empty unless the
    /// operation creates an object.
    pub response_only: &'static [&'static str],
}

impl Operation {
    /// Returns the operation of a generated method, such as `show_training_job_details`.
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

/// Returns whether two strings are equal. Constant functions cannot compare strings with `==`.
const fn bytes_equal(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// Unit of the offset of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Offset {
    /// Pages: offset 0 is the first page and 1 the second, for any limit.
    PageIndex,
    /// Entries: the offset is the number of entries to skip.
    Record,
    /// No offset: the request for the next page contains a line number of the previous page.
    LineCursor,
    /// No offset: a single response contains all entries.
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
    /// True if sources disagree about the unit of the offset (`openapi/SOURCES.md`, "Without a
    /// number").
    pub disputed: bool,
    /// The part of the request that contains the parameters.
    pub location: ParameterLocation,
    /// Name of the parameter for the beginning of the page; `None` for a single page.
    pub offset_name: Option<&'static str>,
    /// Name of the parameter for the number of entries on a page.
    pub limit_name: Option<&'static str>,
    /// Maximum page size that a request may set, in entries.
    pub max_limit: Option<u32>,
    /// Names of parameters and fields for a list that is paged by line numbers.
    pub cursor: Option<Cursor>,
    /// The field of the response that holds the entries. A dot joins the names of nested fields;
    /// empty when the response itself is the list.
    pub items: &'static str,
    /// Response field with the total number of entries; `None` if the response lacks it.
    pub total: Option<&'static str>,
}

/// The names of parameters and fields for [`Offset::LineCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cursor {
    /// Name of the parameter for the number of a line.
    pub name: &'static str,
    /// Name of the parameter for the direction in which lines are read from that line.
    pub order_name: &'static str,
    /// The field of the response with the number of its first line.
    pub first: &'static str,
    /// The field of the response with the number of its last line.
    pub last: &'static str,
}
