//! Header `Date` of responses.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{Emulator, clock::ManualClock};

use crate::support::http;

#[tokio::test]
async fn the_date_of_responses_is_that_of_the_clock() {
    let clock = ManualClock::at(SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777));
    let builder = Emulator::builder().clock(Arc::new(clock));
    let emulator = builder.start().await.unwrap();
    let date = async || {
        let url = format!("{}/v2/p/training-quotas", emulator.url());
        let response = http().get(url).send().await.unwrap();
        assert_eq!(response.status(), 401);
        let dates: Vec<_> = response.headers().get_all("date").iter().collect();
        assert_eq!(dates.len(), 1);
        dates[0].to_str().unwrap().to_owned()
    };
    assert_eq!(date().await, "Sun, 06 Nov 1994 08:49:37 GMT");
    assert!(emulator.advance(Duration::from_secs(3600)).await);
    assert_eq!(date().await, "Sun, 06 Nov 1994 09:49:37 GMT");
    emulator.shutdown().await;
}
