//! What the description says about each operation beyond its types.

use crate::OPERATIONS;

/// What sending a request twice does: the one fact that retries depend on.
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
    /// What sending it twice does.
    pub effect: Effect,
    /// How its list is paged; `None` when it answers with a single thing.
    pub pagination: Option<Pagination>,
}

impl Operation {
    /// The operation with this generated method, such as `show_training_job_details`.
    #[must_use]
    pub const fn named(method_name: &str) -> Option<&'static Self> {
        let wanted = method_name.as_bytes();
        let mut at = 0;
        while at < OPERATIONS.len() {
            if same(OPERATIONS[at].method_name.as_bytes(), wanted) {
                return Some(&OPERATIONS[at]);
            }
            at += 1;
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
    ) -> Self {
        Self {
            id,
            method_name,
            method,
            path,
            effect,
            pagination,
        }
    }
}

/// `==`, which is not for constants.
const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// What `offset` counts.
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
pub enum Place {
    /// In the path.
    Path,
    /// In the query string.
    Query,
    /// In a header.
    Header,
    /// In the JSON body.
    Body,
}

/// How a list is paged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pagination {
    /// What the offset counts.
    pub offset: Offset,
    /// Whether the documents disagree about what the offset counts.
    pub disputed: bool,
    /// Where the parameters travel.
    pub place: Place,
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

/// What [`Offset::LineCursor`] goes by.
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

/// A limit that the description states for a field and that generated code does
/// not enforce, because an answer that breaks it must still be readable.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Limit {
    /// The schema, such as `JobMetadataRequest`, or the operation for a query
    /// parameter, such as `ListTrainingJobEvents`.
    pub schema: &'static str,
    /// The field or parameter; empty when the limit is on the schema itself.
    /// `[]` after it means each element of the list, `{}` each value of the map.
    pub field: &'static str,
    /// The limit.
    pub rule: Rule,
}

impl Limit {
    #[doc(hidden)]
    #[must_use]
    pub const fn new(schema: &'static str, field: &'static str, rule: Rule) -> Self {
        Self {
            schema,
            field,
            rule,
        }
    }
}

/// The kinds of limits, with the meaning that JSON Schema gives them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Rule {
    /// Shortest text, in characters.
    MinLength(u64),
    /// Longest text, in characters.
    MaxLength(u64),
    /// A regular expression that the text must match.
    Pattern(&'static str),
    /// Smallest number.
    Minimum(f64),
    /// The number must be larger than this.
    ExclusiveMinimum(f64),
    /// Largest number.
    Maximum(f64),
    /// The number must be smaller than this.
    ExclusiveMaximum(f64),
    /// Fewest elements.
    MinItems(u64),
    /// Most elements.
    MaxItems(u64),
    /// No two equal elements.
    UniqueItems,
    /// Fewest entries of a map.
    MinProperties(u64),
    /// Most entries of a map.
    MaxProperties(u64),
}
