//! `modelarts sync`.

use std::fs;

use serde_json::json;

use crate::support::{Fixture, json_of, lines_of};

/// Returns an emulator with a bucket, and a directory with files that are sent and others.
async fn with_data() -> Fixture {
    let fixture = Fixture::start().await;
    fixture.emulator.put("obs://my-bucket/other.txt", "x").unwrap();
    fixture.write("data/a.csv", "1,2\n");
    fixture.write("data/sub/b.csv", "3,4,5\n");
    fixture.write("data/.env", "KEY=hunter2");
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_sent_and_received() {
    let fixture = with_data().await;
    let output = fixture.run("sync data obs://my-bucket/in").await.code(0);
    output.stderr_eq("").stdout_eq(
        "left out  .env: may hold credentials\n\
         data → obs://my-bucket/in  2 files, 10 B sent, 1 left out\n",
    );
    assert_eq!(fixture.emulator.get("obs://my-bucket/in/sub/b.csv").unwrap(), b"3,4,5\n");
    assert!(fixture.emulator.get("obs://my-bucket/in/.env").is_err());
    let output = fixture.run("sync data obs://my-bucket/in").await.code(0);
    output.stdout_eq(
        "left out  .env: may hold credentials\n\
         data → obs://my-bucket/in  nothing sent, 2 unchanged, 1 left out\n",
    );
    let output = fixture.run("sync obs://my-bucket/in back -o wide").await.code(0);
    output.stdout_eq(
        "receive   a.csv  4 B\n\
         receive   sub/b.csv  6 B\n\
         obs://my-bucket/in → back  2 files, 10 B received\n",
    );
    assert_eq!(fs::read(fixture.path().join("back/sub/b.csv")).unwrap(), b"3,4,5\n");
    let output = fixture.run("sync obs://my-bucket/in obs://my-bucket/copy").await;
    output.code(0).stdout_eq("obs://my-bucket/in → obs://my-bucket/copy  2 files, 10 B copied\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_each_change() {
    let fixture = with_data().await;
    let output = fixture.run("sync data obs://my-bucket/in -o json").await.code(0);
    let report = json_of(&output, "sync");
    assert_eq!(report["transferred"], json!({"files": 2, "bytes": 10}));
    assert_eq!(
        report["changes"],
        json!([
            {"path": "a.csv", "action": "transfer", "bytes": 4},
            {"path": "sub/b.csv", "action": "transfer", "bytes": 6},
        ])
    );
    assert_eq!(report["left_out"][0]["reason"], "credentials");
    assert_eq!((&report["direction"], &report["dry_run"]), (&json!("upload"), &json!(false)));
}

#[tokio::test(flavor = "multi_thread")]
async fn ndjson_has_each_event_and_the_end_last() {
    let fixture = with_data().await;
    let output = fixture.run("sync data obs://my-bucket/in -o ndjson --transfers 1").await;
    let lines = lines_of(&output.code(0), "sync.line");
    let kinds: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["left_out", "planned", "transferred", "transferred", "finished"]);
    assert_eq!(lines[1]["total"], json!({"files": 2, "bytes": 10}));
    assert_eq!(lines[3]["done"], json!({"files": 2, "bytes": 10}));
    assert_eq!(lines[4]["left_out"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_the_source_does_not_have_are_deleted_only_with_a_confirmation() {
    let fixture = with_data().await;
    fixture.emulator.put("obs://my-bucket/in/old.csv", "x").unwrap();
    let output = fixture.run("sync data obs://my-bucket/in --delete").await.code(2);
    output.stdout_eq("").stderr_eq(
        "error: this would delete files at obs://my-bucket/in; without a terminal to ask on, \
         --yes must be given\n",
    );
    let output = fixture.run("sync data obs://my-bucket/in --delete --dry-run").await;
    output.code(0).stdout_eq(
        "send      a.csv  4 B\n\
         delete    old.csv\n\
         send      sub/b.csv  6 B\n\
         left out  .env: may hold credentials\n\
         data → obs://my-bucket/in  dry run: 2 files, 10 B to send, 1 to delete, 1 left out\n",
    );
    assert!(fixture.emulator.get("obs://my-bucket/in/old.csv").is_ok());
    assert!(fixture.emulator.get("obs://my-bucket/in/a.csv").is_err());
    let output = fixture.run("sync data obs://my-bucket/in --delete --yes").await.code(0);
    output.stdout_eq(
        "left out  .env: may hold credentials\n\
         data → obs://my-bucket/in  2 files, 10 B sent, 1 deleted, 1 left out\n",
    );
    assert!(fixture.emulator.get("obs://my-bucket/in/old.csv").is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_without_changes_has_nothing_to_send() {
    let fixture = with_data().await;
    fixture.run("sync data obs://my-bucket/in").await.code(0);
    let output = fixture.run("sync data obs://my-bucket/in -n").await.code(0);
    output.stdout_eq(
        "left out  .env: may hold credentials\n\
         data → obs://my-bucket/in  dry run: nothing to send, 2 unchanged, 1 left out\n",
    );
    let output = fixture.run("sync obs://my-bucket/in back -n").await.code(0);
    output.stdout_eq(
        "receive   a.csv  4 B\n\
         receive   sub/b.csv  6 B\n\
         obs://my-bucket/in → back  dry run: 2 files, 10 B to receive\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_requests_has_its_rule() {
    let fixture = Fixture::start().await;
    for number in ["0", "-1", "1001", "many"] {
        let arguments = format!("sync data obs://my-bucket/in --transfers {number}");
        let output = fixture.run(&arguments).await.code(2);
        output.stdout_eq("").stderr_eq(format!(
            "error: invalid value '{number}' for '--transfers <REQUESTS>': it must be a whole \
             number from 1 to 1000\n\nFor more information, try '--help'.\n"
        ));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn git_ignores_only_on_request() {
    let fixture = with_data().await;
    fixture.write("data/.gitignore", "*.csv\n!a.csv\n");
    let output = fixture.run("sync data obs://my-bucket/in --gitignore -n -o json").await;
    let report = json_of(&output.code(0), "sync");
    let left_out: Vec<&str> = report["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .map(|file| file["path"].as_str().unwrap())
        .collect();
    assert_eq!(left_out, [".env", "sub/b.csv"]);
    assert_eq!(report["left_out"][1]["detail"], "the pattern *.csv of .gitignore matches");
    let output = fixture.run("sync data obs://my-bucket/in -n --jq .transferred.files").await;
    output.code(0).stdout_eq("3\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_addresses_name_the_rule() {
    let fixture = with_data().await;
    for (arguments, code, message) in [
        (
            "data back",
            2,
            "SOURCE and TARGET are paths of this machine; at least one must be an address such as \
             obs://my-bucket/data",
        ),
        (
            "none obs://my-bucket/in",
            2,
            "SOURCE none: No such file or directory (os error 2); it must be a directory, a file \
             or an obs:// address",
        ),
        (
            "data s3://my-bucket/in",
            2,
            "TARGET s3://my-bucket/in: it must be a path of this machine or an obs:// address, \
             such as obs://my-bucket/in",
        ),
        (
            "data obs://My_Bucket/in",
            2,
            "TARGET: the bucket \"My_Bucket\" must have 3 to 63 lower-case letters, digits, \
             hyphens and dots, and begin and end with a letter or a digit",
        ),
        (
            "obs://my-bucket/a back --gitignore",
            2,
            "--gitignore: SOURCE must be a directory of this machine",
        ),
        (
            "obs://my-bucket/none back",
            4,
            "there is no object at obs://my-bucket/none or below it; check the address; the names \
             of objects are case-sensitive",
        ),
    ] {
        let output = fixture.run(&format!("sync {arguments}")).await.code(code);
        output.stdout_eq("").stderr_eq(format!("error: {message}\n"));
    }
    let output = fixture.run("sync data obs://no-such-bucket/in").await.code(4);
    let stderr = String::from_utf8(output.get_output().stderr.clone()).unwrap();
    assert!(stderr.contains("(NoSuchBucket, HTTP 404, request id "), "{stderr}");
}
