//! Lists, page by page or row by row.

use std::collections::HashSet;

use futures::{StreamExt, TryStreamExt, stream, stream::BoxStream};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::error::Error;

/// A stream of results that can be polled as it is.
pub type Results<T> = BoxStream<'static, Result<T, Error>>;

/// One page of a list.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Page<T> {
    /// The rows, without those that the page before had already.
    pub items: Vec<T>,
    /// How many rows there are in all, as the service counts. It may count more
    /// than the filter admits, so nothing should be decided by it.
    pub total: Option<u64>,
    /// How many rows could not be understood and were left out.
    pub dropped: usize,
}

/// Rows as one request brings them.
pub(crate) struct Batch<T> {
    pub(crate) items: Vec<T>,
    pub(crate) total: Option<i64>,
    /// The limit that the service says it used.
    pub(crate) limit: Option<i64>,
    pub(crate) dropped: usize,
}

/// What a list needs to be paged.
pub(crate) trait Source: Send + Sync + 'static {
    type Item: Send + 'static;

    /// Asks for `limit` rows at `offset`, in the service's meaning of offset.
    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<Batch<Self::Item>, Error>>;

    /// What tells a row from all others; `None` where rows may be equal.
    fn id(item: &Self::Item) -> Option<String>;
}

/// Where a list stands.
enum State<S> {
    /// The page at this offset comes next. The ids are those of the page before:
    /// rows that shift while the list is read come twice in a row or not at all.
    Next {
        source: S,
        offset: i64,
        before: HashSet<String>,
    },
    Done,
}

/// The pages of a list, asked for one after another as they are wanted.
///
/// The end is a page that is not full. The totals do not say it: some count all
/// jobs of the user and not those that match.
pub(crate) fn pages<S: Source>(
    source: S,
    pagination: Pagination,
    limit: u32,
) -> Results<Page<S::Item>> {
    let start = State::Next {
        source,
        offset: 0,
        before: HashSet::new(),
    };
    stream::try_unfold(start, move |state| async move {
        let State::Next {
            source,
            offset,
            before,
        } = state
        else {
            return Ok(None);
        };
        let batch = source.fetch(offset, limit).await?;
        let rows = batch.items.len() + batch.dropped;
        // The service may have a smaller idea of the largest page.
        let asked = batch
            .limit
            .and_then(|used| u32::try_from(used).ok())
            .filter(|used| *used > 0)
            .map_or(limit, |used| used.min(limit));
        let full = rows >= asked as usize && rows > 0;
        let mut items = batch.items;
        let ids: HashSet<String> = items.iter().filter_map(S::id).collect();
        items.retain(|item| S::id(item).is_none_or(|id| !before.contains(&id)));
        let step = match pagination.offset {
            Offset::PageIndex => Some(1),
            Offset::Record => i64::try_from(rows).ok(),
            _ => None,
        };
        let next = match step.filter(|_| full) {
            Some(step) => State::Next {
                source,
                offset: offset + step,
                before: ids,
            },
            None => State::Done,
        };
        let page = Page {
            items,
            total: batch.total.and_then(|total| u64::try_from(total).ok()),
            dropped: batch.dropped,
        };
        Ok(Some((page, next)))
    })
    .boxed()
}

/// The rows of pages.
pub(crate) fn rows<T: Send + 'static>(pages: Results<Page<T>>) -> Results<T> {
    pages
        .map_ok(|page| stream::iter(page.items.into_iter().map(Ok)))
        .try_flatten()
        .boxed()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use futures::executor::block_on;

    use super::*;

    /// A list in memory that notes what it is asked for.
    struct List {
        rows: Vec<u32>,
        meaning: Offset,
        max: u32,
        asked: Arc<Mutex<Vec<i64>>>,
    }

    impl Source for List {
        type Item = u32;

        fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<Batch<u32>, Error>> {
            self.asked.lock().unwrap().push(offset);
            let limit = limit.min(self.max);
            let start = match self.meaning {
                Offset::PageIndex => offset * i64::from(limit),
                _ => offset,
            };
            let start = usize::try_from(start).unwrap();
            let items = self.rows.iter().skip(start).take(limit as usize).copied();
            Box::pin(std::future::ready(Ok(Batch {
                items: items.collect(),
                total: Some(7),
                limit: Some(i64::from(limit)),
                dropped: 0,
            })))
        }

        fn id(item: &u32) -> Option<String> {
            Some(item.to_string())
        }
    }

    fn read(rows: u32, meaning: Offset, limit: u32, max: u32) -> (Vec<u32>, Vec<i64>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let list = List {
            rows: (0..rows).collect(),
            meaning,
            max,
            asked: Arc::clone(&asked),
        };
        let mut pagination = modelarts_api::OPERATIONS
            .iter()
            .find_map(|operation| operation.pagination)
            .unwrap();
        pagination.offset = meaning;
        let stream = super::rows(pages(list, pagination, limit));
        let rows = block_on(stream.try_collect()).unwrap();
        let asked = asked.lock().unwrap().clone();
        (rows, asked)
    }

    #[test]
    fn each_meaning_of_offset_reads_every_row_once() {
        for count in 0..9 {
            for limit in 1..5 {
                for meaning in [Offset::PageIndex, Offset::Record] {
                    let (rows, _) = read(count, meaning, limit, 100);
                    assert_eq!(rows, (0..count).collect::<Vec<_>>(), "{meaning:?} {limit}");
                }
            }
        }
        assert_eq!(read(5, Offset::PageIndex, 2, 100).1, [0, 1, 2]);
        assert_eq!(read(5, Offset::Record, 2, 100).1, [0, 2, 4]);
        // A last page that is full is followed by an empty one.
        assert_eq!(read(4, Offset::Record, 2, 100).1, [0, 2, 4]);
        assert_eq!(read(0, Offset::Record, 2, 100).1, [0]);
    }

    #[test]
    fn a_service_with_smaller_pages_is_read_to_the_end() {
        let (rows, asked) = read(5, Offset::Record, 10, 2);
        assert_eq!(rows, [0, 1, 2, 3, 4]);
        assert_eq!(asked, [0, 2, 4]);
    }

    #[test]
    fn rows_of_the_page_before_are_not_repeated() {
        // A new row at the top shifts row 1 onto the second page.
        struct Shifting;
        impl Source for Shifting {
            type Item = u32;
            fn fetch(&self, offset: i64, _: u32) -> BoxFuture<'_, Result<Batch<u32>, Error>> {
                let items =
                    [vec![0, 1], vec![1, 2], vec![3]][usize::try_from(offset).unwrap()].clone();
                Box::pin(std::future::ready(Ok(Batch {
                    items,
                    total: None,
                    limit: None,
                    dropped: 0,
                })))
            }
            fn id(item: &u32) -> Option<String> {
                Some(item.to_string())
            }
        }
        let mut pagination = modelarts_api::OPERATIONS
            .iter()
            .find_map(|operation| operation.pagination)
            .unwrap();
        pagination.offset = Offset::PageIndex;
        let rows: Vec<u32> = block_on(rows(pages(Shifting, pagination, 2)).try_collect()).unwrap();
        assert_eq!(rows, [0, 1, 2, 3]);
    }
}
