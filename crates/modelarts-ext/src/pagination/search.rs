//! Search for known rows in a list that has shifted.

use crate::{
    error::Error,
    list_position::OffsetUnit,
    pagination::{
        answer::Answer,
        reader::{Pass, Reader, State, Step},
    },
};

/// The maximum number of consecutive searches without a new row in between.
pub(super) const MAX_SEARCHES: u32 = 2;

/// Error message if none of the known rows can be found again.
const CHANGED_TOO_MUCH: &str = "the list has changed so much while it was read that it cannot be \
                                said where to go on; read it again";
/// Search for the last rows that were read. It begins at the expected position and alternates
/// between both directions, at growing distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The row that the next window includes.
    pub(super) row: u64,
    /// First and last row that were searched; `None` if no rows remain in that direction.
    before: Option<u64>,
    behind: Option<u64>,
    backwards: bool,
    /// `true` if a window had a row that equals one that was read.
    pub(super) has_equal_rows: bool,
}

impl Search {
    /// Creates a search that begins at this row. `both` is `false` for a list of which every row
    /// before the position is known: one of them is found by going backwards, or none exists.
    pub(super) fn new(row: u64, both: bool) -> Self {
        Self {
            row,
            before: Some(row),
            behind: both.then_some(row),
            backwards: false,
            has_equal_rows: false,
        }
    }

    /// Returns the next step of the search, `step` rows farther, after a window that begins with
    /// row `start` and contains no known row. `more` is `true` if the list continues after that
    /// window. Returns `None` when the whole list has been searched.
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

impl Reader {
    /// Starts or continues a search, after a window without known rows.
    pub(super) fn search(
        &mut self,
        mut pass: Pass,
        search: Option<Search>,
        answer: &Answer,
    ) -> Result<Step, Error> {
        pass.go_to(pass.read);
        let (rows, start) = (answer.rows(), answer.window.start);
        let max = u64::from(self.plan.max);
        let is_equal = answer
            .hashes
            .iter()
            .any(|row| self.history.has_returned(*row));
        let is_complete = self.info.unique && !self.history.is_incomplete;
        let Some(mut search) = search else {
            pass.idle += 1;
            // The first window of the search begins half a window before this one, so that about
            // half of its rows are known if the list has not shifted.
            let mut search = Search::new(start.saturating_sub(max / 2), !is_complete);
            search.has_equal_rows = is_equal;
            let state = match pass.idle > MAX_SEARCHES {
                true => self.end(pass),
                false => State::Search(pass, search),
            };
            return Ok(self.again(state));
        };
        self.budget.farthest = self.budget.farthest.max(answer.end());
        search.has_equal_rows |= is_equal;
        let has_equal_rows = search.has_equal_rows;
        let step = match self.plan.unit {
            // Every row before the position is known, so the distance may double.
            _ if is_complete => pass.read.saturating_sub(search.row),
            // A window without rows is beyond the end of the list.
            _ if rows == 0 => max / 2,
            // Windows overlap by half, so that one of them contains all the rows searched for.
            OffsetUnit::Records => rows.min(max) / 2,
            OffsetUnit::Pages => rows.min(max),
        };
        let has_more = rows > 0 && (answer.is_full(self.plan.unit) || answer.has_more());
        if let Some(search) = search.next(start, step, has_more) {
            return Ok(self.again(State::Search(pass, search)));
        }
        // All rows that were read may have been removed. If this is certain, every remaining row is
        // unread.
        if !self.history.restart(has_equal_rows) {
            return Err(self.error(&pass, CHANGED_TOO_MUCH));
        }
        pass.go_to(0);
        (pass.unreadable, pass.previous) = (0, None);
        self.unknown_before = 0;
        Ok(self.again(State::Pass(pass)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pagination::window::WindowPlan;

    fn searched(start: u64, length: u64) -> Vec<u64> {
        let plan = WindowPlan {
            max: 10,
            ..WindowPlan::default()
        };
        let mut search = Some(Search::new(start, true));
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
