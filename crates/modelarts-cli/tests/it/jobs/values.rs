//! Values of jobs: columns of `ls`, `metrics` and `trials`.

use std::time::SystemTime;

use modelarts_ext::Timestamp;
use serde_json::json;

use crate::support::{Fixture, json_of};

/// Returns jobs with a hyper-parameter and a loss, and one without both.
async fn with_jobs() -> Fixture {
    let fixture = Fixture::start().await;
    let job = |lr: &str| {
        json!({
            "kind": "job", "metadata": {},
            "algorithm": {
                "engine": {"image_url": "org/image:1"}, "command": "true",
                "parameters": [{"name": "lr", "value": lr}],
            },
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
        })
    };
    let log = |last: &str| json!({"worker-0": format!("loss 9\nloss: {last}\n")});
    let usage = json!({"worker-0": {"cpuUsage": [10.0, -1.0, 30.0]}});
    // The service deletes logs after 30 days.
    let now = Timestamp::from(SystemTime::now()).as_epoch_millis() / 1000 * 1000;
    let (created, started, ended) = (now - 600_000, now - 590_000, now - 410_000);
    fixture
        .seed(json!([
            {"name": "t-1", "job": job("0.1"), "logs": log("10.5"), "created": created,
             "started": started, "ended": ended,
             "metrics": usage},
            {"name": "t-2", "job": job("0.02"), "logs": log("2.25"), "created": created},
            {"name": "other-t-3", "created": created},
        ]))
        .await;
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_are_sorted_by_a_value_of_their_logs() {
    let fixture = with_jobs().await;
    let columns = "--columns name,param:lr,log:loss";
    let output = fixture.run(&format!("ls {columns} --sort loss")).await.code(0);
    output.stdout_eq(
        "NAME       LR    LOSS\n\
         t-2        0.02  2.25\n\
         t-1        0.1   10.5\n\
         other-t-3  -     -\n",
    );
    let output = fixture.run(&format!("ls --name-prefix t- {columns} --sort -lr")).await.code(0);
    output.stdout_eq("NAME  LR    LOSS\nt-1   0.1   10.5\nt-2   0.02  2.25\n");
    let output = fixture.run(&format!("ls --name-prefix t-1 {columns} -o json")).await.code(0);
    let job = json_of(&output, "jobs")["jobs"][0].clone();
    assert_eq!(job["values"], json!({"param:lr": "0.1", "log:loss": 10.5}));
    assert_eq!(job["seconds_run"], 180);
    let output = fixture.run(&format!("ls --name-prefix t- {columns} --sort lr -o csv")).await;
    output.code(0).stdout_eq("name,lr,loss\nt-2,0.02,2.25\nt-1,0.1,10.5\n");
    fixture.run("ls --until 1h").await.code(0).stderr_eq("no jobs\n");
    for (arguments, error) in [
        (
            "--sort colour",
            "--sort colour: it must be name, phase, nodes, flavor, age, ran, end, user, cards, billing, why, or a value of --columns such as log:colour",
        ),
        ("--columns name,log:", "--columns log:: it must have a name, such as log:loss"),
    ] {
        let output = fixture.run(&format!("ls {arguments}")).await.code(2);
        output.stderr_eq(format!("error: {error}\n"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_and_values_are_points_or_a_chart() {
    let fixture = with_jobs().await;
    let output = fixture.run("metrics t-1 --log loss -o json").await.code(0);
    let points = json_of(&output, "points")["points"].as_array().unwrap().clone();
    let values: Vec<_> =
        points.iter().map(|it| (&it["series"], &it["step"], &it["value"])).collect();
    let (cpu, loss, null) = (json!("cpuUsage"), json!("loss"), json!(null));
    let numbers = [json!(10.0), json!(30.0), json!(1), json!(2), json!(9.0), json!(10.5)];
    assert_eq!(
        values,
        [
            (&cpu, &null, &numbers[0]),
            (&cpu, &null, &null),
            (&cpu, &null, &numbers[1]),
            (&loss, &numbers[2], &numbers[4]),
            (&loss, &numbers[3], &numbers[5]),
        ]
    );
    let output = fixture.run("metrics t-1 --log loss --svg usage.svg").await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("cpuUsage") && text.contains("loss"), "{text}");
    assert!(text.contains("minutes since 20"), "{text}");
    let svg = std::fs::read_to_string(fixture.path().join("usage.svg")).unwrap();
    assert!(svg.contains(">cpuUsage<") && svg.contains(">loss<"), "{svg}");
    let output = fixture.run("metrics other-t-3").await.code(0);
    output.stdout_eq("").stderr_eq("no values of worker-0 in other-t-3; it ran 0s\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn trials_of_the_service_are_ranked_by_their_reward() {
    let fixture = Fixture::start().await;
    let script = "import sys\nlr = sys.argv[1].split('=')[1]\nprint('acc=' + lr)\n";
    fixture.emulator.put("obs://bucket/code/train.py", script).unwrap();
    let job = json!({
        "metadata": {"name": "search"},
        "algorithm": {
            "code_dir": "obs://bucket/code/", "boot_file": "obs://bucket/code/train.py",
            "engine": {"engine_name": "PyTorch",
                "engine_version": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"},
            "parameters": [{"name": "lr", "value": "0.1"}],
            "outputs": [{"name": "train_url",
                "remote": {"obs": {"obs_url": "obs://bucket/out/"}}}],
            "policies": {"auto_search": {
                "reward_attrs": [{"name": "acc", "mode": "max", "regex": "acc=(.*)"}],
                "search_params": [{"name": "lr", "discrete_values": ["0.25", "0.5"]}],
                "algo_configs": [{"name": "bayes_opt_search", "params": [
                    {"key": "num_samples", "value": "6", "type": "Integer"}]}],
            }},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    });
    fixture.write("job.json", &job.to_string());
    fixture.run("submit -f job.json").await.code(0);
    let output = fixture.run("trials search -o json").await.code(0);
    let trials = json_of(&output, "search_trials")["search_trials"].as_array().unwrap().clone();
    assert_eq!(trials.len(), 6);
    let rewards: Vec<&str> =
        trials.iter().map(|it| it["values"]["acc"].as_str().unwrap()).collect();
    assert!(rewards.is_sorted_by(|one, other| one >= other), "{rewards:?}");
    assert_eq!((&trials[0]["rank"], rewards[0]), (&json!(1), "0.5"));
    let id = trials[0]["id"].as_str().unwrap();
    let output = fixture.run("show search").await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains(&format!("Best trial   {id}  lr=0.5")), "{text}");
    let output = fixture.run("trials search --columns rank,lr -o csv").await.code(0);
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.starts_with("rank,lr\n1,0.5\n"), "{text}");
}
