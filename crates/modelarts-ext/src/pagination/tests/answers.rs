//! Tests of lists whose service states wrong totals, returns short pages, and changes the list
//! between the requests.

use std::{collections::HashSet, fmt::Write as _, future::ready, sync::Arc};

use futures::{TryStreamExt, executor::block_on};

use crate::pagination::{
    page, pager,
    tests::{
        UNITS, counts,
        simulated_list::{Change, Count, Setting},
    },
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
fn outcome<const UNIQUE: bool>(setting: &Setting, what: &str) -> String {
    let (rows, error, table) = setting.result::<UNIQUE>();
    for (row, count) in counts(rows.iter().copied()) {
        assert_eq!(count, 1, "{what}: {row} came {count} times");
    }
    let requests = table.asked.len();
    let most = setting.max_requests(&table);
    assert!(requests <= most, "{what}: {requests} requests, at most {most}");
    if error.is_none() {
        let given: HashSet<u32> = rows.into_iter().collect();
        let lost: Vec<_> = table.stayed.difference(&given).collect();
        assert!(lost.is_empty(), "{what}: lost {lost:?}");
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
        // With pages of one row, a total of 3 is that of a list of three rows.
        let single = ("1", Some((1, false)));
        for (page_name, cap) in PAGES.into_iter().chain((total_name != "pages").then_some(single)) {
            for ties in [2, 5, 40, 122] {
                for (unit, count) in UNITS.into_iter().zip([None, Some(Count::OfPage)]) {
                    for seed in [0, 10, 11, 35, 36, 37, 118] {
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

/// Pages of rows are inserted and removed between the requests.
#[test]
fn no_answer_loses_a_row_of_a_list_that_moves_by_pages() {
    for (total_name, total) in totals(164) {
        for (page_name, cap) in PAGES {
            for (size, in_flight) in [(50, 3), (10, 4)] {
                for seed in 16..20 {
                    let unit = UNITS[seed as usize % 2];
                    let mut rng = fastrand::Rng::with_seed(seed);
                    let mut change = || match rng.u8(..6) {
                        0 => vec![Change::Insert(0, rng.usize(20..100))],
                        1 => vec![Change::Insert(rng.usize(..=1000), rng.usize(20..100))],
                        2 => vec![Change::Delete(rng.usize(..2) * 600, rng.usize(1..60))],
                        _ => Vec::new(),
                    };
                    let setting = Setting {
                        unit,
                        documented: unit,
                        size,
                        in_flight,
                        changes: (0..60).map(|_| change()).collect(),
                        ..setting(164, total, cap, |_| None)
                    };
                    let what = format!(
                        "total {total_name}, pages {page_name}, {size} {in_flight} {unit:?}, {seed}"
                    );
                    outcome::<true>(&setting, &what);
                }
            }
        }
    }
}

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
                    resumed::<true>(&setting, pages, &format!("{what}, ids"));
                    resumed::<false>(&setting, pages, &what);
                }
            }
        }
    }
}

fn resumed<const UNIQUE: bool>(setting: &Setting, pages: usize, what: &str) {
    let (mut first, _) = setting.pages::<UNIQUE>();
    let mut rows = Vec::new();
    let mut options = setting.options();
    for _ in 0..pages {
        let page = block_on(first.try_next()).unwrap().unwrap();
        rows.extend(page.items);
        options.resume = Some(page.position);
    }
    let (list, table) = setting.list::<UNIQUE>();
    let rest = page::rows(pager::pages(Arc::new(list), setting.pagination(), options));
    let error = block_on(rest.try_for_each(|row| {
        rows.push(row);
        ready(Ok(()))
    }));
    for (row, count) in counts(rows.iter().copied()) {
        assert_eq!(count, 1, "{what}: {row} came {count} times");
    }
    let table = table.lock().unwrap();
    if error.is_ok() || what.starts_with("total right") {
        assert_eq!(rows.len(), 141, "{what}: {:?} {error:?}", table.asked);
    }
    let (requests, most) = (table.asked.len(), setting.max_requests(&table));
    assert!(requests <= most, "{what}: {requests} requests, at most {most}");
}

/// The requests for 260 rows in pages of 50 rows, one at a time.
#[test]
fn requests_of_each_combination() {
    let mut table = String::new();
    for (total_name, total) in totals(260) {
        for (page_name, cap) in PAGES {
            write!(table, "{total_name:8} | {page_name:8} |").unwrap();
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
    }
    assert_eq!(table.trim_end(), TABLE.trim(), "{table}");
}

const TABLE: &str = "
right    | as asked |    6    6    6    6    6 |    8    8    8    7    8 |
right    | 20, said |   16   18   18   14   16 |   26   32   32   21   26 |
right    | 20       |   16   18   18   14   16 |   26   32   32   21   26 |
right    | 7        |   52   76   76   76   52 |   65   95   95   87   65 |
low      | as asked |    7   15  29!   19    7 |    9   19  29!   18    9 |
low      | 20, said |   17   40   61   34   17 |   26   59   61   46  47! |
low      | 20       |   17   40   61   34   17 |   26   59   61   46  47! |
low      | 7        |   53  154   77  106   53 |   66  173   96  119 122! |
high     | as asked |  14!   15  29!  19!  14! |  18!   19  29!  18!  18! |
high     | 20, said |  34!   40   61  34!  34! |  47!  59!   61  46!  47! |
high     | 20       |  34!   40   61  34!  34! |  47!  59!   61  46!  47! |
high     | 7        | 106!  154   77 106! 106! | 122! 173!   96 119! 122! |
huge     | as asked |  14!  15!  29!  19!  14! |  18!  19!  29!  18!  18! |
huge     | 20, said |  34!  40!  65!  34!  34! |  47!  59!  65!  46!  47! |
huge     | 20       |  34!  40!  65!  34!  34! |  47!  59!  65!  46!  47! |
huge     | 7        | 106! 154! 154! 106! 106! | 122! 173! 173! 119! 122! |
absent   | as asked |    7   15  29!   19    7 |    9   19  29!   18    9 |
absent   | 20, said |   17   40   61   34   17 |   26   59   61   46  47! |
absent   | 20       |   17   40   61   34   17 |   26   59   61   46  47! |
absent   | 7        |   53  154   77   89   53 |   66  173   96  119 122! |
negative | as asked |    7   15  29!   19    7 |    9   19  29!   18    9 |
negative | 20, said |   17   40   61   34   17 |   26   59   61   46  47! |
negative | 20       |   17   40   61   34   17 |   26   59   61   46  47! |
negative | 7        |   53  154   77   89   53 |   66  173   96  119 122! |
zero     | as asked |    7   15  29!   19    7 |    9   19  29!   18    9 |
zero     | 20, said |   17   40   61   34   17 |   26   59   61   46  47! |
zero     | 20       |   17   40   61   34   17 |   26   59   61   46  47! |
zero     | 7        |   53  154   77   89   53 |   66  173   96  119 122! |
pages    | as asked |    7   15  29!   19    7 |    9   19  29!   18    9 |
pages    | 20, said |   17   40   61   34   17 |   26   59   61   46  47! |
pages    | 20       |   17   40   61   34   17 |   26   59   61   46  47! |
pages    | 7        |   53  154   77   89   53 |   66  173   96  119 122! |
";

#[test]
fn a_huge_total_takes_few_requests() {
    for rows in [50, 99, 141] {
        let setting = setting(rows, Some(Some(i64::MAX)), None, |_| Some(Change::Insert(0, 2)));
        for (_, error, table) in [setting.result::<true>(), setting.result::<false>()] {
            assert!(error.is_some());
            let most = 3 * rows.div_ceil(50) as usize + 8;
            assert!(table.asked.len() <= most, "{rows} rows: {}", table.asked.len());
        }
    }
}
