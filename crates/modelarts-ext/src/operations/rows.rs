//! Rows of a list that is called by name.

use modelarts_api::{BoxFuture, Pagination, ParameterLocation};
use serde_json::{Map, Value};

use crate::{
    error::{Error, ErrorKind},
    operations::call::OperationCall,
    pagination::source::{RawPage, Source},
};

/// The fields in which the service has the id of a row.
const IDS: [&str; 2] = ["/id", "/metadata/id"];

/// The source of rows that calls an operation for each page.
pub(super) struct OperationRows {
    call: OperationCall,
    pagination: Pagination,
}

impl OperationRows {
    pub(super) fn new(call: OperationCall, pagination: Pagination) -> Self {
        Self { call, pagination }
    }

    /// The call for one page.
    pub(super) fn page(&self, offset: i64, limit: u32) -> OperationCall {
        let mut call = self.call.clone();
        let Pagination {
            offset_name,
            limit_name,
            ..
        } = self.pagination;
        let numbers = [(offset_name, offset), (limit_name, i64::from(limit))];
        for (name, number) in numbers {
            match (name, self.pagination.location) {
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

    /// The rows of a response.
    fn items(&self, answer: &mut Value) -> Result<Vec<Value>, Error> {
        match field(answer, self.pagination.items).map(Value::take) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(Error::new(
                ErrorKind::Decode,
                format!(
                    "the answer is not understood: {} must be a list",
                    match self.pagination.items {
                        "" => "it",
                        path => path,
                    }
                ),
            )),
        }
    }
}

/// The field at this dotted path; the value itself if the path is empty.
fn field<'a>(value: &'a mut Value, path: &str) -> Option<&'a mut Value> {
    let mut names = path.split('.').filter(|name| !name.is_empty());
    names.try_fold(value, |value, name| value.get_mut(name))
}

impl Source for OperationRows {
    type Item = Value;

    fn operation(&self) -> &'static str {
        self.call.operation.id
    }

    fn is_unique(&self) -> bool {
        false
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<Value>, Error>> {
        Box::pin(async move {
            let answer = self.page(offset, limit).send().await?;
            let (mut answer, call) = answer.into_parts();
            let total = self.pagination.total;
            let total = total.and_then(|path| field(&mut answer, path)?.as_i64());
            let items = self.items(&mut answer);
            Ok(RawPage {
                items: items.map_err(|error| error.with_call(call.summary.clone()))?,
                total,
                count: None,
                limit: None,
                skipped: call.skipped.rows,
                call,
            })
        })
    }

    fn key(&self, item: &Value) -> String {
        let mut ids = IDS.iter().filter_map(|id| item.pointer(id)?.as_str());
        ids.find(|id| !id.is_empty())
            .map_or_else(|| item.to_string(), str::to_owned)
    }
}
