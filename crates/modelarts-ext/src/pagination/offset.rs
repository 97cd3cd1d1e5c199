//! The unit of offsets: pages or records. For some lists sources disagree (SOURCES, "Without a
//! number"), and the client detects it.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use modelarts_api::Offset;
use serde::{Deserialize, Serialize};

/// The unit of offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OffsetUnit {
    Pages,
    Records,
}

impl OffsetUnit {
    pub(crate) fn of(offset: Offset) -> Option<Self> {
        match offset {
            Offset::PageIndex => Some(Self::Pages),
            Offset::Record => Some(Self::Records),
            _ => None,
        }
    }

    pub(crate) fn offset(self) -> Offset {
        match self {
            Self::Pages => Offset::PageIndex,
            Self::Records => Offset::Record,
        }
    }
}

/// The offset units that a client has detected, one for each list whose unit is disputed.
#[derive(Clone, Debug, Default)]
pub(crate) struct DetectedOffsets {
    pub(crate) events: DetectedOffset,
    pub(crate) trials: DetectedOffset,
}

/// The offset unit of one list, once it is detected. Clones share it.
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
        let unit = match OffsetUnit::of(offset) {
            Some(OffsetUnit::Pages) => PAGES,
            Some(OffsetUnit::Records) => RECORDS,
            None => return,
        };
        self.0.store(unit, Ordering::Relaxed);
    }
}
