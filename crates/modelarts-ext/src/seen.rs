//! Which events of a feed without ids and without a cursor were seen.

use std::{
    collections::HashMap,
    time::{Duration, SystemTime},
};

use crate::event::Event;

/// Events have whole seconds: one that came at the end of a second looks that much
/// older than it is.
const CUT_OFF: Duration = Duration::from_secs(1);

/// What was seen near the newest event, as a multiset, because events may be equal.
#[derive(Debug)]
pub(crate) struct Seen {
    lateness: Duration,
    newest: Option<SystemTime>,
    /// What is older was forgotten.
    known_from: Option<SystemTime>,
    /// How often each event was seen.
    counts: HashMap<Event, usize>,
    /// How often it came in the window that is being read.
    window: HashMap<Event, usize>,
}

impl Seen {
    pub(crate) fn new(lateness: Duration) -> Self {
        Self {
            lateness: lateness.saturating_add(CUT_OFF),
            newest: None,
            known_from: None,
            counts: HashMap::new(),
            window: HashMap::new(),
        }
    }

    /// Begins a window: the time to ask for. `None` is all of it.
    ///
    /// An event that appears not later than `lateness` after its time is in a window
    /// that begins so much before the newest event of the look before.
    pub(crate) fn begin(
        &mut self,
        now: SystemTime,
        range: Option<(SystemTime, SystemTime)>,
    ) -> Option<(SystemTime, SystemTime)> {
        // Times that cannot be read have no place in the order; such events are only
        // known from one window to the next.
        let window = std::mem::take(&mut self.window);
        self.counts
            .retain(|event, _| event.time().is_some() || window.contains_key(event));
        let Some(start) = self.start() else {
            return range;
        };
        match range {
            Some((from, to)) => Some((from.max(start).min(to), to)),
            None => {
                // The end must not cut off what the clock of the service calls the future.
                let end = self.newest.map_or(now, |newest| newest.max(now));
                Some((start, end + Duration::from_secs(24 * 3600)))
            }
        }
    }

    fn start(&self) -> Option<SystemTime> {
        self.newest?.checked_sub(self.lateness)
    }

    /// Takes the next rows of the window, oldest first, and gives back those that are
    /// new.
    pub(crate) fn new_among(&mut self, rows: Vec<Event>) -> Vec<Event> {
        let mut new = Vec::new();
        for row in rows {
            let count = self.window.entry(row.clone()).or_default();
            *count += 1;
            let known = self.counts.entry(row.clone()).or_default();
            if *count > *known {
                *known = *count;
                self.newest = self.newest.max(row.time());
                new.push(row);
            }
        }
        // What the next window cannot hold need not be known any more, and this one
        // cannot either, because it is in order.
        if let Some(start) = self.start().filter(|start| Some(*start) > self.known_from) {
            let near = |event: &Event| event.time().is_none_or(|time| time >= start);
            self.counts.retain(|event, _| near(event));
            self.window.retain(|event, _| near(event));
            self.known_from = Some(start);
        }
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

    fn seen() -> Seen {
        Seen::new(LATENESS)
    }

    fn look(seen: &mut Seen, rows: &[Event]) -> Vec<Event> {
        let window = seen.begin(SystemTime::UNIX_EPOCH, None);
        let inside = |event: &&Event| {
            window.is_none_or(|(start, end)| {
                event
                    .time()
                    .is_some_and(|time| time >= start && time <= end)
            })
        };
        seen.new_among(rows.iter().filter(inside).cloned().collect())
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
    fn memory_is_bounded_by_the_window() {
        let mut seen = seen();
        for second in 0..60 {
            look(&mut seen, &[event(second, "x")]);
        }
        assert_eq!(seen.counts.len(), 12);
        assert!(seen.window.len() <= 12);
        let (start, end) = seen.begin(SystemTime::UNIX_EPOCH, None).unwrap();
        assert_eq!(Some(start), event(48, "").time());
        let day = Duration::from_secs(86400);
        assert_eq!(Some(end), event(59, "").time().map(|time| time + day));
        // A range that was asked for is only made smaller.
        let at = |second| event(second, "").time().unwrap();
        let range = seen.begin(SystemTime::UNIX_EPOCH, Some((at(10), at(50))));
        assert_eq!(range, Some((at(48), at(50))));
        let range = seen.begin(SystemTime::UNIX_EPOCH, Some((at(10), at(20))));
        assert_eq!(range, Some((at(20), at(20))));
    }

    #[test]
    fn events_without_a_time_are_known_for_one_window() {
        let mut odd = Vec::new();
        for number in 0..100 {
            odd.push(Event::new(
                serde_json::from_value(serde_json::json!({
                    "time": "soon", "message": number.to_string(),
                }))
                .unwrap(),
            ));
        }
        let mut seen = seen();
        for pair in odd.windows(2) {
            seen.begin(SystemTime::UNIX_EPOCH, None);
            assert!(!seen.new_among(pair.to_vec()).is_empty());
        }
        assert!(seen.counts.len() < 5);
    }

    proptest! {
        // The same cases each time, so that a failure is there again the next time too.
        #![proptest_config(ProptestConfig {
            failure_persistence: None,
            rng_seed: RngSeed::Fixed(20_261_121),
            ..ProptestConfig::default()
        })]

        /// A feed with equal rows and late arrivals, looked at at random times, page by
        /// page, gives each event once.
        #[test]
        fn each_event_of_a_random_feed_is_given_once(
            // When it happened, how much later it appears, and what it says.
            feed in prop::collection::vec((0_u64..300, 0_u64..=10, 0_u8..3), 0..80),
            looks in prop::collection::btree_set(0_u64..320, 0..30),
            page in 1_usize..20,
        ) {
            let mut seen = seen();
            let mut given: HashMap<Event, usize> = HashMap::new();
            for look in looks.into_iter().chain([400]) {
                let mut rows: Vec<_> = feed
                    .iter()
                    .filter(|(time, late, _)| time + late <= look)
                    .map(|(time, _, text)| event(*time, &text.to_string()))
                    .collect();
                rows.sort_by_key(|event| event.time_text().to_owned());
                let now = event(look, "").time().unwrap();
                if let Some((start, end)) = seen.begin(now, None) {
                    rows.retain(|event| {
                        event.time().is_some_and(|time| time >= start && time <= end)
                    });
                }
                for rows in rows.chunks(page) {
                    for event in seen.new_among(rows.to_vec()) {
                        *given.entry(event).or_default() += 1;
                    }
                }
            }
            let mut all: HashMap<Event, usize> = HashMap::new();
            for (time, _, text) in feed {
                *all.entry(event(time, &text.to_string())).or_default() += 1;
            }
            prop_assert_eq!(given, all);
        }
    }
}
