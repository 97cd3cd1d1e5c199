//! Which events of a feed without ids and without a cursor were seen.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    time::{Duration, SystemTime},
};

use crate::jobs::events::event::Event;

/// Events have whole seconds: one that came at the end of a second looks that much
/// older than it is.
const CUT_OFF: Duration = Duration::from_secs(1);

/// Stands for an event: 16 bytes instead of some hundreds, as all events of a job are
/// remembered.
type Digest = (u64, u64);

/// All events that were seen, as a multiset, because events may be equal.
#[derive(Debug)]
pub(crate) struct Deduplicator {
    lateness: Duration,
    newest: Option<SystemTime>,
    /// When the poll that is under way began, by the clock of the client.
    begun: SystemTime,
    /// When the last complete one did.
    completed: Option<SystemTime>,
    /// How often each event was seen.
    counts: HashMap<Digest, usize>,
    /// How often it came in the poll that is under way.
    polled: HashMap<Digest, usize>,
    hashers: (RandomState, RandomState),
}

impl Deduplicator {
    pub(crate) fn new(lateness: Duration) -> Self {
        Self {
            lateness: lateness.saturating_add(CUT_OFF),
            newest: None,
            begun: SystemTime::UNIX_EPOCH,
            completed: None,
            counts: HashMap::new(),
            polled: HashMap::new(),
            hashers: (RandomState::new(), RandomState::new()),
        }
    }

    /// A poll begins.
    pub(crate) fn begin(&mut self, now: SystemTime) {
        self.polled.clear();
        self.begun = now;
    }

    /// The poll has brought all rows that there were.
    pub(crate) fn complete(&mut self) {
        self.completed = Some(self.begun);
    }

    /// The time in which to ask for new events. `None` is all of it.
    ///
    /// An event that appears not later than `lateness` after its time is in a window that
    /// begins so much before the newest event that was seen. Where that one is dated ahead
    /// of the clock, the last complete poll stands for it, or a clock that was set back since.
    pub(crate) fn window(
        &self,
        range: Option<(SystemTime, SystemTime)>,
    ) -> Option<(SystemTime, SystemTime)> {
        let Some((newest, completed)) = self.newest.zip(self.completed) else {
            return range;
        };
        let epoch = SystemTime::UNIX_EPOCH;
        let start = newest.min(completed).min(self.begun);
        // The service takes no times before 1970.
        let start = start.checked_sub(self.lateness).unwrap_or(epoch).max(epoch);
        match range {
            Some((from, to)) => Some((from.max(start).min(to), to)),
            None => {
                // The end must not cut off what the clock of the service calls the future.
                let end = newest.max(self.begun);
                Some((start, end + Duration::from_secs(24 * 3600)))
            }
        }
    }

