//! Lists of the service, read page by page as streams.
//!
//! Rows may be inserted and removed while a list is read. A reader that relies on offsets then
//! misses some rows and returns others twice. The lists of this crate therefore read overlapping
//! pages. A stream that ends without an error has returned every row that existed for the whole
//! time exactly once, provided that the service keeps the order of the rows.
//!
//! Offsets count rows in some lists and pages in others. If sources disagree about the unit
//! (`openapi/SOURCES.md`, "Without a number"), the client detects the unit.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! # for name in ["one", "two", "three"] {
//! #     hello(&emulator, &client, name)?.submit().await?;
//! # }
//! use futures::TryStreamExt;
//!
//! // A list is a stream of rows or of pages, which are requested as it is polled.
//! let mut pages = client.training_jobs().list().oldest_first().page_size(2).pages();
//! let page = pages.try_next().await?.ok_or("there is always a first page")?;
//! println!("{} of {:?} jobs", page.items.len(), page.total);
//!
//! // The position of a page can be stored, and the list resumed there by another process.
//! let saved = serde_json::to_string(&page.position)?;
//! let rest = client.training_jobs().list().oldest_first().resume(serde_json::from_str(&saved)?);
//! assert_eq!(rest.collect(100).await?.len(), 1);
//! # Ok(()) }) }
//! ```
//!
//! After the first page, up to four pages are requested [concurrently](List::in_flight). A dropped
//! stream sends no further requests. If the order of a list changes, or if the list returns fewer
//! rows than the service counts, the client reads the list a second time and returns the rows that
//! were not returned before, unless the list was resumed beyond its first rows or has more than
//! 100,000 rows. The stream ends with an error if rows may still be missing, or if the list changes
//! so much that three requests per page and eight more do not suffice to read it once. The list can
//! be resumed from the [position](crate::Error::position) of the error.
//!
//! All lists have the type [`List`]. Lists of [jobs](crate::jobs::ListJobs),
//! [events](crate::jobs::events::Events) and [algorithms](crate::catalog::ListAlgorithms) also
//! support conditions.

// `source` requests the rows of one window. `reader` chooses the windows and the rows that are
// returned; `shift` and `end` are parts of it. `pager` sends the requests. `searches` joins the
// pages of several searches. `list` contains the public type of all lists.

mod answer;
mod end;
pub(crate) mod list;
pub(crate) mod options;
mod overlap_search;
pub(crate) mod page;
mod pager;
mod previous_window;
mod reader;
mod row_history;
mod searches;
mod shift;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod tests;
mod window;

pub use crate::list_position::Position;
pub use list::List;
pub use modelarts_api::Offset;
pub use page::{Page, PageStream};
