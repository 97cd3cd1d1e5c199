//! One decoding pass over a body: its limits on memory and time, and the count of skipped elements.

use std::cell::{Cell, RefCell};

use serde::de::Error;

use super::skipped::{Skipped, strip_quoted_text};

/// Memory that an answer may take per byte of its body, the body included.
const MEMORY_FACTOR: usize = 4;
/// Memory that any answer may take in addition. Short answers may consist of few, large objects.
const MEMORY_FLOOR: usize = 8 << 20;
/// Number of values that are decoded between two checks of the time.
const CHECK_INTERVAL: u32 = 1024;
/// The reason why a pass ends when time runs out.
pub(crate) const TOO_LATE: &str = "time ran out while it was decoded";

/// One decoding pass over a body.
pub(super) struct Pass<'a> {
    /// Skips list elements that cannot be decoded, instead of failing.
    salvage: bool,
    /// Number of lists around the current value.
    depth: Cell<usize>,
    skipped: RefCell<Skipped>,
    /// Bytes that may still be allocated.
    memory_left: Cell<usize>,
    /// Values until the next check of the time.
    values_until_check: Cell<u32>,
    /// Returns `true` once time has run out.
    is_late: &'a dyn Fn() -> bool,
    /// The reason why the pass ended early.
    stop_reason: Cell<Option<&'static str>>,
}

/// A pass without limits, which fails on elements that cannot be decoded.
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

    /// Creates a pass over a body of `length` bytes, with a copy of `copied` bytes.
    pub(super) fn for_body(
        length: usize,
        copied: usize,
        is_late: &'a dyn Fn() -> bool,
        salvage: bool,
    ) -> Self {
        let memory = length
            .saturating_mul(MEMORY_FACTOR - 1)
            .saturating_add(MEMORY_FLOOR);
        Self::new(memory.saturating_sub(copied), is_late, salvage)
    }

    /// Subtracts bytes from the memory that the body may use.
    pub(super) fn allocate<E: Error>(&self, bytes: usize) -> Result<(), E> {
        match self.memory_left.get().checked_sub(bytes) {
            Some(left) => {
                self.memory_left.set(left);
                Ok(())
            }
            None => Err(self.stop("it takes more than 4 times its length in memory")),
        }
    }

    /// Returns bytes to the memory that the body may use.
    pub(super) fn release(&self, bytes: usize) {
        self.memory_left
            .set(self.memory_left.get().saturating_add(bytes));
    }

    /// Releases the memory of a discarded element: `left` is the value before it was decoded.
    pub(super) fn reset_memory_left(&self, left: usize) {
        self.memory_left.set(left);
    }

    /// Returns the bytes that may still be allocated.
    pub(super) fn memory_left(&self) -> usize {
        self.memory_left.get()
    }

    /// Counts a value, and checks the time once every [`CHECK_INTERVAL`] values.
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

    /// Fails if the pass was stopped; skipping elements cannot continue it.
    pub(super) fn check_stopped<E: Error>(&self) -> Result<(), E> {
        match self.stop_reason.get() {
            Some(reason) => Err(E::custom(reason)),
            None => Ok(()),
        }
    }

    pub(super) fn is_salvaging(&self) -> bool {
        self.salvage
    }

    /// Enters a list until the result is dropped.
    pub(super) fn enter_list(&self) -> ListDepth<'_> {
        self.depth.set(self.depth.get() + 1);
        ListDepth(self)
    }

    /// Ends the pass and returns what it skipped.
    pub(super) fn finish(self) -> Skipped {
        self.skipped.into_inner()
    }
}

/// The current list of a pass; leaves it when dropped.
pub(super) struct ListDepth<'a>(&'a Pass<'a>);

impl ListDepth<'_> {
    /// Counts a skipped element: one with an error, or `null`.
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
