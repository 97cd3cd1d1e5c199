//! What a row of the matrix says.

use super::*;

/// The columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effect {
    Read,
    Stop,
    Create,
}

/// The rows: what comes instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// Nobody listens.
    Refused,
    /// A reset instead of an answer.
    Reset,
    /// A reset after half of the answer.
    ResetMidway,
    /// Half of the answer, and nothing more for an hour.
    Slow,
    /// Nothing for an hour.
    Silent,
    /// An answer that is complete by its length, and a document that is not.
    Cut,
    /// The good answer under another status and content type.
    Good(&'static str, &'static str),
    /// This answer: status, headers, body.
    Answer(&'static str, &'static str, &'static str),
    /// A redirect to another host.
    Redirect(&'static str),
    /// An answer with this status and a body of so many bytes.
    Flood(&'static str, usize),
}

/// When the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Strikes {
    /// The first request, which is not executed.
    OnceBefore,
    /// The first request, which is executed.
    OnceAfter,
    /// Every request; none is executed.
    AlwaysBefore,
    /// Every request, after it was executed.
    AlwaysAfter,
}
pub(crate) use Strikes::{AlwaysAfter, AlwaysBefore, OnceAfter, OnceBefore};

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Who {
    /// Temporary keys.
    Keys,
    /// A provider of tokens that gets a new one when the old one is refused.
    Token,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum End {
    Done,
    Fails {
        kind: ErrorKind,
        status: Option<u16>,
        /// What the error says about attempts: those of the last call.
        attempts: u32,
    },
}

/// What is to happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// How many requests of the operation the server saw.
    pub(crate) seen: usize,
    /// How many of them it executed.
    pub(crate) executed: usize,
    pub(crate) end: End,
}

pub(crate) const fn done(seen: usize, executed: usize) -> Cell {
    let end = End::Done;
    Cell {
        seen,
        executed,
        end,
    }
}

pub(crate) const fn fails(
    seen: usize,
    executed: usize,
    kind: ErrorKind,
    status: Option<u16>,
    attempts: u32,
) -> Cell {
    let end = End::Fails {
        kind,
        status,
        attempts,
    };
    Cell {
        seen,
        executed,
        end,
    }
}

pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) who: Who,
    pub(crate) fault: Fault,
    pub(crate) strikes: Strikes,
    /// What comes instead of all later answers; before execution.
    pub(crate) then: Option<Fault>,
    /// The workspace that a new job is made in, if it says one.
    pub(crate) workspace: Option<&'static str>,
    /// How many searches do not find a new job yet.
    pub(crate) unlisted: usize,
    pub(crate) read: Cell,
    pub(crate) stop: Cell,
    pub(crate) create: Cell,
    /// The exact pauses, in seconds, of each cell, where they are not random.
    pub(crate) pauses: Option<&'static [u64]>,
}

pub(crate) const fn row(
    name: &'static str,
    fault: Fault,
    strikes: Strikes,
    read: Cell,
    stop: Cell,
    create: Cell,
) -> Row {
    Row {
        name,
        who: Who::Keys,
        fault,
        strikes,
        then: None,
        workspace: None,
        unlisted: 0,
        read,
        stop,
        create,
        pauses: None,
    }
}

impl Row {
    pub(crate) const fn by(mut self, who: Who) -> Self {
        self.who = who;
        self
    }

    /// A new job is not listed at first.
    pub(crate) const fn unlisted(mut self, searches: usize) -> Self {
        self.unlisted = searches;
        self
    }

    /// The new job is in a workspace of its own.
    pub(crate) const fn workspace(mut self, workspace: &'static str) -> Self {
        self.workspace = Some(workspace);
        self
    }

    pub(crate) const fn then(mut self, fault: Fault) -> Self {
        self.then = Some(fault);
        self
    }

    pub(crate) const fn pausing(mut self, seconds: &'static [u64]) -> Self {
        self.pauses = Some(seconds);
        self
    }

    pub(crate) fn cell(&self, effect: Effect) -> Cell {
        match effect {
            Effect::Read => self.read,
            Effect::Stop => self.stop,
            Effect::Create => self.create,
        }
    }
}
