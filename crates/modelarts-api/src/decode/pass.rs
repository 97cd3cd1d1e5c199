//! A single decoding pass over a body, with limits on memory and time, and the count of skipped
//! elements.

use std::cell::{Cell, RefCell};

use serde::de::Error;

use super::skipped::{Skipped, strip_quoted_text};

/// Maximum memory of a decoded response per byte of its body, including the body.
const MEMORY_FACTOR: usize = 4;
/// Memory that every response may take in addition, in bytes. Even a short body may decode into a
/// few large objects.
const MEMORY_FLOOR: usize = 8 << 20;
/// Number of values that are decoded between two checks of the time limit.
const CHECK_INTERVAL: u32 = 1024;
/// Message of the error when a pass exceeds its time limit.
pub(crate) const TOO_LATE: &str = "time ran out while it was decoded";

/// State of a single decoding pass over a body.
pub(super) struct Pass<'a> {
    /// True if list elements that cannot be decoded are skipped; false if they end the pass with an
    /// error.
    salvage: bool,
    /// Number of lists that enclose the current value.
    depth: Cell<usize>,
    skipped: RefCell<Skipped>,
    /// Memory that may still be allocated, in bytes.
    memory_left: Cell<usize>,
    /// Number of values until the next check of the time limit.
    values_until_check: Cell<u32>,
    /// Returns `true` once the time limit has passed.
    is_late: &'a dyn Fn() -> bool,
    /// Message of the error that ended the pass early.
    stop_reason: Cell<Option<&'static str>>,
}

/// Pass without limits on memory and time. Elements that cannot be decoded end the pass with an
/// error.
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
    /// the body, or 0.
    pub(super) fn for_body(
        length: usize,
        copied: usize,
        is_late: &'a dyn Fn() -> bool,
        salvage: bool,
    ) -> Self {
        let memory = length.saturating_mul(MEMORY_FACTOR - 1).saturating_add(MEMORY_FLOOR);
        Self::new(memory.saturating_sub(copied), is_late, salvage)
    }

    /// Subtracts `bytes` from the memory that the pass may still allocate.
    pub(super) fn allocate<E: Error>(&self, bytes: usize) -> Result<(), E> {
        match self.memory_left.get().checked_sub(bytes) {
            Some(left) => {
                self.memory_left.set(left);
                Ok(())
            }
            None => Err(self.stop("it takes more than 4 times its length in memory")),
        }
    }

    /// Adds `bytes` to the memory that the pass may still allocate.
    pub(super) fn release(&self, bytes: usize) {
        self.memory_left.set(self.memory_left.get().saturating_add(bytes));
    }

    /// Releases the memory of a discarded element. `left` is the value of
    /// [`memory_left`](Self::memory_left) before the element was decoded.
    pub(super) fn reset_memory_left(&self, left: usize) {
        self.memory_left.set(left);
    }

    /// Returns the memory that may still be allocated, in bytes.
    pub(super) fn memory_left(&self) -> usize {
        self.memory_left.get()
    }

    /// Counts a value, and checks the time limit once every [`CHECK_INTERVAL`] values.
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

    /// Returns an error if a limit has stopped the pass. Skipping the current element would not
    /// resume it.
    pub(super) fn check_stopped<E: Error>(&self) -> Result<(), E> {
        match self.stop_reason.get() {
            Some(reason) => Err(E::custom(reason)),
            None => Ok(()),
        }
    }

    pub(super) fn is_salvaging(&self) -> bool {
        self.salvage
    }

    /// Enters a list, and returns a guard that leaves it when dropped.
    pub(super) fn enter_list(&self) -> ListDepth<'_> {
        self.depth.set(self.depth.get() + 1);
        ListDepth(self)
    }

    /// Ends the pass, and returns the count of skipped elements.
    pub(super) fn finish(self) -> Skipped {
        self.skipped.into_inner()
    }
}

/// Guard for a list that a pass has entered; dropping the guard leaves the list.
pub(super) struct ListDepth<'a>(&'a Pass<'a>);

impl ListDepth<'_> {
    /// Counts a skipped element. `error` is `None` for an element without a value, such as `null`.
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
