//! End of a list: determines if the list is complete, must be read a second time, or ends with an
//! error.

use std::fmt::Display;

use crate::{
    error::{Error, ErrorKind},
    list_position::Position,
    pagination::{
        previous_window::Doubt,
        reader::{Pass, Reader, State},
        window::Window,
    },
};

impl Reader {
    /// Returns the number of rows that were returned, undecodable, or before a resumed position.
    fn returned(&self, pass: &Pass) -> u64 {
        self.unknown_before + self.history.returned + pass.unreadable
    }

    /// Returns `true` if the number of requests so far allows another request.
    pub(super) fn is_affordable(&self, pass: &Pass) -> bool {
        let rows = self.returned(pass);
        self.budget.allows_request(rows, self.options.size)
    }

    /// Returns `true` if the pass has read the number of rows that all of its responses state.
    pub(super) fn is_confirmed(&self, pass: &Pass) -> bool {
        let seen = self.history.seen + pass.unreadable;
        !pass.counts.is_unsteady && pass.counts.last == Some(seen) && pass.read >= seen
    }

    /// Ends a pass. The list then ends, or is read a second time if rows may be missing.
    pub(super) fn end(&mut self, mut pass: Pass) -> State {
        // If the order changed in the first pass, it may also have moved rows in the second pass.
        if pass.doubt == Doubt::Moved && matches!(pass.first_end, Some((_, Doubt::Reordered, _))) {
            pass.doubt = Doubt::Reordered;
        }
        let missing = self.missing(&pass);
        let is_complete = missing.is_none() && pass.doubt == Doubt::None;
        let is_unchecked = self.is_single_page || self.options.allow_early_end;
        if is_unchecked || is_complete || self.is_confirmed(&pass) {
            return State::Done(None);
        }
        let is_suspect = missing.is_some() || pass.doubt == Doubt::Reordered;
        let error = is_suspect.then(|| self.ended_early(&pass, missing));
        if pass.first_end.is_some() || self.history.is_incomplete {
            return State::Done(error);
        }
        self.plan.size = self.plan.max;
        let second = Pass::second((self.position(&pass), pass.doubt, error));
        self.history.begin_pass();
        State::Pass(second)
    }

    /// Returns the number of rows read and the stated number, or `None` if enough rows were read.
    fn missing(&self, pass: &Pass) -> Option<(u64, u64)> {
        let last = pass.counts.last.map(|last| (pass.read, last));
        // Rows inserted before the rows already read are not required, so the lowest count applies.
        let least = pass.counts.least.map(|least| (self.returned(pass), least));
        let least = least.filter(|_| !self.history.is_incomplete);
        last.into_iter().chain(least).find(|(read, all)| read < all)
    }

    /// Ends a list that takes too many requests, with the result of a first pass or an error.
    pub(super) fn too_many_requests(&self, pass: Pass) -> Result<Option<Window>, Error> {
        match pass.first_end {
            Some((_, _, Some(error))) => return Err(error),
            Some((_, _, None)) if pass.doubt != Doubt::Reordered => return Ok(None),
            _ => {}
        }
        let text = format_args!(
            "the list has changed so much while it was read that {} requests brought {} rows and \
             not its end; read on from the position of this error, or read it again",
            self.budget.requests,
            self.returned(&pass),
        );
        Err(self.error(&pass, text))
    }

    /// Returns the error for a page that is longer than requested.
    pub(super) fn too_long(&self, pass: &Pass, window: &Window, rows: u64) -> Error {
        let text = format_args!(
            "the service answered {rows} rows where at most {} were asked for (offset {}), and a \
             page must not be longer than its limit; it seems to ignore the limit, so the list \
             cannot be read in pages: call the operation itself",
            window.limit, window.offset
        );
        self.error(pass, text).with_retryable(false)
    }

    /// Returns the error of a list that ended, or may have ended, before all of its rows were read.
    fn ended_early(&self, pass: &Pass, missing: Option<(u64, u64)>) -> Error {
        if let (Some((came, all)), false) = (missing, pass.doubt == Doubt::Reordered) {
            let text = format_args!(
                "the list ended after {came} of the {all} rows that the service stated; read on \
                 from the position of this error, or read it again"
            );
            return self.error(pass, text);
        }
        let text = format_args!(
            "rows changed places while the list was read, or were inserted and removed at the \
             same time, so some may be missing among the {} that came; read it again, or sort it \
             by what is different in each row",
            self.returned(pass)
        );
        self.error(pass, text)
    }

    /// Returns an error that contains the position after the rows that were read.
    pub(super) fn error(&self, pass: &Pass, text: impl Display) -> Error {
        let text = format!("{}: {text}", self.info.operation);
        Error::new(ErrorKind::Unexpected, text).with_position(self.position(pass))
    }

    /// Returns the position after the rows that were read in the first pass.
    pub(super) fn position(&self, pass: &Pass) -> Position {
        if let Some((position, ..)) = &pass.first_end {
            return position.clone();
        }
        let (last, more) = self.history.saved();
        let is_certain = self.unit_doubts.is_none() && !self.is_single_page;
        Position {
            list: self.info.operation.to_owned(),
            read: self.progress,
            last,
            more,
            counts: is_certain.then_some(self.plan.unit),
            search: None,
        }
    }
}
