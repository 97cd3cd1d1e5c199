//! Conditions of a network: the kinds and the frequency of its failures.

use std::{ops::Range, time::Duration};

use fastrand::Rng;

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
    /// The request is executed, and no response arrives.
    Silent,
    /// The client receives the response to an earlier request about another job.
    OtherAnswer,
}

/// Statuses with which a faulty proxy replaces the response to a create request.
const ODD: [u16; 7] = [101, 204, 304, 502, 504, 600, 999];
/// Statuses that a gateway returns if it cannot reach the service.
const UNAVAILABLE: [u16; 3] = [502, 503, 504];

/// Properties of the network and of the service in one simulation.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    /// Fraction of requests that fail, from 0 to 1.
    pub(crate) failing: f64,
    /// True if the network may deliver a response about another job.
    pub(crate) mixes: bool,
    /// True if every response lists jobs with equal creation times in a different order.
    pub(crate) unordered: bool,
    /// Periods without a connection, relative to the start of the simulation.
    pub(crate) outages: Vec<Range<Duration>>,
    /// Maximum delay of a request or a response, in milliseconds.
    pub(crate) slow: u64,
}

impl Conditions {
    /// Returns random conditions. No failures, occasional failures, outages, and both of these are
    /// equally likely.
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

    /// Returns true if no network faults are simulated and lists keep their order.
    pub(crate) fn is_calm(&self) -> bool {
        self.failing == 0.0 && self.outages.is_empty() && !self.unordered
    }

    /// Returns the end of the last outage, relative to the start of the simulation.
    pub(crate) fn last_outage(&self) -> Duration {
        self.outages.last().map_or(Duration::ZERO, |last| last.end)
    }

    /// Returns the random fate of a request that is sent at the time `at`. Unusual statuses replace
    /// only the responses to create requests, because they may have a meaning for other operations.
    /// Responses about other jobs replace only job details, because only these contain the id of
    /// their job.
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
