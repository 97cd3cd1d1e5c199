//! Pages of a list by their number.

use modelarts_emulator::quirks::Quirks;
use modelarts_ext::{
    Client, Filter,
    clock::Clock,
    jobs::ListJobs,
    pagination::{Offset, Page},
};
use serde_json::json;

use crate::support::{
    clock::{TestClock, seconds},
    errors::{message, refused},
    server::Server,
    site::Site,
};

/// Returns a site with the jobs `job-0`, the oldest, to `job-4`, whose service has these quirks.
async fn site(settings: &[&str]) -> Site {
    let mut quirks = Quirks::default();
    for setting in settings {
        quirks.set(setting).unwrap();
    }
    let site = Site::with(|builder| builder.quirks(quirks)).await;
    for number in 0..5 {
        site.script(&format!("job-{number}"), "").submit().await.unwrap();
    }
    site
}

fn list(client: &Client) -> ListJobs {
    client.training_jobs().list().oldest_first().page_size(2)
}

fn numbers(page: &Page<modelarts_ext::Job>) -> Vec<&str> {
    page.items.iter().map(|job| &job.name()[4..]).collect()
}

#[tokio::test]
async fn a_page_has_the_rows_of_its_number() {
    let site = site(&[]).await;
    for (number, rows) in [(0, &["0", "1"][..]), (1, &["2", "3"]), (2, &["4"]), (3, &[])] {
        let page = list(&site.client).page(number).await.unwrap();
        assert_eq!(numbers(&page), rows);
        assert_eq!((page.matching, page.total), (Some(5), Some(5)), "{number}");
        assert_eq!(page.position.rows(), number * 2 + rows.len() as u64);
    }
    let filter = || Filter::name().like("job-3");
    let page = list(&site.client).filter(filter()).page(0).await.unwrap();
    assert_eq!((numbers(&page), page.matching), (vec!["3"], Some(1)));
    // The list continues after a page.
    let page = list(&site.client).page(1).await.unwrap();
    let rest = list(&site.client).resume(page.position).collect(9).await;
    assert_eq!(rest.unwrap()[0].name(), "job-4");
}

#[tokio::test]
async fn a_page_of_a_short_range_of_times_is_one_search() {
    let site = site(&[]).await;
    let hour = site.clock.now() - seconds(3600);
    let recent = || list(&site.client).filter(Filter::create_time().after(hour));
    let page = recent().page(1).await.unwrap();
    assert_eq!((numbers(&page), page.matching), (vec!["2", "3"], Some(5)));
    let rest = recent().resume(page.position).collect(9).await.unwrap();
    assert_eq!(rest[0].name(), "job-4");
}

#[tokio::test]
async fn offsets_of_an_older_release_count_records() {
    let site = site(&["jobs-offset=job"]).await;
    let list = list(&site.client).offset_is(Offset::Record);
    let page = list.page(1).await.unwrap();
    assert_eq!(numbers(&page), ["2", "3"]);
}

/// A count of the jobs on the page does not state how many jobs match.
#[tokio::test]
async fn the_number_of_matching_rows_is_certain_or_absent() {
    let site = site(&["jobs-count=page"]).await;
    let list = || list(&site.client).filter(Filter::name().like("job"));
    for (number, matching) in [(0, None), (1, None), (2, Some(5)), (3, None)] {
        let page = list().page(number).await.unwrap();
        assert_eq!(page.matching, matching, "{number}");
    }
}

#[tokio::test]
async fn a_page_that_has_no_number_is_refused_before_sending() {
    let server = Server::start([]).await;
    let clock = TestClock::new();
    let client = server.client(&clock).build().unwrap();
    let quarter = clock.now() - seconds(90 * 24 * 3600);
    let position = json!({
        "list": "ListTrainingJobs", "read": 2, "last": [], "more": true,
    });
    let position = serde_json::from_value(position).unwrap();
    for (list, number, expected) in [
        (
            list(&client).filter(Filter::create_time().after(quarter)),
            0,
            "page 0: the list consists of 3 searches, whose pages have no numbers; use pages(), or \
             a range of at most 31 days",
        ),
        (list(&client).resume(position), 0, "resume: must not be set for a page with a number"),
        (list(&client), u64::MAX, "page 18446744073709551615: must be at most 2147483647"),
    ] {
        assert_eq!(message(&refused(list.page(number).await)), expected);
    }
    let job = client.training_jobs().job("job-1").unwrap();
    assert_eq!(
        message(&refused(job.events().page(1).await)),
        "page 1: sources disagree on the unit of the offsets of ListTrainingJobEvents; set it with \
         offset_is"
    );
    assert_eq!(server.requests(), [""; 0]);
}
