//! A page by its number, without the pages before it.

use modelarts_api::{Offset, Pagination};

use crate::{
    error::Error,
    list_position::{OffsetUnit, Position},
    pagination::{
        options::{MAX_ROWS, ReadOptions},
        page::Page,
        pager::{history::SAVED_KEYS, row_counts::RowCounts},
        source::Source,
    },
};

/// Reads the page with this number, counted from 0, with one request.
pub(in crate::pagination) async fn page<S: Source + ?Sized>(
    source: &S,
    pagination: Pagination,
    options: &ReadOptions,
    number: u64,
) -> Result<Page<S::Item>, Error> {
    let (info, size) = (source.info(), u64::from(options.size));
    let start = number.saturating_mul(size);
    let problem = if options.resume.is_some() {
        "resume: must not be set for a page with a number".to_owned()
    } else if pagination.offset == Offset::SinglePage && number > 0 {
        format!("page {number}: must be 0, because the list has a single page")
    } else if start > MAX_ROWS {
        format!("page {number}: must be at most {}", MAX_ROWS / size)
    } else {
        String::new()
    };
    if !problem.is_empty() {
        return Err(Error::invalid(problem));
    }
    let detected = || info.detected_offset.as_ref()?.get().copied();
    let unit = options.meaning.and_then(OffsetUnit::of).or_else(detected);
    if unit.is_none() && pagination.disputed && number > 0 {
        return Err(Error::invalid(format!(
            "page {number}: sources disagree on the unit of the offsets of {}; set it with offset_is",
            info.operation
        )));
    }
    let unit = unit.or_else(|| OffsetUnit::of(pagination.offset));
    let unit = unit.unwrap_or_default();
    let offset = match unit {
        OffsetUnit::Pages => number,
        OffsetUnit::Records => start,
    };
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let page = source.fetch(offset, options.size).await?;
    let rows = (page.items.len() + page.skipped) as u64;
    // A page that is not full is the last one, unless it begins behind the end.
    let is_last = rows < size && (rows > 0 || number == 0);
    let stated = RowCounts::new(&page.counts, rows, false, info.filtered).required;
    let read = start + rows;
    let keys = page.items.iter().map(|item| source.key(item));
    let skip = page.items.len().saturating_sub(SAVED_KEYS as usize);
    let last: Vec<String> = keys.skip(skip).collect();
    Ok(Page {
        total: page.counts.total,
        matching: if is_last { Some(read) } else { stated },
        skipped: page.skipped,
        position: Position {
            list: info.operation.to_owned(),
            read,
            more: read > last.len() as u64,
            last,
            counts: Some(unit),
            search: None,
        },
        items: page.items,
        call: page.call,
    })
}
