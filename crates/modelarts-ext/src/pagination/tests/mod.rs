//! Tests of lists that change while they are read.

mod answers;
mod order;
mod simulated_list;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use futures::{FutureExt, TryStreamExt, executor::block_on};
use modelarts_api::Offset;
use proptest::{prelude::*, test_runner::RngSeed};

use crate::pagination::{
    page, pager,
    tests::simulated_list::{Change, List, Rows, Setting, Table},
};
use crate::{
    error::Error,
    list_position::{OffsetUnit, Position},
};

pub(super) const UNITS: [Offset; 2] = [Offset::PageIndex, Offset::Record];

#[test]
fn each_unit_of_offsets_reads_every_row_once() {
    for count in 0..12 {
        for size in 1..6 {
            for unit in UNITS {
                let setting =
                    Setting { unit, documented: unit, size, in_flight: 3, ..Setting::of(count) };
                let all: Vec<_> = (0..count).collect();
                assert_eq!(setting.read::<true>().0, all, "{unit:?} {size}");
                assert_eq!(setting.read::<false>().0, all, "{unit:?} {size}");
            }
        }
    }
}

#[test]
fn a_list_that_fits_one_page_costs_one_request() {
    for in_flight in [1, 8] {
        for rows in [0, 1, 49] {
            let setting = Setting { in_flight, ..Setting::of(rows) };
            assert_eq!(setting.read::<true>().1.asked, [(0, 50)]);
        }
    }
    // A full page may be the last page; without a total, this requires one more request.
    assert_eq!(Setting::of(50).read::<true>().1.asked, [(0, 50), (47, 50)]);
}

#[test]
fn a_service_that_ignores_offsets_does_not_cause_endless_requests() {
    for unit in UNITS {
        for (last, in_flight, disputed) in
            [(0, 1, false), (0, 4, false), (0, 1, true), (2, 4, false)]
        {
            for total in [true, false] {
                let setting = Setting {
                    unit,
                    documented: unit,
                    disputed,
                    total,
                    in_flight,
                    last_offset: Some(last),
                    ..Setting::of(500)
                };
                let (unique, asked) = setting.end::<true>();
                let what = format!("{setting:?}: {unique:?}");
                assert!(unique.is_err_and(|error| error.contains("changed so much")), "{what}");
                assert!(asked < 40, "{what}: {asked}");
                let (equal, asked) = setting.end::<false>();
                let what = format!("{setting:?}: {equal:?}");
                assert!(equal.is_err_and(|error| error.contains("changed so much")), "{what}");
                assert!(asked < 40, "{what}: {asked}");
            }
        }
        // All rows are on the first page, which is full.
        let setting = Setting { unit, documented: unit, last_offset: Some(0), ..Setting::of(50) };
        let (rows, asked) = setting.end::<true>();
        assert_eq!(rows, Ok((0..50).collect()));
        assert!(asked < 10, "{asked}");
    }
}

#[test]
fn requests_in_flight_are_bounded() {
    for in_flight in [1, 2, 7] {
        let setting = Setting { in_flight, delays: vec![3, 1, 2], ..Setting::of(2000) };
        let (rows, table) = setting.read::<true>();
        assert_eq!(rows, (0..2000).collect::<Vec<_>>());
        assert_eq!(table.most_running, in_flight);
        // No request exceeds the total.
        assert_eq!(table.asked.len(), 43);
    }
}

/// Most rows that were read are removed. Every row before the position is known, so the distance of
/// the search doubles.
#[test]
fn a_shift_by_many_rows_is_found_with_few_requests() {
    let mut changes = vec![Vec::new(); 31];
    changes[30] = vec![Change::Delete(0, 1200)];
    let setting = Setting { changes, ..Setting::of(2000) };
    let (rows, table) = setting.read::<true>();
    assert_eq!(rows, (0..2000).collect::<Vec<_>>());
    assert_eq!(table.asked.len(), 54);
}

