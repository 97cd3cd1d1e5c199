//! Counts of rows that the service states.

use crate::pagination::source::Counts;

/// The rows of a list, according to one response. As documented, `total` counts all rows and
/// `count` those that match the conditions; some services count only the rows of the page in
/// `count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCounts {
    /// The number of rows that match the conditions, where the service counts them.
    pub(super) matching: Option<u64>,
    /// The number of rows that the list must have.
    pub(super) required: Option<u64>,
    /// The maximum number of rows that the list may have.
    pub(super) most: Option<u64>,
}

impl RowCounts {
    /// Returns the counts of a page with this number of rows. `only` is `true` for a short first
    /// page.
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
