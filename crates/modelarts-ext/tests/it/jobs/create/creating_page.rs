//! The page on creating jobs: its document and its tables.

use crate::support::create_job::client;

#[test]
fn the_page_has_the_tables_of_the_code() {
    let page = include_str!("../../../../CREATING.md");
    let mark = "<!-- The rest is written by `cargo run --example parameters -- --write`. -->\n\n";
    let (_, tables) = page.split_once(mark).unwrap();
    assert!(
        tables == modelarts_ext::jobs::create::parameters_as_markdown(),
        "CREATING.md is old: run `cargo run -p modelarts-ext --example parameters -- --write`"
    );
}

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
