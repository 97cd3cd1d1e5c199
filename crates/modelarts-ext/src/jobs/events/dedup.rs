//! Deduplication of events, which have no ids, in overlapping time windows.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use crate::{
    jobs::events::event::{Event, TIME_RESOLUTION},
    timestamp::Timestamp,
};

/// Hash of an event, stored instead of the event to save memory: 16 bytes instead of some hundred.
type Digest = (u64, u64);

type Range = (Timestamp, Timestamp);

/// Multiset of all returned events. Occurrences are counted, because two events may be equal.
#[derive(Debug, Default)]
pub(super) struct Deduplicator {
    lateness: Duration,
    newest: Option<Timestamp>,
    poll_start: Option<Timestamp>,
    last_complete: Option<Timestamp>,
    counts: HashMap<Digest, usize>,
    poll_counts: HashMap<Digest, usize>,
    hashers: (RandomState, RandomState),
}

impl Deduplicator {
    pub(super) fn new(lateness: Duration) -> Self {
        Self { lateness: lateness.saturating_add(TIME_RESOLUTION), ..Self::default() }
    }

    pub(super) fn complete_poll(&mut self) {
        self.last_complete = self.poll_start;
    }

    /// Begins a poll. Its range begins `lateness` before the newest event or last complete poll.
    pub(super) fn begin_poll(&mut self, now: Timestamp, range: Option<Range>) -> Option<Range> {
        self.poll_counts.clear();
        self.poll_start = Some(now);
        let Some((newest, last_complete)) = self.newest.zip(self.last_complete) else {
            return range;
        };
        let start = newest.min(last_complete).min(now);
        // The service accepts no times before 1970.
        let start = (start - self.lateness).max(Timestamp::UNIX_EPOCH);
        match range {
            Some((from, to)) => Some((from.max(start).min(to), to)),
            None => {
                // The range must include events that the clock of the service dates in the future.
                let end = newest.max(now);
                Some((start, end + Duration::from_secs(24 * 3600)))
            }
        }
    }

    pub(super) fn take_new(&mut self, rows: Vec<Event>) -> Vec<Event> {
        let mut new = rows;
        new.retain(|row| {
            // A stored event has its time in another form.
            let time = row.time().ok_or(row.time_text());
            let row = (time, row.level(), row.source(), row.message());
            let digest = (self.hashers.0.hash_one(row), self.hashers.1.hash_one(row));
            let count = self.poll_counts.entry(digest).or_default();
            *count += 1;
            let max_count = self.counts.entry(digest).or_default();
            let is_new = *count > *max_count;
            if is_new {
                *max_count = *count;
                self.newest = self.newest.max(time.ok());
            }
            is_new
        });
        new
    }
}

#[cfg(test)]
mod tests {
    use proptest::{prelude::*, test_runner::RngSeed};

    use super::*;

    fn event(second: u64, message: &str) -> Event {
        let time = jiff::Timestamp::from_second(1_768_465_800 + i64::try_from(second).unwrap());
        Event::new(
            serde_json::from_value(serde_json::json!({
                "time": time.unwrap().to_string(),
                "level": "Info", "source": "Job", "message": message,
            }))
            .unwrap(),
        )
    }

    const LATENESS: Duration = Duration::from_secs(10);

