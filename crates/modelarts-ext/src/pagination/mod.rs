//! Lists of the service, read page by page as streams.
//!
//! Some lists count offsets in rows and others in pages, and sources disagree about which
//! (`openapi/SOURCES.md`, "Without a number"); totals may count rows that a filter excludes; and
//! rows come and go while a list is read, so that plain offsets lose some and double others. A list
//! of this crate reads overlapping pages: a row that was there all the time comes once, whatever
//! came and went meanwhile.
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # #[tokio::main]
//! # async fn main() -> Result {
//! # let (emulator, client) = start().await?;
//! # for name in ["one", "two", "three"] {
//! #     hello(&emulator, &client, name)?.submit().await?;
//! # }
//! use futures::TryStreamExt;
//!
//! // A list is a stream of rows or of pages, which asks for more as it is polled.
//! let mut pages = client.training_jobs().list().oldest_first().page_size(2).pages();
//! let page = pages.try_next().await?.ok_or("there is always a first page")?;
//! println!("{} of {:?} jobs", page.items.len(), page.total);
//!
//! // Its position can be stored, and the list resumed there on another day.
//! let saved = serde_json::to_string(&page.position)?;
//! let rest = client.training_jobs().list().oldest_first().resume(serde_json::from_str(&saved)?);
//! assert_eq!(rest.collect(100).await?.len(), 1);
//! # emulator.shutdown().await;
//! # Ok(()) }
//! ```
//!
//! After the first page, up to four are [in flight](List::in_flight); a stream that is dropped asks
//! for nothing more. A list that the service does not keep in order, or that has fewer rows than it
//! counts, is read again, and ends with an error if rows may still be missing;
//! [`Error::position`](crate::Error::position) says where to go on.
//!
//! [Jobs](crate::jobs::ListJobs), [events](crate::jobs::events::Events) and
//! [algorithms](crate::catalog::ListAlgorithms) have lists with settings of their own; all others
//! are a [`List`].

// A list is a `source::Source`, which requests the rows of one window. `pager` chooses the windows,
// recognises rows that came before, and finds its place again when the list shifts while it is
// read. `stream` makes streams of its pages and rows; `list` has the type that most lists have.

pub(crate) mod list;
pub(crate) mod offset;
pub(crate) mod options;
pub(crate) mod page;
pub(crate) mod pager;
pub(crate) mod position;
pub(crate) mod source;
pub(crate) mod stream;

pub use list::List;
pub use modelarts_api::Offset;
pub use page::{Page, PageStream};
pub use position::Position;
