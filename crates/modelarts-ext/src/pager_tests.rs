//! Lists that change while they are read.

use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};

use futures::{FutureExt, TryStreamExt, executor::block_on};
use modelarts_api::{BoxFuture, Offset, Pagination};
use proptest::prelude::*;

use crate::{
    error::Error,
    learned::Learned,
    page::{self, Batch, Page, Reading, Results, Source},
};

/// What happens to a list between two requests.
#[derive(Clone, Copy, Debug)]
enum Change {
    /// So many rows come in at this part (of 1000) of the list.
    Insert(usize, usize),
    /// So many rows go away from there.
    Delete(usize, usize),
}

/// Rows, shown by their number.
#[derive(Clone)]
struct Rows(Vec<u32>);

impl std::fmt::Debug for Rows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} rows", self.0.len())
    }
}

/// What a list is like.
#[derive(Clone, Debug)]
struct Setting {
    /// The rows; equal ones next to each other.
    rows: Rows,
    meaning: Offset,
    said: Offset,
    disputed: bool,
    max: u32,
    /// The largest page that the service really makes, and whether it says so.
    cap: Option<(u32, bool)>,
    total: bool,
    size: u32,
    in_flight: usize,
    /// Before each request.
    changes: Vec<Vec<Change>>,
    /// How many times a request is polled before it is executed.
    delays: Vec<u8>,
}

impl Setting {
    fn of(rows: u32) -> Self {
        Self {
            rows: Rows((0..rows).collect()),
            meaning: Offset::Record,
            said: Offset::Record,
            disputed: false,
            max: 50,
            cap: None,
            total: true,
            size: 50,
            in_flight: 1,
            changes: Vec::new(),
            delays: Vec::new(),
        }
    }

    fn pagination(&self) -> Pagination {
        let mut how = page::pagination("ListTrainingJobs").unwrap();
        how.offset = self.said;
        how.disputed = self.disputed;
        how.max_limit = Some(self.max);
        how
    }

    fn reading(&self) -> Reading {
        let mut reading = Reading::new(self.size);
        reading.in_flight = self.in_flight;
        reading
    }

    fn list<const UNIQUE: bool>(&self) -> (List<UNIQUE>, Arc<Mutex<Table>>) {
        let table = Arc::new(Mutex::new(Table {
            stayed: self.rows.0.iter().copied().collect(),
            rows: self.rows.0.clone(),
            came: self.rows.0.clone(),
            next: 999_999,
            asked: Vec::new(),
            setting: self.clone(),
            running: 0,
            most_running: 0,
        }));
        let list = List {
            table: Arc::clone(&table),
            learned: Learned::default(),
        };
        (list, table)
    }

    fn pages<const UNIQUE: bool>(&self) -> (Results<Page<u32>>, Arc<Mutex<Table>>) {
        let (list, table) = self.list::<UNIQUE>();
        (page::pages(list, self.pagination(), self.reading()), table)
    }

    fn read<const UNIQUE: bool>(&self) -> (Vec<u32>, Table) {
        let (pages, table) = self.pages::<UNIQUE>();
        let rows = block_on(page::rows(pages).try_collect()).unwrap();
        let table = table.lock().unwrap().clone();
        (rows, table)
    }
}

#[derive(Clone, Debug)]
struct Table {
    rows: Vec<u32>,
    /// Those that were there all the time.
    stayed: HashSet<u32>,
    /// All that ever were there.
    came: Vec<u32>,
    next: u32,
    asked: Vec<(i64, u32)>,
    setting: Setting,
    running: usize,
    most_running: usize,
}

