//! A list in memory that changes while it is read.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use futures::{TryStreamExt, executor::block_on};
use modelarts_api::{BoxFuture, Offset, Pagination};

use crate::{
    error::Error,
    list_position::DetectedOffset,
    pagination::{
        options::ReadOptions,
        page::{self, Page, PageStream},
        pager,
        source::{self, Counts, ListInfo, RawPage, Source},
    },
};

/// A change of the list between two requests.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Change {
    /// Inserts rows. The values are the position, in thousandths of the list, and the number of
    /// rows.
    Insert(usize, usize),
    /// Removes rows. The values are the position, in thousandths of the list, and the number of
    /// rows.
    Delete(usize, usize),
    /// Shuffles rows. The values are the position, in thousandths of the list, the number of rows,
    /// and the seed.
    Shuffle(usize, usize, u64),
}

/// The rows that `count` in a response includes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Count {
    /// All rows that match the conditions.
    Matching,
    /// The rows on the page.
    OfPage,
}

/// Rows of a list. `Debug` prints only the number of rows.
#[derive(Clone)]
pub(crate) struct Rows(pub(crate) Vec<u32>);

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows", self.0.len())
    }
}

/// The properties of a simulated list.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// The rows of the list. Equal rows are neighbours.
    pub(crate) rows: Rows,
    /// The number of equal rows in a run, for rows without an id.
    pub(crate) run: u32,
    pub(crate) unit: Offset,
    pub(crate) documented: Offset,
    pub(crate) disputed: bool,
    pub(crate) max: u32,
    /// Actual maximum page size of the service, and `true` if the response states it.
    pub(crate) cap: Option<(u32, bool)>,
    /// `true` if the response states the requested limit instead of the reduced one.
    pub(crate) echoes_limit: bool,
    /// Number of the first request to which the cap applies.
    pub(crate) capped_from: usize,
    /// Largest supported offset. The service treats larger offsets like this offset.
    pub(crate) last_offset: Option<i64>,
    pub(crate) total: bool,
    /// The stated total, if it is not the number of rows.
    pub(crate) stated: Option<i64>,
    /// Meaning of `count`; `None` if the response lacks it.
    pub(crate) count: Option<Count>,
    /// `true` if the list has conditions.
    pub(crate) filtered: bool,
    /// The rows that cannot be decoded.
    pub(crate) unreadable: Vec<u32>,
    /// Difference between the stated total and the actual number of rows.
    pub(crate) total_error: i64,
    /// `true` if the service ignores the limit and returns all rows after the offset.
    pub(crate) ignores_limit: bool,
    pub(crate) size: u32,
    pub(crate) in_flight: usize,
    /// The changes before each request.
    pub(crate) changes: Vec<Vec<Change>>,
    /// Number of polls before each request is executed, to vary the order of responses.
    pub(crate) delays: Vec<u8>,
}

impl Setting {
    pub(crate) fn of(rows: u32) -> Self {
        Self {
            rows: Rows((0..rows).collect()),
            run: 3,
            unit: Offset::Record,
            documented: Offset::Record,
            disputed: false,
            max: 50,
            cap: None,
            echoes_limit: false,
            capped_from: 0,
            last_offset: None,
            total: true,
            stated: None,
            count: None,
            filtered: false,
            unreadable: Vec::new(),
            total_error: 0,
            ignores_limit: false,
            size: 50,
            in_flight: 1,
            changes: Vec::new(),
            delays: Vec::new(),
        }
    }

    pub(crate) fn pagination(&self) -> Pagination {
        let mut how = source::pagination_of("ListTrainingJobs").unwrap();
        how.offset = self.documented;
        how.disputed = self.disputed;
        how.max_limit = Some(self.max);
        how
    }

    pub(crate) fn options(&self) -> ReadOptions {
        let mut options = ReadOptions::new(self.size);
        options.in_flight = self.in_flight;
        options
    }

    pub(crate) fn list<const UNIQUE: bool>(&self) -> (List<UNIQUE>, Arc<Mutex<Table>>) {
        let table = Arc::new(Mutex::new(Table {
            stayed: self.rows.0.iter().copied().collect(),
            rows: self.rows.0.clone(),
            largest_page: 0,
            changed: 0,
            came: self.rows.0.clone(),
            next: 999_999,
            asked: Vec::new(),
            setting: self.clone(),
            running: 0,
            most_running: 0,
        }));
        let list = List {
            table: Arc::clone(&table),
            run: self.run,
            filtered: self.filtered,
            detected: DetectedOffset::default(),
        };
        (list, table)
    }

    pub(crate) fn pages<const UNIQUE: bool>(&self) -> (PageStream<Page<u32>>, Arc<Mutex<Table>>) {
        let (list, table) = self.list::<UNIQUE>();
        (pager::pages(Arc::new(list), self.pagination(), self.options()), table)
    }

    pub(crate) fn read<const UNIQUE: bool>(&self) -> (Vec<u32>, Table) {
        let (pages, table) = self.pages::<UNIQUE>();
        let rows = block_on(page::rows(pages).try_collect()).unwrap();
        let table = table.lock().unwrap().clone();
        (rows, table)
    }
}

impl Setting {
    /// Returns the maximum number of requests for this list: three for each page of all rows that
    /// ever existed, and 8 more.
    pub(crate) fn max_requests(&self, table: &Table) -> usize {
        let page = table.largest_page.clamp(1, self.size as usize);
        3 * table.came.len().div_ceil(page).max(1) + 8
    }

