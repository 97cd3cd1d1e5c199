//! Search for known rows in a list that has shifted.

/// Maximum number of consecutive searches without a new row in between.
pub(super) const MAX_SEARCHES: u32 = 2;

/// Search for the last rows that were read. The search begins at the expected position and
/// alternates between both directions, at growing distance.
#[derive(Debug)]
pub(super) struct OverlapSearch {
    /// Row that the next window includes.
    pub(super) row: u64,
    /// First and last row that were searched; `None` if no rows remain in that direction.
    before: Option<u64>,
    behind: Option<u64>,
    backwards: bool,
    /// `true` if a window had a row that equals a row that was read.
    pub(super) has_equal_rows: bool,
    /// Rows of the last window. A service that ignores offsets returns them again.
    pub(super) last: Vec<u64>,
}

impl OverlapSearch {
    /// Creates a search in both directions, or only backwards if all earlier rows are known.
    pub(super) fn new(row: u64, both: bool) -> Self {
        Self {
            row,
            before: Some(row),
            behind: both.then_some(row),
            backwards: false,
            has_equal_rows: false,
            last: Vec::new(),
        }
    }

    /// Returns the next step, `step` rows farther, after a window from `start` on without a known
    /// row. `more`: rows follow that window. Returns `None` if the whole list was searched.
    pub(super) fn next(mut self, start: u64, step: u64, more: bool) -> Option<Self> {
        let step = step.max(1);
        self.before = self.before.filter(|_| start > 0);
        self.behind = self.behind.filter(|_| more);
        self.backwards = self.before.is_some() && (!self.backwards || self.behind.is_none());
        if self.backwards {
            self.row = self.before?.saturating_sub(step);
            self.before = Some(self.row);
        } else {
            self.row = self.behind? + step;
            self.behind = Some(self.row);
        }
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pagination::window::WindowPlan;

    fn searched(start: u64, length: u64) -> Vec<u64> {
        let plan = WindowPlan { max: 10, ..WindowPlan::default() };
        let mut search = Some(OverlapSearch::new(start, true));
        let mut rows = Vec::new();
        while let Some(at) = search {
            let window = plan.around(at.row);
            rows.push(window.start);
            search = at.next(window.start, 5, window.end() <= length);
        }
        rows
    }

    #[test]
    fn the_whole_list_is_searched_from_the_expected_place_outwards() {
        assert_eq!(searched(12, 40), [12, 7, 17, 2, 22, 0, 27, 32]);
        assert_eq!(searched(12, 12), [12, 7, 2, 0]);
        assert_eq!(searched(0, 21), [0, 5, 10, 15]);
        assert_eq!(searched(0, 0), [0]);
    }
}
