//! The conditions of a network: how often it fails, and how.

use std::{ops::Range, time::Duration};

use fastrand::Rng;

/// The effect of the network on one request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Both arrive.
    Delivered,
    /// There is no connection: the request is not executed, and the client knows it.
    Refused,
    /// The connection breaks before the request arrives.
    RequestLost,
    /// The connection breaks after the request was executed.
    AnswerLost,
    /// The connection breaks within the body of the answer.
    Truncated,
    /// A gateway answers with this status, and the request is not executed.
    GatewayAnswer(u16),
    /// The request is executed, and a gateway answers with this status in its place.
    StatusReplaced(u16),
    /// The request is executed, and nothing comes back.
    Silent,
    /// The answer to the request before comes, which asked for another job.
    OtherAnswer,
}

/// Statuses that a broken proxy has in the place of an answer to a create.
const ODD: [u16; 7] = [101, 204, 304, 502, 504, 600, 999];
/// Statuses of a gateway that does not find the service.
const UNAVAILABLE: [u16; 3] = [502, 503, 504];

/// The properties of a network, and of the service behind it, in one simulation.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// The share of requests that fail, 0 to 1.
    pub(crate) failing: f64,
    /// True if answers about different jobs may be exchanged.
    pub(crate) mixes: bool,
    /// True if the service gives jobs of the same time in another order each time.
    pub(crate) unordered: bool,
    /// When nothing gets through, since the beginning.
    pub(crate) outages: Vec<Range<Duration>>,
    /// The longest that a request takes one way, in milliseconds.
    pub(crate) slow: u64,
}

impl Conditions {
    /// One in four networks is calm, one in four fails now and then, one has outages, and one
    /// has both.
    pub(crate) fn draw(rng: &mut Rng) -> Self {
        let (fails, breaks) = (rng.bool(), rng.bool());
        let failing = match fails {
            true => [0.02, 0.1, 0.25, 0.5][rng.usize(..4)],
            false => 0.0,
        };
        let mut outages = Vec::new();
        let mut at = 0;
        while breaks && outages.len() < 4 {
            at += rng.u64(0..1200);
            let longest = [40, 300, 1500][rng.usize(..3)];
            let length = rng.u64(5..longest);
            outages.push(Duration::from_secs(at)..Duration::from_secs(at + length));
            at += length;
        }
        Self {
            failing,
            unordered: rng.u8(..4) == 0,
            mixes: fails && rng.u8(..4) == 0,
            outages,
            slow: [2, 50, 3_000][rng.usize(..3)],
        }
    }

    /// True if every request is delivered, and lists keep their order.
    pub(crate) fn is_calm(&self) -> bool {
        self.failing == 0.0 && self.outages.is_empty() && !self.unordered
    }

    /// When the last outage ends, since the beginning.
    pub(crate) fn last_outage(&self) -> Duration {
        self.outages.last().map_or(Duration::ZERO, |last| last.end)
    }

    /// The fate of a request that is sent at a time. Only answers to creates get an odd status,
    /// because to others these statuses may say what they mean; only details are mixed up,
    /// because only they say which job they are of.
    pub(crate) fn fate(&self, rng: &mut Rng, at: Duration, creates: bool, details: bool) -> Fate {
        let unavailable = UNAVAILABLE[rng.usize(..UNAVAILABLE.len())];
        let kind = rng.u8(..8);
        if self.outages.iter().any(|outage| outage.contains(&at)) {
            return match kind {
                0..3 => Fate::GatewayAnswer(unavailable),
                3..6 => Fate::Refused,
                6 => Fate::RequestLost,
                _ => Fate::Silent,
            };
        }
        if rng.f64() >= self.failing {
            return Fate::Delivered;
        }
        match kind {
            0 => Fate::Refused,
            1 => Fate::RequestLost,
            2 => Fate::AnswerLost,
            3 => Fate::Truncated,
            4 => Fate::GatewayAnswer(unavailable),
            5 if creates => Fate::StatusReplaced(ODD[rng.usize(..ODD.len())]),
            5 => Fate::StatusReplaced(unavailable),
            6 if details && self.mixes => Fate::OtherAnswer,
            6 => Fate::GatewayAnswer(429),
            _ => Fate::Silent,
        }
    }
}
