//! A page of a list, as callers get it.

use std::sync::Arc;

use futures::stream::BoxStream;

use crate::{
    error::Error,
    pagination::position::Position,
    transport::call::{CallInfo, call_accessors},
};

/// A stream of results that can be polled as it is.
pub type PageStream<T> = BoxStream<'static, Result<T, Error>>;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, without those that came before.
    pub items: Vec<T>,
    /// How many rows there are in all, as the service counts. It may count more
    /// than the filter admits.
    pub total: Option<u64>,
    /// How many rows could not be understood and were left out. Pages overlap, and such a
    /// row cannot be recognised, so it may count on two of them.
    pub skipped: usize,
    /// The position behind this page, to go on from another time.
    pub position: Position,
    pub(crate) call: Arc<CallInfo>,
}

impl<T> Page<T> {
    call_accessors!(call);

    /// The answer as it came, with the rows that came before and those that were left out.
    #[must_use]
    pub fn raw(&self) -> &[u8] {
        self.call.raw()
    }
}
