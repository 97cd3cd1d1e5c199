//! Tests of lists that change while they are read.

use std::collections::HashSet;

use modelarts_api::Offset;
use proptest::prelude::*;

use crate::pagination::tests::{
    UNITS, config, counts, read,
    simulated_list::{Change, Setting},
};

const HAS_CHANGED: &str = "List: the list has changed while it was read, so rows may be missing \
                           among those that came; read it again";

/// Changes the list before one request.
fn once(request: usize, change: Change) -> Vec<Vec<Change>> {
    let mut changes = vec![Vec::new(); request + 1];
    changes[request] = vec![change];
    changes
}

/// A new row at the front moves a known row to the next page.
#[test]
fn inserted_rows_need_no_second_pass() {
    for unit in UNITS {
        let setting = Setting {
            unit,
            documented: unit,
            changes: once(2, Change::Insert(0, 5)),
            ..Setting::of(200)
        };
        let (rows, asked) = read::<true>(&setting);
        assert_eq!(rows, Ok((0..200).collect()), "{unit:?}");
        assert!(asked.len() <= 7, "{asked:?}");
    }
}

/// Two of three overlapping rows may be removed. If all are removed, a second pass returns the rows
/// that moved to pages that were read.
#[test]
fn removed_rows_bring_one_second_pass() {
    for (removed, requests) in [(2, 6), (3, 14), (40, 12)] {
        let setting = Setting { changes: once(2, Change::Delete(0, removed)), ..Setting::of(250) };
        let (rows, asked) = read::<true>(&setting);
        assert_eq!(counts(rows.unwrap()), counts(0..250), "{removed}");
        assert_eq!(asked.len(), requests, "{removed} {asked:?}");
    }
}

/// Pages of one row do not overlap: the stated number shows the removal.
#[test]
fn a_smaller_count_brings_a_second_pass_where_no_rows_overlap() {
    let setting = Setting {
        unit: Offset::PageIndex,
        documented: Offset::PageIndex,
        cap: Some((1, false)),
        changes: once(5, Change::Delete(0, 1)),
        ..Setting::of(12)
    };
    let (rows, asked) = read::<true>(&setting);
    assert_eq!(rows.map(counts), Ok(counts(0..12)));
    assert!(asked.len() <= 26, "{asked:?}");
}

/// Pages of one row do not overlap: a row that comes again may have changed places with another.
#[test]
fn rows_that_change_places_are_noticed_where_no_rows_overlap() {
    for seed in 0..4 {
        let setting = Setting {
            cap: Some((1, false)),
            changes: once(5, Change::Shuffle(340, 2, seed)),
            ..Setting::of(12)
        };
        assert_eq!(read::<true>(&setting).0.map(counts), Ok(counts(0..12)), "{seed}");
    }
}

/// Rows without an id cannot be told apart.
#[test]
fn a_list_without_ids_that_becomes_shorter_says_so() {
    let shorter = Setting { changes: once(1, Change::Delete(0, 2)), ..Setting::of(150) };
    assert_eq!(read::<false>(&shorter).0, Err(HAS_CHANGED.to_owned()));
    // Rows that were added at the end are returned.
    let longer = Setting { run: 1, changes: once(1, Change::Insert(1000, 2)), ..Setting::of(150) };
    assert_eq!(read::<false>(&longer).0.unwrap().len(), 152);
}

/// The service states a smaller limit late, so the next window must overlap the page as it is.
#[test]
fn a_row_that_was_removed_is_noticed_after_a_smaller_limit() {
    let setting = Setting {
        unit: Offset::PageIndex,
        documented: Offset::PageIndex,
        cap: Some((43, true)),
        total: false,
        size: 33,
        changes: once(3, Change::Delete(0, 1)),
        ..Setting::of(91)
    };
    assert_eq!(read::<true>(&setting).0.map(counts), Ok(counts(0..91)));
}

/// A known row behind a new one has changed places with a row that was not read.
#[test]
fn a_row_that_changed_places_behind_the_overlap_is_noticed() {
    let setting = Setting {
        unit: Offset::PageIndex,
        documented: Offset::PageIndex,
        cap: Some((20, false)),
        total: false,
        size: 21,
        changes: once(1, Change::Shuffle(173, 7, 2_330_288_833_514_284_437)),
        ..Setting::of(87)
    };
    assert_eq!(read::<true>(&setting).0.map(counts), Ok(counts(0..87)));
}

/// Rows with equal creation times change places before each request.
#[test]
fn a_list_of_as_many_rows_as_stated_is_complete() {
    for seed in 0..20_u64 {
        let shuffled = |request: u64| vec![Change::Shuffle(460, 4, seed + request)];
        let setting = Setting { changes: (0..20).map(shuffled).collect(), ..Setting::of(100) };
        let (rows, asked) = read::<true>(&setting);
        assert_eq!(rows.map(counts), Ok(counts(0..100)), "{asked:?}");
    }
}

