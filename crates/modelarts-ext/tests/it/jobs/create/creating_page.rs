//! Test of the job document in `CREATING.md`.

use crate::support::create_job::client;

#[test]
fn the_document_of_the_page_is_a_job() {
    let page = include_str!("../../../../CREATING.md");
    let (_, rest) = page.split_once("```yaml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let job = client().training_jobs().from_yaml(text).unwrap();
    let report = job.check();
    assert_eq!((report.violations, report.warnings), (vec![], vec![]));
    assert_eq!(job.body()["algorithm"]["parameters"][0]["value"], "3");
}
