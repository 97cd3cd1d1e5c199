//! Options for reading a list, and their validation.

use modelarts_api::Offset;

use crate::{error::Error, list_position::Position};

/// Maximum supported number of rows before a position, so that offsets cannot overflow.
pub(super) const MAX_ROWS: u64 = u32::MAX as u64;

const PAGES_IN_FLIGHT: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct ReadOptions {
    pub(crate) size: u32,
    pub(crate) in_flight: usize,
    pub(crate) unit: Option<Offset>,
    pub(crate) resume: Option<Position>,
    /// Number of rows that the caller wants; further pages are not requested in advance.
    pub(crate) rows: Option<u64>,
    /// `true` if the list may end, without an error, before it has returned all rows.
    pub(crate) allow_early_end: bool,
    /// `true` if a short page ends the list, unless the service states more rows.
    pub(crate) ends_short: bool,
}

impl ReadOptions {
    pub(crate) fn new(size: u32) -> Self {
        Self {
            size,
            in_flight: PAGES_IN_FLIGHT,
            unit: None,
            resume: None,
            rows: None,
            allow_early_end: false,
            ends_short: false,
        }
    }

    pub(crate) fn check(&self, list: &str, max: u32) -> Result<(), Error> {
        let problem = match (&self.unit, &self.resume) {
            _ if !(1..=max).contains(&self.size) => {
                format!("page_size {}: must be 1 to {max}", self.size)
            }
            _ if self.in_flight == 0 => "in_flight 0: must be at least 1".to_owned(),
            (Some(unit), _) if !matches!(unit, Offset::PageIndex | Offset::Record) => {
                format!("offset_is {unit:?}: the offset of {list} counts pages or records")
            }
            (_, Some(position)) if position.list != list => {
                format!("resume: the position is one in {}, and this is {list}", position.list)
            }
            (_, Some(position)) if position.read > MAX_ROWS => format!(
                "resume: the position is damaged: `read` is {} and must be at most {MAX_ROWS}; \
                 read the list from its beginning",
                position.read
            ),
            _ => return Ok(()),
        };
        Err(Error::invalid(problem))
    }
}

/// Rejects a blank string, which the service treats like an absent condition.
pub(crate) fn require_not_blank(name: &str, text: &str) -> Result<(), Error> {
    if text.trim().is_empty() {
        return Err(Error::invalid(format!("{name}: it is blank; leave it out instead")));
    }
    Ok(())
}
