//! Volumes, data sets, uploads while the job runs, and the size limit of a log.

use std::{
    fs,
    sync::Arc,
    time::{Duration, SystemTime},
};

use modelarts_emulator::{
    clock::ManualClock,
    faults::{Fault, FaultRule},
    quirks::Quirks,
};
use serde_json::json;

use crate::support::{Gate, Site};

#[tokio::test]
async fn volumes_are_directories_of_the_obs_root_and_of_the_nfs_root() {
    let nfs = tempfile::tempdir().unwrap();
    let site = Site::with(|builder| builder.nfs_root(nfs.path())).await;
    fs::create_dir_all(nfs.path().join("10.0.0.1/share")).unwrap();
    fs::write(nfs.path().join("10.0.0.1/share/a"), "from nfs").unwrap();
    site.put("bucket/pfs/b", "from pfs");
    let script = r#"
import os
home = os.environ["MA_HOME"]
for name in ["nfs/a", "pfs/b"]:
    print(open(os.path.join(home, name)).read())
open(os.path.join(home, "obs", "c"), "w").write("to obs")
print(os.path.isdir(os.path.join(home, "../../mnt/far")))
"#;
    let mut job = site.script("volumes", script);
    job["spec"] = json!({
        "resource": {"pool_id": "pool-cpu"},
        "volumes": [
            {"nfs": {
            "nfs_server_path": "10.0.0.1:/share",
            "local_path": "/home/ma-user/nfs/", "read_only": false,
        }},
            {"pfs": {"pfs_path": "/bucket/pfs/", "local_path": "/home/ma-user/pfs"}},
            {"obs": {"obs_path": "obs://bucket/new/", "local_path": "/home/ma-user/obs"}},
            {"nfs": {"nfs_server_path": "10.0.0.1:/far", "local_path": "/mnt/far"}},
        ],
    });
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "from nfs\nfrom pfs\nTrue\n");
    assert_eq!(site.read("bucket/new/c"), "to obs");
    let details = site.details(&id).await;
    assert_eq!(details["spec"]["volumes"], job["spec"]["volumes"]);
    // Deleting a job does not delete the content of its mounts.
    site.delete(&format!("/training-jobs/{id}")).await;
    site.emulator.wait_until_gone(&id).await;
    assert_eq!(site.read("bucket/pfs/b"), "from pfs");
    assert!(nfs.path().join("10.0.0.1/share/a").exists());

    // By default, NFS exports are in the data directory.
    let without = Site::start().await;
    let script = "import os\nopen(os.environ['MA_HOME'] + '/x/a', 'w').write('kept')";
    let mut job = without.script("none", script);
    job["spec"] = json!({
        "resource": {"pool_id": "pool-cpu"},
        "volumes": [{"nfs": {"nfs_server_path": "10.0.0.1:/x", "local_path": "/home/ma-user/x"}}],
    });
    let id = without.run(&job).await;
    assert_eq!(without.phase(&id).await, "Completed");
    let kept = without.jobs.with_file_name("nfs").join("10.0.0.1/x/a");
    assert_eq!(fs::read_to_string(kept).unwrap(), "kept");
}

#[tokio::test]
async fn data_sets_come_from_their_directory() {
    let sets = tempfile::tempdir().unwrap();
    fs::create_dir_all(sets.path().join("flowers/v1/roses")).unwrap();
    fs::write(sets.path().join("flowers/v1/roses/1.txt"), "red").unwrap();
    let site = Site::with(|builder| builder.datasets(sets.path())).await;
    let script = "import sys\nprint(open(sys.argv[1].split('=')[1] + '/roses/1.txt').read())";
    let mut job = site.script("flowers", script);
    let remote = json!({"dataset": {"id": "flowers", "version_id": "v1"}});
    job["algorithm"]["inputs"] = json!([{"name": "data_url", "remote": remote}]);
    let id = site.run(&job).await;
    assert_eq!(site.log(&id).await, "red\n");
    let shown = site.details(&id).await["algorithm"]["inputs"][0]["remote"].take();
    assert_eq!(
        shown,
        json!({"dataset": {"id": "flowers", "version_id": "v1", "obs_url": "/flowers/v1/"}})
    );
}

#[tokio::test]
async fn outputs_are_copied_out_while_the_job_runs() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let script = gate.python()
        + "import sys\nopen(sys.argv[1].split('=')[1] + '/step', 'w').write('1')\ngate()\n";
    let mut job = site.script("periodic", &script);
    job["algorithm"]["outputs"] = json!([{
        "name": "train_url",
        "period": "20s",
        "remote": {"obs": {"obs_url": "/bucket/periodic/out/"}},
    }]);
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    let copy = site.emulator.obs_root().join("bucket/periodic/out/step");
    assert!(!copy.exists());
    clock.advance(Duration::from_secs(20));
    while !copy.exists() {
        tokio::task::yield_now().await;
    }
    waiting.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.read("bucket/periodic/out/step"), "1");
}

