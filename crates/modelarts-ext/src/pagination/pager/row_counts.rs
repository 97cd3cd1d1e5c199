//! Row counts that the service states.

use crate::pagination::source::Counts;

/// Row counts of a list, as stated by one response. As documented, `total` counts all rows and
/// `count` those that match the conditions; in some responses, `count` is the number of rows on the
/// page.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCounts {
    /// The number of rows that match the conditions, if the service states it.
    pub(super) matching: Option<u64>,
    /// The minimum number of rows that the list must contain.
    pub(super) required: Option<u64>,
    /// The maximum number of rows that the list may contain.
    pub(super) most: Option<u64>,
}

impl RowCounts {
    /// Returns the counts of a page with `rows` rows. `only` is `true` for a short first page.
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
