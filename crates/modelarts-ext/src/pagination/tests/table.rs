//! Tests of each combination of stated totals, page sizes and changes.

use std::{collections::HashSet, fmt::Write as _};

use futures::{TryStreamExt, executor::block_on};

use crate::pagination::tests::{
    UNITS, counts, resumed,
    simulated_list::{Change, Count, Setting},
};

/// A property of the responses, with the name that the table below has for it.
type Named<T> = (&'static str, T);

/// The total that the responses to a list with this number of rows state; `None` for the right one.
fn totals(rows: u32) -> [Named<Option<Option<i64>>>; 8] {
    let rows = i64::from(rows);
    [
        ("right", None),
        ("low", Some(Some(rows / 2 + 1))),
        ("high", Some(Some(rows + 7))),
        ("huge", Some(Some(i64::MAX))),
        ("absent", Some(None)),
        ("negative", Some(Some(-1))),
        ("zero", Some(Some(0))),
        ("pages", Some(Some(rows / 50 + 1))),
    ]
}

/// The size to which the service limits pages, and `true` if it states this size.
const PAGES: [Named<Option<(u32, bool)>>; 4] = [
    ("as asked", None),
    ("20, said", Some((20, true))),
    ("20", Some((20, false))),
    ("7", Some((7, false))),
];

/// The change before a request with this number.
type ChangeBefore = fn(u64) -> Option<Change>;

/// The changes before each request.
const CHANGES: [Named<ChangeBefore>; 5] = [
    ("none", |_| None),
    ("insert", |_| Some(Change::Insert(0, 2))),
    ("append", |_| Some(Change::Insert(1000, 2))),
    ("remove", |_| Some(Change::Delete(0, 2))),
    ("ties", |seed| Some(Change::Shuffle((seed as usize * 37) % 1000, 6, seed))),
];

/// Reads a list. Returns the number of requests, followed by `!` if the list ended with an error.
/// Rows without an id are returned as served, so they are compared only if the list did not change.
fn outcome<const UNIQUE: bool>(setting: &Setting, what: &str) -> String {
    let (rows, error, table) = setting.result::<UNIQUE>();
    let is_exact = UNIQUE || table.changed == 0;
    for (row, count) in counts(rows.iter().copied()) {
        assert!(!is_exact || count == 1, "{what}: {row} came {count} times");
    }
    let requests = table.asked.len();
    let most = setting.max_requests(&table);
    assert!(requests <= most, "{what}: {requests} requests, at most {most}");
    if error.is_none() && is_exact {
        let given: HashSet<u32> = rows.into_iter().collect();
        let lost: Vec<_> = table.stayed.difference(&given).collect();
        assert!(lost.is_empty(), "{what}: lost {lost:?} {:?}", table.asked);
    }
    format!("{requests}{}", if error.is_some() { "!" } else { "" })
}

fn setting(
    rows: u32,
    total: Option<Option<i64>>,
    cap: Option<(u32, bool)>,
    change: ChangeBefore,
) -> Setting {
    Setting {
        run: 1,
        cap,
        total: total != Some(None),
        stated: total.flatten(),
        changes: (0..60).map(|seed| change(seed).into_iter().collect()).collect(),
        ..Setting::of(rows)
    }
}

#[test]
fn no_answer_loses_a_row_or_takes_too_many_requests() {
    for rows in [0, 1, 6, 19, 51, 99, 141] {
        for (total_name, total) in totals(rows) {
            for (page_name, cap) in PAGES {
                for (change_name, change) in CHANGES {
                    for (size, in_flight) in [(50, 4), (10, 4), (1, 1)] {
                        for unit in UNITS {
                            let setting = Setting {
                                unit,
                                documented: unit,
                                size,
                                in_flight,
                                ..setting(rows, total, cap, change)
                            };
                            let what = format!(
                                "{rows} rows, total {total_name}, pages {page_name}, \
                                 {change_name}, {size} {in_flight} {unit:?}"
                            );
                            outcome::<true>(&setting, &format!("{what}, ids"));
                            outcome::<false>(&setting, &what);
                        }
                    }
                }
            }
        }
    }
}

/// Before each request, all rows with equal creation times change places.
#[test]
fn no_answer_loses_a_row_of_a_list_whose_ties_change_places() {
    for (total_name, total) in totals(122).into_iter().chain([("pages of 7", Some(Some(18)))]) {
        // Without a total, the number of rows on a page is the number of rows of the list.
        let is_usable = total.is_none_or(|total| total.is_some_and(|total| total >= 0));
        for (page_name, cap) in PAGES.into_iter().chain([("1", Some((1, false)))]) {
            for ties in [2, 5, 40, 122] {
                for (unit, count) in UNITS.into_iter().zip([None, Some(Count::OfPage)]) {
                    for seed in 0..SEEDS_OF_TIES {
                        let shuffled = |request: u64| {
                            let runs = (0..1000).step_by(1000 * ties / 122);
                            let seed = 1000 * seed + request;
                            runs.map(|at| Change::Shuffle(at, ties, seed)).collect()
                        };
                        let setting = Setting {
                            unit,
                            documented: unit,
                            count: count.filter(|_| is_usable),
                            changes: (0..200).map(shuffled).collect(),
                            ..setting(122, total, cap, |_| None)
                        };
                        let what = format!(
                            "total {total_name}, pages {page_name}, ties of {ties}, {count:?}, \
                             {unit:?}, {seed}"
                        );
                        outcome::<true>(&setting, &what);
                    }
                }
            }
        }
    }
}

const SEEDS_OF_TIES: u64 = 8;

/// A list is resumed by another process, which does not know the size of the pages of the service.
#[test]
fn no_answer_loses_a_row_of_a_resumed_list() {
    for (total_name, total) in totals(141) {
        for (page_name, cap) in PAGES {
            for (size, pages) in [(50, 1), (10, 1), (10, 3), (7, 4), (1, 5)] {
                for unit in UNITS {
                    let setting = Setting {
                        unit,
                        documented: unit,
                        size,
                        ..setting(141, total, cap, |_| None)
                    };
                    let what = format!(
                        "total {total_name}, pages {page_name}, {size} rows, {pages} pages, \
                         {unit:?}"
                    );
                    read_on::<true>(&setting, pages, &format!("{what}, ids"));
                    read_on::<false>(&setting, pages, &what);
                }
            }
        }
    }
}

fn read_on<const UNIQUE: bool>(setting: &Setting, pages: usize, what: &str) {
    let (mut first, table) = setting.pages::<UNIQUE>();
    let mut rows = Vec::new();
    let mut position = None;
    for _ in 0..pages {
        let page = block_on(first.try_next()).unwrap().unwrap();
        rows.extend(page.items);
        position = Some(page.position);
    }
    let (rest, asked) = resumed::<UNIQUE>(setting, position.unwrap());
    rows.extend(rest.unwrap_or_else(|error| panic!("{what}: {error} {asked:?}")));
    assert_eq!(counts(rows), counts(0..141), "{what}: {asked:?}");
    let most = setting.max_requests(&table.lock().unwrap());
    assert!(asked.len() <= most, "{what}: {} requests, at most {most}", asked.len());
}

/// The requests for 260 rows in pages of 50 rows, one at a time, with an id and without one. All
/// totals that are wrong have the same requests.
#[test]
fn requests_of_each_combination() {
    for (total_name, total) in totals(260) {
        let mut table = String::new();
        for (page_name, cap) in PAGES {
            write!(table, "{page_name:8} |").unwrap();
            for ids in [true, false] {
                for (name, change) in CHANGES {
                    let setting = setting(260, total, cap, change);
                    let outcome = match ids {
                        true => outcome::<true>(&setting, name),
                        false => outcome::<false>(&setting, name),
                    };
                    write!(table, " {outcome:>4}").unwrap();
                }
                table += " |";
            }
            table += "\n";
        }
        let expected = if total.is_none() { RIGHT_TOTAL } else { WRONG_TOTAL };
        assert_eq!(table.trim_end(), expected.trim(), "{total_name}\n{table}");
    }
}

const RIGHT_TOTAL: &str = "
as asked |    6    6    6    6    6 |    6    6    6   6!    6 |
20, said |   16   18   18   14   16 |   14   15   15  13!   14 |
20       |   17   19   61   15   17 |   14  19!   61  13!   14 |
7        |   53   77   77  67!   53 |   39  56!   61  30!   39 |
";

const WRONG_TOTAL: &str = "
as asked |    7    7  29!    7    7 |    7  10!  29!    6    7 |
20, said |   17   19   61   15   17 |   14  19!   61   13   14 |
20       |   17   19   61   15   17 |   14  19!   61   13   14 |
7        |   53   77   77  67!   53 |   39  56!   61   30   39 |
";
