//! One pass over a body: its limits, and what it leaves out of lists.

use std::{
    cell::{Cell, RefCell},
    sync::Arc,
};

use serde::de::Error;

use super::skipped::{self, Dropped, Observer};

/// How many bytes an answer may take in memory for each of its bytes, itself included.
const TIMES: usize = 4;
/// How many bytes any answer may take besides. Short ones are made of few, large objects.
const FLOOR: usize = 8 << 20;
/// How many values are read between two looks at the time.
const STEP: u32 = 1024;

/// One pass over a body.
pub(crate) struct Pass {
    /// Whether an element that cannot be read is left out, instead of being an error.
    salvage: bool,
    /// In how many lists the pass is.
    depth: Cell<usize>,
    dropped: RefCell<Dropped>,
    /// How many bytes may still be allocated.
    room: Cell<usize>,
    /// How many values are read until the next look at the time.
    step: Cell<u32>,
    observer: Option<Arc<dyn Observer>>,
    /// Why nothing more is read.
    stopped: Cell<Option<&'static str>>,
}

/// A pass without limits, in which an element that cannot be read is an error.
impl Default for Pass {
    fn default() -> Self {
        Self {
            salvage: false,
            depth: Cell::default(),
            dropped: RefCell::default(),
            room: Cell::new(usize::MAX),
            step: Cell::new(STEP),
            observer: None,
            stopped: Cell::default(),
        }
    }
}

impl Pass {
    /// A pass over an answer of so many bytes, which takes `copied` more already.
    pub(crate) fn over(answer: usize, copied: usize, observer: Option<Arc<dyn Observer>>) -> Self {
        let room = answer.saturating_mul(TIMES - 1).saturating_add(FLOOR);
        Self {
            room: Cell::new(room.saturating_sub(copied)),
            observer,
            ..Self::default()
        }
    }

    /// The same, and the elements of lists that cannot be read are left out.
    pub(crate) fn salvaging(self) -> Self {
        Self {
            salvage: true,
            ..self
        }
    }

    /// Takes so many bytes of the memory that an answer may take.
    pub(crate) fn take<E: Error>(&self, bytes: usize) -> Result<(), E> {
        match self.room.get().checked_sub(bytes) {
            Some(room) => {
                self.room.set(room);
                Ok(())
            }
            None => Err(self.stop("it takes more than 4 times its length in memory")),
        }
    }

    /// Gives bytes back.
    pub(crate) fn give_back(&self, bytes: usize) {
        self.room.set(self.room.get().saturating_add(bytes));
    }

    /// As much may be allocated again as before something that is not kept.
    pub(crate) fn restore(&self, room: usize) {
        self.room.set(room);
    }

    /// How many bytes are left.
    pub(crate) fn room(&self) -> usize {
        self.room.get()
    }

    /// Counts a value, and looks at the time now and then.
    pub(crate) fn count<E: Error>(&self) -> Result<(), E> {
        let left = self.step.get() - 1;
        if left > 0 {
            self.step.set(left);
            return Ok(());
        }
        self.step.set(STEP);
        match &self.observer {
            Some(observer) if observer.is_late() => {
                Err(self.stop("time ran out while it was decoded"))
            }
            _ => Ok(()),
        }
    }

    #[cold]
    fn stop<E: Error>(&self, why: &'static str) -> E {
        self.stopped.set(Some(why));
        E::custom(why)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.get().is_some()
    }

    /// Goes on only if nothing stopped the pass, which no salvaging helps against.
    pub(crate) fn go_on<E: Error>(&self) -> Result<(), E> {
        match self.stopped.get() {
            Some(why) => Err(E::custom(why)),
            None => Ok(()),
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
            dropped.first_error = error.as_deref().map(skipped::unquoted);
        }
    }
}

impl Drop for Level<'_> {
    fn drop(&mut self) {
        self.0.depth.set(self.0.depth.get() - 1);
    }
}
