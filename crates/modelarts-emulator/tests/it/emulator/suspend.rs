//! Tests of the shutdown of an emulator, which stops running jobs or leaves them to the next
//! emulator.

use modelarts_emulator::{
    Builder,
    pools::{Pool, PoolKind},
};
use serde_json::json;

use crate::support::{Gate, Site};

#[tokio::test]
async fn a_suspended_emulator_leaves_its_jobs_to_the_next_one() {
    let place = tempfile::tempdir().unwrap();
    let set = |builder: Builder| {
        let builder = builder.data_dir(place.path().join("data"));
        builder.obs_root(place.path().join("obs"))
    };
    let first = Site::with(set).await;
    let gate = Gate::new().await;
    let script = gate.python() + "print('begin')\ngate()\nprint('end')\n";
    let running = first.create(&first.script("running", &script)).await;
    let waiting = gate.reached().await;
    // A search has the same rules for its trials.
    let mut search = first.script("search", &script);
    search["algorithm"]["policies"] = json!({"auto_search": {
        "reward_attrs": [{"name": "loss", "mode": "min", "regex": "loss=([0-9.]+)"}],
        "search_params": [
            {"name": "lr", "param_type": "continuous", "lower_bound": "0.1", "upper_bound": "0.9"},
        ],
        "algo_configs": [{
            "name": "bayes_opt_search",
            "params": [{"key": "num_samples", "value": "1", "type": "Integer"}],
        }],
    }});
    let search = first.create(&search).await;
    let trial = gate.reached().await;
    first.emulator.suspend().await;
    waiting.wait_until_gone().await;
    trial.wait_until_gone().await;

    let second = Site::with(set).await;
    for _ in 0..2 {
        gate.reached().await.let_through().await;
    }
    for id in [&running, &search] {
        second.emulator.wait_until_settled(id).await;
        assert_eq!(second.phase(id).await, "Completed");
        let details = second.details(id).await;
        let records = details["status"]["running_records"].as_array().unwrap();
        let reasons: Vec<_> = records.iter().map(|record| &record["end_reason"]).collect();
        assert_eq!(reasons, ["node fault", "job completed"]);
    }
    assert_eq!(second.log(&running).await, "begin\nbegin\nend\n");
    let messages = second.messages(&running).await;
    let count = |text: &str| messages.iter().filter(|it| it.contains(text)).count();
    assert_eq!(count("The training job has been restarted."), 1);
    assert_eq!(count("Training finished. Exit code"), 1);
    assert_eq!(count("TerminateJob"), 0);
}

#[tokio::test]
async fn a_shutdown_stops_running_jobs_and_leaves_those_that_wait() {
    let place = tempfile::tempdir().unwrap();
    let set = |builder: Builder| {
        let builder = builder.data_dir(place.path().join("data"));
        let builder = builder.obs_root(place.path().join("obs"));
        builder.pool(Pool::new("one", PoolKind::Cpu, 1))
    };
    let first = Site::with(set).await;
    let gate = Gate::new().await;
    let job = |name: &str| {
        let mut job = first.script(name, &(gate.python() + "gate()\n"));
        job["spec"]["resource"] = json!({"pool_id": "one"});
        job
    };
    let runs = first.create(&job("runs")).await;
    let waiting = gate.reached().await;
    let waits = first.create(&job("waits")).await;
    first.emulator.shutdown().await;
    waiting.wait_until_gone().await;

    let second = Site::with(set).await;
    assert_eq!(second.phase(&runs).await, "Terminated");
    gate.reached().await.let_through().await;
    second.emulator.wait_until_settled(&waits).await;
    assert_eq!(second.phase(&waits).await, "Completed");
}
