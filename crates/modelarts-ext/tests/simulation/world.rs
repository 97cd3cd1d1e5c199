//! State that all users of a simulation share, and the calls that they make.

use crate::prelude::*;

/// Reports a violation, formatted like `format!`, always or if a condition is true.
macro_rules! fail {
    ($world:expr; $($text:tt)*) => {
        $world.trace.fail(format_args!($($text)*))
    };
    ($world:expr, if $is_broken:expr; $($text:tt)*) => {
        if $is_broken {
            $world.trace.fail(format_args!($($text)*))
        }
    };
}
pub(crate) use fail;

/// Shared state: client, service and network of one simulation.
pub(crate) struct World {
    pub(crate) service: Arc<Service>,
    pub(crate) client: Client,
    pub(crate) clock: ServiceClock,
    pub(crate) conditions: Conditions,
    pub(crate) trace: Trace,
    pub(crate) calls: AtomicUsize,
}

/// A call that has ended, with its result.
pub(crate) struct Ended<T> {
    pub(crate) what: String,
    pub(crate) call: Arc<Call>,
    pub(crate) result: Result<T, Error>,
    pub(crate) at: Duration,
}

pub(crate) fn seconds(rng: &mut Rng, below: u64) -> Duration {
    Duration::from_millis(rng.u64(..below * 1000))
}

/// Returns one of the values at random.
pub(crate) fn one<T: Copy>(rng: &mut Rng, values: &[T]) -> T {
    values[rng.usize(..values.len())]
}

/// Returns a text in the metadata of a row.
pub(crate) fn metadata<'a>(row: &'a Value, name: &str) -> &'a str {
    row["metadata"][name].as_str().unwrap_or_default()
}

impl World {
    fn begin(&self, kind: Kind) -> Arc<Call> {
        let number = self.calls.fetch_add(1, Relaxed);
        let (begun, attempts) = (self.clock.elapsed(), Mutex::default());
        Arc::new(Call { number, kind, begun, attempts })
    }

    /// Makes a call, and checks its requests.
    pub(crate) async fn call<T>(
        &self,
        what: impl Into<String>,
        kind: Kind,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Ended<T> {
        let call = self.begin(kind);
        let result = call.run(future).await;
        self.end(what.into(), call, result)
    }

    /// Makes a call that the user may give up in the middle. Returns `None` if it was dropped.
    pub(crate) async fn hurried<T>(
        &self,
        what: impl Into<String>,
        kind: Kind,
        rng: &mut Rng,
        future: impl Future<Output = Result<T, Error>>,
    ) -> Option<Ended<T>> {
        if rng.u8(..6) > 0 {
            return Some(self.call(what, kind, future).await);
        }
        let (what, call) = (what.into(), self.begin(kind));
        let longest = one(rng, &[1, 20, 400]);
        let result = timeout(seconds(rng, longest), call.run(future)).await;
        if result.is_err() {
            self.trace.note(format_args!("{what}: dropped"));
        }
        Some(self.end(what, call, result.ok()?))
    }

    fn end<T>(&self, what: String, call: Arc<Call>, result: Result<T, Error>) -> Ended<T> {
        let at = self.clock.elapsed();
        let error = result.as_ref().err();
        match error {
            None => self.trace.note(format_args!("{what}: Ok after {:?}", at - call.begun)),
            Some(error) => self.trace.note(format_args!("{what}: {error}")),
        }
        for violation in call.violations(&self.conditions, error, at) {
            fail!(self; "{what}: {violation}");
        }
        Ended { what, call, result, at }
    }
}

impl<T> Ended<T> {
    pub(crate) fn took(&self) -> Duration {
        self.at - self.call.begun
    }

    /// Returns the duration of the call in seconds.
    pub(crate) fn seconds(&self) -> usize {
        usize::try_from(self.took().as_secs()).unwrap_or(0)
    }

    /// Returns the sum of the jumps of the client's clock during the call.
    pub(crate) fn jumps(&self, world: &World) -> Duration {
        world.conditions.jumps(self.call.begun..self.at)
    }

    /// Reports a violation if the call failed although no fault occurred after its begin. A list
    /// whose order changes, whose pages are short, or whose total is wrong, may fail with its
    /// position.
    pub(crate) fn require(&self, world: &World, is_allowed: impl Fn(&Error) -> bool) {
        let Err(error) = &self.result else { return };
        let is_quiet = self.call.begun >= world.conditions.quiet_from;
        let is_odd = world.conditions.has_odd_lists();
        let is_excused = is_odd && error.position().is_some() || is_allowed(error);
        let is_wrong = is_quiet && !is_excused;
        fail!(world, if is_wrong; "{} failed without a fault: {error}", self.what);
    }

    /// Reports a violation if `took` is longer than `most`. The time of the client may have jumped.
    pub(crate) fn within(&self, world: &World, took: Duration, most: Duration) {
        let most = most + self.jumps(world);
        fail!(world, if took > most; "{} took {took:?}, must take at most {most:?}", self.what);
    }

    /// Reports a violation if the call exceeded its time limit.
    pub(crate) fn within_limit(&self, world: &World, limit: Option<Duration>) {
        if let Some(limit) = limit {
            self.within(world, self.took(), limit + Duration::from_secs(1));
        }
    }

    /// Reports a violation if the call sent more requests than it needs without a fault.
    pub(crate) fn sent_at_most(&self, world: &World, most: usize) {
        let sent = self.call.attempts().len();
        let is_normal = world.conditions.is_calm() && !world.conditions.late_logs;
        let is_wrong = is_normal && sent > most;
        fail!(world, if is_wrong; "{} sent {sent} requests, must send at most {most}", self.what);
    }
}
