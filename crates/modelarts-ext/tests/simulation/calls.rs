//! Records of calls: the requests that each call has sent, and rules on them.
//!
//! The rules follow from the documentation of the client, with its default settings. They are
//! stated here again, and not taken from the client.

use reqwest::Method;

use crate::prelude::*;

tokio::task_local! {
    /// The call that the current task is in.
    static CALL: Arc<Call>;
}

/// Maximum number of attempts of a request. After a lost create request, it is sent as often again.
const MOST_ATTEMPTS: usize = 5;
/// Time after which no attempt is started.
const RETRY_TIME: Duration = Duration::from_secs(90);
/// Maximum pause before an attempt without `Retry-After`, and the time of the attempt.
const MAX_PAUSE: Duration = Duration::from_secs(10);
/// Time limit of related calls, less the maximum pause.
const GROUP_TIME: Duration = Duration::from_secs(290);
/// Time in which all requests of a watch must have failed before it fails.
const TOLERANCE: Duration = Duration::from_secs(15 * 60);
/// Maximum pause of a watch for a `Retry-After`.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);

/// Operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Op {
    Create,
    Search,
    Show,
    Stop,
    Delete,
    Change,
    Events,
    Logs,
    Other,
}

impl Op {
    /// Returns the operation with this method and path.
    pub(crate) fn of(method: &Method, path: &str) -> Self {
        let words: Vec<&str> = path.split('/').skip(3).collect();
        match (method.as_str(), words.as_slice()) {
            ("POST", ["training-jobs"]) => Self::Create,
            ("POST", ["training-job-searches"]) => Self::Search,
            ("GET", ["training-jobs", _]) => Self::Show,
            ("DELETE", ["training-jobs", _]) => Self::Delete,
            ("PUT", ["training-jobs", _]) => Self::Change,
            ("POST", ["training-jobs", _, "actions"]) => Self::Stop,
            ("GET", ["training-jobs", _, "events"]) => Self::Events,
            ("GET", ["training-jobs", _, .., "logs" | "preview"])
            | ("GET", ["training-jobs", _, "logs", _]) => Self::Logs,
            _ => Self::Other,
        }
    }
}

/// End of an attempt, as the client receives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// No response has arrived.
    Pending,
    /// The connection was refused.
    Refused,
    /// The response was lost, or a part of it.
    Lost,
    /// A response with this status.
    Status(u16),
    /// A response with a status of success and no content.
    Empty,
    /// A response that is not that of the service, which may end a watch.
    Wrong,
}

/// One request that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) op: Op,
    /// Method, path, query and body.
    pub(crate) key: String,
    /// Method and path.
    pub(crate) source: String,
    /// Times from the start of the simulation. The end is that of the simulation while the attempt
    /// is pending.
    pub(crate) sent: Duration,
    pub(crate) ended: Duration,
    pub(crate) end: End,
    pub(crate) retry_after: Option<Duration>,
}

impl Attempt {
    /// Returns true if the service has answered, even if it throttles the client.
    fn is_answered(&self) -> bool {
        matches!(self.end, End::Status(..=499)) && self.end != End::Status(408)
    }

    /// Returns true if the request was answered and is not to be repeated.
    fn is_done(&self) -> bool {
        self.is_answered() && self.end != End::Status(429)
    }

    /// Returns true if the documentation says that the client repeats the request.
    fn is_repeated(&self) -> bool {
        match self.end {
            End::Refused | End::Status(429) => true,
            End::Lost | End::Status(408 | 500 | 502 | 503 | 504) => self.op != Op::Create,
            _ => false,
        }
    }
}

/// Kind of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One request, with its attempts.
    Single,
    /// Several requests, each with its attempts.
    Several,
    /// Polls of several sources, each of which must be read, until something has happened.
    Watch,
    /// Polls of several sources, any of which shows that the service responds.
    WatchAll,
}

impl Kind {
    fn is_watch(self) -> bool {
        matches!(self, Self::Watch | Self::WatchAll)
    }
}

/// Record of one call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) number: usize,
    pub(crate) kind: Kind,
    pub(crate) begun: Duration,
    pub(crate) attempts: Mutex<Vec<Attempt>>,
}

impl Call {
    /// Runs a future as this call.
    pub(crate) async fn run<T>(self: &Arc<Self>, future: impl Future<Output = T>) -> T {
        CALL.scope(Arc::clone(self), future).await
    }

    pub(crate) fn current() -> Option<Arc<Self>> {
        CALL.try_with(Arc::clone).ok()
    }

    pub(crate) fn begin(&self, attempt: Attempt) -> usize {
        let mut attempts = self.attempts.lock().unwrap();
        attempts.push(attempt);
        attempts.len() - 1
    }

    pub(crate) fn end(&self, number: usize, at: Duration, end: End, retry_after: Option<Duration>) {
        let attempt = &mut self.attempts.lock().unwrap()[number];
        (attempt.end, attempt.ended, attempt.retry_after) = (end, at, retry_after);
    }

    pub(crate) fn attempts(&self) -> Vec<Attempt> {
        self.attempts.lock().unwrap().clone()
    }

