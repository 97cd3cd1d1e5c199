//! Conditions of a simulation: the faults of the network, and the deviations of the service.

use crate::{clock::Skew, prelude::*};

/// Effect of the network on one request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The request and the response are delivered.
    Delivered,
    /// The connection is refused. The request is not executed, and the client can detect this.
    Refused,
    /// The connection breaks before the request arrives.
    RequestLost,
    /// The connection breaks after the request was executed.
    AnswerLost,
    /// The connection breaks within the body of the response.
    Truncated,
    /// A gateway responds with this status, and the request is not executed.
    GatewayAnswer(u16),
    /// The request is executed, but a gateway replaces the response by one with this status.
    StatusReplaced(u16),
    /// A gateway responds with a status of success and this body, and the request is not executed.
    WrongBody(&'static str),
    /// The log is not ready yet.
    NotReady,
    /// The request is executed, and no response arrives.
    Silent,
    /// The client receives the response to an earlier request about another job.
    OtherAnswer,
}

/// Statuses with which a faulty proxy replaces the response to a create request.
const ODD: [u16; 7] = [101, 204, 304, 502, 504, 600, 999];
/// Bodies of errors, which a gateway returns with a status of success.
pub(crate) const ERROR_BODIES: [&str; 3] = [
    r#"{"error_code":"APIG.0602","error_msg":"The backend is not available."}"#,
    r#"{"error":{"code":"APIG.0602","message":"The backend is not available."}}"#,
    r#"{"errorCode":"APIG.0602","errorMsg":"The backend is not available."}"#,
];
/// Bodies without content.
pub(crate) const EMPTY_BODIES: [&str; 3] = ["{}", "null", "\"\""];
/// Skews of the client, in seconds. A gateway accepts up to 15 minutes.
const SKEWS: [i64; 12] = [-1500, -840, -300, -90, -50, -5, 5, 50, 90, 300, 840, 1500];

/// The number of rows that a response with a page of a list states. A text is not a number, so the
/// response would not be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StatedTotal {
    Right,
    /// Half of the number of rows, and one more.
    Low,
    /// Seven more than the number of rows.
    High,
    Huge,
    Absent,
    Negative,
    Zero,
    /// The number of pages.
    Pages,
}

const WRONG_TOTALS: [StatedTotal; 7] = [
    StatedTotal::Low,
    StatedTotal::High,
    StatedTotal::Huge,
    StatedTotal::Absent,
    StatedTotal::Negative,
    StatedTotal::Zero,
    StatedTotal::Pages,
];

impl StatedTotal {
    /// Returns true if the total is lower than the number of rows, or absent.
    pub(crate) fn is_low(self) -> bool {
        !matches!(self, Self::Right | Self::High | Self::Huge)
    }

    /// Sets the total in the response with a page of a list.
    pub(crate) fn set(self, page: &mut Value, limit: usize) {
        let Some(right) = page["total"].as_i64() else {
            return;
        };
        let pages = right / i64::try_from(limit).unwrap_or(1).max(1) + 1;
        let wrong = match self {
            Self::Right => return,
            Self::Low => (right / 2 + 1).into(),
            Self::High => (right + 7).into(),
            Self::Huge => i64::MAX.into(),
            Self::Absent => Value::Null,
            Self::Negative => (-1).into(),
            Self::Zero => 0.into(),
            Self::Pages => pages.into(),
        };
        if let Some(page) = page.as_object_mut() {
            page.remove("count");
            page.insert("total".to_owned(), wrong);
            page.retain(|_, value| !value.is_null());
        }
    }
}

