//! Source of rows that calls a generated operation.

use modelarts_api::{BoxFuture, Offset, types::ProjectId};
use serde::Serialize;

use crate::{
    client::Client,
    error::Error,
    list_position::DetectedOffset,
    pagination::{
        list::List,
        source::{Counts, ListInfo, RawPage, Source, pagination_of},
    },
};

type Call<'a, R> = BoxFuture<'a, Result<modelarts_api::Response<R>, modelarts_api::Error>>;

type Fetch<R> =
    dyn for<'a> Fn(&'a modelarts_api::Client, ProjectId, i64, i64) -> Call<'a, R> + Send + Sync;

pub(super) struct RowSource<R, T> {
    client: Client,
    operation: &'static str,
    call: Box<Fetch<R>>,
    rows: fn(R) -> (Vec<T>, Counts),
    id: fn(&T) -> Option<&str>,
    unique: bool,
    detected_offset: Option<DetectedOffset>,
    problem: Option<String>,
}

impl<R: Send + 'static, T: Serialize + Send + Sync + 'static> RowSource<R, T> {
    pub(super) fn new(
        client: &Client,
        operation: &'static str,
        call: impl for<'a> Fn(&'a modelarts_api::Client, ProjectId, i64, i64) -> Call<'a, R>
        + Send
        + Sync
        + 'static,
        rows: fn(R) -> (Vec<T>, Counts),
    ) -> Self {
        let pagination = pagination_of(operation);
        Self {
            client: client.clone(),
            operation,
            unique: pagination.is_ok_and(|how| how.offset != Offset::SinglePage),
            call: Box::new(call),
            rows,
            id: |_| None,
            detected_offset: None,
            problem: None,
        }
    }

    /// Sets the function that returns the unique id of a row, which is else its whole content.
    pub(super) fn id(mut self, id: fn(&T) -> Option<&str>) -> Self {
        self.id = id;
        self
    }

    /// Sets the cell of the detected unit of offsets, about which sources of this list disagree.
    pub(super) fn detected_offset(mut self, detected: &DetectedOffset) -> Self {
        self.detected_offset = Some(detected.clone());
        self
    }

    pub(super) fn problem(mut self, problem: Option<String>) -> Self {
        self.problem = problem;
        self
    }

    pub(super) fn list(self) -> List<T> {
        List::new(Box::new(self))
    }
}

impl<R: Send + 'static, T: Serialize + Send + Sync + 'static> Source for RowSource<R, T> {
    type Item = T;

    fn info(&self) -> ListInfo {
        ListInfo {
            operation: self.operation,
            unique: self.unique,
            filtered: false,
            detected_offset: self.detected_offset.clone(),
        }
    }

    fn check(&self) -> Result<(), Error> {
        let problem = self.problem.as_ref();
        problem.map_or(Ok(()), |problem| Err(Error::invalid(problem.clone())))
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<T>, Error>> {
        Box::pin(async move {
            let project = self.client.project().clone();
            let call = |api| (self.call)(api, project, offset, i64::from(limit));
            self.client.call(call).await?.into_page(self.rows)
        })
    }

    fn key(&self, item: &T) -> String {
        row_key((self.id)(item), item)
    }
}

/// Returns the key of a row: its id, or otherwise its whole content as JSON.
pub(super) fn row_key(id: Option<&str>, row: &impl Serialize) -> String {
    let id = id.filter(|id| !id.is_empty()).map(str::to_owned);
    id.unwrap_or_else(|| serde_json::to_string(row).unwrap_or_default())
}
