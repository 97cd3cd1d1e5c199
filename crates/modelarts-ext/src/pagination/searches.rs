//! Lists that consist of several searches, read one after another as one list.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures::{StreamExt, TryStreamExt, future, stream};
use modelarts_api::Pagination;

use crate::{
    error::Error,
    list_position::{Position, SearchPosition},
    pagination::{
        options::ReadOptions,
        page::{Page, PageStream},
        pager,
        source::Search,
    },
};

/// Returns the pages of several searches as one list, or an error if none has the position.
pub(super) fn pages<T: Send + 'static>(
    mut searches: Vec<Search<T>>,
    pagination: Pagination,
    mut options: ReadOptions,
) -> Result<PageStream<Page<T>>, Error> {
    let is_alone = searches.len() == 1;
    let mut resume = options.resume.take();
    // Number of rows that were read so far, in all searches.
    let rows = Arc::new(AtomicU64::new(0));
    if let Some(position) = &mut resume {
        let search = position.search.take();
        let search = search.ok_or_else(|| other_conditions(&searches, "no search"))?;
        let Some(index) = searches.iter().position(|other| other.name == search.name) else {
            return Err(other_conditions(&searches, &search.name));
        };
        searches.drain(..index);
        rows.store(search.rows_before, Ordering::Relaxed);
    }
    let pages = stream::iter(searches).map(move |search| {
        let options = ReadOptions { resume: resume.take(), ..options.clone() };
        let rows_before = rows.load(Ordering::Relaxed);
        let read = options.resume.as_ref().map_or(0, |position| position.read);
        rows.store(rows_before.saturating_add(read), Ordering::Relaxed);
        let (rows, name, includes) = (Arc::clone(&rows), search.name, search.includes);
        let here = move |position| {
            let search = SearchPosition { name: name.clone(), rows_before };
            Position { search: Some(search), ..position }
        };
        let pages = pager::pages(search.source, pagination, options).map(move |page| match page {
            Ok(mut page) => {
                rows.store(rows_before.saturating_add(page.position.read), Ordering::Relaxed);
                page.items.retain(&includes);
                page.position = here(page.position);
                // Each search has its own total, so a list of several searches has no total.
                page.total = page.total.filter(|_| is_alone);
                page.matching = page.matching.filter(|_| is_alone);
                Ok(page)
            }
            Err(error) => Err(match error.position().cloned() {
                Some(position) => error.with_position(here(position)),
                None => error,
            }),
        });
        Ok(pages)
    });
    let mut is_first = true;
    let pages = pages.try_flatten().try_filter(move |page| {
        let is_first = mem::take(&mut is_first);
        future::ready(is_first || !page.items.is_empty() || page.skipped > 0)
    });
    Ok(pages.boxed())
}

fn other_conditions<T>(searches: &[Search<T>], found: &str) -> Error {
    let first = searches.first().map_or("none", |search| &search.name);
    Error::invalid(format!(
        "resume: the position is in a list with other conditions ({found}; this list begins with \
         {first}); its conditions must be those of the list that returned it, also the start of a \
         range of times"
    ))
}
