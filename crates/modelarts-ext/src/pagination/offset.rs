//! What a client found out about a list whose documents disagree.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use modelarts_api::Offset;

use crate::pagination::position::Counts;

/// What was found out about the lists whose documents disagree.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offsets {
    pub(crate) events: Learned,
    pub(crate) trials: Learned,
}

/// What the offset of a list counts, once that is known. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Learned(Arc<AtomicU8>);

const PAGES: u8 = 1;
const RECORDS: u8 = 2;

impl Learned {
    pub(crate) fn get(&self) -> Option<Offset> {
        match self.0.load(Ordering::Relaxed) {
            PAGES => Some(Offset::PageIndex),
            RECORDS => Some(Offset::Record),
            _ => None,
        }
    }

    pub(crate) fn set(&self, offset: Offset) {
        let known = match Counts::of(offset) {
            Some(Counts::Pages) => PAGES,
            Some(Counts::Records) => RECORDS,
            None => return,
        };
        self.0.store(known, Ordering::Relaxed);
    }
}
