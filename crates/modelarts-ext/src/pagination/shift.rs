//! Lists that have shifted: a search for the rows that were read.

use crate::{
    error::Error,
    list_position::OffsetUnit,
    pagination::{
        answer::Answer,
        overlap_search::{MAX_SEARCHES, OverlapSearch},
        previous_window::Doubt,
        reader::{Pass, Reader, State, Step},
    },
};

const CHANGED_TOO_MUCH: &str = "the list has changed so much while it was read that it cannot be \
                                said where to go on; read it again";
impl Reader {
    /// Starts or continues a search after a window without known rows.
    pub(super) fn search_overlap(
        &mut self,
        mut pass: Pass,
        search: Option<OverlapSearch>,
        answer: &Answer,
    ) -> Result<Step, Error> {
        pass.go_to(pass.read);
        let (rows, start) = (answer.rows(), answer.window.start);
        let max = u64::from(self.plan.max);
        let is_equal = answer.hashes.iter().any(|row| self.history.has_returned(*row));
        let is_complete = self.info.unique && !self.history.is_incomplete;
        let Some(mut search) = search else {
            if start == 0 && rows > 0 {
                // The first rows were read, and are others now.
                pass.doubt = pass.doubt.max(Doubt::Moved);
            }
            pass.idle += 1;
            if pass.idle > MAX_SEARCHES {
                // The rows of this window, and rows before it, may not have been returned.
                pass.doubt = if rows > 0 { Doubt::Reordered } else { pass.doubt };
                let state = self.end(pass);
                return Ok(self.again(state));
            }
            // The first window of the search begins half a window before this one, so that about
            // half of its rows are known if the list has not shifted.
            let mut search = OverlapSearch::new(start.saturating_sub(max / 2), !is_complete);
            search.has_equal_rows = is_equal;
            return Ok(self.again(State::Search(pass, search)));
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
        let has_more = has_more && answer.hashes != search.last;
        search.last.clone_from(&answer.hashes);
        if let Some(search) = search.next(start, step, has_more) {
            return Ok(self.again(State::Search(pass, search)));
        }
        // All rows that were read may have been removed. The list is read from its beginning.
        let Some(doubt) = self.history.restart(has_equal_rows) else {
            return Err(self.error(&pass, CHANGED_TOO_MUCH));
        };
        pass.go_to(0);
        (pass.doubt, pass.unreadable, pass.previous) = (pass.doubt.max(doubt), 0, None);
        (self.unknown_before, self.progress) = (0, 0);
        Ok(self.again(State::Pass(pass)))
    }
}
