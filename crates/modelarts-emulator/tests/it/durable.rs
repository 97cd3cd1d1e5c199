//! What was acknowledged survives the death of the emulator.

use modelarts_emulator::{Emulator, Timing};
use serde_json::{Value, json};

use crate::support::{Client, Gate, Site};

/// A site on the directories of another, which ends.
async fn again(site: Site, data: &std::path::Path) -> Site {
    let obs = site.emulator.obs_root().to_owned();
    drop(site);
    Site::with(|builder| builder.data_dir(data).obs_root(obs)).await
}

#[tokio::test]
async fn jobs_go_on_where_the_last_emulator_left_them() {
    let data = tempfile::tempdir().unwrap();
    let obs = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| builder.data_dir(data.path()).obs_root(obs.path())).await;
    let gate = Gate::new().await;
    let done = first.run(&first.script("done", "print('kept')")).await;
    let before = first.details(&done).await;
    let events = first.messages(&done).await;
    let running = first
        .create(&first.script("running", &(gate.python() + "gate()")))
        .await;
    let _waiting = gate.reached().await;
    let project = first.client.project_id.clone();
    let second = again(first, data.path()).await;
    assert_eq!(second.client.project_id, project);
    assert_eq!(second.details(&done).await, before);
    assert_eq!(second.messages(&done).await, events);
    assert_eq!(second.log(&done).await, "kept\n");
    // It runs again, as after the fault of a node.
    gate.reached().await.let_through().await;
    second
        .emulator
        .wait_for(&running, "Completed")
        .await
        .unwrap();
    let status = second.details(&running).await["status"].clone();
    let records = status["running_records"].as_array().unwrap();
    assert_eq!(records.len(), 2);
    assert_eq!(records[0]["end_reason"], "node fault");
    assert_eq!(records[0]["end_recover"], "job_reschedule_with_taint");
    assert_eq!(records[1]["end_reason"], "job completed");
    // A deletion that was acknowledged is one.
    second
        .client
        .delete(&format!("/training-jobs/{done}"))
        .await;
    second.emulator.gone(&done).await;
    let third = again(second, data.path()).await;
    let reply = third.client.get(&format!("/training-jobs/{done}")).await;
    assert_eq!(reply.error(), (400, "ModelArts.2775".to_owned()));
}

#[tokio::test]
async fn without_a_directory_nothing_is_kept() {
    let emulator = Emulator::builder()
        .timing(Timing::instant())
        .start()
        .await
        .unwrap();
    assert!(!emulator.data_dir().join("state.sqlite3").exists());
}

/// Killed at ten different moments under load; each acknowledged job is there afterwards, with its
/// first event.
#[cfg(feature = "cli")]
#[tokio::test]
async fn a_sigkill_loses_no_acknowledged_job() {
    use crate::program::serve_in;
    let place = tempfile::tempdir().unwrap();
    let code = place.path().join("obs/bucket/code");
    std::fs::create_dir_all(&code).unwrap();
    std::fs::write(code.join("train.py"), "print('ran')").unwrap();
    let mut acknowledged: Vec<String> = Vec::new();
    for round in 0..10 {
        let mut program = serve_in(place.path()).await;
        for id in &acknowledged {
            let path = format!("/training-jobs/{id}");
            assert_eq!(
                program.client.get(&path).await.status,
                200,
                "round {round}: {id}"
            );
            let events = program.client.get(&format!("{path}/events")).await.json();
            assert_eq!(events["events"][0]["message"], "Training job created.");
        }
        let create = async |client: &Client, name: String| -> Value {
            let job = json!({
                "kind": "job",
                "metadata": {"name": name},
                "algorithm": {
                    "code_dir": "/bucket/code/",
                    "boot_file": "/bucket/code/train.py",
                    "engine": {"engine_id": "pytorch-cp36-1.3.0"},
                },
                "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.2u"}},
            });
            client.post("/training-jobs", &job).await.json()
        };
        // The number of jobs decides the moment.
        for at in 0..=round {
            let created = create(&program.client, format!("job-{round}-{at}")).await;
            acknowledged.push(created["metadata"]["id"].as_str().unwrap().to_owned());
        }
        program.child.start_kill().unwrap();
        program.child.wait().await.unwrap();
    }
    assert_eq!(acknowledged.len(), 55);
}
