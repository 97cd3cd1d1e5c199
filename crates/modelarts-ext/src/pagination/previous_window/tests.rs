use std::collections::HashSet;

use super::*;

/// Returns the doubt after the last of these pages, of a list whose length is not stated.
fn doubt(pages: &[&[u64]]) -> Doubt {
    let mut known = HashSet::new();
    let mut previous = PreviousWindow::default();
    let mut doubt = Doubt::None;
    for page in pages {
        let now = PreviousWindow::new(page.to_vec(), 0, None);
        doubt = previous.compare(&now, |row| known.contains(&row));
        previous.replace(now, |row| known.contains(&row));
        known.extend(page.iter().copied());
    }
    doubt
}

#[test]
fn inserted_and_removed_rows_keep_the_order() {
    for last in [
        &[3, 4, 5, 6][..],
        // Two rows inserted at the head, one row inserted in the middle, one row removed, and
        // all rows removed.
        &[1, 2, 3, 4, 5],
        &[3, 90, 4, 5, 6],
        &[3, 5, 6],
        &[6, 7],
        &[],
    ] {
        assert_eq!(doubt(&[&[1, 2, 3, 4, 5], last]), Doubt::None, "{last:?}");
    }
    let pushed_back = [&[1, 2, 3][..], &[2, 90, 91], &[90, 91, 3, 4]];
    assert_eq!(doubt(&pushed_back), Doubt::None);
    // Equal rows without an id do not show a changed order.
    assert_eq!(doubt(&[&[1, 2, 2, 2], &[2, 2, 2, 3]]), Doubt::None);
}

#[test]
fn rows_that_change_places_are_detected() {
    assert_eq!(doubt(&[&[1, 2, 3, 4, 5], &[4, 3, 5, 6]]), Doubt::Reordered);
    // Row 1 was read, and occurs again after rows that were read later.
    let again = [&[1, 2, 3][..], &[2, 3, 4, 5], &[4, 5, 1, 6]];
    assert_eq!(doubt(&again), Doubt::Reordered);
}

#[test]
fn rows_move_by_the_change_of_the_total() {
    let explains = |page: &[u64], start, total| {
        let previous = PreviousWindow::new(vec![1, 2, 3, 4], 10, Some(20));
        let now = PreviousWindow::new(page.to_vec(), start, Some(total));
        previous.compare(&now, |row| row < 5) == Doubt::None
    };
    assert!(explains(&[3, 4, 5], 12, 20));
    // One or two rows inserted at the beginning or farther back, and two rows removed.
    assert!(explains(&[2, 3, 4], 12, 21));
    assert!(explains(&[3, 4, 5], 12, 22));
    assert!(explains(&[4], 11, 18));
    assert!(explains(&[7, 8], 12, 21));
    assert!(!explains(&[2, 3, 4], 12, 20));
    assert!(!explains(&[2, 3, 4], 12, 22));
    assert!(!explains(&[9, 3, 4], 11, 20));
    assert!(!explains(&[4, 5], 12, 20));
    assert!(!explains(&[2, 3, 4], 12, 18));
    // Two rows after row 2 are gone, or were moved before the window.
    assert!(!explains(&[2, 7, 8], 11, 18));
}
