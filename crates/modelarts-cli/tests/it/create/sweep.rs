//! `modelarts sweep`.

use std::collections::BTreeMap;

use modelarts_emulator::faults::{Fault, FaultRule};
use serde_json::Value;

use super::fixtures::{BUCKET, FLAVOR, Running, Site, stderr, stdout};
use crate::support::{self, isolated, json_of};

/// A script whose loss is smallest for lr=0.03, and which fails for lr above 5.
const SCRIPT: &str = "import sys\n\
    p = dict(a[2:].split('=', 1) for a in sys.argv[1:])\n\
    lr = float(p['lr'])\n\
    for step in (1, 2): print('loss', round(abs(lr - 0.03) + int(p['seed']) + 1 / step, 4))\n\
    if 'train_url' in p: open(p['train_url'] + '/model', 'w').write(p['lr'])\n\
    sys.exit(3 if lr > 5 else 0)\n";

/// Returns a sweep of `code/train.py`, without the regular expression, which has a blank.
fn sweep(arguments: &str) -> String {
    format!("sweep code/train.py --flavor {FLAVOR} --out train_url --best min {arguments}")
}

async fn run(site: &Site, arguments: &str) -> snapbox::cmd::OutputAssert {
    support::assert(site.command(&sweep(arguments)).args(["--metric", r"loss (\S+)"])).await
}

