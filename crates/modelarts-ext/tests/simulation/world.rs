//! State that all users of a simulation share.

use std::{sync::Arc, time::Duration};

use fastrand::Rng;
use modelarts_emulator::Emulator;
use modelarts_ext::{Client, Error, jobs::logs::LogAccess};
use std::sync::Mutex;

use crate::{clock::SimulatedClock, conditions::Conditions, trace::Trace};

/// Name of the job that has events from the start of the simulation. The job runs until a user
/// stops it, or has already ended.
pub(crate) const JOB_WITH_EVENTS: &str = "with-events";

/// Shared state: client, service and network of one simulation.
pub(crate) struct World {
    pub(crate) emulator: Emulator,
    pub(crate) client: Client,
    /// True for Huawei Cloud, the only cloud whose API reads log lines by number.
    pub(crate) huawei: bool,
    pub(crate) clock: SimulatedClock,
    pub(crate) conditions: Conditions,
    pub(crate) trace: Trace,
    /// Job names in the create requests that the service executed or rejected as duplicates of an
    /// executed request.
    pub(crate) executed: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// Returns a random method of reading logs that the cloud supports.
    pub(crate) fn log_access(&self, rng: &mut Rng) -> LogAccess {
        match rng.bool() && self.huawei {
            true => LogAccess::LineNumbers,
            false => LogAccess::Preview,
        }
    }

    /// Records the result of a call. Reports a violation if the call exceeded its deadline, or
    /// failed although no network faults were simulated.
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
