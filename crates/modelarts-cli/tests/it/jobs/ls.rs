//! `modelarts ls`.

use serde_json::json;

use crate::support::{Fixture, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn a_table_lists_jobs_newest_first_with_short_ids() {
    let fixture = Fixture::start().await;
    let ids = fixture
        .seed(json!([
            {"name": "leaves", "created": "2026-01-15T08:30:00Z"},
            {"name": "bert", "created": "2026-01-16T08:30:00Z"},
        ]))
        .await;
    let output = fixture.run("ls --columns name,id,phase").await.code(0);
    output.stdout_eq(format!(
        "NAME    ID        PHASE\nbert    {}  ✓ Completed\nleaves  {}  ✓ Completed\n",
        &ids[1][..8],
        &ids[0][..8]
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_are_one_on_each_line() {
    let fixture = Fixture::start().await;
    let ids = fixture.seed(json!([{"name": "leaves"}])).await;
    let output = fixture.run("ls -o id").await.code(0);
    output.stdout_eq(format!("{}\n", ids[0])).stderr_eq("");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_the_version_of_its_schema() {
    let fixture = Fixture::start().await;
    fixture.seed(json!([{"name": "leaves"}])).await;
    let output = fixture.run("ls -o json").await.code(0);
    let document = json_of(&output, "jobs");
    assert_eq!(document["schema_version"], 1);
    assert_eq!(document["jobs"][0]["name"], "leaves");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_column_is_refused_with_the_names_of_all() {
    let fixture = Fixture::start().await;
    let output = fixture.run("ls --columns name,fase").await.code(2);
    output.stderr_eq(
        "error: --columns \"fase\": no column has this name; it must be one of: name, id, phase, \
         nodes, flavor/pool, age, ran, user, secondary, created, full-id, why\n",
    );
}
