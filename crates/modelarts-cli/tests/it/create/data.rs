//! Versions of the data of jobs, in all commands that compare them.

use std::fs;

use serde_json::{Value, json};
use snapbox::cmd::OutputAssert;

use super::fixtures::{FLAVOR, Site, stderr, stdout};
use crate::support::{self, json_of};

const SCRIPT: &str = "import sys\nprint('loss', sys.argv)\n";

/// Submits a job on `data`, and returns the output.
async fn submit(site: &Site, name: &str, arguments: &str) -> OutputAssert {
    site.submit(&format!("--data data --name {name} {arguments}")).await
}

async fn input(site: &Site, job: &str) -> Value {
    let output = site.fixture.run(&format!("show {job} -o json")).await.code(0);
    json_of(&output, "job")["settings"]["inputs"][0].clone()
}

async fn run(site: &Site, arguments: &str) -> OutputAssert {
    support::assert(site.command(arguments)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_compare_the_versions_of_data() {
    let site = Site::start().await;
    site.script(SCRIPT);
    for (name, contents) in [("a.csv", "1"), ("b.csv", "22"), ("c.csv", "333")] {
        site.fixture.write(&format!("data/{name}"), contents);
    }
    submit(&site, "one", "").await.code(0);
    let one = input(&site, "one").await;
    let id = one["version"].as_str().unwrap().to_owned();
    site.fixture.write("data/a.csv", "9");
    let text = stderr(&submit(&site, "two", "").await.code(0));
    let two = input(&site, "two").await["version"].as_str().unwrap().to_owned();
    let line = format!("/data/ (1 file, 1 B sent, 2 copied, new version {two})\n");
    assert!(text.contains(&line), "{text}");
    let text = stdout(&site.fixture.run("show one").await.code(0));
    assert!(text.contains(&format!("  ({id})\n")), "{text}");
    let diff = json_of(&site.fixture.run("diff one two -o json").await.code(0), "fields");
    let row = |field: &str| {
        let rows = diff["fields"].as_array().unwrap();
        rows.iter().find(|row| row["field"] == field).cloned().unwrap_or_default()
    };
    let version = row("inputs.data_url.version");
    assert_eq!((&version["first"], &version["second"]), (&json!(id), &json!(two)));

    // A copy keeps the version, and an adoption compares it.
    let copy = format!("submit --from one --name copy --flavor {FLAVOR}");
    run(&site, &copy).await.code(0);
    assert_eq!(input(&site, "copy").await, one);
    let text = stderr(&submit(&site, "one", "--if-exists adopt").await.code(1));
    let note = format!("  input data_url: one has {id}, and here is {two}\n");
    assert!(text.contains(&note) && text.contains("differs in algorithm.inputs"), "{text}");

    let output = run(&site, "data ls -o json").await.code(0);
    let versions = json_of(&output, "versions")["versions"].clone();
    let jobs: Vec<_> = versions.as_array().unwrap().iter().map(|row| row["jobs"].clone()).collect();
    let named = [json!(["two"]), json!(["copy", "one"])];
    assert!(jobs.len() == 2 && named.iter().all(|names| jobs.contains(names)), "{jobs:?}");
    let text = stdout(&run(&site, &format!("data rm {id} --yes")).await.code(1));
    assert!(text.contains("kept") && text.contains("it was used less than 24 hours ago"), "{text}");
    let unused = run(&site, "data rm --unused --dry-run").await.code(0);
    let note = "no versions to remove\ndry run: nothing was removed\n";
    assert_eq!((stdout(&unused), stderr(&unused)), (String::new(), note.to_owned()));
    let text = stderr(&run(&site, "data rm v-0 --yes").await.code(4));
    assert!(text.contains("the version v-0 does not exist"), "{text}");

    // Without the manifest, the version is gone.
    let address = one["source"].as_str().unwrap().trim_start_matches("obs://");
    let version = address.trim_end_matches("/data/").trim_end_matches("/data");
    fs::remove_file(site.fixture.emulator.obs_root().join(format!("{version}.json"))).unwrap();
    let objects = site.objects();
    let text = stderr(&run(&site, &copy.replace("copy", "again")).await.code(4));
    let expected = format!(
        "error: the data version {id} of the input data_url of the job one is gone, so nothing was \
         sent; --data data_url=DIR gives the data again\n"
    );
    assert_eq!(text, expected);
    assert_eq!(site.objects(), objects);
    run(&site, &format!("{} --data data", copy.replace("copy", "again"))).await.code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn data_that_is_not_versioned_is_said_to_be_so() {
    let site = Site::start().await;
    site.script(SCRIPT);
    site.fixture.write("data/a.csv", "1");
    for number in 0..5_000 {
        fs::write(site.fixture.path().join(format!("data/{number}")), "").unwrap();
    }
    let url = "obs://team/modelarts/data/me/0123456789abcdef/data/";
    let key = url.trim_start_matches("obs://");
    site.fixture.emulator.put(&format!("{key}a.csv"), "1").unwrap();
    for name in ["one", "two"] {
        site.submit(&format!("--data {url} --name {name}")).await.code(0);
    }
    let said = "data not versioned, may differ";
    let text = stdout(&site.fixture.run("show one").await.code(0));
    assert!(text.contains(&format!("  ({said})\n")), "{text}");
    assert_eq!(input(&site, "one").await["version"], Value::Null);
    let text = stdout(&site.fixture.run("diff one two").await.code(0));
    assert!(text.contains("inputs.data_url.version"), "{text}");
    for arguments in ["--from one --name three", "--from one --name two --if-exists adopt"] {
        let text = stderr(&run(&site, &format!("submit {arguments}")).await.code(0));
        assert!(text.contains(said), "{text}");
    }
    let planned = site.submit("--data data --dry-run").await.code(0);
    let new = site.submit("--data data --data-version new --dry-run").await.code(0);
    assert!(!stdout(&planned).contains("/v-0") && stdout(&new).contains("/v-0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_does_not_mix_versions_without_a_word() {
    let site = Site::start().await;
    site.script(SCRIPT);
    let sweep = format!("sweep code/train.py --flavor {FLAVOR} --data data -p lr=");
    for place in ["", " --local"] {
        site.fixture.write("data/a.csv", "1");
        run(&site, &format!("{sweep}1,2{place}")).await.code(0);
        let same = stderr(&run(&site, &format!("{sweep}1,2{place}")).await.code(0));
        assert!(same.contains("2 exist") && !same.contains(" and here is "), "{same}");
        site.fixture.write("data/a.csv", "9");
        let output = run(&site, &format!("{sweep}1,3{place}")).await.code(1);
        let text = stderr(&output);
        assert!(text.contains("  input data_url: train-lr1 has v-"), "{text}");
        assert!(text.contains("differs in algorithm.inputs"), "{text}");
    }
}
