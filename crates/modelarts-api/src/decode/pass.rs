//! Decoding pass over a body, with limits on memory and time, and with the count of skipped
//! elements.

use std::cell::{Cell, RefCell};

use serde::de::Error;

use super::skipped::{Skipped, strip_quoted_text};

/// Maximum memory of a response per byte of its body, in bytes. Includes the body itself.
const MEMORY_FACTOR: usize = 4;
/// Memory that every response may take in addition to [`MEMORY_FACTOR`], in bytes. Even a short
/// body may decode into a few large objects.
const MEMORY_FLOOR: usize = 8 << 20;
/// Number of values that are decoded between two checks of the time limit.
const CHECK_INTERVAL: u32 = 1024;
/// Error message of a pass that exceeds the time limit.
pub(crate) const TOO_LATE: &str = "time ran out while it was decoded";

/// State of a single decoding pass over a body.
pub(super) struct Pass<'a> {
    /// `true` if the pass skips list elements that cannot be decoded, `false` if such an element
    /// ends the pass with an error.
    salvage: bool,
    /// Number of lists that enclose the current value.
    depth: Cell<usize>,
    skipped: RefCell<Skipped>,
    /// Memory that may still be allocated, in bytes.
    memory_left: Cell<usize>,
    /// Number of values until the next check of the time limit.
    values_until_check: Cell<u32>,
    /// Function that returns `true` once the time limit has passed.
    is_late: &'a dyn Fn() -> bool,
    /// Error message of the limit that stopped the pass. `None` while no limit is exceeded.
    stop_reason: Cell<Option<&'static str>>,
}

/// Creates a pass without limits on memory and time. A list element that cannot be decoded ends the
/// pass with an error.
impl Default for Pass<'_> {
    fn default() -> Self {
        Self::new(usize::MAX, &|| false, false)
    }
}

impl<'a> Pass<'a> {
    fn new(memory_left: usize, is_late: &'a dyn Fn() -> bool, salvage: bool) -> Self {
        Self {
            salvage,
            depth: Cell::default(),
            skipped: RefCell::default(),
            memory_left: Cell::new(memory_left),
            values_until_check: Cell::new(CHECK_INTERVAL),
            is_late,
            stop_reason: Cell::default(),
        }
    }

    /// Creates a pass over a body of `length` bytes. `copied` is the size of an additional copy of
    /// the body in bytes, or 0 if there is no copy.
    pub(super) fn for_body(
        length: usize,
        copied: usize,
        is_late: &'a dyn Fn() -> bool,
        salvage: bool,
    ) -> Self {
        let memory = length.saturating_mul(MEMORY_FACTOR - 1).saturating_add(MEMORY_FLOOR);
        Self::new(memory.saturating_sub(copied), is_late, salvage)
    }

    /// Subtracts `bytes` from the remaining memory. Stops the pass if less memory remains.
    pub(super) fn allocate<E: Error>(&self, bytes: usize) -> Result<(), E> {
        match self.memory_left.get().checked_sub(bytes) {
            Some(left) => {
                self.memory_left.set(left);
                Ok(())
            }
            None => Err(self.stop("it takes more than 4 times its length in memory")),
        }
    }

    /// Adds `bytes` to the remaining memory.
    pub(super) fn release(&self, bytes: usize) {
        self.memory_left.set(self.memory_left.get().saturating_add(bytes));
    }

    /// Releases the memory of a discarded element. `left` is the result of
    /// [`memory_left`](Self::memory_left) before the element was decoded.
    pub(super) fn reset_memory_left(&self, left: usize) {
        self.memory_left.set(left);
    }

    /// Returns the remaining memory, which the pass may still allocate, in bytes.
    pub(super) fn memory_left(&self) -> usize {
        self.memory_left.get()
    }

    /// Counts a value, and checks the time limit every [`CHECK_INTERVAL`] values.
    pub(super) fn count_value<E: Error>(&self) -> Result<(), E> {
        let left = self.values_until_check.get() - 1;
        if left > 0 {
            self.values_until_check.set(left);
            return Ok(());
        }
        self.values_until_check.set(CHECK_INTERVAL);
        match (self.is_late)() {
            true => Err(self.stop(TOO_LATE)),
            false => Ok(()),
        }
    }

    #[cold]
    fn stop<E: Error>(&self, reason: &'static str) -> E {
        self.stop_reason.set(Some(reason));
        E::custom(reason)
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.stop_reason.get().is_some()
    }

    /// Returns an error if a limit has stopped the pass. A stopped pass cannot continue with the
    /// next list element.
    pub(super) fn check_stopped<E: Error>(&self) -> Result<(), E> {
        match self.stop_reason.get() {
            Some(reason) => Err(E::custom(reason)),
            None => Ok(()),
        }
    }

    pub(super) fn is_salvaging(&self) -> bool {
        self.salvage
    }

    /// Enters a list. Dropping the returned guard leaves the list.
    pub(super) fn enter_list(&self) -> ListDepth<'_> {
        self.depth.set(self.depth.get() + 1);
        ListDepth(self)
    }

    /// Ends the pass, and returns the count of skipped elements.
    pub(super) fn finish(self) -> Skipped {
        self.skipped.into_inner()
    }
}

/// Guard for a list that a pass has entered. Dropping the guard leaves the list.
pub(super) struct ListDepth<'a>(&'a Pass<'a>);

impl ListDepth<'_> {
    /// Counts a skipped list element. `error` is `None` for an element that is `null`.
    #[cold]
    pub(super) fn skip(&self, error: Option<String>) {
        let mut skipped = self.0.skipped.borrow_mut();
        if self.0.depth.get() == 1 {
            skipped.rows += 1;
        } else {
            skipped.nested += 1;
        }
        if skipped.first_error.is_none() {
            skipped.first_error = error.as_deref().map(strip_quoted_text);
        }
    }
}

impl Drop for ListDepth<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}