/// Returns the fields of each trial: name, rank, best value, last value, outcome.
fn rows(output: &snapbox::cmd::OutputAssert) -> Vec<String> {
    let rows = json_of(output, "trials")["trials"].as_array().unwrap().clone();
    let row = |row: &Value| {
        let fields = ["name", "rank", "best", "last", "outcome"];
        fields.map(|field| row[field].to_string().replace('"', "")).join(" ")
    };
    rows.iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn trials_are_ranked_by_their_metric_and_failed_ones_come_last() {
    let site = Site::start().await;
    site.script(SCRIPT);
    let arguments = "-p lr=0.01,0.03,9 -p seed=1..2 --max 3 --svg code/loss.svg -o json";
    let output = run(&site, arguments).await.code(10);
    assert_eq!(
        rows(&output),
        [
            "train-lr0_03-seed1 1 1.5 1.5 completed",
            "train-lr0_01-seed1 2 1.52 1.52 completed",
            "train-lr0_03-seed2 3 2.5 2.5 completed",
            "train-lr0_01-seed2 4 2.52 2.52 completed",
            "train-lr9-seed1 null 10.47 10.47 failed",
            "train-lr9-seed2 null 11.47 11.47 failed",
        ]
    );
    let text = stderr(&output);
    assert!(text.contains("✓ Sweep        6 trials, at most 3 at a time\n"), "{text}");
    assert!(text.contains("✗ train-lr9-seed1 failed with exit code 3"), "{text}");
    let svg = std::fs::read_to_string(site.fixture.path().join("code/loss.svg")).unwrap();
    for label in [">lr<", ">seed<", ">loss<"] {
        assert!(svg.contains(label), "{label} is not in {svg}");
    }
    // The chart is in the code directory, and is no part of the code of the next call.
    let csv = run(&site, &format!("{} -o csv", &arguments[..arguments.len() - 8])).await.code(10);
    let text = stdout(&csv);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "name,id,outcome,summary,seconds_run,rank,best,last,lr,seed");
    assert!(lines[1].starts_with("train-lr0_03-seed1,"), "{}", lines[1]);
    assert!(lines[1].ends_with(",1,1.5,1.5,0.03,1"), "{}", lines[1]);
    assert_eq!(site.created(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_that_was_killed_goes_on_and_submits_nothing_twice() {
    let site = Site::start().await;
    site.script(SCRIPT);
    let line = sweep("-p lr=0.01,0.02,0.03 -p seed=1..4 --max 2 -o json");
    for sign in ["✓ Sweep", "✓ train-lr0_01-seed1", "✓ train-lr0_02-seed2"] {
        let killed: Running = site.spawn(&format!("{line} --metric loss.(\\S+)"));
        killed.message(sign);
        killed.signal("KILL");
    }
    let output = support::assert(site.command(&line).args(["--metric", r"loss.(\S+)"])).await;
    let rows = rows(&output.code(0));
    assert_eq!(rows.len(), 12);
    assert_eq!(rows[0], "train-lr0_03-seed1 1 1.5 1.5 completed");
    assert_eq!(site.created(), 12);
    // Each trial has an output of its own, with its value.
    let out = site.fixture.emulator.obs_root().join(BUCKET).join("modelarts/out");
    let outputs: BTreeMap<String, String> = std::fs::read_dir(out)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let model = std::fs::read_to_string(path.join("train_url/model")).unwrap();
            (path.file_name().unwrap().to_str().unwrap().to_owned(), model)
        })
        .collect();
    assert_eq!(outputs.len(), 12);
    assert_eq!(outputs["train-lr0_02-seed3"], "0.02");
}

#[tokio::test(flavor = "multi_thread")]
async fn results_and_jobs_of_others_are_not_taken() {
    let site = Site::start().await;
    site.script(SCRIPT);
    run(&site, "-p lr=0.01,0.02 -p seed=1").await.code(0);
    // The code has changed, so the jobs are others.
    site.script(&format!("{SCRIPT}# changed\n"));
    let output = run(&site, "-p lr=0.01,0.02 -p seed=1 -o json").await.code(1);
    let summary = json_of(&output, "trials")["trials"][0]["summary"].as_str().unwrap().to_owned();
    let reason = "differs in algorithm.boot_file, algorithm.code_dir: the code has changed; --name \
                  selects other names, and `modelarts rm` deletes jobs";
    assert!(summary.ends_with(reason), "{summary}");
    // Results of a deleted job are not written over.
    let job = site.client().training_jobs().get_by_name("train-lr0_01").await.unwrap();
    job.delete().await.unwrap();
    site.fixture.emulator.wait_until_gone(job.id()).await;
    let reason =
        "the output obs://team/modelarts/out/train-lr0_01/train_url must be empty, and has";
    let output = run(&site, "-p lr=0.01,0.02 -p seed=1").await.code(3);
    assert!(stderr(&output).contains(reason), "{}", stderr(&output));
    assert_eq!(site.created(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_on_this_machine_goes_on_from_its_records() {
    let site = Site::start().await;
    site.script(SCRIPT);
    let run = async |values: &str| {
        let line = format!("sweep code/train.py --local --out train_url -p seed=1 -p {values}");
        let command = isolated(site.fixture.path()).args(line.split_whitespace());
        let command = command.args(["--metric", r"loss (\S+)", "--best", "min", "-o", "json"]);
        support::assert(command).await.code(0)
    };
    run("lr=0.01,0.02").await;
    let model = site.fixture.path().join("modelarts-output/train-lr0_01/train_url/model");
    assert_eq!(std::fs::read_to_string(&model).unwrap(), "0.01");
    std::fs::write(&model, "kept").unwrap();
    let output = run("lr=0.01,0.02,0.03").await;
    assert!(stderr(&output).contains("3 trials, at most 4 at a time, 2 exist\n"));
    assert_eq!(rows(&output)[0], "train-lr0_03 1 1.5 1.5 completed");
    assert_eq!(std::fs::read_to_string(&model).unwrap(), "kept");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_arguments_are_refused_before_any_request() {
    let site = Site::start().await;
    site.script(SCRIPT);
    for (arguments, error) in [
        (
            "-p lr=0.1",
            "sweep must have a hyper-parameter with several values, such as -p lr=0.1,0.01; \
             `modelarts submit` runs one job",
        ),
        ("-p lr=0.1,,1", "-p lr: the list 0.1,,1 must have no empty value"),
        ("-p lr=1..9 --random 10", "--random must be at most 9, and there are 9 combinations"),
    ] {
        let line = format!("sweep code/train.py --flavor {FLAVOR} {arguments}");
        let output = support::assert(site.command(&line)).await.code(2);
        assert_eq!(stderr(&output), format!("error: {error}\n"));
    }
    let line = sweep("-p lr=1,2");
    let output = support::assert(site.command(&line).args(["--metric", "loss ("])).await.code(2);
    let rule = "error: the regular expression \"loss (\" must have the syntax of ECMAScript";
    assert!(stderr(&output).starts_with(rule), "{}", stderr(&output));
    assert_eq!(site.created(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn trials_have_outputs_of_their_own_and_tags() {
    let site = Site::start().await;
    site.script(SCRIPT);
    let line = format!("sweep code/train.py --flavor {FLAVOR} -p lr=0.1,0.2 -p seed=1");
    let shared = format!("{line} --out train_url=obs://team/results/");
    let output = support::assert(site.command(&shared)).await.code(2);
    let rule = "error: output train_url: it must have no address in a sweep, because all trials \
                would write there; --out train_url gives each trial its own\n";
    assert_eq!(stderr(&output), rule);
    assert_eq!(site.created(), 0);
    let output = support::assert(site.command(&format!("{line} --tag team=nlp -o id"))).await;
    assert_eq!(stdout(&output.code(0)).lines().count(), 2);
    let output = support::assert(site.command("ls --tag team=nlp -o id")).await.code(0);
    assert_eq!(stdout(&output).lines().count(), 2);
    // A trial that was not submitted has no id.
    site.script(&format!("{SCRIPT}# changed\n"));
    let output = support::assert(site.command(&format!("{line} -o id"))).await.code(1);
    assert_eq!(stdout(&output), "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_read_is_said_and_no_success() {
    let site = Site::start().await;
    site.script(SCRIPT);
    run(&site, "-p lr=0.01,0.02 -p seed=1").await.code(0);
    for operation in ["ShowObsUrlOfTrainingJobLogs", "ShowTrainingJobLogsPreview"] {
        let fault = Fault::error(403, "ModelArts.0010", "no permission");
        site.fixture.emulator.faults().add(FaultRule::once(operation, fault)).unwrap();
    }
    let output = run(&site, "-p lr=0.01,0.02 -p seed=1 -o json").await.code(1);
    let trials = json_of(&output, "trials")["trials"].as_array().unwrap().clone();
    let summaries: Vec<&str> = trials.iter().map(|it| it["summary"].as_str().unwrap()).collect();
    let unread = summaries.iter().filter(|it| it.contains("; the metric cannot be read: "));
    assert_eq!(unread.count(), 1, "{summaries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_secret_is_another_job_on_this_machine() {
    let site = Site::start().await;
    site.script(SCRIPT);
    let run = async |secret: &str| {
        let line = "sweep code/train.py --local -p lr=0.1,0.2 -p seed=1 --env OF_THE_SHELL";
        let command = isolated(site.fixture.path()).args(line.split_whitespace());
        support::assert(command.env("OF_THE_SHELL", secret)).await
    };
    run("one").await.code(0);
    run("one").await.code(0);
    let output = run("two").await.code(1);
    let text = stderr(&output);
    assert!(text.contains("differs in algorithm.environments"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_trial_keeps_its_best_value_if_its_log_is_long() {
    let site = Site::start().await;
    site.script("print('loss 0.25')\nprint('-' * 400_000)\nprint('loss 0.5')\n");
    for _ in 0..2 {
        let line = "sweep code/train.py --local -p seed=1,2 --best min -o json";
        let command = isolated(site.fixture.path()).args(line.split_whitespace());
        let output = support::assert(command.args(["--metric", r"loss (\S+)"])).await.code(0);
        assert_eq!(rows(&output)[0], "train-seed1 1 0.25 0.5 completed");
    }
    // Another expression would see only the end.
    let line = "sweep code/train.py --local -p seed=1,2 --best min --metric (0.5) -o json";
    let command = isolated(site.fixture.path()).args(line.split_whitespace());
    let output = support::assert(command).await.code(1);
    assert_eq!(rows(&output)[0], "train-seed1 null null null completed");
    assert!(stderr(&output).contains("the record of the job has only the end of its log"));
}