/// Properties of the network, of the clocks and of the service in one simulation.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// Fraction of requests that fail, from 0 to 1.
    pub(crate) failing: f64,
    /// True if the network may deliver a response about another job.
    mixes: bool,
    /// True if a gateway may respond with a status of success to a request that it lost.
    wrong_bodies: bool,
    /// True if every response lists jobs with equal creation times in a different order.
    pub(crate) unordered: bool,
    /// Periods without a connection, relative to the start of the simulation.
    outages: Vec<Range<Duration>>,
    /// Period in which the service rejects most requests, and the fraction of these.
    throttled: Range<Duration>,
    throttling: f64,
    /// Maximum delay of a request or a response, in milliseconds.
    pub(crate) slow: u64,
    /// Skews of the clock of the client, in the order of their times.
    pub(crate) skews: Vec<Skew>,
    /// Maximum number of rows of a page, below the documented one, which responses do not state.
    pub(crate) page_cap: Option<usize>,
    /// True if `count` of a list without conditions is the number of rows of the page.
    pub(crate) counts_page: bool,
    /// The total that lists state.
    pub(crate) stated_total: StatedTotal,
    /// True if the service answers changes with `null` or an empty string, and gives the newest
    /// line of a log without its end.
    pub(crate) answers_null: bool,
    /// True if details have no start time, and logs are not ready for some seconds of each minute.
    pub(crate) late_logs: bool,
    /// Times at which the service is restarted.
    pub(crate) restarts: Vec<Duration>,
    /// Time from which no fault occurs.
    pub(crate) quiet_from: Duration,
    /// True for Huawei Cloud, the only cloud whose API reads log lines by number.
    pub(crate) huawei: bool,
}

fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

impl Conditions {
    /// Returns random conditions. In a fifth of the simulations, the network has no faults.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let one_in = |rng: &mut Rng, count: u8| rng.u8(..count) == 0;
        let faulty = !one_in(rng, 5);
        let fails = faulty && !one_in(rng, 3);
        let rates = [0.02, 0.1, 0.25, 0.5];
        let failing = if fails { one(rng, &rates) } else { 0.0 };
        let has_outages = faulty && one_in(rng, 3);
        let count = if has_outages { rng.u8(1..5) } else { 0 };
        let outages = outages(count, rng);
        let mut throttled = Duration::ZERO..Duration::ZERO;
        if faulty && one_in(rng, 4) {
            let start = rng.u64(..600);
            throttled = secs(start)..secs(start + rng.u64(1800..7200));
        }
        let last = outages.last().map_or(Duration::ZERO, |last| last.end);
        let faults = throttled.end.max(last);
        let mut quiet_from = faults.max(secs(rng.u64(600..4000)));
        let mut restarts = Vec::new();
        if faulty && one_in(rng, 8) {
            restarts.extend((0..rng.u64(1..3)).map(|_| secs(rng.u64(60..1500))));
        }
        if !faulty {
            quiet_from = Duration::ZERO;
        }
        // A stream waits only for half a minute for a log, so most polls must succeed.
        let has_few_faults = failing < 0.2 && faults == Duration::ZERO && restarts.is_empty();
        Self {
            failing,
            unordered: one_in(rng, 5),
            mixes: fails && one_in(rng, 3),
            wrong_bodies: fails && one_in(rng, 2),
            outages,
            throttled,
            throttling: one(rng, &[0.8, 0.88, 0.94]),
            slow: one(rng, &[2, 50, 3_000]),
            skews: skews(rng),
            page_cap: one_in(rng, 4).then(|| one(rng, &[1, 5, 7])),
            counts_page: rng.bool(),
            stated_total: match one_in(rng, 4) {
                true => one(rng, &WRONG_TOTALS),
                false => StatedTotal::Right,
            },
            answers_null: rng.bool(),
            late_logs: has_few_faults && one_in(rng, 2),
            restarts,
            quiet_from,
            huawei: rng.bool(),
        }
    }

    /// Returns true if the order or the number of rows that lists state is wrong, or if pages are
    /// shorter than requested.
    pub(crate) fn has_odd_lists(&self) -> bool {
        let has_total = self.stated_total == StatedTotal::Right;
        self.unordered || self.page_cap.is_some() || !has_total
    }

    /// Returns true if no network faults are simulated.
    pub(crate) fn is_calm(&self) -> bool {
        self.quiet_from == Duration::ZERO
    }

    /// Returns true if requests fail only because the service rejects them.
    pub(crate) fn only_throttles(&self) -> bool {
        self.failing == 0.0 && self.outages.is_empty() && self.restarts.is_empty()
    }

    /// Returns the sum of the jumps of the client's clock in a period.
    pub(crate) fn jumps(&self, period: Range<Duration>) -> Duration {
        let pairs = self.skews.windows(2);
        let jumps = pairs.filter(|pair| (period.start..=period.end).contains(&pair[1].0));
        let jumps = jumps.map(|pair| secs(pair[0].1.abs_diff(pair[1].1)));
        jumps.sum()
    }

    /// Returns the random fate of a request that is sent at the time `at`. Unusual statuses replace
    /// only the responses to create requests, because they may have a meaning for other operations.
    /// Responses about other jobs replace only job details, because only these contain the id of
    /// their job.
    pub(crate) fn fate(&self, rng: &mut Rng, at: Duration, op: Op) -> Fate {
        let unavailable = one(rng, &[502, 503, 504]);
        let kind = rng.u8(..10);
        let chances = (rng.f64(), rng.f64());
        if op == Op::Logs && self.late_logs && at.as_secs() % 75 < 20 {
            return Fate::NotReady;
        }
        if at >= self.quiet_from {
            return Fate::Delivered;
        }
        if self.outages.iter().any(|outage| outage.contains(&at)) {
            return match kind {
                0..3 => Fate::GatewayAnswer(unavailable),
                3..7 => Fate::Refused,
                7..9 => Fate::RequestLost,
                _ => Fate::Silent,
            };
        }
        if self.throttled.contains(&at) && chances.0 < self.throttling {
            return Fate::GatewayAnswer(429);
        }
        if op == Op::Show && self.mixes && rng.u8(..15) == 0 {
            return Fate::OtherAnswer;
        }
        if self.wrong_bodies && rng.u8(..20) == 0 {
            return wrong_body(rng, op);
        }
        if chances.1 >= self.failing {
            return Fate::Delivered;
        }
        match kind {
            0 => Fate::Refused,
            1 => Fate::RequestLost,
            2 => Fate::AnswerLost,
            3 => Fate::Truncated,
            4 => Fate::GatewayAnswer(unavailable),
            5 if op == Op::Create => Fate::StatusReplaced(one(rng, &ODD)),
            5 => Fate::StatusReplaced(unavailable),
            6 => Fate::GatewayAnswer(429),
            7 => Fate::GatewayAnswer(500),
            8 => Fate::AnswerLost,
            _ => Fate::Silent,
        }
    }
}

