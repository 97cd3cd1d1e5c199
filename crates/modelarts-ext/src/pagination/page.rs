//! A page of a list, and the source that pages are requested from.

use std::sync::Arc;

use futures::stream::BoxStream;
use modelarts_api::BoxFuture;

use crate::{
    error::Error,
    pagination::{offset::DetectedOffset, position::Position},
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
    pub dropped: usize,
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

/// Rows as one request brings them.
pub(crate) struct RawPage<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: Option<i64>,
    /// How many rows match the conditions, or are on this page: the documents admit
    /// both.
    pub(crate) count: Option<i64>,
    /// The limit that the service says it used.
    pub(crate) limit: Option<i64>,
    pub(crate) dropped: usize,
    pub(crate) call: Arc<CallInfo>,
}

/// The rows of a list, as requests for a part of them bring them.
pub(crate) trait Source: Send + Sync + 'static {
    type Item: Send + 'static;

    /// The operation that makes the list.
    fn operation(&self) -> &'static str;

    /// Returns whether no two rows have the same key.
    fn is_unique(&self) -> bool;

    /// Returns whether the caller set conditions. Where the service tells two numbers, the total
    /// may then count rows that they exclude.
    fn is_filtered(&self) -> bool {
        false
    }

    /// Asks for `limit` rows at `offset`, in the service's meaning of offset.
    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Self::Item>, Error>>;

    /// The key by which a row is compared with others.
    fn key(&self, item: &Self::Item) -> String;

    /// The place where the client remembers what the offset turned out to count.
    fn detected_offset(&self) -> Option<&DetectedOffset> {
        None
    }
}
