//! Search for the last rows that were read, in a list that has shifted.

use crate::pagination::pager::window::{Window, WindowPlan};

/// The search: at the expected place first, then before and behind it in turns, at growing
/// distance.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    /// The row that the next window includes.
    row: u64,
    /// The first and the last row that were searched, while there are more beyond.
    before: Option<u64>,
    behind: Option<u64>,
    backwards: bool,
}

impl Relocation {
    pub(super) fn new(row: u64) -> Self {
        Self {
            row,
            before: Some(row),
            behind: Some(row),
            backwards: false,
        }
    }

    pub(super) fn window(&self, plan: &WindowPlan) -> Window {
        plan.around(self.row)
    }

    /// The next step after the window that begins with row `start` was searched in vain: `step`
    /// rows farther. `more`: the list has rows behind the window. `None`: the whole list was
    /// searched.
    pub(super) fn next(self, start: u64, step: u64, more: bool) -> Option<Self> {
        let step = step.max(1);
        let before = self
            .before
            .filter(|_| start > 0)
            .map(|row| row.saturating_sub(step));
        let behind = self.behind.filter(|_| more).map(|row| row + step);
        match (before, behind) {
            (Some(row), _) if !self.backwards || behind.is_none() => Some(Self {
                row,
                before: Some(row),
                behind: self.behind.filter(|_| more),
                backwards: true,
            }),
            (_, Some(row)) => Some(Self {
                row,
                before: self.before.filter(|_| start > 0),
                behind: Some(row),
                backwards: false,
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use modelarts_api::Offset;

    use super::*;

    fn rows(start: u64, length: u64) -> Vec<u64> {
        let plan = WindowPlan {
            meaning: Offset::Record,
            size: 10,
            max: 10,
            overlap: 3,
        };
        let mut relocation = Some(Relocation::new(start));
        let mut rows = Vec::new();
        while let Some(at) = relocation {
            let window = at.window(&plan);
            rows.push(window.start);
            relocation = at.next(window.start, 5, window.end() <= length);
        }
        rows
    }

    #[test]
    fn the_whole_list_is_searched_from_the_expected_place_outwards() {
        assert_eq!(rows(12, 40), [12, 7, 17, 2, 22, 0, 27, 32]);
        assert_eq!(rows(12, 12), [12, 7, 2, 0]);
        assert_eq!(rows(0, 21), [0, 5, 10, 15]);
        assert_eq!(rows(0, 0), [0]);
    }
}
