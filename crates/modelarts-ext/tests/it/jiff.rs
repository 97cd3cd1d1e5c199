//! Conversions of times from and to jiff.

use jiff::{ToSpan, tz::TimeZone};
use modelarts_ext::{Filter, Timestamp};

use crate::support::site::Site;

#[test]
fn times_convert_to_jiff_and_back() {
    for text in
        ["2026-01-15T08:30:45.123456789Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59.25Z"]
    {
        let time: Timestamp = text.parse().unwrap();
        let converted = jiff::Timestamp::from(time);
        assert_eq!(converted, text.parse::<jiff::Timestamp>().unwrap());
        assert_eq!(Timestamp::from(converted), time);
        assert_eq!(Timestamp::from(converted.to_zoned_datetime(TimeZone::UTC)), time);
    }
    assert_eq!(jiff::Timestamp::from(Timestamp::MAX), jiff::Timestamp::MAX);
    assert_eq!(Timestamp::from(jiff::Timestamp::MIN), Timestamp::MIN);
}

#[tokio::test]
async fn a_time_of_jiff_is_a_condition() {
    let site = Site::start().await;
    let job = site.run(site.script("first", "")).await;
    let created = jiff::Timestamp::from(job.created_at().unwrap());
    assert_eq!(created.to_string(), "2026-01-15T08:30:45Z");
    let found = |start: jiff::Timestamp| {
        let list = site.client.training_jobs().list();
        list.filter(Filter::create_time().after(start)).collect(10)
    };
    assert_eq!(found(created).await.unwrap().len(), 1);
    let later = created + 1.second();
    assert_eq!(found(later).await.unwrap().len(), 0);
}
