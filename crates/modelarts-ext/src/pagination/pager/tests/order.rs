//! Tests of lists whose order, total or offset is unreliable.

use std::{collections::HashSet, sync::Arc};

use futures::{TryStreamExt, executor::block_on};
use proptest::prelude::*;

use crate::{
    error::Error,
    pagination::{
        page,
        pager::{
            self,
            tests::{
                MEANINGS, config, counts,
                simulated_list::{Change, Count, Rows, Setting, Table},
            },
        },
        position::Position,
    },
};

/// Reads a list. Returns the rows before its end or an error, the error, and the list afterwards.
fn read<const UNIQUE: bool>(setting: &Setting) -> (Vec<u32>, Option<Error>, Table) {
    let (pages, table) = setting.pages::<UNIQUE>();
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

/// Returns the changes before each of the requests, computed by the same function.
fn always(requests: usize, changes: impl Fn(u64) -> Vec<Change>) -> Vec<Vec<Change>> {
    (0..requests)
        .map(|request| changes(request as u64))
        .collect()
}

#[test]
fn a_row_that_comes_in_while_the_offset_is_found_out_ends_no_list() {
    for meaning in MEANINGS {
        for documented in MEANINGS {
            for (part, request) in [(0, 1), (0, 2), (500, 1), (1000, 1), (0, 3)] {
                let mut changes = vec![Vec::new(); 4];
                changes[request] = vec![Change::Insert(part, 1)];
                let setting = Setting {
                    meaning,
                    documented,
                    disputed: true,
                    changes,
                    ..Setting::of(300)
                };
                let what = format!("{meaning:?} {documented:?} {part} {request}");
                let (rows, error, table) = read::<true>(&setting);
                assert_eq!(error.map(|error| error.to_string()), None, "{what}");
                let mut stayed: Vec<u32> = rows.into_iter().filter(|row| *row < 300).collect();
                stayed.sort_unstable();
                assert_eq!(stayed, (0..300).collect::<Vec<_>>(), "{what}");
                assert!(table.asked.len() <= 12, "{what}: {:?}", table.asked);
                let (rows, error, _) = read::<false>(&setting);
                assert_eq!(error.map(|error| error.to_string()), None, "{what}");
                let stayed: HashSet<u32> = rows.iter().copied().filter(|row| *row < 300).collect();
                assert_eq!((stayed.len(), rows.len() <= 301), (300, true), "{what}");
            }
        }
    }
}

/// Equal rows that are not neighbours neither locate the beginning of a page nor show a changed
/// order.
#[test]
fn equal_rows_with_others_between_them_are_read_completely() {
    let rows: Vec<u32> = (6..60)
        .flat_map(|row| [3 * row, 3 * (row - 6) + 1])
        .collect();
    for meaning in MEANINGS {
        for documented in MEANINGS {
            for size in [1, 3, 10, 50] {
                let setting = Setting {
                    rows: Rows(rows.clone()),
                    meaning,
                    documented,
                    disputed: true,
                    size,
                    ..Setting::of(0)
                };
                let what = format!("{meaning:?} {documented:?} {size}");
                let (given, error, table) = read::<false>(&setting);
                assert_eq!(
                    error.map(|error| error.to_string()),
                    None,
                    "{what} {:?}",
                    table.asked
                );
                let kinds = |rows: &[u32]| {
                    let mut kinds: Vec<u32> = rows.iter().map(|row| row / 3).collect();
                    kinds.sort_unstable();
                    kinds
                };
                assert_eq!(kinds(&given), kinds(&rows), "{what}");
                assert!(table.asked.len() <= 300, "{what}: {:?}", table.asked);
            }
        }
    }
}

#[test]
fn rows_of_one_time_in_any_order_come_once() {
    for meaning in MEANINGS {
        for (size, disputed) in [(50, false), (50, true), (10, false), (1, false)] {
            let setting = Setting {
                meaning,
                documented: meaning,
                disputed,
                run: 1,
                size,
                changes: always(5000, |seed| vec![Change::Shuffle(0, 100, seed)]),
                ..Setting::of(100)
            };
            let what = format!("{meaning:?} {size} {disputed}");
            for (rows, error, table) in [read::<true>(&setting), read::<false>(&setting)] {
                let given: HashSet<u32> = rows.iter().copied().collect();
                assert_eq!(given.len(), rows.len(), "{what}");
                assert!(
                    error.is_some() || rows.len() == 100,
                    "{what}: {}",
                    rows.len()
                );
                assert!(
                    table.asked.len() <= 2 * (64 + 4 * 100),
                    "{what}: {}",
                    table.asked.len()
                );
            }
        }
    }
}

#[test]
fn a_list_that_ends_below_its_total_says_so_after_its_rows() {
    let setting = Setting {
        total_error: 7,
        ..Setting::of(60)
    };
    for (rows, error, table) in [read::<true>(&setting), read::<false>(&setting)] {
        assert_eq!(rows, (0..60).collect::<Vec<_>>());
        let error = error.unwrap();
        assert_eq!(error.position().map(Position::rows), Some(60));
        assert!(error.is_retryable());
        assert_eq!(
            error.to_string(),
            "List: the list ended after 60 of the 67 rows that the service stated; read on \
             from the position of this error, or read it again"
        );
        assert!(table.asked.len() <= 10, "{:?}", table.asked);
    }
    // A total that is too small does not end the list.
    let setting = Setting {
        total_error: -7,
        ..Setting::of(60)
    };
    let (rows, error, _) = read::<true>(&setting);
    assert_eq!(rows, (0..60).collect::<Vec<_>>());
    assert!(error.is_none(), "{error:?}");
}

#[test]
fn rows_that_could_not_be_read_are_counted_once_when_a_list_is_read_again() {
    let unreadable: Vec<u32> = (10..17).collect();
    let readable: Vec<u32> = (0..60).filter(|row| !unreadable.contains(row)).collect();
    let whole = Setting {
        unreadable,
        ..Setting::of(60)
    };
    let short = Setting {
        total_error: 7,
        ..whole.clone()
    };
    let ended = "List: the list ended after 60 of the 67 rows that the service stated; read on \
                 from the position of this error, or read it again";
    for (setting, end) in [(&whole, None), (&short, Some(ended))] {
        for (mut rows, error, _) in [read::<true>(setting), read::<false>(setting)] {
            rows.sort_unstable();
            assert_eq!(rows, readable, "{setting:?}");
            let error = error.map(|error| error.to_string());
            assert_eq!(error.as_deref(), end, "{setting:?}");
        }
    }
}

/// The position counts unreadable rows, and so does a reread of the list.
#[test]
fn rows_that_could_not_be_read_before_a_position_are_counted_once() {
    let setting = Setting {
        unreadable: (10..17).collect(),
        total_error: 7,
        size: 30,
        ..Setting::of(60)
    };
    let (mut pages, _) = setting.pages::<true>();
    let position = block_on(pages.try_next()).unwrap().unwrap().position;
    assert_eq!((position.rows(), position.more), (30, false));
    let mut options = setting.options();
    options.resume = Some(position);
    let (list, _) = setting.list::<true>();
    let pages = pager::pages(Arc::new(list), setting.pagination(), options);
    let error = block_on(page::rows(pages).try_collect::<Vec<_>>()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "List: the list ended after 60 of the 67 rows that the service stated; read on from the \
         position of this error, or read it again"
    );
}

#[test]
fn the_largest_total_is_a_number_like_others() {
    let setting = Setting {
        total_error: i64::MAX - 60,
        ..Setting::of(60)
    };
    for (rows, error, table) in [read::<true>(&setting), read::<false>(&setting)] {
        assert_eq!(rows, (0..60).collect::<Vec<_>>());
        assert_eq!(
            error.unwrap().to_string(),
            "List: the list ended after 60 of the 9223372036854775807 rows that the service \
             stated; read on from the position of this error, or read it again"
        );
        assert!(table.asked.len() <= 10, "{:?}", table.asked);
    }
}

/// The total may include rows that the conditions exclude, and the count only those of a page.
#[test]
fn a_list_may_have_fewer_rows_than_a_total_that_is_not_its_own() {
    for (filtered, count, others, cap) in [
        (true, Count::Matching, 500, None),
        (true, Count::OfPage, 500, None),
        (false, Count::Matching, 500, None),
        (false, Count::OfPage, 0, None),
        (false, Count::OfPage, 0, Some((20, false))),
        (false, Count::Matching, 0, Some((20, false))),
    ] {
        for length in [0, 19, 20, 49, 50, 65, 100] {
            let setting = Setting {
                filtered,
                count: Some(count),
                total_error: others,
                cap,
                ..Setting::of(length)
            };
            let what = format!("{filtered} {count:?} {others} {cap:?} {length}");
            let (rows, error, table) = read::<true>(&setting);
            assert_eq!(rows, (0..length).collect::<Vec<_>>(), "{what}");
            assert!(error.is_none(), "{what}: {error:?}");
            assert!(table.asked.len() <= 12, "{what}: {:?}", table.asked);
        }
    }
    // Without conditions, the stated total is the number of rows of the list.
    let setting = Setting {
        count: Some(Count::OfPage),
        total_error: 7,
        ..Setting::of(60)
    };
    assert!(read::<true>(&setting).1.is_some());
}

#[test]
fn a_page_longer_than_requested_is_an_error_or_the_whole_list() {
    let setting = Setting {
        ignores_limit: true,
        ..Setting::of(5000)
    };
    for (rows, error, table) in [read::<true>(&setting), read::<false>(&setting)] {
        assert_eq!(rows, (0..5000).collect::<Vec<_>>());
        assert!(error.is_none(), "{error:?}");
        assert_eq!(table.asked, [(0, 50)]);
    }
    let setting = Setting {
        total: false,
        ..setting
    };
    for (rows, error, table) in [read::<true>(&setting), read::<false>(&setting)] {
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

/// Generates insertions and removals anywhere, and changes of place among rows with equal times.
fn history() -> impl Strategy<Value = Setting> {
    let change = (
        prop_oneof![Just(0), Just(1000), 0..=1000_usize],
        1..=5_usize,
        0..3_u8,
        2..=20_usize,
        any::<u64>(),
    );
    let change = change.prop_map(|(part, count, kind, span, seed)| match kind {
        0 => Change::Insert(part, count),
        1 => Change::Delete(part, count),
        _ => Change::Shuffle(part, span, seed),
    });
    let one = prop_oneof![
        3 => Just(Vec::new()),
        1 => prop::collection::vec(change, 1..=2),
    ];
    let list = (
        0..300_u32,
        prop::sample::select(&MEANINGS[..]),
        prop::sample::select(&MEANINGS[..]),
        any::<bool>(),
        prop_oneof![4 => Just(0), 1 => -20..20_i64],
    );
    let reading = (5..=50_u32, prop_oneof![Just(1), 2..6_usize], any::<bool>());
    (list, reading, prop::collection::vec(one, 0..60)).prop_map(
        |(
            (rows, meaning, documented, total, total_error),
            (size, in_flight, disputed),
            changes,
        )| {
            Setting {
                run: 1,
                meaning,
                documented: if disputed { documented } else { meaning },
                disputed,
                total,
                total_error,
                size,
                in_flight,
                changes,
                ..Setting::of(rows)
            }
        },
    )
}

fn check(setting: &Setting, result: (Vec<u32>, Option<Error>, Table)) -> Result<(), TestCaseError> {
    let (rows, error, table) = result;
    for (row, count) in counts(rows.iter().copied()) {
        prop_assert_eq!(count, 1, "{} came twice", row);
    }
    // The limit allows for one reading and one reread.
    let most = 2 * (64 + 4 * (table.came.len() + 20));
    prop_assert!(table.asked.len() <= most, "{} requests", table.asked.len());
    if error.is_none() && setting.total && setting.total_error >= 0 {
        let given: HashSet<u32> = rows.into_iter().collect();
        for row in &table.stayed {
            prop_assert!(given.contains(row), "{} was lost", row);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_list_ends_well_with_a_row_missing(setting in history()) {
        check(&setting, read::<true>(&setting))?;
        check(&setting, read::<false>(&setting))?;
    }
}