#[test]
fn nothing_is_requested_without_a_poll() {
    let setting = Setting { in_flight: 4, ..Setting::of(1000) };
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
fn dropping_the_stream_cancels_the_requests_in_flight() {
    let setting =
        Setting { in_flight: 4, delays: vec![200, 0, 200, 200, 200], ..Setting::of(1000) };
    let (mut pages, table) = setting.pages::<true>();
    block_on(pages.try_next()).unwrap();
    while table.lock().unwrap().running < 4 {
        assert!(pages.try_next().now_or_never().is_none());
    }
    drop(pages);
    // Futures that are dropped do not decrement the count.
    assert_eq!(table.lock().unwrap().running, 4);
    assert_eq!(Arc::strong_count(&table), 1);
}

#[test]
fn disputed_offsets_are_found_out() {
    for (unit, asked) in [
        // One request only shows the unit.
        (Offset::Record, vec![(0, 20), (1, 20), (4, 36), (24, 36), (44, 36)]),
        (Offset::PageIndex, vec![(0, 20), (1, 20), (0, 40), (0, 50), (1, 34)]),
    ] {
        let setting = Setting { unit, disputed: true, size: 20, ..Setting::of(65) };
        let (rows, table) = setting.read::<false>();
        assert_eq!(rows, (0..65).collect::<Vec<_>>());
        assert_eq!(table.asked, asked, "{unit:?}");
    }
}

/// Equal rows at the end of the first page continue on the second page.
#[test]
fn a_disputed_unit_is_detected_among_equal_rows() {
    for run in 1..30 {
        for size in 1..14 {
            for unit in UNITS {
                let setting =
                    Setting { unit, disputed: true, run, max: 100, size, ..Setting::of(220) };
                let (rows, _) = setting.end::<false>();
                assert_eq!(rows, Ok((0..220).collect()), "{run} equal rows, {size}, {unit:?}");
            }
        }
    }
}

#[test]
fn a_client_stores_the_detected_unit_of_offsets() {
    let setting = Setting { unit: Offset::PageIndex, disputed: true, ..Setting::of(200) };
    let (list, _) = setting.list::<false>();
    let detected = list.detected.clone();
    let read = |list: List<false>| {
        let pages = pager::pages(Arc::new(list), setting.pagination(), setting.options());
        block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap()
    };
    assert_eq!(read(list).len(), 200);
    assert_eq!(detected.get(), Some(&OffsetUnit::Pages));
    let (mut list, table) = setting.list::<false>();
    list.detected = detected;
    assert_eq!(read(list).len(), 200);
    let asked = table.lock().unwrap().asked.clone();
    assert!(asked.iter().all(|(offset, _)| *offset < 8), "{asked:?}");
}

#[test]
fn a_list_is_read_on_from_a_position() {
    let setting = Setting { size: 10, ..Setting::of(100) };
    for insert in [0, 2, 70, 400] {
        for delete in [0, 1, 5] {
            let (list, table) = setting.list::<true>();
            let mut pages = pager::pages(Arc::new(list), setting.pagination(), setting.options());
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
            let mut options = setting.options();
            options.resume = Some(serde_json::from_str(&position).unwrap());
            let (list, _) = changed.list::<true>();
            let pages = pager::pages(Arc::new(list), setting.pagination(), options);
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
    let mut options = setting.options();
    let mut position = page.position;
    position.more = true;
    options.resume = Some(position);
    assert_eq!(
        options.check("Other", 50).unwrap_err().to_string(),
        "resume: the position is one in List, and this is Other"
    );

    let (list, _) = Setting { rows: Rows((100..300).collect()), ..setting.clone() }.list::<true>();
    let pages = pager::pages(Arc::new(list), setting.pagination(), options);
    let error = block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "List: the list has changed so much while it was read that it cannot be said where to go \
         on; read it again"
    );
}

#[test]
fn a_position_with_a_row_number_that_no_list_reaches_is_refused() {
    for (read, refused) in [
        (u64::from(u32::MAX), None),
        (
            u64::from(u32::MAX) + 1,
            Some(
                "resume: the position is damaged: `read` is 4294967296 and must be at most \
                 4294967295; read the list from its beginning",
            ),
        ),
    ] {
        let stored = format!(r#"{{"list":"List","read":{read},"last":[],"more":false}}"#);
        let position: Position = serde_json::from_str(&stored).unwrap();
        let mut options = Setting::of(40).options();
        options.resume = Some(position);
        let error = options.check("List", 50).err();
        let error = error.map(|error| error.to_string());
        assert_eq!(error.as_deref(), refused);
    }
}

/// All rows are removed while the list is read. The rows inserted instead are new; rows that equal
/// returned ones are not returned again.
#[test]
fn rows_that_replace_the_list_are_given() {
    let setting = Setting { size: 10, max: 10, ..Setting::of(12) };
    let (mut pages, table) = setting.pages::<false>();
    let first = block_on(pages.try_next()).unwrap().unwrap().items;
    assert_eq!(first, (0..10).collect::<Vec<_>>());
    let now: Vec<u32> = (300..315).chain(0..3).collect();
    table.lock().unwrap().rows.clone_from(&now);
    let rows = block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap();
    assert_eq!(rows, (300..315).collect::<Vec<_>>());
}

/// Regression test for the properties below: rows inserted late push known rows beyond the end of
/// the window.
#[test]
fn rows_that_late_ones_push_behind_the_window_are_not_given_again() {
    use Change::{Delete, Insert};
    let at = |changes: &[(usize, Change)]| {
        let mut list = vec![Vec::new(); 20];
        for (request, change) in changes {
            list[*request].push(*change);
        }
        list
    };
    let pushed = Setting {
        in_flight: 2,
        changes: at(&[(2, Insert(0, 1)), (10, Insert(229, 1)), (11, Insert(0, 1))]),
        delays: vec![1, 0],
        ..Setting::of(34)
    };
    // Rows are inserted between equal rows.
    let split = Setting {
        changes: at(&[
            (0, Delete(0, 2)),
            (2, Delete(0, 1)),
            (10, Delete(0, 1)),
            (12, Insert(0, 2)),
            (14, Insert(644, 2)),
        ]),
        ..Setting::of(117)
    };
    for setting in [pushed, split] {
        let setting = Setting {
            unit: Offset::PageIndex,
            documented: Offset::PageIndex,
            total: false,
            size: 1,
            ..setting
        };
        let (rows, table) = setting.read::<false>();
        let given = counts(rows.into_iter().map(|row| row / 3));
        let came = counts(table.came.iter().map(|row| row / 3));
        assert!(given.iter().all(|(row, count)| count <= &came[row]));
        let stayed = counts(table.stayed.iter().map(|row| row / 3));
        assert!(stayed.iter().all(|(row, count)| given[row] >= *count));
    }
}

/// Bounds of the random changes of a list.
#[derive(Clone, Copy)]
struct Course {
    /// Maximum number of rows that one change inserts or removes.
    rows: usize,
    /// Maximum number of changes between two requests.
    places: usize,
    /// `true` if rows are also removed in the middle.
    anywhere: bool,
    /// Smallest page size to which the service reduces a larger limit.
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
        prop::sample::select(&UNITS[..]),
        any::<bool>(),
        prop_oneof![Just(None), (course.least_cap..50_u32, any::<bool>()).prop_map(Some)],
        any::<bool>(),
    );
    let reading = (1..=50_u32, prop_oneof![Just(1), 2..6_usize]);
    let changes =
        (prop::collection::vec(changes(course), 0..40), prop::collection::vec(0..5_u8, 1..9));
    (list, reading, changes).prop_map(
        |((rows, unit, disputed, cap, total), (size, in_flight), (changes, delays))| Setting {
            unit,
            // If offsets count pages, a service that reduces the page size is supported only if its
            // responses state the reduced size.
            cap: cap.map(|(cap, says)| (cap, says || unit == Offset::PageIndex)),
            total: total || cap.is_some(),
            // A disputed unit is detected only while the list does not change.
            documented: if disputed && changes.is_empty() { Offset::Record } else { unit },
            disputed: disputed && changes.is_empty(),
            size,
            in_flight,
            changes,
            delays,
            ..Setting::of(rows)
        },
    )
}

pub(super) fn counts(rows: impl IntoIterator<Item = u32>) -> HashMap<u32, usize> {
    let mut counts = HashMap::new();
    for row in rows {
        *counts.entry(row).or_default() += 1;
    }
    counts
}

/// Returns the configuration of the property tests. By default, every run uses the same cases, so
/// that failures are reproducible; `PROPTEST_CASES` sets a number of random cases.
pub(crate) fn config() -> ProptestConfig {
    let more = std::env::var("PROPTEST_CASES").ok();
    let more: Option<u32> = more.and_then(|cases| cases.parse().ok());
    ProptestConfig {
        failure_persistence: None,
        rng_seed: match more {
            Some(_) => RngSeed::Random,
            None => RngSeed::Fixed(20_261_121),
        },
        ..ProptestConfig::with_cases(more.unwrap_or(1000))
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rows_with_an_id_are_neither_lost_nor_doubled(setting in settings(Course {
            rows: 120,
            places: 2,
            anywhere: true,
            least_cap: 10,
        })) {
        let (rows, error, table) = setting.result::<true>();
        for (row, count) in counts(rows.iter().copied()) {
            prop_assert_eq!(count, 1, "{} came twice in {:?}", row, rows);
        }
        if is_refused(&setting, error, &table) {
            return Ok(());
        }
        let rows: HashSet<u32> = rows.into_iter().collect();
        for row in &table.stayed {
            prop_assert!(rows.contains(row), "{} was lost", row);
        }
    }

    /// Events are distinguished from equal ones by their neighbours. Events are inserted at the
    /// end, or late, and removed at the beginning.
    #[test]
    fn rows_without_an_id_are_neither_lost_nor_doubled(setting in settings(Course {
            rows: 2,
            places: 1,
            anywhere: false,
            least_cap: 30,
        })) {
        check_rows_without_an_id(&setting)?;
    }

    /// Runs of equal rows fill the overlap. Late rows are inserted before or after the run; a late
    /// row in the middle of a long run, exactly at the end of a page, can still be misjudged.
    #[test]
    fn long_runs_of_equal_rows_are_neither_lost_nor_doubled(
        setting in settings(Course {
            rows: 2,
            places: 1,
            anywhere: false,
            least_cap: 30,
        }),
        run in 4..=LONGEST_RUN,
    ) {
        // Pages begin at multiples of their size, which limits the possible overlaps.
        let most = if setting.unit == Offset::PageIndex { 30 } else { LONGEST_RUN };
        let run = run.min(most);
        let mut setting = setting;
        for change in setting.changes.iter_mut().flatten() {
            if let Change::Insert(part, _) = change {
                *part = if *part < 500 { 0 } else { 1000 };
            }
        }
        let setting = Setting { run, max: 100, cap: None, size: 100, ..setting };
        check_rows_without_an_id(&setting)?;
    }
}

/// Returns `true` if the list ended with an error because more than half of its rows changed while
/// it was read.
fn is_refused(setting: &Setting, error: Option<Error>, table: &Table) -> bool {
    let Some(error) = error else { return false };
    let changed = 2 * table.changed >= setting.rows.0.len();
    let text = error.to_string();
    let expected = ["changed so much", "changed places", "the list ended after"];
    let is_expected = expected.iter().any(|part| text.contains(part));
    assert!(changed && is_expected, "{error}");
    true
}

/// Maximum length of a run of equal events that is read correctly in pages of 100 rows.
const LONGEST_RUN: u32 = 60;

fn check_rows_without_an_id(setting: &Setting) -> Result<(), TestCaseError> {
    let (rows, error, table) = setting.result::<false>();
    let given = counts(rows.into_iter().map(|row| row / setting.run));
    let came = counts(table.came.iter().map(|row| row / setting.run));
    for (row, count) in &given {
        prop_assert!(count <= &came[row], "{} came {} times", row, count);
    }
    if is_refused(setting, error, &table) {
        return Ok(());
    }
    for (row, count) in counts(table.stayed.iter().map(|row| row / setting.run)) {
        let given = given.get(&row).copied().unwrap_or_default();
        prop_assert!(given >= count, "{} came {} times of {}", row, given, count);
    }
    Ok(())
}
