//! Position: the point up to which a list has been read, and the unit of its offsets.
//!
//! This module must not depend on others: [`Error`](crate::error::Error) contains a position.

use std::sync::{Arc, OnceLock};

use modelarts_api::Offset;
use serde::{Deserialize, Serialize};

/// Point up to which a list has been read. A position can be stored with serde and passed to
/// `resume` of the same list with the same conditions, also in another process.
///
/// A position contains the last few rows or their ids, because row numbers change with the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    pub(crate) list: String,
    pub(crate) read: u64,
    pub(crate) last: Vec<String>,
    /// `true` if the list has earlier rows whose keys are not stored.
    pub(crate) more: bool,
    /// Unit of offsets; `None` if the unit is uncertain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) counts: Option<OffsetUnit>,
    /// Search that contains the position; `None` for a list that is not divided into searches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) search: Option<SearchPosition>,
}

impl Position {
    /// Returns the number of rows before the position. In a list that consists of several searches,
    /// a row at the border of two searches may count twice.
    #[must_use]
    pub fn rows(&self) -> u64 {
        let before = self.search.as_ref().map_or(0, |search| search.rows_before);
        before.saturating_add(self.read)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SearchPosition {
    pub(crate) name: String,
    pub(crate) rows_before: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OffsetUnit {
    Pages,
    #[default]
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
}

pub(crate) type DetectedOffset = Arc<OnceLock<OffsetUnit>>;

/// Detected units of offsets, for lists with disputed units (SOURCES, "Without a number").
#[derive(Clone, Debug, Default)]
pub(crate) struct DetectedOffsets {
    pub(crate) events: DetectedOffset,
    pub(crate) trials: DetectedOffset,
}