/// Before each request, the rows change places, so that two passes do not show that all came.
#[test]
fn a_list_whose_order_never_settles_is_an_error() {
    let shuffled = |seed| vec![Change::Shuffle(0, 100, seed)];
    for size in [50, 10] {
        let changes: Vec<_> = (0..200).map(shuffled).collect();
        let setting = Setting { total: false, size, changes, ..Setting::of(100) };
        let (rows, asked) = read::<true>(&setting);
        assert!(rows.is_err_and(|error| error.contains("the list has changed")), "{size}");
        assert!(asked.len() <= 3 * 100 / size as usize + 8, "{asked:?}");
    }
}

#[test]
fn a_row_that_comes_in_while_the_unit_is_detected_ends_no_list() {
    for unit in UNITS {
        for documented in UNITS {
            for (part, request) in [(0, 1), (0, 2), (500, 1), (1000, 1), (0, 3)] {
                let changes = once(request, Change::Insert(part, 1));
                let setting =
                    Setting { unit, documented, disputed: true, changes, ..Setting::of(300) };
                let (rows, asked) = read::<true>(&setting);
                let mut stayed: Vec<u32> = rows.unwrap();
                stayed.retain(|row| *row < 300);
                assert_eq!(counts(stayed), counts(0..300), "{setting:?}");
                assert!(asked.len() <= 12, "{setting:?} {asked:?}");
            }
        }
    }
}

/// Generates insertions and removals at any place, and changes of places.
fn settings() -> impl Strategy<Value = Setting> {
    let part = prop_oneof![Just(0), Just(1000), 0..=1000_usize];
    let rows = prop_oneof![3 => 1..=5_usize, 1 => 1..=120_usize];
    let change = (part, rows, 0..3_u8, 2..=20_usize, any::<u64>());
    let change = change.prop_map(|(part, count, kind, span, seed)| match kind {
        0 => Change::Insert(part, count),
        1 => Change::Delete(part, count),
        _ => Change::Shuffle(part, span, seed),
    });
    let changes = prop_oneof![3 => Just(Vec::new()), 1 => prop::collection::vec(change, 1..=2)];
    let unit = || prop::sample::select(&UNITS[..]);
    let cap = prop_oneof![2 => Just(None), 1 => (1..50_u32, any::<bool>()).prop_map(Some)];
    let list = (0..400_u32, unit(), unit(), any::<bool>(), any::<bool>(), cap);
    let total = prop_oneof![3 => Just(0), 1 => 1..20_i64];
    let reading = (1..=50_u32, prop_oneof![Just(1), 2..6_usize], total);
    let delays = prop::collection::vec(0..5_u8, 1..9);
    let changes = (prop::collection::vec(changes, 0..60), delays);
    (list, reading, changes).prop_map(
        |(
            (rows, unit, documented, disputed, total, cap),
            (size, in_flight, total_error),
            (changes, delays),
        )| Setting {
            run: 1,
            unit,
            documented: if disputed { documented } else { unit },
            disputed,
            cap,
            total,
            total_error,
            size,
            in_flight,
            changes,
            delays,
            ..Setting::of(rows)
        },
    )
}

proptest! {
    #![proptest_config(config())]

    /// A list that ends without an error has returned each row that was there all the time, once.
    #[test]
    fn no_list_ends_well_with_a_row_missing(setting in settings()) {
        let (rows, error, table) = setting.result::<true>();
        for (row, count) in counts(rows.iter().copied()) {
            prop_assert_eq!(count, 1, "{} came twice", row);
        }
        prop_assert!(table.asked.len() <= setting.max_requests(&table), "{}", table.asked.len());
        // While the unit is detected, and where short pages cannot overlap, a removal and an
        // insertion between the same two requests are not seen.
        let has_overlap = !setting.disputed && setting.cap.is_none_or(|(cap, _)| cap >= 10);
        if !has_overlap && table.changed > 0 {
            return Ok(());
        }
        if error.is_none() {
            let given: HashSet<u32> = rows.into_iter().collect();
            for row in &table.stayed {
                prop_assert!(given.contains(row), "{} was lost", row);
            }
        } else {
            prop_assert!(table.changed > 0, "{error:?}");
        }
        let (_, _, table) = setting.result::<false>();
        let most = setting.max_requests(&table);
        // Rows that come twice because of a wrong unit cannot be recognized without ids.
        prop_assert!(setting.disputed || table.asked.len() <= most, "{}", table.asked.len());
    }
}
