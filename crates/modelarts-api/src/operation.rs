//! Table of operations, with properties that generated types lack, such as effect and paging.

use crate::generated::OPERATIONS;

/// Effect of sending a request twice, which determines whether the request may be retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Changes nothing in the service. The HTTP method may still be POST, as for the job search.
    Read,
    /// Changes a resource. Sending the request again has no further effect.
    Idempotent,
    /// Creates a new resource each time the request is executed.
    Create,
}

/// Operation of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Operation {
    /// Name of the operation in the API, such as `ShowTrainingJobDetails`.
    pub id: &'static str,
    /// Name of the generated method, such as `show_training_job_details`.
    pub method_name: &'static str,
    /// HTTP method in upper case.
    pub method: &'static str,
    /// Path of the request URL, with path parameters in braces.
    pub path: &'static str,
    /// Effect of sending the request twice.
    pub effect: Effect,
    /// Clouds whose documentation contains the operation: `huawei`, `otc`.
    pub clouds: &'static [&'static str],
    /// Paging of the list in the response. `None` if the response is a single object.
    pub pagination: Option<Pagination>,
    /// Error codes of this operation, excluding the codes that every operation may return.
    /// [`error_codes`](Self::error_codes) returns both kinds of codes.
    pub own_error_codes: &'static [&'static str],
    /// Paths of the fields that the response contains but the request body does not, such as
    /// `metadata.id` or `algorithm.outputs[].mode`. Fields inside a listed field are omitted.
    /// Empty unless the operation creates a resource.
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

/// Returns `true` if two strings are equal. Constant functions cannot compare strings with `==`.
const fn bytes_equal(one: &[u8], other: &[u8]) -> bool {
    let mut index = 0;
    while index < one.len() && index < other.len() && one[index] == other[index] {
        index += 1;
    }
    index == one.len() && index == other.len()
}

/// Unit of the offset of a list, or the way in which a list without an offset is paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Offset {
    /// Number of the page: offset 0 is the first page and 1 the second, for any limit.
    PageIndex,
    /// Number of entries to skip.
    Record,
    /// No offset: the request for the next page contains a line number of the previous page.
    LineCursor,
    /// No offset: a single response contains all entries.
    SinglePage,
}

/// Part of a request that contains a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ParameterLocation {
    /// Path of the URL.
    Path,
    /// Query string of the URL.
    Query,
    /// Header.
    Header,
    /// JSON body.
    Body,
}

/// Paging of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pagination {
    /// Unit of the offset, or the way of paging without an offset.
    pub offset: Offset,
    /// `true` if sources disagree about the unit of the offset (`openapi/SOURCES.md`, "Without a
    /// number").
    pub disputed: bool,
    /// Part of the request that contains the paging parameters.
    pub location: ParameterLocation,
    /// Name of the parameter for the offset of the page. `None` if the list has no offset.
    pub offset_name: Option<&'static str>,
    /// Name of the parameter for the maximum number of entries on a page. `None` for a single page.
    pub limit_name: Option<&'static str>,
    /// Maximum number of entries on a page. `None` if no source states a maximum.
    pub max_limit: Option<u32>,
    /// The only values that the service accepts for the maximum number of entries, ascending.
    /// Empty if it accepts each value up to `max_limit`.
    pub limits: &'static [u32],
    /// Names of parameters and fields for [`Offset::LineCursor`]. `None` for any other paging.
    pub cursor: Option<Cursor>,
    /// Name of the response field with the entries. A dot joins the names of nested fields. Empty
    /// if the response itself is the list.
    pub items: &'static str,
    /// Name of the response field with the total number of entries. `None` if there is none.
    pub total: Option<&'static str>,
}

/// Names of parameters and fields for [`Offset::LineCursor`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cursor {
    /// Name of the parameter for the line number at which reading starts.
    pub name: &'static str,
    /// Name of the parameter for the direction in which lines are read.
    pub order_name: &'static str,
    /// Name of the response field with the number of the first returned line.
    pub first: &'static str,
    /// Name of the response field with the number of the last returned line.
    pub last: &'static str,
}
