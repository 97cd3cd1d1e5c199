//! Rows of a list that is called by its operation name.

use modelarts_api::{BoxFuture, Offset, Pagination, ParameterLocation};
use serde_json::{Map, Value};

use crate::{
    client::response::has_no_content,
    error::{Error, ErrorKind},
    operations::call::OperationCall,
    pagination::source::{Counts, ListInfo, RawPage, Source, pagination_of},
};

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

/// Returns the field at this dotted path, or the value itself if the path is empty.
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
