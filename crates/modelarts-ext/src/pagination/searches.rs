//! Lists that consist of several searches, read one after another as one list.

use std::{collections::VecDeque, mem};

use futures::{StreamExt, TryStreamExt, stream};
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

/// Returns the pages of several searches as one list. Each search is read with these options.
///
/// # Errors
///
/// Returns an error if the position from which the list is resumed is in none of the searches.
pub(super) fn pages<T: Send + 'static>(
    searches: Vec<Search<T>>,
    pagination: Pagination,
    mut options: ReadOptions,
) -> Result<PageStream<Page<T>>, Error> {
    let mut reader = Reader {
        is_alone: searches.len() == 1,
        left: VecDeque::from(searches),
        current: None,
        resume: options.resume.take(),
        rows_before: 0,
        is_first: true,
        pagination,
        options,
    };
    if let Some(position) = &mut reader.resume {
        let search = position.search.take();
        let search = search.ok_or_else(|| other_conditions(&reader.left, "no search"))?;
        let is_other = |other: &Search<T>| other.name != search.name;
        let Some(index) = reader.left.iter().position(|other| !is_other(other)) else {
            return Err(other_conditions(&reader.left, &search.name));
        };
        reader.left.drain(..index);
        reader.rows_before = search.rows_before;
    }
    let pages = stream::try_unfold(reader, |mut reader| async move {
        Ok(reader.next().await?.map(|page| (page, reader)))
    });
    Ok(pages.boxed())
}

fn other_conditions<T>(searches: &VecDeque<Search<T>>, found: &str) -> Error {
    let first = searches.front().map_or("none", |search| &search.name);
    Error::invalid(format!(
        "resume: the position is in a list with other conditions ({found}; this list begins with \
         {first}); its conditions must be those of the list that returned it, also the start of a \
         range of times"
    ))
}

/// Reader of the searches.
struct Reader<T> {
    /// `true` if the list consists of one search.
    is_alone: bool,
    left: VecDeque<Search<T>>,
    current: Option<Current<T>>,
    /// Position at which the first remaining search is resumed.
    resume: Option<Position>,
    /// Number of rows of the searches that were read completely.
    rows_before: u64,
    /// `true` until a page was returned.
    is_first: bool,
    pagination: Pagination,
    options: ReadOptions,
}

/// Search that is being read.
struct Current<T> {
    name: String,
    includes: Box<dyn Fn(&T) -> bool + Send + Sync>,
    pages: PageStream<Page<T>>,
    /// Number of rows that were read.
    rows: u64,
}

impl<T: Send + 'static> Reader<T> {
    async fn next(&mut self) -> Result<Option<Page<T>>, Error> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(search) = self.left.pop_front() else {
                    return Ok(None);
                };
                self.current = Some(self.begin(search));
                continue;
            };
            let here = |position: Position| Position {
                search: Some(SearchPosition {
                    name: current.name.clone(),
                    rows_before: self.rows_before,
                }),
                ..position
            };
            match current.pages.try_next().await {
                Ok(Some(mut page)) => {
                    current.rows = page.position.read;
                    page.items.retain(&current.includes);
                    page.position = here(page.position);
                    // Each search has its own total, so a list of several searches has none.
                    page.total = page.total.filter(|_| self.is_alone);
                    page.matching = page.matching.filter(|_| self.is_alone);
                    let is_first = mem::take(&mut self.is_first);
                    if is_first || !page.items.is_empty() || page.skipped > 0 {
                        return Ok(Some(page));
                    }
                }
                Ok(None) => {
                    self.rows_before = self.rows_before.saturating_add(current.rows);
                    self.current = None;
                }
                Err(error) => {
                    return Err(match error.position().cloned() {
                        Some(position) => error.with_position(here(position)),
                        None => error,
                    });
                }
            }
        }
    }

    fn begin(&mut self, search: Search<T>) -> Current<T> {
        let resume = self.resume.take();
        let rows = resume.as_ref().map_or(0, |position| position.read);
        let options = ReadOptions { resume, ..self.options.clone() };
        Current {
            name: search.name,
            includes: search.includes,
            pages: pager::pages(search.source, self.pagination, options),
            rows,
        }
    }
}
