//! A service whose clock differs from that of this machine.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::clock::ManualClock;
use serde_json::json;

use crate::support::Fixture;

const NOTE: &str = "<p class=\"note clock\">";

/// Starts an emulator with this time.
async fn start(time: SystemTime) -> Fixture {
    let clock = Arc::new(ManualClock::at(time));
    Fixture::with(|emulator| emulator.clock(clock), |console| console).await
}

/// Returns the sentence about the clocks.
fn note(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(NOTE)?;
    rest.split_once("</p>").map(|(note, _)| note)
}

#[tokio::test]
async fn pages_say_that_the_clock_of_the_service_is_minutes_off() {
    const MINUTES: Duration = Duration::from_secs(7 * 60 + 30);
    let seconds_to = |time: SystemTime| match time.duration_since(SystemTime::now()) {
        Ok(ahead) => ahead.as_secs() as i64,
        Err(behind) => -(behind.duration().as_secs() as i64),
    };
    let now = SystemTime::now();
    for (time, direction) in [(now + MINUTES, "ahead of"), (now - MINUTES, "behind")] {
        let fixture = start(time).await;
        let id = fixture.seed(json!([{"name": "off", "phase": "Running"}])).await.remove(0);
        // The clock of the service stands still during the test, that of this computer does not.
        let most = seconds_to(time);
        for path in ["/jobs", &format!("/jobs/{id}"), &format!("/jobs/{id}/logs")] {
            let page = fixture.page(path).await;
            let note = note(&page).unwrap();
            let least = seconds_to(time);
            let is_expected = (least - 1..=most).any(|ahead| {
                let (minutes, seconds) = (ahead.abs() / 60, ahead.abs() % 60);
                let difference = format!("{minutes}m{seconds}s {direction} that of this");
                note.contains(&format!("until it is moved, and is {difference}"))
            });
            assert!(is_expected, "{path}: {note}, {least} to {most}");
        }
        // The age is that on the clock of the service, and scripts count on from it.
        let page = fixture.page("/jobs").await;
        let (_, age) = page.split_once("data-age title=\"").unwrap();
        let (_, age) = age.split_once("\">").unwrap();
        let age = age.split_once('<').unwrap().0;
        let seconds = age.strip_suffix('s').and_then(|age| age.parse::<u32>().ok());
        assert!(seconds.is_some(), "{age}");
        let (_, ahead) = page.split_once("data-ahead=\"").unwrap();
        let ahead: i64 = ahead.split_once('"').unwrap().0.parse().unwrap();
        let least = seconds_to(time);
        assert!((least - 1..=most).contains(&ahead), "{least} {ahead} {most}");
    }
}

#[tokio::test]
async fn clocks_that_agree_need_no_sentence() {
    let fixture = start(SystemTime::now() + Duration::from_secs(30)).await;
    let page = fixture.page("/jobs").await;
    assert_eq!(note(&page), None);
    assert!(page.contains("data-ahead=\"0\""), "{page}");
}

#[tokio::test]
async fn a_stranger_learns_nothing_of_the_service() {
    let fixture = start(SystemTime::now() + Duration::from_secs(3600)).await;
    assert!(note(&fixture.page("/jobs").await).is_some());
    let login = fixture.stranger("GET", "/jobs").send().await.unwrap();
    assert_eq!(note(&login.text().await.unwrap()), None);
}
