//! Tests of the rules by which a list is read.

mod changes;
mod simulated_list;
mod table;

use std::{collections::HashMap, sync::Arc};

use futures::{FutureExt, TryStreamExt, executor::block_on};
use modelarts_api::Offset;
use proptest::{prelude::*, test_runner::RngSeed};

use crate::{
    list_position::{OffsetUnit, Position},
    pagination::{
        page, pager,
        tests::simulated_list::{Change, Count, List, Rows, Setting},
    },
};

const UNITS: [Offset; 2] = [Offset::PageIndex, Offset::Record];

fn counts(rows: impl IntoIterator<Item = u32>) -> HashMap<u32, usize> {
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

/// The rows or the error, and the offset and the limit of each request.
type Outcome = (Result<Vec<u32>, String>, Vec<(i64, u32)>);

fn read<const UNIQUE: bool>(setting: &Setting) -> Outcome {
    let (rows, error, table) = setting.result::<UNIQUE>();
    (error.map_or(Ok(rows), |error| Err(error.to_string())), table.asked)
}

/// Resumes a list at a position. Returns the rows or the error, and the requests.
fn resumed<const UNIQUE: bool>(setting: &Setting, position: Position) -> Outcome {
    let (list, table) = setting.list::<UNIQUE>();
    let mut options = setting.options();
    options.resume = Some(position);
    let rows = page::rows(pager::pages(Arc::new(list), setting.pagination(), options));
    let rows = block_on(rows.try_collect::<Vec<_>>());
    let asked = table.lock().unwrap().asked.clone();
    (rows.map_err(|error| error.to_string()), asked)
}

#[test]
fn each_unit_of_offsets_reads_every_row_once() {
    for count in 0..12 {
        for size in 1..6 {
            for unit in UNITS {
                let setting = Setting {
                    unit,
                    documented: unit,
                    size,
                    in_flight: 3,
                    run: 1,
                    ..Setting::of(count)
                };
                let all: Vec<_> = (0..count).collect();
                assert_eq!(
                    read::<true>(&setting).0,
                    Ok(all.clone()),
                    "{setting:?} {:?}",
                    read::<true>(&setting).1
                );
                assert_eq!(setting.read::<false>().0, all, "{unit:?} {size}");
            }
        }
    }
}

/// The list ends with a page without a new row, or with a total that the rows before the last page
/// have shown to be that of the list.
#[test]
fn a_list_ends_when_a_page_brings_no_row() {
    let of = |rows, total| Setting { total, unit: Offset::PageIndex, ..Setting::of(rows) };
    for (setting, with_ids, without) in [
        (of(0, true), vec![(0, 50)], vec![(0, 50)]),
        (of(7, true), vec![(0, 50), (1, 5)], vec![(0, 50), (1, 7)]),
        (of(50, true), vec![(0, 50), (1, 47)], vec![(0, 50), (1, 50)]),
        (of(51, true), vec![(0, 50), (1, 47)], vec![(0, 50), (1, 50)]),
        (of(51, false), vec![(0, 50), (1, 47), (2, 47)], vec![(0, 50), (1, 50), (2, 50)]),
    ] {
        let setting = Setting { documented: Offset::PageIndex, ..setting };
        let all = Ok((0..setting.rows.0.len() as u32).collect());
        assert_eq!(read::<true>(&setting), (all.clone(), with_ids), "{setting:?}");
        assert_eq!(read::<false>(&setting), (all, without), "{setting:?}");
    }
}

/// The cases of lists whose service is not what it says: rows, rows of a page at most, the stated
/// total (`None` for the right one), `count`, the unit of offsets and the requested rows.
#[test]
fn a_service_that_caps_its_pages_loses_no_row() {
    let page = Some(Count::OfPage);
    for (rows, cap, total, stated, count, unit, asked) in [
        (260, 20, true, None, page, Offset::PageIndex, 50),
        (260, 20, true, Some(20), page, Offset::PageIndex, 50),
        (260, 7, false, None, None, Offset::PageIndex, 92),
        (61, 10, true, None, None, Offset::Record, 50),
        (260, 20, true, None, Some(Count::Matching), Offset::PageIndex, 50),
        (49, 5, false, None, None, Offset::PageIndex, 5),
        (3, 1, false, None, None, Offset::Record, 50),
        (0, 1, false, None, None, Offset::Record, 50),
    ] {
        for documented in [unit, Offset::PageIndex] {
            for (echoes_limit, disputed) in [(true, false), (true, true), (false, true)] {
                let setting = Setting {
                    cap: Some((cap, false)),
                    echoes_limit,
                    total,
                    stated,
                    count,
                    unit,
                    documented,
                    disputed,
                    run: 1,
                    max: 100,
                    size: asked,
                    ..Setting::of(rows)
                };
                let ideal = (rows.div_ceil(cap) as usize).max(1);
                let all = Ok((0..rows).collect());
                let (given, requests) = read::<true>(&setting);
                assert_eq!(given, all, "{setting:?}");
                assert!(requests.len() <= 3 * ideal + 8, "{setting:?} {requests:?}");
                if rows == 0 {
                    assert!(requests.len() <= 2);
                }
                if documented == unit || disputed {
                    let (given, requests) = read::<false>(&setting);
                    assert_eq!(given, all, "{setting:?}");
                    assert!(requests.len() <= ideal + 2, "{setting:?} {requests:?}");
                }
            }
        }
    }
}

/// A later short page is the last one, or the service returns fewer rows from now on.
#[test]
fn a_page_size_that_changes_loses_no_row() {
    for unit in UNITS {
        for capped_from in 1..6 {
            let setting = Setting {
                unit,
                documented: unit,
                cap: Some((20, false)),
                capped_from,
                run: 1,
                ..Setting::of(260)
            };
            let (rows, asked) = read::<true>(&setting);
            assert_eq!(rows.map(counts), Ok(counts(0..260)), "{setting:?} {asked:?}");
            // Without an id, the rows of the first short page may come twice.
            let rows = counts(read::<false>(&setting).0.unwrap());
            assert_eq!(rows.len(), 260, "{setting:?}");
        }
    }
}

/// A page that repeats is passed twice.
#[test]
fn a_service_that_ignores_offsets_is_an_error() {
    const REPEATS: &str = "List: the service answers the same page to different offsets, so the \
                           list cannot be read further; call the operation itself";
    for unit in UNITS {
        for (last, in_flight, total, rows) in
            [(0, 1, true, 500), (0, 4, false, 500), (2, 4, true, 500), (0, 1, true, 50)]
        {
            let setting = Setting {
                unit,
                documented: unit,
                disputed: last == 0,
                total,
                in_flight,
                last_offset: Some(last),
                run: 1,
                ..Setting::of(rows)
            };
            for (rows, error, table) in [setting.result::<true>(), setting.result::<false>()] {
                let error = error.unwrap().to_string();
                // The beginning of a page of another size is at another row.
                let is_moved = last > 0 && error.contains("the list has changed so much");
                assert!(error == REPEATS || is_moved, "{setting:?} {error}");
                assert!(table.asked.len() <= 17, "{setting:?} {:?}", table.asked);
                assert!(last > 0 || rows == (0..50).collect::<Vec<_>>(), "{setting:?} {rows:?}");
            }
        }
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
        let (_, table) = Setting { delays: Vec::new(), ..setting }.read::<true>();
        assert_eq!(table.asked.len(), 43);
    }
}

#[test]
fn nothing_is_requested_without_a_poll_or_beyond_the_wanted_rows() {
    let setting = Setting { in_flight: 4, ..Setting::of(1000) };
    for (wanted, most) in [(None, 5), (Some(60), 2)] {
        let (list, table) = setting.list::<true>();
        let mut options = setting.options();
        options.rows = wanted;
        let mut pages = pager::pages(Arc::new(list), setting.pagination(), options);
        let asked = || table.lock().unwrap().asked.len();
        assert_eq!(asked(), 0);
        block_on(pages.try_next()).unwrap();
        assert_eq!(asked(), 1);
        block_on(pages.try_next()).unwrap();
        assert!((2..=most).contains(&asked()), "{}", asked());
    }
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
fn the_second_page_shows_a_disputed_unit() {
    for (unit, asked) in [
        // One request only shows the unit.
        (Offset::Record, vec![(0, 20), (1, 20), (21, 20), (41, 20), (61, 20)]),
        (Offset::PageIndex, vec![(0, 20), (1, 20), (2, 20), (3, 20)]),
    ] {
        let setting = Setting { unit, disputed: true, size: 20, in_flight: 4, ..Setting::of(65) };
        assert_eq!(read::<false>(&setting), (Ok((0..65).collect()), asked), "{unit:?}");
    }
}

/// Equal rows at the end of the first page continue on the second page.
#[test]
fn a_disputed_unit_is_detected_among_equal_rows() {
    for run in 1..30 {
        for size in 2..14 {
            for unit in UNITS {
                let setting =
                    Setting { unit, disputed: true, run, max: 100, size, ..Setting::of(220) };
                // Three equal pages in a row are pages that repeat.
                if 3 * size >= run {
                    let (rows, _) = read::<false>(&setting);
                    assert_eq!(rows, Ok((0..220).collect()), "{run} equal, {size}, {unit:?}");
                }
            }
        }
    }
    let setting = Setting { disputed: true, run: 200, ..Setting::of(200) };
    let error = "List: all rows of the first pages are equal, so it cannot be said what its offset \
                 counts; say it with `offset_is`";
    assert_eq!(read::<false>(&setting), (Err(error.to_owned()), vec![(0, 50), (1, 50)]));
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
    assert_eq!(table.lock().unwrap().asked, [(0, 50), (1, 50), (2, 50), (3, 50), (4, 50)]);
}

/// A list of one row, and a list that changes, do not show the unit to other lists.
#[test]
fn an_uncertain_unit_is_not_stored() {
    let grows = vec![Vec::new(), vec![Change::Insert(500, 3)]];
    for (rows, size, changes) in
        [(1, 50, Vec::new()), (9, 1, Vec::new()), (1, 50, grows.clone()), (6, 50, grows)]
    {
        let setting = Setting { disputed: true, run: 1, size, changes, ..Setting::of(rows) };
        let (list, _) = setting.list::<false>();
        let detected = list.detected.clone();
        let pages = pager::pages(Arc::new(list), setting.pagination(), setting.options());
        block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap();
        assert_eq!(detected.get(), None, "{setting:?}");
    }
}

#[test]
fn a_page_longer_than_requested_is_an_error_or_the_whole_list() {
    let setting = Setting { ignores_limit: true, ..Setting::of(5000) };
    for result in [read::<true>(&setting), read::<false>(&setting)] {
        assert_eq!(result, (Ok((0..5000).collect()), vec![(0, 50)]));
    }
    let setting = Setting { total: false, ..setting };
    for (rows, error, table) in [setting.result::<true>(), setting.result::<false>()] {
        assert_eq!(rows, [0; 0]);
        let error = error.unwrap();
        assert!(!error.is_retryable());
        assert_eq!(
            error.to_string(),
            "List: the service answered 5000 rows where at most 50 were asked for (offset 0), and \
             a page must not be longer than its limit; it seems to ignore the limit, so the list \
             cannot be read in pages: call the operation itself"
        );
        assert_eq!(table.asked, [(0, 50)]);
    }
}

/// Rows that cannot be decoded are counted, and their neighbours are neither lost nor doubled.
#[test]
fn rows_that_could_not_be_read_lose_no_other() {
    for unit in UNITS {
        for unreadable in
            [vec![0], vec![9], vec![10], vec![39], vec![8, 9, 10, 19, 20], (0..40).collect()]
        {
            let readable: Vec<u32> = (0..40).filter(|row| !unreadable.contains(row)).collect();
            let setting = Setting {
                unit,
                documented: unit,
                cap: Some((10, false)),
                echoes_limit: true,
                count: Some(Count::OfPage),
                unreadable,
                run: 1,
                ..Setting::of(40)
            };
            for (rows, _) in [read::<true>(&setting), read::<false>(&setting)] {
                assert_eq!(rows, Ok(readable.clone()), "{setting:?}");
            }
        }
    }
}

#[test]
fn a_list_is_read_on_from_a_position() {
    let setting = Setting { size: 10, ..Setting::of(100) };
    for insert in [0, 2, 70, 400] {
        for delete in [0, 1, 5] {
            let (mut pages, table) = setting.pages::<true>();
            let mut rows = Vec::new();
            let mut position = None;
            for _ in 0..6 {
                let page = block_on(pages.try_next()).unwrap().unwrap();
                rows.extend(page.items);
                position = Some(serde_json::to_string(&page.position).unwrap());
            }
            drop(pages);
            let mut changed = setting.clone();
            {
                let mut table = table.lock().unwrap();
                table.change(Change::Delete(600 - 10 * delete, delete));
                table.change(Change::Insert(0, insert));
                changed.rows = Rows(table.rows.clone());
            }
            let position = serde_json::from_str(&position.unwrap()).unwrap();
            rows.extend(resumed::<true>(&changed, position).0.unwrap());
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
    let position = Position { more: true, ..page.position };
    options.resume = Some(position.clone());
    assert_eq!(
        options.check("Other", 50).unwrap_err().to_string(),
        "resume: the position is one in List, and this is Other"
    );
    let other = Setting { rows: Rows((100..300).collect()), ..setting };
    let error = "List: the list has changed so much while it was read that it cannot be said where \
                 to go on; read it again";
    assert_eq!(resumed::<true>(&other, position).0, Err(error.to_owned()));
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
        let error = options.check("List", 50).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), refused);
    }
}

fn position(read: u64, last: std::ops::Range<u64>) -> Position {
    let last = last.map(|row| row.to_string()).collect();
    Position { list: "List".into(), read, last, more: true, counts: None, search: None }
}

#[test]
fn a_list_whose_last_row_was_removed_ends() {
    let setting = Setting { total: false, ..Setting::of(99) };
    let (rows, asked) = resumed::<true>(&setting, position(100, 70..100));
    assert_eq!(rows, Ok(Vec::new()));
    assert!(asked.len() < 6, "{asked:?}");
}

#[test]
fn a_resumed_list_whose_unit_is_not_known_is_in_order() {
    for unit in UNITS {
        let setting = Setting { unit, disputed: true, total: false, run: 1, ..Setting::of(180) };
        let (rows, _) = resumed::<false>(&setting, position(50, 20..50));
        assert_eq!(rows, Ok((50..180).collect()), "{unit:?}");
    }
}
