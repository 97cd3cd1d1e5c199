//! Bounds on the work for one list: requests, relocations, and readings from its beginning.

/// The requests that any list may take, and those that it may take for each page that its rows
/// fill.
pub(super) const BASE_REQUESTS: u64 = 64;
pub(super) const REQUESTS_PER_PAGE: u64 = 4;
/// The rows behind those that were read that a relocation may reach, where no total is stated.
const MAX_ROWS_AHEAD: u64 = 10_000;

/// The pages in a row that may be short and lead no further while the service says that there
/// is more.
pub(super) const MAX_IDLE_PAGES: u32 = 1;
/// The relocations in a row that may end without a new row.
pub(super) const MAX_RELOCATIONS: u32 = 10;
/// The times that a list is read again while its rows change places.
pub(super) const MAX_REREADS_UNORDERED: u32 = 16;
/// The same where rows were inserted and removed at the same time, which looks alike.
pub(super) const MAX_REREADS_UNCLEAR: u32 = 2;

/// The requests that a list with so many rows may take. `new`: the rows that a page brings;
/// `farthest`: the rows before the farthest one that a relocation asked for.
pub(super) fn max_requests(rows: u64, new: u32, farthest: u64, largest_page: u32) -> u64 {
    let farthest = farthest.min(rows.saturating_mul(2).saturating_add(MAX_ROWS_AHEAD));
    let step = u64::from((largest_page / 2).max(1));
    let pages = rows.div_ceil(u64::from(new.max(1)));
    let pages = pages.saturating_add(farthest.div_ceil(step));
    BASE_REQUESTS.saturating_add(REQUESTS_PER_PAGE.saturating_mul(pages))
}
