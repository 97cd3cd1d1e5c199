//! Rows of the fault matrix, and their expected results.

use std::fmt::Debug;

use modelarts_ext::ErrorKind;

/// Effects of calls, which are the columns of the matrix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    Read,
    Stop,
    Create,
}

/// Fault that replaces or damages a response. Each row of the matrix tests one fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fault {
    /// A refused connection: no server listens at the address.
    Refused,
    /// A reset in place of a response.
    Reset,
    /// A reset after half of the response.
    ResetMidway,
    /// Half of the response, and then nothing for an hour.
    Slow,
    /// No response for an hour.
    Silent,
    /// A complete HTTP response with a truncated document.
    Cut,
    /// The correct response with this status and content type instead of the original ones.
    Good(&'static str, &'static str),
    /// A response with this status, these headers and this body.
    Answer(&'static str, &'static str, &'static str),
    /// A redirect to another host.
    Redirect(&'static str),
    /// A response with this status and a body of this length.
    Flood(&'static str, usize),
}

/// Requests that the fault affects.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Strikes {
    /// The first request; the fault occurs before it is executed.
    OnceBefore,
    /// The first request; the fault occurs after it is executed.
    OnceAfter,
    /// Every request; the fault occurs before it is executed.
    AlwaysBefore,
    /// Every request; the fault occurs after it is executed.
    AlwaysAfter,
}

/// The credentials of the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Who {
    /// Temporary keys.
    Keys,
    /// Token provider that requests a new token when the service rejects the old one.
    Token,
}

/// Result of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum End {
    Done,
    Fails {
        kind: ErrorKind,
        status: Option<u16>,
        /// Number of attempts that the error reports, which are those of the last call.
        attempts: u32,
    },
}

/// Expected result of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cell {
    /// The number of requests of the operation that the server received.
    pub(super) seen: usize,
    /// Number of requests of the operation that the server executed.
    pub(super) executed: usize,
    pub(super) end: End,
}

pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) who: Who,
    pub(super) fault: Fault,
    pub(super) strikes: Strikes,
    /// Fault of all later requests, which are then not executed.
    pub(super) then: Option<Fault>,
    /// Workspace that the request sets for the new job; `None` if the request sets none.
    pub(super) workspace: Option<&'static str>,
    /// Number of searches that do not list the new job yet.
    pub(super) unlisted: usize,
    pub(super) read: Cell,
    pub(super) stop: Cell,
    pub(super) create: Cell,
    /// Exact pauses of each cell in seconds; `None` if the pauses are random.
    pub(super) pauses: Option<Vec<u64>>,
}

impl Row {
    pub(super) fn cell(&self, effect: Effect) -> Cell {
        match effect {
            Effect::Read => self.read,
            Effect::Stop => self.stop,
            Effect::Create => self.create,
        }
    }
}
