//! The state of a simulation that its users share.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use modelarts_emulator::Emulator;
use modelarts_ext::{Client, Error, jobs::logs::LogAccess};
use parking_lot::Mutex;

use crate::{clock::SimulatedClock, conditions::Conditions, trace::Trace};

/// Name of the job that has events from the start. This job runs until it is stopped, or has
/// already ended.
pub(crate) const JOB_WITH_EVENTS: &str = "with-events";

/// Client, service and network of one simulation.
pub(crate) struct World {
    pub(crate) emulator: Emulator,
    pub(crate) client: Client,
    /// True for Huawei Cloud, the only cloud that addresses log lines by number.
    pub(crate) huawei: bool,
    pub(crate) clock: SimulatedClock,
    pub(crate) conditions: Conditions,
    pub(crate) trace: Trace,
    /// Names in the creates that the service executed, or rejected because it had executed one with
    /// the same name before.
    pub(crate) executed: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// Returns a way to read logs that the cloud supports.
    pub(crate) fn log_access(&self, rng: &mut Rng) -> LogAccess {
        match rng.bool() && self.huawei {
            true => LogAccess::LineNumbers,
            false => LogAccess::Preview,
        }
    }

    /// Records the result of a call. Reports a violation if it exceeded its deadline, or failed on
    /// a calm network.
    pub(crate) fn check_call<T>(
        &self,
        what: &str,
        result: &Result<T, Error>,
        took: Duration,
        most: Option<Duration>,
    ) {
        match result {
            Ok(_) => self.trace.note(format_args!("{what}: Ok after {took:?}")),
            Err(error) => self.trace.note(format_args!("{what}: {error}")),
        }
        if let Some(most) = most
            && took > most
        {
            self.trace.fail(format_args!(
                "{what} took {took:?}, must take at most {most:?}"
            ));
        }
        if let Err(error) = result
            && self.conditions.is_calm()
            && !error.is_not_found()
        {
            self.trace
                .fail(format_args!("{what} failed on a calm network: {error}"));
        }
    }
}