    /// Takes the next rows of a poll, and gives back those that are new.
    pub(crate) fn new_among(&mut self, rows: Vec<Event>) -> Vec<Event> {
        let mut new = rows;
        new.retain(|row| {
            let digest = (self.hashers.0.hash_one(row), self.hashers.1.hash_one(row));
            let count = self.polled.entry(digest).or_default();
            *count += 1;
            let known = self.counts.entry(digest).or_default();
            let is_new = *count > *known;
            if is_new {
                *known = *count;
                self.newest = self.newest.max(row.time());
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

    /// A time after all events of these tests.
    fn later() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000)
    }

    fn seen() -> Deduplicator {
        Deduplicator::new(LATENESS)
    }

    fn look(seen: &mut Deduplicator, rows: &[Event]) -> Vec<Event> {
        seen.begin(later());
        let window = seen.window(None);
        let inside = |event: &&Event| {
            window.is_none_or(|(start, end)| {
                event
                    .time()
                    .is_some_and(|time| time >= start && time <= end)
            })
        };
        let new = seen.new_among(rows.iter().filter(inside).cloned().collect());
        seen.complete();
        new
    }

    #[test]
    fn equal_events_are_told_apart_by_their_number() {
        let mut seen = seen();
        let twice = [event(1, "a"), event(1, "a")];
        assert_eq!(look(&mut seen, &twice), twice);
        assert_eq!(look(&mut seen, &twice), []);
        let thrice = [event(1, "a"), event(1, "a"), event(1, "a")];
        assert_eq!(look(&mut seen, &thrice), [event(1, "a")]);
    }

    #[test]
    fn late_events_within_the_bound_are_new_once() {
        let mut seen = seen();
        look(&mut seen, &[event(20, "b")]);
        let rows = [event(5, "too late"), event(12, "late"), event(20, "b")];
        assert_eq!(look(&mut seen, &rows), [event(12, "late")]);
        assert_eq!(look(&mut seen, &rows), []);
    }

    #[test]
    fn the_window_begins_before_the_newest_event_and_before_now() {
        let mut seen = seen();
        let at = |second| event(second, "").time().unwrap();
        let day = Duration::from_secs(86400);
        assert_eq!(seen.window(None), None);
        assert_eq!(look(&mut seen, &[event(59, "x")]), [event(59, "x")]);
        let mut window = |now, range| {
            seen.begin(now);
            let window = seen.window(range);
            seen.complete();
            window
        };
        assert_eq!(window(at(70), None), Some((at(48), at(70) + day)));
        // The clock is set back, to before the newest event.
        assert_eq!(window(at(30), None), Some((at(19), at(59) + day)));
        // Events that came since the last poll are not before the window.
        assert_eq!(window(at(70), None), Some((at(19), at(70) + day)));
        assert_eq!(window(at(71), None), Some((at(48), at(71) + day)));
        // A range that was asked for is only made smaller.
        let range = Some((at(10), at(50)));
        assert_eq!(window(at(70), range), Some((at(48), at(50))));
        let range = Some((at(10), at(20)));
        assert_eq!(window(at(70), range), Some((at(20), at(20))));
        let start = SystemTime::UNIX_EPOCH;
        let window = window(start + Duration::from_secs(3), None);
        assert_eq!(window, Some((start, at(59) + day)));
    }

    #[test]
    fn events_are_known_however_far_a_poll_reaches_back() {
        let mut seen = seen();
        let mut rows: Vec<_> = (0..60).map(|second| event(second, "x")).collect();
        for row in &rows {
            assert_eq!(look(&mut seen, std::slice::from_ref(row)).len(), 1);
        }
        // Times that cannot be read have no place in the order.
        let odd = serde_json::json!({"time": "soon", "message": "odd"});
        rows.push(Event::new(serde_json::from_value(odd).unwrap()));
        for new in [1, 0] {
            seen.begin(later());
            assert_eq!(seen.new_among(rows.clone()).len(), new);
        }
    }

    proptest! {
        // The same cases each time, so that a failure is there again the next time too.
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(20_261_121),
            ..ProptestConfig::default()
        })]

        /// A feed with equal rows, late arrivals and rows that are dated ahead, polled at
        /// random times, page by page, with a clock that may be behind, gives each event once.
        #[test]
        fn each_event_of_a_random_feed_is_given_once(
            // When it happened, how much later it appears, how far ahead it is dated, and
            // what it says.
            feed in prop::collection::vec(
                (0_u64..300, 0_u64..=10, prop_oneof![3 => Just(0), 1 => 0_u64..500], 0_u8..3),
                0..80,
            ),
            // And how far the clock is behind then.
            looks in prop::collection::btree_map(
                0_u64..320, prop_oneof![3 => Just(0), 1 => 0_u64..1000], 0..30,
            ),
            page in 1_usize..20,
        ) {
            let mut seen = seen();
            let mut given: HashMap<Event, usize> = HashMap::new();
            for (look, behind) in looks.into_iter().chain([(400, 0)]) {
                let mut rows: Vec<_> = feed
                    .iter()
                    .filter(|(time, late, _, _)| time + late <= look)
                    .map(|(time, _, ahead, text)| event(*time + *ahead, &text.to_string()))
                    .collect();
                rows.sort_by_key(|event| event.time_text().to_owned());
                let now = event(look, "").time().unwrap() - Duration::from_secs(behind);
                seen.begin(now);
                if let Some((start, end)) = seen.window(None) {
                    rows.retain(|event| {
                        event.time().is_some_and(|time| time >= start && time <= end)
                    });
                }
                for rows in rows.chunks(page) {
                    for event in seen.new_among(rows.to_vec()) {
                        *given.entry(event).or_default() += 1;
                    }
                }
                seen.complete();
            }
            let mut all: HashMap<Event, usize> = HashMap::new();
            for (time, _, ahead, text) in feed {
                *all.entry(event(time + ahead, &text.to_string())).or_default() += 1;
            }
            prop_assert_eq!(given, all);
        }
    }
}
