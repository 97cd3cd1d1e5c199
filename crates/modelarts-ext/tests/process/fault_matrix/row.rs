//! Rows of the fault matrix, with their expected results.

use std::fmt::Debug;

use modelarts_ext::ErrorKind;

/// The effects of calls: the columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    Read,
    Stop,
    Create,
}

/// A fault in place of a response. Each fault is a row of the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// A refused connection, because no server listens at the address.
    Refused,
    /// A reset in place of a response.
    Reset,
    /// A reset after half of the response.
    ResetMidway,
    /// Half of the response, and then nothing for an hour.
    Slow,
    /// No response for an hour.
    Silent,
    /// A complete response with a truncated document.
    Cut,
    /// The correct response, with this status and content type in place of its own.
    Good(&'static str, &'static str),
    /// A response with this status, these headers and this body.
    Answer(&'static str, &'static str, &'static str),
    /// A redirect to another host.
    Redirect(&'static str),
    /// A response with this status and a body of this length.
    Flood(&'static str, usize),
}

/// The requests that the fault affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Strikes {
    /// The first request, before it is executed.
    OnceBefore,
    /// The first request, after it is executed.
    OnceAfter,
    /// Every request, before it is executed.
    AlwaysBefore,
    /// Every request, after it is executed.
    AlwaysAfter,
}

/// The credentials of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Who {
    /// Temporary keys.
    Keys,
    /// A provider of tokens, which gets a new token when the service rejects the old one.
    Token,
}

/// The result of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Done,
    Fails {
        kind: ErrorKind,
        status: Option<u16>,
        /// The number of attempts that the error reports: those of the last call.
        attempts: u32,
    },
}

/// The expected result of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// The number of requests of the operation that the server received.
    pub(super) seen: usize,
    /// The number of requests that it executed.
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
    /// The fault of all later requests, which are not executed.
    pub(super) then: Option<Fault>,
    /// The workspace of the new job, if the request sets it.
    pub(super) workspace: Option<&'static str>,
    /// The number of searches that do not list the new job yet.
    pub(super) unlisted: usize,
    pub(super) read: Cell,
    pub(super) stop: Cell,
    pub(super) create: Cell,
    /// The exact pauses of each cell in seconds, if they are not random.
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

    /// Makes the first searches return without the new job.
    pub(super) const fn unlisted(mut self, searches: usize) -> Self {
        self.unlisted = searches;
        self
    }

    /// Puts the new job into a workspace of its own.
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
