//! Counts of rows that the service states.

/// The two counts of a response. As documented, `total` counts all rows and `count` those that
/// match the conditions; some services count only the rows of the page in `count`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCounts {
    pub(super) total: Option<u64>,
    pub(super) count: Option<u64>,
}

impl RowCounts {
    pub(super) fn new(total: Option<i64>, count: Option<i64>) -> Self {
        let positive = |number: Option<i64>| number.and_then(|number| u64::try_from(number).ok());
        Self {
            total: positive(total),
            count: positive(count),
        }
    }

    /// The bounds from a page with this number of rows. `only`: it is the first page, and short.
    pub(super) fn of_page(self, rows: u64, only: bool, filtered: bool) -> Bounds {
        let matching = self
            .count
            .filter(|count| *count > rows || *count == rows && only);
        // The total may include rows that the conditions exclude.
        let total = self.total.filter(|_| !filtered);
        let all = match (matching, self.count) {
            (Some(matching), _) => Some(matching),
            (None, Some(_)) => total,
            (None, None) => self.total,
        };
        Bounds {
            matching,
            all,
            most: all.max(total),
        }
    }
}

/// The bounds on the number of rows of a list, from one page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The rows that match the conditions, where the service counts them.
    pub(super) matching: Option<u64>,
    /// The rows that the list must have.
    pub(super) all: Option<u64>,
    /// The rows that it may have at most.
    pub(super) most: Option<u64>,
}
