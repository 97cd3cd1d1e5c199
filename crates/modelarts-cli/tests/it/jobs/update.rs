//! `modelarts update`.

use serde_json::json;

use crate::support::{Fixture, json_of};

#[tokio::test(flavor = "multi_thread")]
async fn the_priority_of_a_pending_job_and_descriptions_are_changed() {
    let fixture = Fixture::start().await;
    let job = json!({
        "kind": "job", "metadata": {"name": "waiting"},
        "algorithm": {"engine": {"image_url": "seeds/image:1"}, "command": "true"},
        "spec": {"resource": {"pool_id": "pool-gpu", "node_count": 1,
                              "flavor_id": "modelarts.pool.visual.xlarge"}},
    });
    fixture
        .seed(json!([{"name": "waiting", "phase": "Pending", "job": job}, {"name": "done"}]))
        .await;
    let output =
        fixture.run("update waiting --priority 2 --description second --columns name,result").await;
    output.code(0).stdout_eq("NAME     RESULT\nwaiting  updated\n");
    let document = json_of(&fixture.run("show waiting -o json").await.code(0), "job");
    assert_eq!(
        (&document["settings"]["priority"], &document["description"]),
        (&json!(2), &json!("second"))
    );

    // A job that does not wait keeps its priority. The others are changed nevertheless.
    let output = fixture.run("update done waiting --priority 1 -o json").await.code(1);
    let document = json_of(&output, "results");
    let results: Vec<_> =
        document["results"].as_array().unwrap().iter().map(|row| row["result"].clone()).collect();
    assert_eq!(results, ["failed", "updated"]);

    for (wrong, rule) in [
        ("update waiting", "--priority <PRIORITY>|--description <TEXT>"),
        ("update waiting --priority 9", "priority"),
        ("update waiting --priority high", "must be"),
    ] {
        let output = fixture.run(wrong).await;
        let output = output.get_output();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(rule), "{wrong}: {text}");
    }
}