impl Table {
    fn change(&mut self, change: Change) {
        let at = |part: usize, length: usize| (length * part / 1000).min(length);
        match change {
            Change::Insert(part, count) => {
                let at = at(part, self.rows.len());
                // Equal rows are neighbours.
                self.next = self.next.next_multiple_of(3);
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
        }
    }

    fn answer(&mut self, offset: i64, limit: u32) -> Batch<u32> {
        assert!(self.asked.len() < 5000, "it does not end");
        let changes = self.setting.changes.get(self.asked.len());
        for change in changes.cloned().unwrap_or_default() {
            self.change(change);
        }
        self.asked.push((offset, limit));
        assert!((1..=self.setting.max).contains(&limit), "{limit}");
        let used = self.setting.cap.map_or(limit, |(cap, _)| limit.min(cap));
        let start = match self.setting.meaning {
            Offset::PageIndex => offset * i64::from(used),
            _ => offset,
        };
        let rows = self.rows.iter().skip(usize::try_from(start).unwrap());
        Batch {
            items: rows.take(used as usize).copied().collect(),
            total: self.setting.total.then_some(self.rows.len() as i64),
            count: None,
            limit: match self.setting.cap {
                Some((_, false)) => None,
                _ => Some(i64::from(used)),
            },
            dropped: 0,
        }
    }
}

struct List<const UNIQUE: bool> {
    table: Arc<Mutex<Table>>,
    learned: Learned,
}

impl<const U: bool> Source for List<U> {
    type Item = u32;
    const OPERATION: &'static str = "List";
    const UNIQUE: bool = U;

    fn fetch(&self, offset: i64, limit: u32) -> BoxFuture<'_, Result<Batch<u32>, Error>> {
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

    fn key(item: &u32) -> String {
        // Rows of a list without ids are equal in threes.
        if U {
            item.to_string()
        } else {
            (item / 3).to_string()
        }
    }

