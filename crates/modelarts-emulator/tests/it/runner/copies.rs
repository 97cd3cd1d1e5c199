//! Interruption of long copies, which must not leave incomplete files.

use std::{
    fs,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{Timing, clock::ManualClock, jobs::RestartOn};
use serde_json::{Value, json};

use crate::support::{Gate, Site, pass};

const GB: u64 = 1 << 30;
/// Time limit for waits in the tests.
const PATIENCE: Duration = Duration::from_secs(20);

/// Creates a large sparse object in OBS.
fn big_file(site: &Site, key: &str, size: u64) {
    site.put(key, "");
    let path = site.emulator.obs_root().join(key);
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(size).unwrap();
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
    names.sort_unstable();
    names
}

/// Waits until a copy into the directory is in progress.
async fn copying(directory: &Path) {
    copying_after(directory, &[]).await;
}

/// Waits until a copy into the directory is in progress, and these files are complete. A copy
/// processes files in the order of their names.
async fn copying_after(directory: &Path, complete: &[&str]) {
    let is_copied = || {
        let names = names(directory);
        let has = |file: &&str| names.iter().any(|name| name == *file);
        names.iter().any(|name| name.starts_with(".copying-")) && complete.iter().all(has)
    };
    let copying = async {
        while !is_copied() {
            tokio::task::yield_now().await;
        }
    };
    let copying = tokio::time::timeout(PATIENCE, copying).await;
    copying.expect("no file is being copied");
}

/// Returns a job with gigabytes of code, input or checkpoints, and the path to which these are
/// copied.
fn with_big(site: &Site, kind: &str) -> (Value, String) {
    let mut job = site.script(kind, "raise SystemExit('it has run')");
    let remote = json!({"obs": {"obs_url": format!("obs://bucket/{kind}/data/")}});
    let place = match kind {
        "code" => {
            // The size is just below the limit for code.
            big_file(site, "bucket/code/code/big", 5 * GB - 1024);
            return (job, "user-job-dir/code".to_owned());
        }
        "input" => {
            job["algorithm"]["inputs"] = json!([{"name": "data", "remote": remote}]);
            "inputs/data_0"
        }
        _ => {
            let output = json!({"name": "data", "prefetch_to_local": true, "remote": remote});
            job["algorithm"]["outputs"] = json!([output]);
            "outputs/data_0"
        }
    };
    big_file(site, &format!("bucket/{kind}/data/big"), 8 * GB);
    (job, place.to_owned())
}

#[tokio::test]
async fn a_download_ends_with_a_request_to_stop() {
    let site = Site::start().await;
    let begun = async |name: &str, kind: &str| {
        let (mut job, place) = with_big(&site, kind);
        job["metadata"]["name"] = json!(name);
        let id = site.create(&job).await;
        let place = site.worker(&id).join("home/ma-user/modelarts").join(place);
        copying(&place).await;
        (id, place)
    };
    for kind in ["code", "input", "checkpoints"] {
        let (id, place) = begun(kind, kind).await;
        assert_eq!(site.terminate(&id).await.status, 202);
        site.emulator.wait_until_settled(&id).await;
        assert_eq!(site.phase(&id).await, "Terminated");
        assert!(!names(&place).iter().any(|name| name != "train.py"));
        assert_eq!(site.log(&id).await, "");
    }
    let (id, _) = begun("deleted", "input").await;
    let path = format!("/training-jobs/{id}");
    assert_eq!(site.delete(&path).await.status, 202);
    site.emulator.wait_until_gone(&id).await;
    assert!(!site.worker(&id).exists());

    let (id, _) = begun("reset", "input").await;
    let url = format!("{}/_emulator/reset", site.client.url);
    let reset = site.client.http.post(url).send().await.unwrap();
    assert_eq!(reset.status(), 204);
    assert!(!site.worker(&id).exists());
}

#[tokio::test]
async fn a_download_ends_with_the_emulator() {
    for orderly in [true, false] {
        let data = tempfile::tempdir().unwrap();
        let site = Site::with(|builder| builder.data_dir(data.path())).await;
        let (job, place) = with_big(&site, "input");
        let id = site.create(&job).await;
        let place = site.worker(&id).join("home/ma-user/modelarts").join(place);
        copying(&place).await;
        if orderly {
            site.emulator.shutdown().await;
        } else {
            drop(site.emulator);
            // Dropping the emulator does not wait for the end of the copy.
            let interrupted = async {
                while !names(&place).is_empty() {
                    assert_ne!(names(&place), ["big"]);
                    tokio::task::yield_now().await;
                }
            };
            let interrupted = tokio::time::timeout(PATIENCE, interrupted).await;
            interrupted.expect("it copies on");
        }
        assert_eq!(names(&place), [""; 0]);
    }
}

/// Returns a job whose script writes 8 GB to its output, and then runs `rest`.
fn making_big(site: &Site, name: &str, rest: &str) -> Value {
    let script = format!(
        "import os, sys\ndirectory = sys.argv[1].split('=')[1]\nopen(directory + '/a', \
         'w').write('small')\nopen(directory + '/big', 'w').close()\nos.truncate(directory + \
         '/big', 8 << 30)\n{rest}"
    );
    let mut job = site.script(name, &script);
    job["algorithm"]["outputs"] = json!([{
        "name": "train_url",
        "period": "20s",
        "remote": {"obs": {"obs_url": format!("/bucket/{name}/out/")}},
    }]);
    job
}

/// A stop request ends the code immediately, even during an upload of outputs. The outputs are then
/// uploaded for at most the grace period.
#[tokio::test]
async fn an_upload_takes_as_long_as_the_grace_after_a_request_to_stop() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    for (name, rest) in [("runs", gate.python() + "gate()"), ("ended", String::new())] {
        let id = site.create(&making_big(&site, name, &rest)).await;
        let out = site.emulator.obs_root().join(format!("bucket/{name}/out"));
        let running = if name == "runs" {
            let waiting = gate.reached().await;
            clock.advance(Duration::from_secs(20));
            Some(waiting)
        } else {
            None
        };
        copying_after(&out, &["a"]).await;
        assert_eq!(site.terminate(&id).await.status, 202);
        if let Some(running) = running {
            running.wait_until_gone().await;
        }
        let graces = async {
            loop {
                pass(&clock, Timing::instant().grace).await;
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = site.emulator.wait_until_settled(&id) => {}
            () = graces => {}
        }
        assert_eq!(site.phase(&id).await, "Terminated");
        assert_eq!(names(&out), ["a"]);
        assert_eq!(
            site.log(&id).await,
            "[ModelArts Service Log] output train_url: incomplete, because the job was stopped \
             and the upload took longer than the grace period\n"
        );
    }
}

/// Outputs are uploaded before a job is restarted. A stop request during this upload starts a
/// single grace period, and the end of the job adds no second one.
#[tokio::test]
async fn an_upload_before_the_job_runs_again_takes_no_longer_than_the_grace() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| {
        let builder = builder.clock(Arc::clone(&clock) as _);
        builder.restart_on(RestartOn::AnyFailure)
    })
    .await;
    let mut job = making_big(&site, "again", "raise SystemExit(1)");
    job["metadata"]["annotations"] = json!({"fault-tolerance/job-retry-num": "2"});
    let id = site.create(&job).await;
    let out = site.emulator.obs_root().join("bucket/again/out");
    copying_after(&out, &["a"]).await;
    assert_eq!(site.terminate(&id).await.status, 202);
    pass(&clock, Timing::instant().grace).await;
    let settled = site.emulator.wait_until_settled(&id);
    let settled = tokio::time::timeout(PATIENCE, settled).await;
    assert!(settled.is_ok(), "it waits for another grace");
    let messages = site.messages(&id).await;
    let uploads = messages.iter().filter(|text| text.ends_with("Uploading."));
    assert_eq!(uploads.count(), 1, "{messages:#?}");
    assert_eq!(site.phase(&id).await, "Terminated");
    assert_eq!(names(&out), ["a"]);
    assert_eq!(
        site.log(&id).await,
        "[ModelArts Service Log] output train_url: incomplete, because the job was stopped and \
         the upload took longer than the grace period\n"
    );
}