/// Returns a body with which a gateway answers a request that it lost. An empty body is no error of
/// operations without content, and an empty page is no error of logs.
fn wrong_body(rng: &mut Rng, op: Op) -> Fate {
    let has_no_content = matches!(op, Op::Delete | Op::Change | Op::Logs | Op::Other);
    let is_empty = !has_no_content && rng.bool();
    let bodies = if is_empty { EMPTY_BODIES } else { ERROR_BODIES };
    Fate::WrongBody(one(rng, &bodies))
}

fn outages(count: u8, rng: &mut Rng) -> Vec<Range<Duration>> {
    let mut at = 0;
    let mut outage = |rng: &mut Rng| {
        let start = at + rng.u64(0..1200);
        let longest = one(rng, &[40, 300, 1500]);
        at = start + rng.u64(5..longest);
        secs(start)..secs(at)
    };
    (0..count).map(|_| outage(rng)).collect()
}

/// Returns the skews of the client: none, a constant one, or one that jumps.
fn skews(rng: &mut Rng) -> Vec<Skew> {
    let ahead: [i64; 3] = std::array::from_fn(|_| one(rng, &SKEWS));
    let count = [0, 0, 0, 1, 1, 3][usize::from(rng.u8(..6))];
    let mut from = 0;
    let skews = ahead.into_iter().take(count).map(|ahead| {
        let begin = from;
        from += rng.u64(1..1200);
        (secs(begin), ahead)
    });
    skews.collect()
}
