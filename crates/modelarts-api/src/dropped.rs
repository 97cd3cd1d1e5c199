//! What decoding leaves out of lists, and the pass that counts it.

use std::cell::{Cell, RefCell};

use crate::decode;

/// What decoding left out of lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dropped {
    /// Elements left out of the outermost list: rows of a page.
    pub rows: usize,
    /// Elements left out of lists inside other lists.
    pub nested: usize,
    /// Why the first element that was not `null` could not be read. It quotes no text of
    /// the answer, which may be a secret.
    pub first_error: Option<String>,
}

impl Dropped {
    /// Whether nothing was left out.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0 && self.nested == 0
    }
}

/// One pass over a body.
#[derive(Default)]
pub(crate) struct Pass {
    /// Whether an element that cannot be read is left out, instead of being an error.
    salvage: bool,
    /// In how many lists the pass is.
    depth: Cell<usize>,
    dropped: RefCell<Dropped>,
}

impl Pass {
    /// A pass that leaves out the elements of lists that cannot be read.
    pub(crate) fn salvaging() -> Self {
        Self {
            salvage: true,
            ..Self::default()
        }
    }

    pub(crate) fn salvages(&self) -> bool {
        self.salvage
    }

    /// Goes into a list, for as long as the result lives.
    pub(crate) fn enter(&self) -> Level<'_> {
        self.depth.set(self.depth.get() + 1);
        Level(self)
    }

    /// What was left out.
    pub(crate) fn end(self) -> Dropped {
        self.dropped.into_inner()
    }
}

/// A list that is being read.
pub(crate) struct Level<'a>(&'a Pass);

impl Level<'_> {
    /// Counts an element that is left out, because of an error or because it is `null`.
    #[cold]
    pub(crate) fn dropped(&self, error: Option<String>) {
        let mut dropped = self.0.dropped.borrow_mut();
        if self.0.depth.get() == 1 {
            dropped.rows += 1;
        } else {
            dropped.nested += 1;
        }
        if dropped.first_error.is_none() {
            dropped.first_error = error.as_deref().map(decode::unquoted);
        }
    }
}

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}
