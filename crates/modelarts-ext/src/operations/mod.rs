//! Calls of operations by name, for all operations of the description.
//!
//! This module is for programs that receive the name of an operation as a string, such as
//! command-line tools, or that need the JSON of the service. The parameters are validated.
//!
//! For requests and responses with Rust types, use [`Client::call`].
//!
//! ```
//! # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
//! # fn main() -> Result { run(async |emulator, client| {
//! let quotas = client.operation("ShowTrainingQuotas")?.send().await?;
//! println!("{}", quotas["quotas"]);
//!
//! let experiments = client.operation("ListTrainingExperiments")?.list().collect(100).await?;
//! assert!(experiments.is_empty());
//!
//! let error = client.operation("ShowTrainingQuota").unwrap_err();
//! assert!(error.to_string().ends_with("did you mean ShowTrainingQuotas?"));
//! # Ok(()) }) }
//! ```

// `call` validates parameters with the generated tables. No code is specific to an operation.

mod call;
#[cfg(test)]
mod tests;

pub use call::OperationCall;

use modelarts_api::{BoxFuture, Offset, Pagination, ParameterLocation};
use serde_json::{Map, Value};

use crate::{
    client::{Client, response::has_no_content},
    error::{Error, ErrorKind},
    pagination::{
        list::List,
        source::{Counts, ListInfo, RawPage, Source, pagination_of},
    },
    spelling::nearest,
};

impl Client {
    /// Creates a call of the operation with this name, such as `ListTrainingJobEvents`.
    ///
    /// ```no_run
    /// # async fn example(client: modelarts_ext::Client) -> Result<(), modelarts_ext::Error> {
    /// let call = client.operation("ShowTrainingJobDetails")?;
    /// let call = call.parameter("training_job_id", "cf63aba9-63b1-4219-b717-708a2665100b");
    /// println!("{}", call.send().await?["status"]["phase"]);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns an error if the description contains no operation with this name.
    pub fn operation(&self, name: &str) -> Result<OperationCall, Error> {
        let known = || modelarts_api::OPERATIONS.iter();
        let Some(operation) = known().find(|operation| operation.id == name) else {
            let hint = match nearest(name, known().map(|operation| operation.id)) {
                Some(nearest) => format!("did you mean {nearest}?"),
                None => "it must be one of modelarts_api::OPERATIONS".to_owned(),
            };
            return Err(Error::invalid(format!("no operation is called {name}; {hint}")));
        };
        Ok(OperationCall::new(self.clone(), operation))
    }
}

impl OperationCall {
    /// Returns a list that calls the operation for each page. A row with neither `id` nor
    /// `metadata.id` is identified by its content, and may occur twice if the content changes.
    ///
    /// # Errors
    /// The list returns the errors of [`send`](Self::send), and an error if the operation is not a
    /// list, is paged by line numbers, or if a parameter for the offset or the limit is set.
    pub fn list(self) -> List<Value> {
        List::new(Box::new(OperationRows(self)))
    }
}

const IDS: [&str; 2] = ["/id", "/metadata/id"];

pub(super) struct OperationRows(pub(super) OperationCall);

impl OperationRows {
    pub(super) fn pagination(&self) -> Result<Pagination, Error> {
        pagination_of(self.0.operation.id)
    }

    pub(super) fn page(&self, pagination: Pagination, offset: i64, limit: u32) -> OperationCall {
        let mut call = self.0.clone();
        let (offset_name, limit_name) = (pagination.offset_name, pagination.limit_name);
        let numbers = [(offset_name, offset), (limit_name, i64::from(limit))];
        for (name, number) in numbers {
            match (name, pagination.location) {
                (None, _) => {}
                (Some(name), ParameterLocation::Body) => {
                    let body = call.body.get_or_insert_with(|| Value::Object(Map::new()));
                    if let Value::Object(members) = body {
                        members.insert(name.to_owned(), number.into());
                    }
                }
                (Some(name), _) => call = call.parameter(name, number),
            }
        }
        call
    }
}

fn rows_at(path: &str, answer: &mut Value) -> Result<Vec<Value>, Error> {
    match field(answer, path).map(Value::take) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(items)) => Ok(items),
        Some(_) => Err(Error::new(
            ErrorKind::Decode,
            format!(
                "the answer is not understood: {} must be a list",
                if path.is_empty() { "it" } else { path }
            ),
        )),
    }
}

fn field<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut names = path.split('.').filter(|name| !name.is_empty());
    names.try_fold(value, |value, name| value.get_mut(name))
}

impl Source for OperationRows {
    type Item = Value;

    fn info(&self) -> ListInfo {
        ListInfo {
            operation: self.0.operation.id,
            unique: false,
            filtered: false,
            detected_offset: None,
        }
    }

    fn check(&self) -> Result<(), Error> {
        let id = self.0.operation.id;
        let pagination = self.pagination()?;
        if pagination.offset == Offset::LineCursor {
            return Err(Error::invalid(format!(
                "{id}: its pages follow one another by line numbers, not by offsets; call it with \
                 send"
            )));
        }
        let body = self.0.body.as_ref();
        let given = |name: &&str| {
            body.is_some_and(|body| body.get(name).is_some()) || self.0.values.contains_key(*name)
        };
        let names = [pagination.offset_name, pagination.limit_name];
        if let Some(name) = names.into_iter().flatten().find(given) {
            return Err(Error::invalid(format!(
                "{id}: {name} must not be given, because it is set for each page; use page_size \
                 and resume"
            )));
        }
        Ok(())
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Value>, Error>> {
        Box::pin(async move {
            let pagination = self.pagination()?;
            let answer = self.page(pagination, offset, limit).send().await?;
            if has_no_content(answer.raw()) {
                return Err(answer.without("a list"));
            }
            let (mut answer, call) = answer.into_parts();
            let total = pagination.total.and_then(|path| field(&mut answer, path)?.as_i64());
            let items = rows_at(pagination.items, &mut answer);
            Ok(RawPage {
                items: items.map_err(|error| error.with_call(call.summary.clone()))?,
                counts: Counts::of_total(total),
                skipped: call.skipped.rows,
                call,
            })
        })
    }

    fn key(&self, item: &Value) -> String {
        let mut ids = IDS.iter().filter_map(|id| item.pointer(id)?.as_str());
        ids.find(|id| !id.is_empty()).map_or_else(|| item.to_string(), str::to_owned)
    }
}
