//! `modelarts run`.

use snapbox::cmd::OutputAssert;

use super::fixtures::{ENDLESS, FLAVOR, Running, Site, items, stderr, stdout};
use crate::support;

/// Runs the program without any variable of a client.
async fn run(site: &Site, arguments: &str) -> OutputAssert {
    let command = support::isolated(site.fixture.path()).args(arguments.split_whitespace());
    support::assert(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_runs_without_an_account_and_leaves_its_outputs() {
    let site = Site::start().await;
    site.script(
        "import argparse, os\np = argparse.ArgumentParser()\nfor n in ('data_url', 'train_url', \
         'epochs'): p.add_argument('--' + n)\na, _ = p.parse_known_args()\nprint('rows', \
         len(os.listdir(a.data_url)), 'epochs', a.epochs)\nopen(a.train_url + '/model.bin', \
         'w').write('weights')\n",
    );
    site.fixture.write("data/rows.csv", "1\n");
    let output = run(
        &site,
        "run --local code/train.py --data data --out train_url -p epochs=2 --name leaves",
    )
    .await
    .code(0);
    assert!(stdout(&output).contains("worker-0 │ rows 1 epochs 2\n"), "{:?}", output.get_output());
    let directory = site.fixture.path().join("modelarts-output");
    let model = std::fs::read_to_string(directory.join("leaves/train_url/model.bin"));
    assert_eq!(model.unwrap(), "weights");
    // Outputs are no part of the code of the next job.
    assert_eq!(std::fs::read_to_string(directory.join(".gitignore")).unwrap(), "*\n");
    assert_eq!(site.created(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failing_script_is_10_or_its_own_code() {
    let site = Site::start().await;
    site.script("import sys\nprint('bad')\nsys.exit(3)\n");
    let output = run(&site, "run --local code/train.py -o json").await.code(10);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["outcome"], "failed");
    assert_eq!(document["exit_code"], 3);
    assert!(stderr(&output).contains("worker-0 │ bad\n"), "{:?}", output.get_output());
    run(&site, "run --local code/train.py --exit-code task").await.code(3);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_the_service_has_is_replaced() {
    let site = Site::start().await;
    site.script("import os\nprint('nodes', os.environ['MA_NUM_HOSTS'])\n");
    let output = run(
        &site,
        "run --local code/train.py --flavor modelarts.vm.ascend.9u --engine PyTorch:pytorch_9.9 \
         --nodes 2 --log-url obs://bucket/logs/",
    )
    .await
    .code(0);
    assert!(stdout(&output).contains("worker-1 │ nodes 2\n"), "{:?}", output.get_output());
    let text = stderr(&output);
    assert!(
        text.contains("the flavor modelarts.vm.ascend.9u becomes modelarts.vm.cpu.8u"),
        "{text}"
    );
    assert!(text.contains("the image PyTorch:pytorch_9.9 is not used"), "{text}");
    run(&site, "run --local code/train.py --pool my-pool --volume 10.0.0.5:/share:/mnt/data")
        .await
        .code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn data_of_the_service_is_refused_with_the_flag_for_local_data() {
    let site = Site::start().await;
    site.script("");
    let output = run(&site, "run --local code/train.py --data obs://bucket/data/").await.code(2);
    output.stderr_eq(
        "error: the input data_url is on the service; a job on this machine must have local data: \
         --data data_url=DIR\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_without_python_is_1() {
    let site = Site::start().await;
    site.script("");
    let command = support::isolated(site.fixture.path());
    let command = command.env("PATH", site.fixture.path());
    let output = support::assert(command.args(["run", "--local", "code/train.py"])).await.code(1);
    output.stderr_eq(
        "error: python3 is not on the PATH; it must be, to run the script on this machine\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn packages_are_not_installed_on_request() {
    let site = Site::start().await;
    site.script("print('hello')");
    site.fixture.write("code/requirements.txt", "no-such-package-of-this-test==1\n");
    let output = run(&site, "run --local code/train.py --no-packages").await.code(0);
    let text = stdout(&output);
    assert!(text.contains("this emulator installs no packages"), "{text}");
    assert!(text.contains("worker-0 │ hello\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_must_be_chosen() {
    let site = Site::start().await;
    site.script("");
    let output = run(&site, "run code/train.py").await.code(2);
    assert!(stderr(&output).contains("--local|--both"), "{:?}", output.get_output());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_failed_here_is_not_submitted() {
    let site = Site::start().await;
    site.script("raise SystemExit(5)");
    let arguments = format!("run --both code/train.py --flavor {FLAVOR}");
    let output = support::assert(site.command(&arguments)).await.code(10);
    let text = stderr(&output);
    assert!(
        text.contains("nothing was submitted: the job did not complete on this machine\n"),
        "{text}"
    );
    assert_eq!((site.created(), site.objects()), (0, Vec::new()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_completed_here_is_submitted() {
    let site = Site::start().await;
    site.script("print('hello')");
    let arguments = format!("run --both code/train.py --flavor {FLAVOR} -o ndjson");
    let output = support::assert(site.command(&arguments)).await.code(0);
    let items = items(&output);
    let submitted = items.iter().filter(|item| item["type"] == "submitted");
    let local: Vec<_> = submitted.map(|item| item["local"].as_bool()).collect();
    assert_eq!(local, [Some(true), Some(false)]);
    let ends = items.iter().filter(|item| item["type"] == "end");
    let ends: Vec<_> = ends.map(|item| item["outcome"].as_str()).collect();
    assert_eq!(ends, [Some("completed"); 2]);
    assert_eq!(site.created(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_ran_for_a_while_here_is_stopped_and_submitted() {
    let site = Site::start().await;
    // On the service the script ends at once.
    let service = site.fixture.emulator.url();
    site.script(&format!(
        "import os, threading\nif os.environ['MA_APIGW_ENDPOINT'] != '{service}': \
         threading.Event().wait()\nprint('on the service')\n"
    ));
    let arguments = format!("run --both --smoke 1s code/train.py --flavor {FLAVOR}");
    let output = support::assert(site.command(&arguments)).await.code(0);
    assert!(stdout(&output).contains("worker-0 │ on the service\n"), "{:?}", output.get_output());
    assert_eq!(site.created(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_stops_the_local_job_and_leaves_no_files() {
    let site = Site::start().await;
    site.script(&format!("import os\nprint('pid', os.getpid(), flush=True)\n{ENDLESS}"));
    let temporary = tempfile::TempDir::new().unwrap();
    let variables = [("TMPDIR", temporary.path().to_str().unwrap())];
    for signal in ["INT", "TERM", "HUP"] {
        // In a container view, the code knows another process ID than this test.
        let arguments = "run --local --container none code/train.py -o ndjson";
        let running: Running = site.spawn_with(arguments, &variables);
        let (code, pid) = tokio::task::spawn_blocking(move || {
            let line = running
                .item(|item| item["line"].as_str().is_some_and(|line| line.starts_with("pid ")));
            running.item(|item| item["line"] == "ready");
            running.signal(signal);
            let pid = line["line"].as_str().unwrap()[4..].to_owned();
            (running.end().0, pid)
        })
        .await
        .unwrap();
        assert_eq!(code, Some(130), "{signal}");
        let alive = std::process::Command::new("kill").args(["-0", &pid]).output().unwrap();
        assert!(!alive.status.success(), "{signal}");
        let left: Vec<_> = std::fs::read_dir(temporary.path()).unwrap().collect();
        assert!(left.is_empty(), "{signal}: {left:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_engine_of_no_cloud_is_found_before_the_local_run() {
    let site = Site::start().await;
    site.script("print('hello')");
    let arguments = format!(
        "run --both code/train.py --flavor {FLAVOR} --engine PyTorch:pytorch_9.9 --out train_url"
    );
    let output = support::assert(site.command(&arguments)).await.code(3);
    let text = stderr(&output);
    assert!(
        text.starts_with(
            "error: the job breaks a rule, so nothing was sent:\n  \
             algorithm.engine.engine_version = \"pytorch_9.9\": must be a version of PyTorch that \
             the service has (ModelArts.2780); "
        ),
        "{text}"
    );
    assert_eq!(stdout(&output), "");
    assert_eq!(site.objects(), Vec::<String>::new());
    assert!(!site.fixture.path().join("modelarts-output").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn tags_are_for_the_service_and_checked_before_the_local_run() {
    let site = Site::start().await;
    site.script("print('hello')");
    let arguments = format!("run --both code/train.py --flavor {FLAVOR} --tag team=a --tag team=b");
    let output = support::assert(site.command(&arguments)).await.code(2);
    assert_eq!(stdout(&output), "");
    assert_eq!(stderr(&output), "error: --tag team: it must be given once\n");
    let output = run(&site, "run --local code/train.py --tag team=nlp").await.code(2);
    assert!(stderr(&output).contains("--both"), "{}", stderr(&output));
}

#[test]
fn the_help_states_what_the_time_limit_does_to_the_job() {
    let directory = tempfile::TempDir::new().unwrap();
    for (command, end) in [
        ("run", "stops the job on this machine; a job on the service continues: 30m, 12h"),
        ("submit", "the job continues: 30m, 12h"),
    ] {
        let command = support::isolated(directory.path()).args([command, "--help"]);
        let text = stdout(&command.assert().code(0));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&format!("after this time; {end}")), "{text}");
    }
}
