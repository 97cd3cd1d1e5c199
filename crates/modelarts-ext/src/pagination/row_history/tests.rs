use super::*;

fn keys(text: &str) -> Vec<String> {
    text.chars().map(String::from).collect()
}

fn known(unique: bool, read: &str) -> RowHistory {
    let mut known = RowHistory::new(unique);
    let read = keys(read);
    let hashes = known.hashes(&read);
    known.admit(&hashes, 0);
    known.remember(read);
    known
}

/// Returns the new rows of `window` after the rows of `read` were read; `None` if the position
/// of the window is unknown.
fn given(unique: bool, read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
    let mut known = known(unique, read);
    let window = keys(window);
    known.split(&window, overlap)?;
    let new = known.admit(&known.hashes(&window), 0);
    let rows = window.into_iter().zip(new);
    Some(rows.filter(|(_, new)| *new).map(|(row, _)| row).collect())
}

/// Returns the rows of `window` that follow those of `read`.
fn behind(read: &str, window: &str, overlap: Option<usize>) -> Option<String> {
    let split = known(false, read).split(&keys(window), overlap)?;
    Some(window.chars().skip(split).collect())
}

#[test]
fn rows_with_an_id_are_known_by_it() {
    let new = |window, overlap| given(true, "abcdef", window, Some(overlap));
    assert_eq!(new("efgh", 2).as_deref(), Some("gh"));
    // Two rows inserted before the window, one row deleted, and row `f` deleted.
    assert_eq!(new("cdef", 2).as_deref(), Some(""));
    assert_eq!(new("fghi", 2).as_deref(), Some("ghi"));
    assert_eq!(new("eghi", 2).as_deref(), Some("ghi"));
    // One row inserted in the middle, and one row listed twice.
    assert_eq!(new("exfgg", 2).as_deref(), Some("xg"));
    assert_eq!(new("ghij", 2), None);
    assert_eq!(new("", 2), None);
    assert_eq!(new("ghij", 0).as_deref(), Some("ghij"));
}

#[test]
fn rows_without_an_id_are_known_by_their_neighbours() {
    let new = |read, window| behind(read, window, Some(4));
    assert_eq!(new("abcdef", "cdefgh").as_deref(), Some("gh"));
    // Among equal rows, the alignment prefers the expected overlap.
    assert_eq!(new("xaaaaa", "aaaaaab").as_deref(), Some("aab"));
    // A shift by two rows to the right, and a row inserted in the middle.
    assert_eq!(new("abcdef", "abcdef").as_deref(), Some(""));
    assert_eq!(new("abcdef", "cdxefg").as_deref(), Some("g"));
    // Too few rows match.
    assert_eq!(new("abcdef", "efghij"), None);
    assert_eq!(new("abcdef", "ghijkl"), None);
    assert_eq!(new("abcdef", ""), None);
}

#[test]
fn rows_without_an_id_are_searched_for() {
    let new = |read, window| behind(read, window, None);
    assert_eq!(new("abcdef", "efghij").as_deref(), Some("ghij"));
    // Rows deleted at the end and in the middle.
    assert_eq!(new("abcdef", "cdeghi").as_deref(), Some("ghi"));
    assert_eq!(new("abcdef", "cefghi").as_deref(), Some("ghi"));
    // One equal row removed, and another one inserted.
    assert_eq!(new("abccc", "bccdd").as_deref(), Some("dd"));
    assert_eq!(new("abcde", "bcdxxxxef").as_deref(), Some("f"));
    assert_eq!(new("abcdef", "ghijkl"), None);
}

#[test]
fn equal_rows_come_as_often_as_one_page_held_them() {
    let new = |read, window| given(false, read, window, Some(4));
    assert_eq!(new("xaaaaa", "aaaaaab").as_deref(), Some("ab"));
    assert_eq!(new("abcdef", "cdxefg").as_deref(), Some("xg"));
    assert_eq!(new("abcdeb", "cdebbb").as_deref(), Some("b"));
}

#[test]
fn rows_are_counted_once_in_a_pass() {
    let mut known = known(false, "");
    let mut confirm = |page, anew| {
        if anew {
            known.begin_pass();
        }
        let hashes = known.hashes(&keys(page));
        known.admit(&hashes, 0);
        known.seen
    };
    assert_eq!(confirm("abb", true), 3);
    assert_eq!(confirm("bbbc", false), 5);
    assert_eq!(confirm("abc", false), 5);
    assert_eq!(confirm("ab", true), 2);
}