/// A job whose outputs are incomplete has not ended, and the next emulator restarts it.
#[tokio::test]
async fn a_job_whose_upload_is_cut_short_by_the_end_of_the_emulator_runs_again() {
    let (data, obs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut timing = Timing::instant();
    timing.grace = Duration::ZERO;
    let start = || {
        Site::with(|builder| {
            let builder = builder.data_dir(data.path()).obs_root(obs.path());
            builder.timing(timing.clone())
        })
    };
    let site = start().await;
    let id = site.create(&making_big(&site, "cut", "")).await;
    let out = site.emulator.obs_root().join("bucket/cut/out");
    copying_after(&out, &["a"]).await;
    site.emulator.shutdown().await;
    assert_eq!(names(&out), ["a"]);
    let site = start().await;
    copying_after(&out, &["a"]).await;
    let details = site.details(&id).await;
    assert_eq!(details["status"]["phase"], "Running");
    let first = &details["status"]["running_records"][0];
    assert_eq!(first["end_reason"], "node fault");
}

#[tokio::test]
async fn the_copies_of_inputs_are_freed_at_the_end_and_nothing_else() {
    let site = Site::start().await;
    site.put("bucket/data/a.csv", "1");
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "").unwrap();
    for (name, step) in [
        ("writes", "open(path, 'a').write('2')"),
        ("fails", "raise SystemExit(3)"),
        ("links", "shutil.rmtree(given['data']); os.symlink(OUTSIDE, given['data'])"),
        (
            "moves",
            "parent = os.path.dirname(given['data']); shutil.rmtree(parent); os.symlink(OUTSIDE, parent)",
        ),
    ] {
        let step = step.replace("OUTSIDE", &format!("{:?}", outside.path()));
        let mut job = site.script(
            name,
            &format!(
                "import os, shutil, sys\n\
                 given = dict(argument[2:].split('=', 1) for argument in sys.argv[1:])\n\
                 path = os.path.join(given['data'], 'a.csv')\n\
                 open(os.path.join(given['out'], 'b.csv'), 'w').write(open(path).read())\n\
                 {step}\n"
            ),
        );
        let channel =
            |name: &str, url: &str| json!({"name": name, "remote": {"obs": {"obs_url": url}}});
        job["algorithm"]["inputs"] = json!([channel("data", "obs://bucket/data/")]);
        let out = format!("obs://bucket/{name}-out/");
        job["algorithm"]["outputs"] = json!([channel("out", &out)]);
        let id = site.run(&job).await;
        let modelarts = site.worker(&id).join("home/ma-user/modelarts");
        assert_eq!(names(&modelarts.join("outputs/out_0")), ["b.csv"], "{name}");
        assert!(!modelarts.join("inputs/data_0/a.csv").exists(), "{name}");
        assert!(name == "moves" || fs::symlink_metadata(modelarts.join("inputs/data_0")).is_err());
        assert_eq!(site.read("bucket/data/a.csv"), "1");
        assert_eq!(site.read(&format!("bucket/{name}-out/b.csv")), "1");
        assert_eq!(names(outside.path()), ["kept"]);
    }
}