    fn learned(&self) -> Option<&Learned> {
        Some(&self.learned)
    }
}

const MEANINGS: [Offset; 2] = [Offset::PageIndex, Offset::Record];

#[test]
fn each_meaning_of_offset_reads_every_row_once() {
    for count in 0..12 {
        for size in 1..6 {
            for meaning in MEANINGS {
                let setting = Setting {
                    meaning,
                    said: meaning,
                    size,
                    in_flight: 3,
                    ..Setting::of(count)
                };
                let all: Vec<_> = (0..count).collect();
                assert_eq!(setting.read::<true>().0, all, "{meaning:?} {size}");
                assert_eq!(setting.read::<false>().0, all, "{meaning:?} {size}");
            }
        }
    }
}

#[test]
fn a_list_that_fits_one_page_costs_one_request() {
    for in_flight in [1, 8] {
        for rows in [0, 1, 49] {
            let setting = Setting {
                in_flight,
                ..Setting::of(rows)
            };
            assert_eq!(setting.read::<true>().1.asked, [(0, 50)]);
        }
    }
    // Full pages do not say that they are the last; the total does not either.
    assert_eq!(Setting::of(50).read::<true>().1.asked, [(0, 50), (47, 50)]);
}

#[test]
fn what_is_in_flight_is_bounded() {
    for in_flight in [1, 2, 7] {
        let setting = Setting {
            in_flight,
            delays: vec![3, 1, 2],
            ..Setting::of(2000)
        };
        let (rows, table) = setting.read::<true>();
        assert_eq!(rows, (0..2000).collect::<Vec<_>>());
        assert_eq!(table.most_running, in_flight);
        // Nothing is asked for beyond the total.
        assert_eq!(table.asked.len(), 43);
    }
}

#[test]
fn nothing_is_asked_for_when_nobody_wants_it() {
    let setting = Setting {
        in_flight: 4,
        ..Setting::of(1000)
    };
    let (mut pages, table) = setting.pages::<true>();
    assert_eq!(table.lock().unwrap().asked.len(), 0);
    block_on(pages.try_next()).unwrap();
    assert_eq!(table.lock().unwrap().asked.len(), 1);
    block_on(pages.try_next()).unwrap();
    let asked = table.lock().unwrap().asked.len();
    assert!(asked <= 5, "{asked}");
    drop(pages);
    assert_eq!(table.lock().unwrap().asked.len(), asked);
}

#[test]
fn dropping_the_stream_cancels_what_is_in_flight() {
    let setting = Setting {
        in_flight: 4,
        delays: vec![200, 0, 200, 200, 200],
        ..Setting::of(1000)
    };
    let (mut pages, table) = setting.pages::<true>();
    block_on(pages.try_next()).unwrap();
    while table.lock().unwrap().running < 4 {
        assert!(pages.try_next().now_or_never().is_none());
    }
    drop(pages);
    // Futures that are dropped do not count down.
    assert_eq!(table.lock().unwrap().running, 4);
    assert_eq!(Arc::strong_count(&table), 1);
}

#[test]
fn disputed_offsets_are_found_out() {
    for (meaning, asked) in [
        (Offset::Record, vec![(0, 20), (4, 36), (24, 36), (44, 36)]),
        // One request in vain.
        (
            Offset::PageIndex,
            vec![(0, 20), (4, 36), (0, 40), (0, 50), (1, 34)],
        ),
    ] {
        let setting = Setting {
            meaning,
            disputed: true,
            size: 20,
            ..Setting::of(65)
        };
        let (rows, table) = setting.read::<false>();
        assert_eq!(rows, (0..65).collect::<Vec<_>>());
        assert_eq!(table.asked, asked, "{meaning:?}");
    }
}

#[test]
fn a_client_remembers_what_it_found_out() {
    let setting = Setting {
        meaning: Offset::PageIndex,
        disputed: true,
        ..Setting::of(200)
    };
    let (list, _) = setting.list::<false>();
    let learned = list.learned.clone();
    let read = |list: List<false>| {
        let pages = page::pages(list, setting.pagination(), setting.reading());
        block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(read(list).len(), 200);
    assert_eq!(learned.get(), Some(Offset::PageIndex));
    let (mut list, table) = setting.list::<false>();
    list.learned = learned;
    assert_eq!(read(list).len(), 200);
    let asked = table.lock().unwrap().asked.clone();
    assert!(asked.iter().all(|(offset, _)| *offset < 8), "{asked:?}");
}

#[test]
fn a_list_is_read_on_from_a_position() {
    let setting = Setting {
        size: 10,
        ..Setting::of(100)
    };
    for insert in [0, 2, 70, 400] {
        for delete in [0, 1, 5] {
            let (list, table) = setting.list::<true>();
            let mut pages = page::pages(list, setting.pagination(), setting.reading());
            let mut rows = Vec::new();
            for _ in 0..5 {
                rows.extend(block_on(pages.try_next()).unwrap().unwrap().items);
            }
            let position = {
                let page = block_on(pages.try_next()).unwrap().unwrap();
                rows.extend(page.items);
                serde_json::to_string(&page.position).unwrap()
            };
            drop(pages);
            let mut changed = setting.clone();
            {
                let mut table = table.lock().unwrap();
                table.change(Change::Delete(600 - 10 * delete, delete));
                table.change(Change::Insert(0, insert));
                changed.rows = Rows(table.rows.clone());
            }
            let mut reading = setting.reading();
            reading.resume = Some(serde_json::from_str(&position).unwrap());
            let (list, _) = changed.list::<true>();
            let pages = page::pages(list, setting.pagination(), reading);
            rows.extend(block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap());
            rows.retain(|row| *row < 999_999);
            assert_eq!(rows, (0..100).collect::<Vec<_>>(), "{insert} {delete}");
        }
    }
}

#[test]
fn a_position_in_a_list_that_is_another_one_is_refused() {
    let setting = Setting::of(40);
    let (mut pages, _) = setting.pages::<true>();
    let page = block_on(pages.try_next()).unwrap().unwrap();
    assert_eq!(page.position.rows(), 40);
    assert_eq!(
        page.position.check("Other").unwrap_err().to_string(),
        "resume: the position is one in List, and this is Other"
    );

    let mut reading = setting.reading();
    let mut position = page.position;
    position.more = true;
    reading.resume = Some(position);
    let (list, _) = Setting {
        rows: Rows((100..300).collect()),
        ..setting.clone()
    }
    .list::<true>();
    let pages = page::pages(list, setting.pagination(), reading);
    let error = block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "List: the list has changed so much while it was read that it cannot be said where to go \
         on; read it again"
    );
}

/// How a list may change.
#[derive(Clone, Copy)]
struct Course {
    /// How many rows at the most in one place,
    rows: usize,
    /// in how many places,
    places: usize,
    /// and whether rows go away in the middle.
    anywhere: bool,
    /// The smallest page that the service makes of larger ones.
    least_cap: u32,
}

fn changes(course: Course) -> impl Strategy<Value = Vec<Change>> {
    let part = prop_oneof![Just(0), Just(1000), 0..=1000_usize];
    let change = (part, 1..=course.rows, any::<bool>()).prop_map(move |(part, count, insert)| {
        if insert {
            Change::Insert(part, count)
        } else {
            Change::Delete(if course.anywhere { part } else { 0 }, count)
        }
    });
    prop::collection::vec(change, 0..=course.places)
}

fn settings(course: Course) -> impl Strategy<Value = Setting> {
    let list = (
        0..400_u32,
        prop::sample::select(&MEANINGS[..]),
        any::<bool>(),
        prop_oneof![
            Just(None),
            (course.least_cap..50_u32, any::<bool>()).prop_map(Some)
        ],
        any::<bool>(),
    );
    let reading = (1..=50_u32, prop_oneof![Just(1), 2..6_usize]);
    let changes = (
        prop::collection::vec(changes(course), 0..40),
        prop::collection::vec(0..5_u8, 1..9),
    );
    (list, reading, changes).prop_map(
        |((rows, meaning, disputed, cap, total), (size, in_flight), (changes, delays))| Setting {
            meaning,
            // A service that makes pages smaller without saying so is only to be
            // understood where offsets count records.
            cap: cap.map(|(cap, says)| (cap, says || meaning == Offset::PageIndex)),
            total: total || cap.is_some(),
            // What is disputed is found out as long as the list holds still.
            said: if disputed && changes.is_empty() {
                Offset::Record
            } else {
                meaning
            },
            disputed: disputed && changes.is_empty(),
            size,
            in_flight,
            changes,
            delays,
            ..Setting::of(rows)
        },
    )
}

fn counts(rows: impl IntoIterator<Item = u32>) -> HashMap<u32, usize> {
    let mut counts = HashMap::new();
    for row in rows {
        *counts.entry(row).or_default() += 1;
    }
    counts
}

fn cases() -> u32 {
    let more = std::env::var("PROPTEST_CASES").ok();
    more.and_then(|cases| cases.parse().ok()).unwrap_or(1000)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases()) })]

    #[test]
    fn rows_with_an_id_are_neither_lost_nor_doubled(setting in settings(Course {
            rows: 120,
            places: 2,
            anywhere: true,
            least_cap: 10,
        })) {
        let (rows, table) = setting.read::<true>();
        for (row, count) in counts(rows.iter().copied()) {
            prop_assert_eq!(count, 1, "{} came twice in {:?}", row, rows);
        }
        let rows: HashSet<u32> = rows.into_iter().collect();
        for row in &table.stayed {
            prop_assert!(rows.contains(row), "{} was lost", row);
        }
    }

    /// Equal rows are told apart by their neighbours. Events come at the end, or late, and
    /// go at the beginning.
    #[test]
    fn rows_without_an_id_are_neither_lost_nor_doubled(setting in settings(Course {
            rows: 2,
            places: 1,
            anywhere: false,
            least_cap: 30,
        })) {
        let (rows, table) = setting.read::<false>();
        let given = counts(rows.into_iter().map(|row| row / 3));
        let came = counts(table.came.iter().map(|row| row / 3));
        for (row, count) in &given {
            prop_assert!(count <= &came[row], "{} came {} times", row, count);
        }
        for (row, count) in counts(table.stayed.iter().map(|row| row / 3)) {
            let given = given.get(&row).copied().unwrap_or_default();
            prop_assert!(given >= count, "{} came {} times of {}", row, given, count);
        }
    }
}
