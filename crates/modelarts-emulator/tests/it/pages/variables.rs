//! The table of variables in `CREATING.md` of modelarts-ext, compared with those of a job.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::support::Site;

const PAGE: &str = include_str!("../../../../modelarts-ext/CREATING.md");
/// Head of the table.
const HEAD: &str = "| variable | content | example | emulator |\n|---|---|---|---|\n";

/// Relation between the example of a variable and its value in the emulator.
#[derive(Debug, PartialEq, Eq)]
enum Emulated {
    /// The example, apart from the directory of the worker and the id of the job.
    Same,
    Other,
    Missing,
}

/// Returns the rows of the table: the example of each variable, and its value in the emulator.
fn table() -> BTreeMap<&'static str, (&'static str, Emulated)> {
    let (_, rows) = PAGE.split_once(HEAD).unwrap();
    let mut table = BTreeMap::new();
    for row in rows.lines().take_while(|line| line.starts_with('|')) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [names, _, example, emulated] = cells.as_slice() else {
            panic!("{row}");
        };
        let emulated = match *emulated {
            "yes" => || Emulated::Same,
            "no" => || Emulated::Missing,
            other if other.starts_with("other value: ") => || Emulated::Other,
            _ => panic!("{row}"),
        };
        for name in names.split(", ") {
            let previous =
                table.insert(name.trim_matches('`'), (example.trim_matches('`'), emulated()));
            assert_eq!(previous, None, "{name}");
        }
    }
    table
}

/// Variables of the emulator and of the interpreter, which the table does not contain.
const OF_THE_PROCESS: [&str; 7] = [
    "HOME",
    "LC_CTYPE",
    "MODELARTS_EMULATOR_OBS",
    "MODELARTS_EMULATOR_RUN",
    "PATH",
    "PYTHONUNBUFFERED",
    "TMPDIR",
];

#[tokio::test]
async fn a_job_has_the_variables_of_the_table() {
    let site = Site::start().await;
    site.put("bucket/code/train.py", "import json, os\nprint(json.dumps(dict(os.environ)))\n");
    let id = site
        .run(&json!({
            "kind": "job",
            "metadata": {"name": "variables"},
            "algorithm": {
                "code_dir": "/bucket/code/",
                "boot_file": "/bucket/code/train.py",
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            },
            "spec": {"resource": {"flavor_id": "modelarts.p3.large.public", "node_count": 2}},
        }))
        .await;
    let values: BTreeMap<String, String> = serde_json::from_str(&site.log(&id).await).unwrap();
    let directory = values["MA_HOME"].strip_suffix("/home/ma-user").unwrap();

    let table = table();
    let present = table.iter().filter(|(_, (_, emulated))| *emulated != Emulated::Missing);
    let expected: BTreeSet<_> = present.map(|(name, _)| *name).collect();
    let actual = values.keys().map(String::as_str);
    let actual: BTreeSet<_> = actual.filter(|name| !OF_THE_PROCESS.contains(name)).collect();
    assert_eq!(actual, expected);
    for (name, (example, emulated)) in &table {
        let Some(value) = values.get(*name) else {
            continue;
        };
        let value = value.replace(directory, "").replace(&id, "<job id>");
        match emulated {
            Emulated::Same => assert_eq!(value, *example, "{name}"),
            _ => assert_ne!(value, *example, "{name}"),
        }
    }
    // The text below the table names variables that neither the service nor the emulator sets.
    for name in ["RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"] {
        assert!(PAGE.contains(&format!("`{name}`")) && !values.contains_key(name), "{name}");
    }
    let job: Value = site.details(&id).await;
    assert_eq!(job["status"]["tasks"], json!(["worker-0", "worker-1"]));
}