    /// Returns the attempts of each request, with consecutive failures in one list.
    fn runs(&self) -> Vec<Vec<Attempt>> {
        let mut requests: BTreeMap<String, Vec<Vec<Attempt>>> = BTreeMap::new();
        for attempt in self.attempts() {
            let runs = requests.entry(attempt.key.clone()).or_default();
            match runs.last_mut() {
                Some(run) if run.last().is_some_and(Attempt::is_repeated) => run.push(attempt),
                _ => runs.push(vec![attempt]),
            }
        }
        requests.into_values().flatten().collect()
    }

    /// Returns the rules that the requests of the call have broken. `error` is its error.
    pub(crate) fn violations(
        &self,
        conditions: &Conditions,
        error: Option<&Error>,
        now: Duration,
    ) -> Vec<String> {
        let mut broken = Vec::new();
        let jumps = conditions.jumps(self.begun..now) > Duration::ZERO;
        let runs = self.runs();
        for run in &runs {
            let is_create = run[0].op == Op::Create;
            let most = MOST_ATTEMPTS * if is_create { MOST_ATTEMPTS } else { 1 };
            if !self.kind.is_watch() && run.len() > most {
                broken.push(format!("{} was sent {} times", run[0].source, run.len()));
            }
            // Other requests may be sent concurrently, and dropped.
            let is_alone = match self.kind {
                Kind::Single => true,
                Kind::Several => matches!(run[0].op, Op::Create | Op::Stop),
                Kind::WatchAll => run[0].op == Op::Search,
                Kind::Watch => false,
            };
            if !jumps && is_alone {
                // A wait polls once more at its time limit.
                let is_last = |next: &Attempt| next.sent + Duration::from_secs(1) >= now;
                let pairs = run.windows(2).filter(|pair| !is_last(&pair[1]));
                broken.extend(pairs.filter_map(|pair| too_early(&pair[0], &pair[1])));
            }
        }
        if self.kind == Kind::Single && error.is_none() {
            let attempts = self.attempts();
            let done = attempts.iter().position(Attempt::is_done);
            if done.is_some_and(|done| done + 1 < attempts.len()) {
                broken.push("requests after the one that was answered".to_owned());
            }
        }
        // A list that ends below its total has this error, also while a request is being repeated.
        let is_list_end = |error: &Error| error.to_string().contains("the list ended after");
        if let Some(error) = error
            && !jumps
            && !(conditions.has_odd_lists() && is_list_end(error))
        {
            let gave_up = match self.kind.is_watch() {
                true => self.watch_gave_up(conditions, now),
                false => self.gave_up(&runs, now),
            };
            broken.extend(gave_up.map(|reason| format!("gave up {reason}: {error}")));
        }
        broken
    }

    /// Returns how a call gave up too soon: no request was answered with an error, or was repeated
    /// as often and as long as the policy permits.
    fn gave_up(&self, runs: &[Vec<Attempt>], now: Duration) -> Option<String> {
        if now - self.begun > GROUP_TIME {
            return None;
        }
        let has_reason = |run: &Vec<Attempt>| {
            let last = &run[run.len() - 1];
            let pause = last.retry_after.unwrap_or_default() + MAX_PAUSE;
            let next = (last.ended - run[0].sent).saturating_add(pause);
            let is_over = run.len() >= MOST_ATTEMPTS || next > RETRY_TIME;
            !matches!(last.end, End::Status(..=299)) && (!last.is_repeated() || is_over)
        };
        let failed = runs.iter().find(|run| run[run.len() - 1].is_repeated())?;
        (!runs.iter().any(has_reason)).then(|| format!("after {} attempts", failed.len()))
    }

    /// Returns how a watch gave up too soon: its sources were answered in the last minutes.
    fn watch_gave_up(&self, conditions: &Conditions, now: Duration) -> Option<String> {
        let attempts = self.attempts();
        let is_wrong = |one: &Attempt| one.end == End::Wrong && one.ended + TOLERANCE > now;
        // A response of a gateway with an unknown error ends a watch.
        if attempts.iter().any(is_wrong) {
            return None;
        }
        let mut answers: BTreeMap<&str, Duration> = BTreeMap::new();
        for attempt in &attempts {
            let last = answers.entry(&attempt.source).or_insert(attempt.sent);
            // The last attempt of several determines whether the client is throttled.
            let is_throttled = attempt.end == End::Status(429) && !conditions.only_throttles();
            if attempt.is_answered() && !is_throttled {
                *last = attempt.ended;
            }
        }
        let oldest = match self.kind {
            Kind::WatchAll => answers.values().max()?,
            _ => answers.values().min()?,
        };
        // A client error is the answer to the request, and not a fault.
        let last = attempts.last()?.end;
        let is_refused = matches!(last, End::Status(400..=499)) && last != End::Status(429);
        let failing = now - *oldest;
        let is_early = failing + Duration::from_secs(1) < TOLERANCE && !is_refused;
        is_early.then(|| format!("{failing:?} after the last answer"))
    }
}

/// Returns a violation if an attempt does not respect the `Retry-After` of the one before it.
fn too_early(one: &Attempt, next: &Attempt) -> Option<String> {
    let pause = one.retry_after?.min(MAX_RETRY_AFTER);
    let is_early = one.ended + pause > next.sent + Duration::from_secs(2);
    let (source, after) = (&one.source, next.sent.saturating_sub(one.ended));
    is_early.then(|| format!("{source} was sent {after:?} after a Retry-After of {pause:?}"))
}
