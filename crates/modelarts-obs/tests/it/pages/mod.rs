//! Programs of the pages that use modelarts-obs, executed against an emulator.
//!
//! Each other file of this folder is a copy of a program, which a test compares with its page. The
//! program runs in a child process, with the settings of an emulator in its environment variables,
//! like a program that a user starts.

use std::{fs, path::Path, process::Command};

use modelarts_emulator::{Emulator, Timing};
use modelarts_ext::Client;
use modelarts_obs::Obs;

const BUCKET: &str = "my-bucket";
const SCRIPT: &str = "\
import argparse, pathlib
parser = argparse.ArgumentParser()
parser.add_argument('--data_url')
parser.add_argument('--train_url')
args, _ = parser.parse_known_args()
rows = pathlib.Path(args.data_url, 'rows.csv').read_text()
pathlib.Path(args.train_url, 'model.txt').write_text(rows.upper())
";

mod readme {
    include!("readme.rs");

    /// Runs the program, and panics if it returns an error.
    pub(super) fn run() {
        main().unwrap();
    }
}

#[test]
fn the_copies_are_those_of_the_pages() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = fs::read_to_string(repository.join("README.md")).unwrap();
    let copy = include_str!("readme.rs");
    assert!(
        page.contains(&format!("```rust,no_run\n{copy}```\n")),
        "copy the program of README.md to tests/it/pages/readme.rs"
    );
}

/// Runs in the child process of the test below.
#[test]
#[ignore = "runs as a child process, with the settings of an emulator"]
fn program_of_the_readme() {
    readme::run();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_program_of_the_readme_receives_what_its_job_wrote() {
    let emulator = Emulator::builder().timing(Timing::instant()).start();
    let emulator = emulator.await.unwrap();
    let client = modelarts_ext::ClientBuilder::from_vars(emulator.vars());
    let client: Client = client.build().unwrap();
    let bucket = Obs::new(&client).unwrap().bucket(BUCKET).unwrap();
    bucket.create().await.unwrap();

    let place = tempfile::tempdir().unwrap();
    for (file, contents) in [("src/train.py", SCRIPT), ("data/rows.csv", "a,b\n")] {
        let file = place.path().join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, contents).unwrap();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["pages::program_of_the_readme", "--exact"])
        .args(["--ignored", "--nocapture"])
        .current_dir(place.path())
        .envs(emulator.envs())
        .env("MODELARTS_OBS_BUCKET", BUCKET)
        .env("MODELARTS_CACHE_DIR", place.path().join("cache"));
    let output = tokio::task::spawn_blocking(move || child.output());
    let output = output.await.unwrap().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("Training job executed."),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let model = place.path().join("out/train_url/model.txt");
    assert_eq!(fs::read_to_string(model).unwrap(), "A,B\n");
    emulator.shutdown().await;
}
