//! Bounds on the work for one list: requests, relocations and rereads.

/// The requests that every list may take, and the factor for each page that its rows fill.
pub(super) const BASE_REQUESTS: u64 = 64;
pub(super) const REQUESTS_PER_PAGE: u64 = 4;
/// The rows ahead of the last one read that a relocation may reach, where no total is stated.
const MAX_ROWS_AHEAD: u64 = 10_000;

/// The consecutive pages that may be short and bring nothing new while the service states that
/// there are more rows.
pub(super) const MAX_IDLE_PAGES: u32 = 1;
/// The consecutive relocations that may end without a new row.
pub(super) const MAX_RELOCATIONS: u32 = 10;
/// The rereads of a list whose rows change places.
pub(super) const MAX_REREADS_UNORDERED: u32 = 16;
/// The rereads where rows were inserted and removed at the same time, which cannot be told apart
/// from a change of places.
pub(super) const MAX_REREADS_UNCLEAR: u32 = 2;

/// The maximum number of requests for a list of this many rows. `new`: the rows that a page adds;
/// `farthest`: the rows before the farthest one that a relocation requested.
pub(super) fn max_requests(rows: u64, new: u32, farthest: u64, largest_page: u32) -> u64 {
    let farthest = farthest.min(rows.saturating_mul(2).saturating_add(MAX_ROWS_AHEAD));
    let step = u64::from((largest_page / 2).max(1));
    let pages = rows.div_ceil(u64::from(new.max(1)));
    let pages = pages.saturating_add(farthest.div_ceil(step));
    BASE_REQUESTS.saturating_add(REQUESTS_PER_PAGE.saturating_mul(pages))
}
