//! `ServiceClock`: the time of the service, which may differ from that of this machine.
//!
//! Ages and running times are differences between times of the service and the current time. If the
//! clocks differ, the clock of the service determines the current time, and all pages show a note.

use std::{
    sync::atomic::{AtomicBool, AtomicI64, Ordering},
    time::{Duration, SystemTime},
};

use jiff::{SignedDuration, Timestamp, fmt::rfc2822};
use modelarts_ext::Client;
use tokio::{sync::Mutex, time::Instant};

use crate::{administration::Administration, display};

/// Minimum difference that counts. The service states its time in whole seconds, and its responses
/// take some time.
const LEAST: Duration = Duration::from_secs(60);
/// Time limit of the request to a real service, because a page may wait for it.
const TIMEOUT: Duration = Duration::from_secs(5);

pub(crate) struct ServiceClock {
    /// Maximum age of a comparison.
    max_age: Duration,
    /// Number of seconds by which the clock of the service is ahead; 0 if the clocks agree, or if
    /// the time of the service is not known.
    ahead: AtomicI64,
    /// `true` if the clock belongs to an emulator and stands still until it is moved.
    is_manual: AtomicBool,
    /// Time of the last comparison. The lock is held during a comparison.
    compared: Mutex<Option<Instant>>,
}

impl ServiceClock {
    /// Creates the clock. Until the first comparison, it shows the time of this machine.
    pub(crate) fn new(max_age: Duration) -> Self {
        Self {
            max_age,
            ahead: AtomicI64::new(0),
            is_manual: AtomicBool::new(false),
            compared: Mutex::default(),
        }
    }

    pub(crate) fn now(&self) -> SystemTime {
        let ahead = Duration::from_secs(self.ahead().unsigned_abs());
        let now = SystemTime::now();
        let shifted = match self.ahead() {
            0.. => now.checked_add(ahead),
            _ => now.checked_sub(ahead),
        };
        shifted.unwrap_or(now)
    }

    /// Returns the seconds by which the clock of the service is ahead; negative if it is behind.
    pub(crate) fn ahead(&self) -> i64 {
        self.ahead.load(Ordering::Relaxed)
    }

    /// Returns `true` if the clock is moved by hand.
    pub(crate) fn stands(&self) -> bool {
        self.is_manual.load(Ordering::Relaxed)
    }

    /// Returns a sentence about the difference; `None` if the clocks agree.
    pub(crate) fn note(&self) -> Option<String> {
        let ahead = self.ahead();
        let direction = if ahead > 0 { "ahead of" } else { "behind" };
        let difference = display::duration(Duration::from_secs(ahead.unsigned_abs()));
        let clock = match self.is_manual.load(Ordering::Relaxed) {
            true => "The clock of the emulator stands still until it is moved, and is",
            false => "The clock of the service is",
        };
        (ahead != 0).then(|| {
            format!(
                "{clock} {difference} {direction} that of this computer. Ages and running times \
                 are counted by it."
            )
        })
    }

    /// Compares the clocks if the last comparison is too old and no other request compares them. An
    /// error keeps the known difference; the requests of the page report the error.
    pub(crate) async fn compare(&self, client: &Client, emulator: Option<&Administration>) {
        let Ok(mut compared) = self.compared.try_lock() else {
            return;
        };
        if compared.is_some_and(|time| time.elapsed() < self.max_age) {
            return;
        }
        let time = match emulator {
            Some(emulator) => self.emulator_time(emulator).await,
            None => service_time(client).await,
        };
        if let Some(time) = time {
            let ahead = seconds_ahead(time, Timestamp::now());
            self.ahead.store(ahead, Ordering::Relaxed);
        }
        *compared = Some(Instant::now());
    }

    async fn emulator_time(&self, emulator: &Administration) -> Option<Timestamp> {
        let clock = emulator.clock().await.ok()?;
        self.is_manual.store(clock.manual, Ordering::Relaxed);
        clock.now.parse().ok()
    }
}

/// Returns the time in the header `Date` of the response to a small request.
async fn service_time(client: &Client) -> Option<Timestamp> {
    let client = client.with_timeout(TIMEOUT);
    let algorithms = client.api().list_algorithms().limit(1);
    let response = algorithms.project_id(client.project_id()).send().await;
    let response = response.ok()?;
    let date = response.headers().get("date")?.to_str().ok()?;
    Some(rfc2822::parse(date).ok()?.timestamp())
}

/// Returns the number of seconds by which the service is ahead; 0 for a small difference.
fn seconds_ahead(service: Timestamp, local: Timestamp) -> i64 {
    let ahead = local.duration_until(service);
    match ahead.abs() < SignedDuration::from_secs(LEAST.as_secs().cast_signed()) {
        true => 0,
        false => ahead.as_secs(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use modelarts_emulator::{Emulator, clock::ManualClock};
    use modelarts_ext::ClientBuilder;

    use super::*;

    #[test]
    fn a_small_difference_is_none() {
        let local: Timestamp = "2026-01-15T08:30:00Z".parse().unwrap();
        for (date, ahead) in [
            ("Thu, 15 Jan 2026 08:30:59 GMT", 0),
            ("Thu, 15 Jan 2026 08:29:01 GMT", 0),
            ("Thu, 15 Jan 2026 08:37:00 GMT", 420),
            ("Thu, 15 Jan 2026 08:23:00 GMT", -420),
        ] {
            let date = rfc2822::parse(date).unwrap().timestamp();
            assert_eq!(seconds_ahead(date, local), ahead, "{date}");
        }
    }

    #[tokio::test]
    async fn the_clock_of_a_service_is_that_of_its_responses() {
        let time = SystemTime::now() + Duration::from_secs(1000);
        let emulator = Emulator::builder().clock(Arc::new(ManualClock::at(time)));
        let emulator = emulator.start().await.unwrap();
        let client = ClientBuilder::from_vars(emulator.vars()).build().unwrap();
        let clock = ServiceClock::new(Duration::from_secs(600));
        clock.compare(&client, None).await;
        let passed = time.duration_since(SystemTime::now()).unwrap().as_secs().cast_signed();
        // A response has its time in whole seconds.
        assert!((passed - 1..=1000).contains(&clock.ahead()), "{passed} {}", clock.ahead());
        // One comparison suffices for a while.
        clock.compare(&client, None).await;
        assert_eq!(emulator.requests()["ListAlgorithms"].received, 1);
        // A service that does not respond does not change the clock.
        let known = clock.ahead();
        emulator.shutdown().await;
        *clock.compared.lock().await = None;
        clock.compare(&client, None).await;
        assert_eq!(clock.ahead(), known);
    }

    #[test]
    fn the_note_has_the_difference_and_its_direction() {
        let clock = ServiceClock::new(Duration::ZERO);
        assert_eq!(clock.note(), None);
        clock.ahead.store(-420, Ordering::Relaxed);
        assert_eq!(
            clock.note().unwrap(),
            "The clock of the service is 7m0s behind that of this computer. Ages and running times \
             are counted by it."
        );
        assert!(clock.now() < SystemTime::now() - Duration::from_secs(419));
        clock.ahead.store(3600, Ordering::Relaxed);
        assert!(clock.note().unwrap().contains("1h0m ahead of that"));
        assert!(clock.now() > SystemTime::now() + Duration::from_secs(3599));
    }
}