#[tokio::test]
async fn logs_are_copied_out_while_the_job_runs() {
    let clock = Arc::new(ManualClock::at(SystemTime::now()));
    let site = Site::with(|builder| builder.clock(Arc::clone(&clock) as _)).await;
    let gate = Gate::new().await;
    let script = gate.python() + "print('before')\ngate()\nprint('after')\n";
    let mut job = site.script("logged", &script);
    job["spec"]["log_export_path"] = json!({"obs_url": "obs://bucket/logs/"});
    site.put("bucket/logs/.keep", "");
    let id = site.create(&job).await;
    let waiting = gate.reached().await;
    let copy = format!("bucket/logs/modelarts-job-{id}-worker-0.log");
    let there = site.emulator.obs_root().join(&copy);
    assert!(!there.exists());
    clock.advance(Duration::from_secs(5));
    while !there.exists() {
        tokio::task::yield_now().await;
    }
    waiting.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.read(&copy), "before\nafter\n");
}

#[tokio::test]
async fn a_log_has_a_cap() {
    let site = Site::with(|builder| builder.log_cap(100)).await;
    let script =
        "import sys\nprint('x' * 79, flush=True)\nprint('y' * 79, flush=True)\nprint('z' * 79)\n";
    let id = site.run(&site.script("long", script)).await;
    let log = site.log(&id).await;
    let kept = format!("{}\n{}", "x".repeat(79), "y".repeat(20));
    let (start, rest) = log.split_at(100);
    assert_eq!(start, kept);
    assert!(
        rest.starts_with(
            "\nmodelarts-pope: log length overflow(max:100; already:100; going to add:"
        ),
        "{rest}"
    );
    assert!(rest.ends_with("), process will continue running silently\n"), "{rest}");
    assert_eq!(rest.lines().count(), 2);
    assert_eq!(site.phase(&id).await, "Completed");
}

/// The home directory contains a link to the scratch directory, which is `/cache` on the service.
#[tokio::test]
async fn the_cache_is_a_link_in_the_home_and_empty_in_the_end() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.python()
        + r#"
import os
cache = os.path.join(os.environ["MA_HOME"], "cache")
print(os.path.islink(cache), os.listdir(cache))
os.makedirs(os.path.join(cache, "deep"))
open(os.path.join(cache, "deep", "file"), "w").write("x")
gate()
"#;
    let id = site.create(&site.script("cache", &script)).await;
    let waiting = gate.reached().await;
    let cache = site.worker(&id).join("cache");
    assert_eq!(fs::read_to_string(cache.join("deep/file")).unwrap(), "x");
    waiting.let_through().await;
    site.emulator.wait_until_settled(&id).await;
    assert_eq!(site.log(&id).await, "True []\n");
    assert_eq!(fs::read_dir(&cache).unwrap().count(), 0);

    // If a job replaces the directory with a link, the link is removed, and its target is not.
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("kept"), "").unwrap();
    let script = format!(
        "import os\ncache = os.path.realpath(os.environ['MA_HOME'] + \
         '/cache')\nos.rmdir(cache)\nos.symlink({:?}, cache)\n",
        outside.path()
    );
    let id = site.run(&site.script("link", &script)).await;
    assert_eq!(site.phase(&id).await, "Completed");
    assert!(outside.path().join("kept").exists());
}

#[tokio::test]
async fn a_volume_does_not_replace_a_directory() {
    let site = Site::start().await;
    site.put("bucket/data/x", "");
    let mut job = site.script("hidden", "print('never')");
    job["spec"] = json!({
        "resource": {"pool_id": "pool-cpu"},
        "volumes": [{"obs": {"obs_path": "/bucket/data/", "local_path": "/home/ma-user/here"}}],
    });
    job["algorithm"]["local_code_dir"] = "/home/ma-user/here".into();
    let id = site.run(&job).await;
    assert_eq!(site.phase(&id).await, "Failed");
    let log = site.log(&id).await;
    let error_message = "nothing can be mounted at /home/ma-user/here: File exists";
    assert!(log.contains(error_message), "{log}");
}

