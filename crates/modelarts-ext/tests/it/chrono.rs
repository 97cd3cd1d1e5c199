//! Conversions of times from and to chrono.

use chrono::{DateTime, FixedOffset, NaiveDate, TimeDelta, Utc};
use modelarts_ext::{Filter, Timestamp};

use crate::support::site::Site;

#[test]
fn times_convert_to_chrono_and_back() {
    for text in [
        "2026-01-15T08:30:45.123456789Z",
        "1970-01-01T00:00:00Z",
        "1969-12-31T23:59:59.25Z",
        "0001-01-01T00:00:00.000000001Z",
    ] {
        let time: Timestamp = text.parse().unwrap();
        let converted = DateTime::<Utc>::from(time);
        let expected: DateTime<FixedOffset> = text.parse().unwrap();
        assert_eq!(converted, expected);
        assert_eq!(Timestamp::from(converted), time);
        assert_eq!(Timestamp::from(expected), time);
    }
    for limit in [Timestamp::MIN, Timestamp::MAX] {
        assert_eq!(Timestamp::from(DateTime::<Utc>::from(limit)), limit);
    }
    assert_eq!(Timestamp::from(DateTime::<Utc>::MAX_UTC), Timestamp::MAX);
    assert_eq!(Timestamp::from(DateTime::<Utc>::MIN_UTC), Timestamp::MIN);
    let leap = NaiveDate::from_ymd_opt(2016, 12, 31).unwrap();
    let leap = leap.and_hms_milli_opt(23, 59, 59, 1500).unwrap().and_utc();
    assert_eq!(Timestamp::from(leap).to_string(), "2017-01-01T00:00:00.5Z");
}

#[tokio::test]
async fn a_time_of_chrono_is_a_condition() {
    let site = Site::start().await;
    let job = site.run(site.script("first", "")).await;
    let created = DateTime::<Utc>::from(job.created_at().unwrap());
    assert_eq!(created.timestamp_millis(), 1_768_465_845_000);
    let found = |start: DateTime<Utc>| {
        let list = site.client.training_jobs().list();
        list.filter(Filter::create_time().after(start)).collect(10)
    };
    assert_eq!(found(created).await.unwrap().len(), 1);
    let later = created + TimeDelta::seconds(1);
    assert_eq!(found(later).await.unwrap().len(), 0);
}
