use super::*;

#[test]
fn rows_move_by_the_change_of_the_total() {
    let explains = |page: &[u64], start, total| {
        let previous = PreviousWindow::new(vec![1, 2, 3, 4], 10, Some(20));
        let now = PreviousWindow::new(page.to_vec(), start, Some(total));
        !previous.is_moved(&now, |row| row < 5)
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
