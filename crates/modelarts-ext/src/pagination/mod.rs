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
//! A list ends when a page has no row. The number of rows that the service states ends it one
//! request earlier if it equals the rows received, is not that of a page, and only the last page was
//! shorter than requested. The service may return shorter pages than requested.
//!
//! After the first page, up to four pages are requested [concurrently](List::in_flight). A dropped
//! stream sends no further requests. If rows were removed or changed places, so that others may
//! have moved to pages that were read, the client reads the list a second time and returns the rows
//! that were not returned before, unless the list was resumed beyond its first rows or has more
//! than 100,000 rows. Rows without an id cannot be recognized: they are returned as the service
//! returns them. The stream ends with an error if rows may be missing, if a service that ignores
//! offsets returns the same page again, or if three requests per page and eight more do not suffice
//! to read the list once. The list can be resumed from the [position](crate::Error::position) of
//! the error.
//!
//! All lists have the type [`List`]. Lists of [jobs](crate::jobs::ListJobs),
//! [events](crate::jobs::events::Events) and [algorithms](crate::catalog::ListAlgorithms) also
//! support conditions.

// `source` requests the rows of one window. `reader` decides on each response: which rows are
// returned, and how the list goes on. Its parts are `window` (the rows of a request), `pass` (do the
// pages fit together?) and `row_log` (the rows that were returned). `pager` sends the requests.
// `searches` joins the pages of several searches. `list` contains the public type of all lists.

pub(crate) mod list;
pub(crate) mod options;
pub(crate) mod page;
mod pager;
mod pass;
mod reader;
mod row_log;
mod searches;
pub(crate) mod source;
#[cfg(test)]
pub(crate) mod tests;
mod window;

pub use crate::list_position::Position;
pub use list::List;
pub use modelarts_api::Offset;
pub use page::{Page, PageStream};