#[test]
fn runs_of_equal_rows_need_a_longer_overlap() {
    let overlap = |read: &str| {
        let mut known = RowHistory::new(false);
        known.remember(keys(read));
        known.overlap(10, 20)
    };
    assert_eq!(overlap("abcdefgh"), 10);
    assert_eq!(overlap("abcdeeee"), 12);
    // The overlap includes eight rows before the run.
    assert_eq!(overlap("abcdefaaaaaa"), 14);
    assert_eq!(overlap("xyabababab"), 16);
    assert_eq!(overlap("aaaaaaaaaaaaaaaa"), 20);
}

#[test]
fn the_last_rows_are_remembered_in_full() {
    let mut known = RowHistory::new(true);
    known.remember((0..RECENT_ROWS).map(|row| row.to_string()));
    assert!(!known.has_earlier);
    known.remember(["last".to_owned()]);
    assert!(known.has_earlier);
    assert_eq!(known.recent.len(), RECENT_ROWS);
    let (last, more) = known.saved();
    assert_eq!((last.len(), more), (SAVED_KEYS as usize, true));
    assert!(last.ends_with(&[(RECENT_ROWS - 1).to_string(), "last".into()]));
}

#[test]
fn memory_is_bounded() {
    for unique in [true, false] {
        let mut known = RowHistory::new(unique);
        let rows: Vec<u64> = (0..HASHED_ROWS as u64).collect();
        assert!(known.admit(&rows, 0).iter().all(|new| *new));
        assert!(!known.is_incomplete);
        assert_eq!(known.admit(&[7, u64::MAX, u64::MAX], 0), [false, true, !unique]);
        assert!(known.is_incomplete);
        assert!(!known.has_seen(0));
        assert_eq!(
            (known.rows.len(), known.order.len()),
            match unique {
                true => (HASHED_ROWS, HASHED_ROWS),
                false => (HASHED_ROWS - 1, HASHED_ROWS),
            }
        );
    }
}

/// Returns `true` if the last of these pages shows another order than the pages before it.
fn is_reordered(unique: bool, pages: &[&str]) -> bool {
    let mut history = RowHistory::new(unique);
    let mut is_reordered = false;
    for page in pages {
        let hashes = history.hashes(&keys(page));
        is_reordered = history.is_reordered(&hashes, false);
        history.admit(&hashes, 0);
    }
    is_reordered
}

#[test]
fn inserted_and_removed_rows_keep_the_order() {
    for unique in [true, false] {
        // Two rows inserted at the head, one row inserted in the middle, one row removed, and all
        // rows removed.
        for last in ["cdef", "abcde", "cxdef", "cef", "fg", ""] {
            assert!(!is_reordered(unique, &["abcde", last]), "{last}");
        }
        assert!(!is_reordered(unique, &["abc", "axbcd", "xbcde"]));
        // The rows inserted after row `b` fill the window, so row `c` follows on the next page.
        assert!(!is_reordered(unique, &["abc", "bxy", "xycd"]));
        assert!(!is_reordered(unique, &["abc", "bxy", "xyz", "yzcd"]));
    }
    for pages in [["abbb", "bbbc"], ["xabab", "ababc"], ["xab", "abab"]] {
        assert!(!is_reordered(false, &pages), "{pages:?}");
    }
}

#[test]
fn rows_that_change_places_are_detected() {
    for unique in [true, false] {
        assert!(is_reordered(unique, &["abcde", "dcef"]));
        // Row `a` was read, and occurs again after rows that were read later.
        assert!(is_reordered(unique, &["abc", "bcde", "deaf"]));
        assert!(is_reordered(unique, &["abc", "def", "gbha"]));
    }
}

#[test]
fn a_window_that_follows_the_others_has_no_earlier_row() {
    let history = known(true, "abc");
    let is_reordered = |window| history.is_reordered(&history.hashes(&keys(window)), true);
    // Row `c` is returned again after an insertion.
    assert!(!is_reordered("c") && !is_reordered("d") && !is_reordered("cd"));
    assert!(is_reordered("b") && is_reordered("da"));
}

#[test]
fn a_second_pass_has_its_own_order() {
    let mut history = known(true, "abcd");
    history.begin_pass();
    let hashes = history.hashes(&keys("dcba"));
    assert!(!history.is_reordered(&hashes, false));
    history.admit(&hashes, 0);
    assert!(history.is_reordered(&history.hashes(&keys("abcd")), false));
}
