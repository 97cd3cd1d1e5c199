//! Source of rows that calls a generated operation.

use std::sync::Arc;

use modelarts_api::{BoxFuture, Offset};
use serde::Serialize;

use crate::{
    client::Client,
    error::Error,
    pagination::{
        offset::DetectedOffset,
        source::{RawPage, Source, pagination_of},
    },
};

/// The call of an operation.
type Call<'a, R> = BoxFuture<'a, Result<modelarts_api::Response<R>, modelarts_api::Error>>;

/// Requests the rows of one window, by offset and limit.
type Fetch<T> = dyn Fn(i64, u32) -> BoxFuture<'static, Result<RawPage<T>, Error>> + Send + Sync;

/// The source of the rows of an operation.
pub(super) struct RowSource<T> {
    operation: &'static str,
    fetch: Box<Fetch<T>>,
    /// The id of a row. Rows without one are compared by their whole content.
    id: fn(&T) -> Option<&str>,
    unique: bool,
    has_conditions: bool,
    detected_offset: Option<DetectedOffset>,
}

/// The rows of a response, and its counts that the pager needs.
pub(super) struct Rows<T> {
    pub(super) items: Vec<T>,
    pub(super) total: Option<i64>,
    pub(super) count: Option<i64>,
    pub(super) limit: Option<i64>,
}

impl<T> Rows<T> {
    pub(super) fn new(items: Vec<T>, total: Option<i64>) -> Self {
        Self {
            items,
            total,
            count: None,
            limit: None,
        }
    }
}

impl<T: Send + 'static> RowSource<T> {
    /// Creates a source. `call` calls the operation with an offset and a limit; `rows` takes the
    /// rows from its response.
    pub(super) fn new<R: Send + 'static>(
        client: &Client,
        operation: &'static str,
        call: impl for<'a> Fn(&'a Client, &'a modelarts_api::Client, i64, i64) -> Call<'a, R>
        + Send
        + Sync
        + 'static,
        rows: fn(R) -> Rows<T>,
    ) -> Self {
        let client = client.clone();
        let call = Arc::new(call);
        let offset = pagination_of(operation).map(|pagination| pagination.offset);
        Self {
            operation,
            unique: !matches!(offset, Ok(Offset::SinglePage)),
            id: |_| None,
            has_conditions: false,
            detected_offset: None,
            fetch: Box::new(move |offset, limit| {
                let (client, call) = (client.clone(), Arc::clone(&call));
                Box::pin(async move {
                    let call = client.call(|api| call(&client, api, offset, i64::from(limit)));
                    let (answer, call) = call.await?.into_parts();
                    let rows = rows(*answer);
                    Ok(RawPage {
                        items: rows.items,
                        total: rows.total,
                        count: rows.count,
                        limit: rows.limit,
                        skipped: call.skipped.rows,
                        call,
                    })
                })
            }),
        }
    }

    /// Sets the id of rows, which is unique.
    pub(super) fn id(mut self, id: fn(&T) -> Option<&str>) -> Self {
        self.id = id;
        self
    }

    /// Sets whether the caller set conditions.
    pub(super) fn with_conditions(mut self, has_conditions: bool) -> Self {
        self.has_conditions = has_conditions;
        self
    }

    /// Sets the slot for the unit of offsets, which sources disagree about.
    pub(super) fn detected_offset(mut self, detected: &DetectedOffset) -> Self {
        self.detected_offset = Some(detected.clone());
        self
    }
}

impl<T: Serialize + Send + Sync + 'static> Source for RowSource<T> {
    type Item = T;

    fn operation(&self) -> &'static str {
        self.operation
    }

    fn is_unique(&self) -> bool {
        self.unique
    }

    fn is_filtered(&self) -> bool {
        self.has_conditions
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<T>, Error>> {
        (self.fetch)(offset, limit)
    }

    fn key(&self, item: &T) -> String {
        let id = (self.id)(item)
            .filter(|id| !id.is_empty())
            .map(str::to_owned);
        id.unwrap_or_else(|| serde_json::to_string(item).unwrap_or_default())
    }

    fn detected_offset(&self) -> Option<&DetectedOffset> {
        self.detected_offset.as_ref()
    }
}
