//! What a client found out about a list whose documents disagree.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use modelarts_api::Offset;

use crate::pagination::position::OffsetUnit;

/// What was found out about the lists whose documents disagree.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetectedOffsets {
    pub(crate) events: DetectedOffset,
    pub(crate) trials: DetectedOffset,
}

/// What the offset of a list counts, once that is known. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetectedOffset(Arc<AtomicU8>);

const PAGES: u8 = 1;
const RECORDS: u8 = 2;

impl DetectedOffset {
    pub(crate) fn get(&self) -> Option<Offset> {
        match self.0.load(Ordering::Relaxed) {
            PAGES => Some(Offset::PageIndex),
            RECORDS => Some(Offset::Record),
            _ => None,
        }
    }

    pub(crate) fn set(&self, offset: Offset) {
        let known = match OffsetUnit::of(offset) {
            Some(OffsetUnit::Pages) => PAGES,
            Some(OffsetUnit::Records) => RECORDS,
            None => return,
        };
        self.0.store(known, Ordering::Relaxed);
    }
}
