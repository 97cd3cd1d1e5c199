use super::*;

fn plan(meaning: OffsetUnit, size: u32) -> WindowPlan {
    WindowPlan { unit: meaning, size, max: 50, overlap: 3, divisor: 3, limits: &[] }
}

/// Returns the window after the first `read` rows, with the usual overlap.
fn after(plan: WindowPlan, read: u64) -> Window {
    plan.overlapping(read, plan.overlap.min(plan.max / 2))
}

#[test]
fn windows_overlap_and_bring_nearly_all_that_fits() {
    for meaning in [OffsetUnit::Pages, OffsetUnit::Records] {
        let mut read = 0;
        let mut windows = 0;
        while read < 10_000 {
            let window = after(plan(meaning, 50), read);
            assert!(window.limit <= 50);
            assert!(window.start + read.min(3) <= read, "{meaning:?} {read}");
            assert!(window.end() > read, "{meaning:?} {read}");
            read = window.end();
            windows += 1;
        }
        // Without an overlap, 200 windows would be enough.
        assert!(windows <= 260, "{meaning:?} {windows}");
    }
}

#[test]
fn small_pages_have_the_requested_rows() {
    let sizes = |meaning| {
        let mut read = 0;
        let windows = (0..5).map(move |_| {
            let window = after(plan(meaning, 2), read);
            let new = window.end() - read;
            read = window.end();
            (window.start, new)
        });
        windows.collect::<Vec<_>>()
    };
    let record = [(0, 2), (0, 2), (1, 2), (3, 2), (5, 2)];
    assert_eq!(sizes(OffsetUnit::Records), record);
    let pages = [(0, 2), (0, 2), (0, 2), (0, 2), (5, 2)];
    assert_eq!(sizes(OffsetUnit::Pages), pages);
}

#[test]
fn a_service_that_makes_pages_of_one_row_is_read_without_overlap() {
    for meaning in [OffsetUnit::Pages, OffsetUnit::Records] {
        let plan = WindowPlan { max: 1, ..plan(meaning, 50) };
        let expected = Window { offset: 7, limit: 1, start: 7 };
        assert_eq!(after(plan, 7), expected);
    }
}

#[test]
fn only_limits_that_the_service_accepts_are_requested() {
    for meaning in [OffsetUnit::Pages, OffsetUnit::Records] {
        for size in [1, 10, 15, 50] {
            let plan = WindowPlan { limits: &[10, 20, 50], ..plan(meaning, size) };
            for read in 0..200 {
                let window = after(plan, read);
                assert!(plan.limits.contains(&window.limit), "{meaning:?} {size} {window:?}");
                assert!(window.start <= read && read < window.end(), "{read} {window:?}");
                // The service returns fewer rows than the smallest limit.
                let reduced = after(WindowPlan { max: 7, ..plan }, read);
                assert!(plan.limits.contains(&reduced.limit), "{meaning:?} {size} {reduced:?}");
            }
        }
    }
}
