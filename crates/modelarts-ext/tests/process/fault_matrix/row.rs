//! Rows of the fault matrix, and the results that they expect.

use std::fmt::Debug;

use modelarts_ext::ErrorKind;

/// The columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    Read,
    Stop,
    Create,
}

/// The rows: what comes instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// No server listens.
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
pub(super) enum Strikes {
    /// The first request, which is not executed.
    OnceBefore,
    /// The first request, which is executed.
    OnceAfter,
    /// Every request; none is executed.
    AlwaysBefore,
    /// Every request, after it was executed.
    AlwaysAfter,
}

/// The credentials of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Who {
    /// Temporary keys.
    Keys,
    /// A provider of tokens that gets a new one when the old one is refused.
    Token,
}

/// How a call ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Done,
    Fails {
        kind: ErrorKind,
        status: Option<u16>,
        /// The attempts that the error reports: those of the last call.
        attempts: u32,
    },
}

/// The expected result of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// How many requests of the operation the server saw.
    pub(super) seen: usize,
    /// How many of them it executed.
    pub(super) executed: usize,
    pub(super) end: End,
}

pub(super) const fn done(seen: usize, executed: usize) -> Cell {
    let end = End::Done;
    Cell {
        seen,
        executed,
        end,
    }
}

pub(super) const fn fails(
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

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) who: Who,
    pub(super) fault: Fault,
    pub(super) strikes: Strikes,
    /// The fault of all later answers, before execution.
    pub(super) then: Option<Fault>,
    /// The workspace that a new job is made in, if it says one.
    pub(super) workspace: Option<&'static str>,
    /// How many searches do not find a new job yet.
    pub(super) unlisted: usize,
    pub(super) read: Cell,
    pub(super) stop: Cell,
    pub(super) create: Cell,
    /// The exact pauses, in seconds, of each cell, where they are not random.
    pub(super) pauses: Option<&'static [u64]>,
}

pub(super) const fn row(
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
    pub(super) const fn by(mut self, who: Who) -> Self {
        self.who = who;
        self
    }

    /// A new job is not listed at first.
    pub(super) const fn unlisted(mut self, searches: usize) -> Self {
        self.unlisted = searches;
        self
    }

    /// The new job is in a workspace of its own.
    pub(super) const fn workspace(mut self, workspace: &'static str) -> Self {
        self.workspace = Some(workspace);
        self
    }

    pub(super) const fn then(mut self, fault: Fault) -> Self {
        self.then = Some(fault);
        self
    }

    pub(super) const fn pausing(mut self, seconds: &'static [u64]) -> Self {
        self.pauses = Some(seconds);
        self
    }

    pub(super) fn cell(&self, effect: Effect) -> Cell {
        match effect {
            Effect::Read => self.read,
            Effect::Stop => self.stop,
            Effect::Create => self.create,
        }
    }
}
