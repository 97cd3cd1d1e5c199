//! Lists of the service, read page by page.
//!
//! A list is a [`Source`](page::Source), which requests the rows of one window. The [`pager`]
//! chooses the windows, recognises rows that came before, and finds its place again when the list
//! shifts while it is read. [`stream`] makes streams of its pages and rows; [`list::List`] is the
//! type that most lists of the SDK have.

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
