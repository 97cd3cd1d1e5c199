//! Selection of the first n jobs in the order of creation.

use std::collections::BinaryHeap;

/// Position of a job in the order of creation: its creation time and its row ID.
pub(super) type SortKey = (i64, i64);

/// Collector of the first positions, which needs memory only for those up to the end of a page.
#[derive(Debug)]
pub(super) struct TopN {
    ascending: bool,
    limit: u64,
    /// The last one is at the top. For descending order, all bits are inverted.
    kept: BinaryHeap<SortKey>,
}

impl TopN {
    pub(super) fn new(ascending: bool, limit: u64) -> Self {
        Self { ascending, limit, kept: BinaryHeap::new() }
    }

    pub(super) fn add(&mut self, key: SortKey) {
        let key = sort_key(self.ascending, key);
        if (self.kept.len() as u64) < self.limit {
            self.kept.push(key);
        } else if let Some(mut last) = self.kept.peek_mut()
            && key < *last
        {
            *last = key;
        }
    }

    pub(super) fn after(self, skip: u64) -> Vec<SortKey> {
        let ascending = self.ascending;
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let kept = self.kept.into_sorted_vec().into_iter();
        kept.skip(skip).map(|key| sort_key(ascending, key)).collect()
    }
}

/// Inverts all bits for descending order. The function is its own inverse.
pub(super) fn sort_key(ascending: bool, key: SortKey) -> SortKey {
    if ascending { key } else { (!key.0, !key.1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_that_of_the_sorted_list() {
        let places = [(5, 1), (3, 2), (i64::MIN, 3), (3, 4), (i64::MAX, 5), (-1, 6)];
        for ascending in [true, false] {
            let mut all = places;
            all.sort_unstable();
            if !ascending {
                all.reverse();
            }
            for limit in 0..=7 {
                for skip in 0..=limit {
                    let mut first = TopN::new(ascending, limit as u64);
                    places.iter().for_each(|key| first.add(*key));
                    let end = limit.min(all.len());
                    let page = &all[skip.min(end)..end];
                    assert_eq!(first.after(skip as u64), page, "{limit} {skip} {ascending}");
                }
            }
        }
    }
}
