//! Counts of rows that the service states.

use crate::pagination::source::Counts;

/// The rows of a list, according to one response. As documented, `total` counts all rows and
/// `count` those that match the conditions; some services count only the rows of the page in
/// `count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCounts {
    /// The rows that match the conditions, where the service counts them.
    pub(super) matching: Option<u64>,
    /// The rows that the list must have.
    pub(super) required: Option<u64>,
    /// The rows that it may have at most.
    pub(super) most: Option<u64>,
}

impl RowCounts {
    /// The counts of a page with this number of rows. `only`: it is the first page, and short.
    pub(super) fn new(counts: &Counts, rows: u64, only: bool, filtered: bool) -> Self {
        let Counts { total, count, .. } = *counts;
        let matching = count.filter(|count| *count > rows || *count == rows && only);
        // The total may include rows that the conditions exclude.
        let own_total = total.filter(|_| !filtered);
        let required = match (matching, count) {
            (Some(matching), _) => Some(matching),
            (None, Some(_)) => own_total,
            (None, None) => total,
        };
        Self {
            matching,
            required,
            most: required.max(own_total),
        }
    }
}