#[tokio::test]
async fn three_workers_of_the_example_sum_their_values() {
    let site = Site::start().await;
    let mut job = site.script("reduce", include_str!("../../../examples/all_reduce/train.py"));
    job["spec"]["resource"]["node_count"] = 3.into();
    let id = site.run(&job).await;
    assert_eq!(site.phase(&id).await, "Completed", "{}", site.log(&id).await);
    for rank in 0..3 {
        let path = format!("/training-jobs/{id}/tasks/worker-{rank}/logs/preview");
        let mine = rank + 1;
        assert_eq!(
            site.get(&path).await.json()["content"],
            format!("rank {rank} of 3: mine [{mine}.0, {mine}0.0], all [6.0, 60.0]\n")
        );
    }
}

#[tokio::test]
async fn a_full_bucket_refuses_outputs_and_logs_and_the_log_says_so() {
    let site = Site::start().await;
    let refused = Fault::error(403, "InsufficientStorageSpace", "Insufficient storage space.");
    site.emulator.faults().add(FaultRule::always("obs.PutObject", refused)).unwrap();
    let script = "import os, sys\nopen(os.path.join(sys.argv[1].split('=')[1], 'a'), 'w')\n";
    let mut job = site.script("full", script);
    job["algorithm"]["outputs"] =
        json!([{"name": "train_url", "remote": {"obs": {"obs_url": "obs://bucket/full/out/"}}}]);
    job["spec"]["log_export_path"] = json!({"obs_url": "obs://bucket/full/logs/"});
    let id = site.run(&job).await;
    let log = site.log(&id).await;
    let lines = log.lines().map(|line| line.split_once("+08:00] ").expect(&log));
    let lines: Vec<_> = lines.collect();
    assert!(lines.iter().all(|(start, _)| start.starts_with("[ModelArts Service Log][ERROR][")));
    let texts: Vec<_> = lines.into_iter().map(|(_, text)| text).collect();
    let code = "not uploaded to OBS: OBS_ERR_InsufficientStorageSpace";
    assert_eq!(texts, [format!("output train_url: {code}"), format!("log: {code}")]);
    let bucket = site.emulator.obs_root().join("bucket/full");
    assert!(!bucket.join("out").exists() && !bucket.join("logs").exists());
    // Other rules remain for the clients of OBS.
    site.emulator.faults().clear();
    site.emulator.faults().add(FaultRule::once("obs.PutObject", Fault::status(403))).unwrap();
    job["metadata"]["name"] = "free".into();
    site.run(&job).await;
    assert!(bucket.join("out/a").exists() && bucket.join("logs").exists());
    assert_eq!(site.emulator.faults().list().len(), 1);
}

#[tokio::test]
async fn logs_of_libraries_are_copied_out_beside_that_of_the_worker() {
    let site = Site::start().await;
    let script = "import os, pathlib
logs = pathlib.Path(os.environ['MA_LOG_DIR'], 'modelarts-job-j', 'worker-0', 'debug')
logs.mkdir(parents=True)
(logs / 'plog-77.log').write_text('[ERROR] HCCL\\n')
pathlib.Path(os.environ['MA_LOG_DIR'], 'a.txt').write_text('beside')
os.symlink('/etc', pathlib.Path(os.environ['MA_LOG_DIR'], '0'))
print('done')
";
    let mut job = site.script("ascend", script);
    job["spec"]["log_export_path"] = json!({"obs_url": "obs://bucket/logs/"});
    let id = site.run(&job).await;
    assert_eq!(site.read(&format!("bucket/logs/modelarts-job-{id}-worker-0.log")), "done\n");
    let process = "bucket/logs/modelarts-job-j/worker-0/debug/plog-77.log";
    assert_eq!(site.read(process), "[ERROR] HCCL\n");
    assert_eq!(site.read("bucket/logs/a.txt"), "beside");
    assert!(!site.emulator.obs_root().join("bucket/logs/0/passwd").exists());
}

#[tokio::test]
async fn a_job_without_the_internet_reaches_this_machine_only() {
    let mut quirks = Quirks::default();
    quirks.set("internet=none").unwrap();
    let site = Site::with(|builder| builder.quirks(quirks)).await;
    let script = "import os, urllib.request
print(urllib.request.urlopen(os.environ['MA_APIGW_ENDPOINT'] + '/_emulator/health').status)
urllib.request.urlopen('https://models.test/weights.bin')
";
    let id = site.run(&site.script("offline", script)).await;
    let log = site.log(&id).await;
    assert!(log.starts_with("200\n"), "{log}");
    let error = "urllib.error.URLError: <urlopen error [Errno 111] Connection refused>\n";
    assert!(log.ends_with(error), "{log}");
}