    /// Reads the list to its end. Returns the rows, the error if reading failed, and the final
    /// state of the list.
    pub(crate) fn result<const UNIQUE: bool>(&self) -> (Vec<u32>, Option<Error>, Table) {
        let (pages, table) = self.pages::<UNIQUE>();
        let mut rows = page::rows(pages);
        let mut given = Vec::new();
        let error = loop {
            match block_on(rows.try_next()) {
                Ok(Some(row)) => given.push(row),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        let table = table.lock().unwrap().clone();
        (given, error, table)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Table {
    pub(crate) rows: Vec<u32>,
    /// The rows that existed during the entire read.
    pub(crate) stayed: HashSet<u32>,
    /// The number of rows on the largest page.
    pub(crate) largest_page: usize,
    /// The number of rows that were inserted, removed or shuffled.
    pub(crate) changed: usize,
    /// All rows that ever existed.
    pub(crate) came: Vec<u32>,
    pub(crate) next: u32,
    pub(crate) asked: Vec<(i64, u32)>,
    pub(crate) setting: Setting,
    pub(crate) running: usize,
    pub(crate) most_running: usize,
}

impl Table {
    pub(crate) fn change(&mut self, change: Change) {
        let at = |part: usize, length: usize| (length * part / 1000).min(length);
        let (Change::Insert(_, rows) | Change::Delete(_, rows) | Change::Shuffle(_, rows, _)) =
            change;
        self.changed += rows;
        match change {
            Change::Insert(part, count) => {
                let at = at(part, self.rows.len());
                // Equal rows are neighbours.
                self.next = self.next.next_multiple_of(self.setting.run);
                for _ in 0..count {
                    self.rows.insert(at, self.next);
                    self.came.push(self.next);
                    self.next += 1;
                }
            }
            Change::Delete(part, count) => {
                let at = at(part, self.rows.len());
                let end = (at + count).min(self.rows.len());
                for row in self.rows.drain(at..end) {
                    self.stayed.remove(&row);
                }
            }
            Change::Shuffle(part, count, seed) => {
                let at = at(part, self.rows.len());
                let end = (at + count).min(self.rows.len());
                fastrand::Rng::with_seed(seed).shuffle(&mut self.rows[at..end]);
            }
        }
    }

    fn answer(&mut self, offset: i64, limit: u32) -> RawPage<u32> {
        assert!(self.asked.len() < 5000, "it does not end");
        let changes = self.setting.changes.get(self.asked.len());
        for change in changes.cloned().unwrap_or_default() {
            self.change(change);
        }
        self.asked.push((offset, limit));
        assert!((1..=self.setting.max).contains(&limit), "{limit}");
        let offset = offset.min(self.setting.last_offset.unwrap_or(i64::MAX));
        let cap = self.setting.cap.filter(|_| self.asked.len() > self.setting.capped_from);
        let used = cap.map_or(limit, |(cap, _)| limit.min(cap));
        let most = if self.setting.ignores_limit { usize::MAX } else { used as usize };
        let start = match self.setting.unit {
            Offset::PageIndex => offset * i64::from(used),
            _ => offset,
        };
        let rows = self.rows.iter().skip(usize::try_from(start).unwrap());
        let total = self.setting.total;
        let page = rows.take(most).copied();
        let page: Vec<u32> = page.collect();
        self.largest_page = self.largest_page.max(page.len());
        let (unreadable, items): (Vec<u32>, Vec<u32>) =
            page.into_iter().partition(|row| self.setting.unreadable.contains(row));
        RawPage {
            counts: Counts::new(
                total.then(|| {
                    let right = self.rows.len() as i64 + self.setting.total_error;
                    self.setting.stated.unwrap_or(right)
                }),
                self.setting.count.map(|count| match count {
                    Count::Matching => self.rows.len() as i64,
                    Count::OfPage => (items.len() + unreadable.len()) as i64,
                }),
                match cap {
                    Some(_) if self.setting.echoes_limit => Some(i64::from(limit)),
                    Some((_, false)) => None,
                    _ => Some(i64::from(used)),
                },
            ),
            items,
            skipped: unreadable.len(),
            call: Arc::default(),
        }
    }
}

pub(crate) struct List<const UNIQUE: bool> {
    pub(crate) table: Arc<Mutex<Table>>,
    pub(crate) run: u32,
    pub(crate) filtered: bool,
    pub(crate) detected: DetectedOffset,
}

impl<const U: bool> Source for List<U> {
    type Item = u32;

    fn info(&self) -> ListInfo {
        ListInfo {
            operation: "List",
            unique: U,
            filtered: self.filtered,
            detected_offset: Some(DetectedOffset::clone(&self.detected)),
        }
    }

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<RawPage<u32>, Error>> {
        Box::pin(async move {
            let delay = {
                let mut table = self.table.lock().unwrap();
                table.running += 1;
                table.most_running = table.most_running.max(table.running);
                let number = table.asked.len() + table.running;
                let delays = &table.setting.delays;
                delays.get(number % delays.len().max(1)).copied()
            };
            for _ in 0..delay.unwrap_or_default() {
                let mut first = true;
                std::future::poll_fn(|context| {
                    context.waker().wake_by_ref();
                    if std::mem::take(&mut first) {
                        std::task::Poll::Pending
                    } else {
                        std::task::Poll::Ready(())
                    }
                })
                .await;
            }
            let mut table = self.table.lock().unwrap();
            table.running -= 1;
            Ok(table.answer(offset, limit))
        })
    }

    fn key(&self, item: &u32) -> String {
        if U { item.to_string() } else { (item / self.run).to_string() }
    }
}
