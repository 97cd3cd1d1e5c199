//! Rule on `x-pagination`: the paging of a list, which must name existing fields and parameters.

use serde_json::Value;

use super::super::{
    document::{Document, Operation},
    report::Report,
};
use crate::codegen::{
    description::{is_true, members, resolve, text},
    extensions::{Location, Offset, Pagination},
    pointer::join,
};

pub fn check(document: &Document, report: &mut Report) {
    for operation in &document.operations {
        let place = join(&operation.place, "x-pagination");
        match &operation.extensions.x_pagination {
            Some(paging) => of(document, operation, paging, &place, report),
            None => {
                let mut at = [Location::Query, Location::Body].into_iter();
                let has_offset = at.any(|at| document.parameter(operation, at, "offset").is_some());
                let holds = !has_offset || !has_list(document, operation);
                report.must(
                    holds,
                    place,
                    "must be given, because the operation lists by an offset",
                );
            }
        }
    }
}

fn of(
    document: &Document,
    operation: &Operation,
    paging: &Pagination,
    at: &str,
    report: &mut Report,
) {
    let is_cursor = paging.offset == Offset::LineCursor;
    let has_offset = matches!(paging.offset, Offset::PageIndex | Offset::Record);
    let keys = [
        ("offset-name", &paging.offset_name, has_offset),
        ("limit-name", &paging.limit_name, has_offset || is_cursor),
        ("cursor-name", &paging.cursor_name, is_cursor),
        ("order-name", &paging.order_name, is_cursor),
        ("first", &paging.first, is_cursor),
        ("last", &paging.last, is_cursor),
    ];
    for (key, name, is_needed) in keys {
        let must = if is_needed { "must" } else { "must not" };
        let message = format!("{must} be given beside this offset");
        report.must(name.is_some() == is_needed, join(at, key), message);
    }
    for (key, name, _) in &keys[..4] {
        if let Some(name) = name {
            let found = document.parameter(operation, paging.r#in, name);
            let message = format!("must be a parameter of the {:?}: {name}", paging.r#in);
            report.must(found.is_some(), join(at, key), message.to_lowercase());
        }
    }
    let items = Some(&paging.items);
    for (key, path) in [
        ("items", items),
        ("total", paging.total.as_ref()),
        ("first", paging.first.as_ref()),
        ("last", paging.last.as_ref()),
    ] {
        let Some(path) = path else { continue };
        let field = document.field(operation, path);
        report.must(
            field.is_some(),
            join(at, key),
            format!("must be a field of the answer: {path}"),
        );
        // Strict clients could otherwise not decode a page whose rows are null (D-111).
        let rows = field.filter(|field| key == "items" && is_list(field) && !path.is_empty());
        let admits_null = rows.is_none_or(|rows| is_true(rows, "nullable"));
        report.must(admits_null, join(at, key), format!("must be nullable in the answer: {path}"));
    }
    // Without a maximum of the parameter, any value is admitted, because some sources state a
    // number but no limit.
    let limit = paging.limit_name.as_deref();
    let limit = limit.and_then(|name| document.parameter(operation, paging.r#in, name));
    let maximum = limit.and_then(|schema| resolve(document.root, schema).get("maximum"));
    let stated = paging.max_limit.map(Value::from);
    report.must(
        maximum.is_none_or(|maximum| stated.as_ref() == Some(maximum)),
        join(at, "max-limit"),
        "must be the maximum of the limit",
    );
    let is_ascending = paging.limits.is_sorted_by(|limit, next| limit < next);
    let last = paging.limits.last().copied();
    report.must(
        is_ascending && (last.is_none() || last == paging.max_limit),
        join(at, "limits"),
        "must be in ascending order, and end with max-limit",
    );
}

/// Returns `true` if the response is a list, or contains a list at most two levels deep.
fn has_list(document: &Document, operation: &Operation) -> bool {
    let fields = |schema| members(resolve(document.root, schema), "properties").map(|(_, it)| it);
    let lists = |schema| is_list(resolve(document.root, schema));
    document.answer(operation).is_some_and(|body| {
        lists(body) || fields(body).any(|field| lists(field) || fields(field).any(lists))
    })
}

fn is_list(schema: &Value) -> bool {
    text(schema, "type") == Some("array")
}