    /// Returns a time after all events in these tests.
    fn later() -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(2_000_000_000)
    }

    fn deduplicator() -> Deduplicator {
        Deduplicator::new(LATENESS)
    }

    fn poll(dedup: &mut Deduplicator, rows: &[Event]) -> Vec<Event> {
        let window = dedup.begin_poll(later(), None);
        let inside = |event: &&Event| {
            window.is_none_or(|(start, end)| {
                event.time().is_some_and(|time| time >= start && time <= end)
            })
        };
        let new = dedup.take_new(rows.iter().filter(inside).cloned().collect());
        dedup.complete_poll();
        new
    }

    #[test]
    fn equal_events_are_distinguished_by_their_number() {
        let mut dedup = deduplicator();
        let twice = [event(1, "a"), event(1, "a")];
        assert_eq!(poll(&mut dedup, &twice), twice);
        assert_eq!(poll(&mut dedup, &twice), []);
        let thrice = [event(1, "a"), event(1, "a"), event(1, "a")];
        assert_eq!(poll(&mut dedup, &thrice), [event(1, "a")]);
    }

    #[test]
    fn late_events_within_the_bound_are_new_once() {
        let mut dedup = deduplicator();
        poll(&mut dedup, &[event(20, "b")]);
        let rows = [event(5, "too late"), event(12, "late"), event(20, "b")];
        assert_eq!(poll(&mut dedup, &rows), [event(12, "late")]);
        assert_eq!(poll(&mut dedup, &rows), []);
    }

    #[test]
    fn the_window_begins_before_the_newest_event_and_before_now() {
        let mut dedup = deduplicator();
        let at = |second| event(second, "").time().unwrap();
        let day = Duration::from_secs(86400);
        assert_eq!(dedup.begin_poll(later(), None), None);
        assert_eq!(poll(&mut dedup, &[event(59, "x")]), [event(59, "x")]);
        let mut window = |now, range| {
            let window = dedup.begin_poll(now, range);
            dedup.complete_poll();
            window
        };
        assert_eq!(window(at(70), None), Some((at(48), at(70) + day)));
        // The clock was set back, to before the newest event.
        assert_eq!(window(at(30), None), Some((at(19), at(59) + day)));
        // The window must include events that appeared since the last poll.
        assert_eq!(window(at(70), None), Some((at(19), at(70) + day)));
        assert_eq!(window(at(71), None), Some((at(48), at(71) + day)));
        // A time range that the caller sets is only narrowed.
        let range = Some((at(10), at(50)));
        assert_eq!(window(at(70), range), Some((at(48), at(50))));
        let range = Some((at(10), at(20)));
        assert_eq!(window(at(70), range), Some((at(20), at(20))));
        let start = Timestamp::UNIX_EPOCH;
        let window = window(start + Duration::from_secs(3), None);
        assert_eq!(window, Some((start, at(59) + day)));
    }

    #[test]
    fn events_are_known_however_far_a_poll_reaches_back() {
        let mut dedup = deduplicator();
        let mut rows: Vec<_> = (0..60).map(|second| event(second, "x")).collect();
        for row in &rows {
            assert_eq!(poll(&mut dedup, std::slice::from_ref(row)).len(), 1);
        }
        // An event with an unreadable time is also returned once.
        let undated = serde_json::json!({"time": "soon", "message": "undated"});
        rows.push(Event::new(serde_json::from_value(undated).unwrap()));
        for new in [1, 0] {
            dedup.begin_poll(later(), None);
            assert_eq!(dedup.take_new(rows.clone()).len(), new);
        }
    }

    proptest! {
        // A fixed seed makes failures reproducible.
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(20_261_121),
            ..ProptestConfig::default()
        })]

        /// A random feed yields each event once. It contains equal events, late events and events
        /// dated ahead, and is polled at random times, page by page, by a client whose clock may be
        /// behind.
        #[test]
        fn each_event_of_a_random_feed_is_given_once(
            // For each event: its time, the delay of its appearance, the number of seconds by which
            // it is dated ahead, and its message.
            feed in prop::collection::vec(
                (0_u64..300, 0_u64..=10, prop_oneof![3 => Just(0), 1 => 0_u64..500], 0_u8..3),
                0..80,
            ),
            // For each poll: its time, and the number of seconds by which the clock of the client
            // is behind.
            polls in prop::collection::btree_map(
                0_u64..320, prop_oneof![3 => Just(0), 1 => 0_u64..1000], 0..30,
            ),
            page in 1_usize..20,
        ) {
            let mut dedup = deduplicator();
            let mut given: HashMap<Event, usize> = HashMap::new();
            for (now, behind) in polls.into_iter().chain([(400, 0)]) {
                let mut rows: Vec<_> = feed
                    .iter()
                    .filter(|(time, late, _, _)| time + late <= now)
                    .map(|(time, _, ahead, text)| event(*time + *ahead, &text.to_string()))
                    .collect();
                rows.sort_by_key(|event| event.time_text().to_owned());
                let clock = event(now, "").time().unwrap() - Duration::from_secs(behind);
                if let Some((start, end)) = dedup.begin_poll(clock, None) {
                    rows.retain(|event| {
                        event.time().is_some_and(|time| time >= start && time <= end)
                    });
                }
                for rows in rows.chunks(page) {
                    for event in dedup.take_new(rows.to_vec()) {
                        *given.entry(event).or_default() += 1;
                    }
                }
                dedup.complete_poll();
            }
            let mut all: HashMap<Event, usize> = HashMap::new();
            for (time, _, ahead, text) in feed {
                *all.entry(event(time + ahead, &text.to_string())).or_default() += 1;
            }
            prop_assert_eq!(given, all);
        }
    }
}
