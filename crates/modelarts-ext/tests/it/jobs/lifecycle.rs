//! Tests of the lifecycle of a job, from its creation to its end.

use modelarts_ext::{
    Outcome,
    config::Cloud,
    jobs::wait::TerminatedBy,
    types::{self, Phase},
};
use serde_json::{Value, json};

use crate::support::{
    clock::{TestClock, seconds},
    create_job::read,
    errors::{message, refused},
    script_barrier::ScriptBarrier,
    server::{PROJECT, Server, json_answer},
    site::Site,
};

#[tokio::test]
async fn a_job_is_made_and_read() {
    let site = Site::start().await;
    site.put("bucket/data/a.txt", "a");
    let job = site
        .script("first", "")
        .description("The first")
        .input("data_url", "obs://bucket/data/")
        .output("train_url", "obs://bucket/out/")
        .parameter("epochs", 3)
        .env("MODE", "quick")
        .nodes(2)
        .submit()
        .await
        .unwrap();
    assert_eq!(job.name(), "first");
    assert_eq!(job.phase(), Phase::Creating);
    assert!(!job.is_final());
    assert_eq!(job.tasks(), ["worker-0", "worker-1"]);
    assert_eq!(job.created_at(), Some(modelarts_ext::clock::Clock::now(&site.clock).into()));
    // The service returns OBS paths without a scheme.
    assert_eq!(job.outputs().collect::<Vec<_>>(), [("train_url", "/bucket/out/")]);
    let algorithm = job.details().algorithm.as_ref().unwrap();
    assert_eq!(algorithm.code_dir.as_deref(), Some("/bucket/first/code/"));
    assert_eq!(algorithm.parameters[0].value.as_deref(), Some("3"));
    assert_eq!(algorithm.environments["MODE"], "quick");

    site.emulator.wait_until_settled(job.id()).await;
    let read = site.client.training_jobs().get(job.id()).await.unwrap();
    assert_eq!((read.id(), read.name()), (job.id(), "first"));
    assert_eq!(read.phase(), Phase::Completed);
    assert!(read.is_final());
    assert_eq!(read.details().metadata.as_ref().unwrap().description, Some("The first".into()));
    // A `Job` value that was read earlier does not change.
    let mut old = job;
    assert_eq!(old.phase(), Phase::Creating);
    old.refresh().await.unwrap();
    assert_eq!(old.phase(), Phase::Completed);
}

#[tokio::test]
async fn a_job_is_terminated() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("", "");
    let job = site.script("stopped", &script).submit().await.unwrap();
    let waiting = barrier.reached().await;
    let stopping = job.terminate().await.unwrap();
    assert_eq!((stopping.id(), stopping.phase()), (job.id(), Phase::Terminating));
    site.emulator.wait_until_settled(job.id()).await;
    drop(waiting);

    let end = job.wait().await.unwrap();
    let by = TerminatedBy::User;
    assert_eq!(*end.outcome(), Outcome::Terminated { by });
    assert!(!end.is_completed());
    assert_eq!(end.job().phase(), Phase::Terminated);

    let error = refused(job.terminate().await);
    assert_eq!(
        message(&error),
        "StopTrainingJob: The job cannot be terminated (ModelArts.2796, HTTP 409, request id \
         REQUEST); Check whether the job status is valid"
    );
    assert!(error.is_conflict() && !error.is_not_found());
    assert_eq!(error.attempts(), 1);
}

#[tokio::test]
async fn a_job_that_stops_itself() {
    let site = Site::start().await;
    let barrier = ScriptBarrier::new().await;
    let script = barrier.script("", "");
    let job = site.script("limited", &script).auto_stop(seconds(7200));
    let job = job.submit().await.unwrap();
    let waiting = barrier.reached().await;
    let clock = site.clock.clone();
    site.at_pause(job.id(), async move {
        clock.advance(seconds(7200));
    });
    let end = job.wait().await.unwrap();
    drop(waiting);
    let by = TerminatedBy::AutoStop { limit: seconds(7200) };
    assert_eq!(*end.outcome(), Outcome::Terminated { by });

    let error = refused(site.script("odd", "").auto_stop(seconds(5400)).submit().await);
    assert_eq!(
        message(&error),
        "the job breaks a rule, so nothing was sent: spec.auto_stop.duration = 1.5: must be a \
         whole number of hours (ModelArts.2788); round it"
    );
}

#[tokio::test]
async fn a_heterogeneous_job_runs_its_roles() {
    let site = Site::start().await;
    let role = |name: &str| {
        let code = format!("bucket/{name}/code");
        site.put(&format!("{code}/train.py"), "import os\nprint(os.environ['MA_TASK_NAME'])");
        read(json!({
            "role": name,
            "algorithm": {
                "code_dir": format!("obs://{code}/"),
                "boot_file": format!("obs://{code}/train.py"),
                "engine": {"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"},
            },
            "task_resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
            "log_export_path": {"obs_url": format!("obs://bucket/{name}/logs/")},
        }))
    };
    let create = site.client.training_jobs().create("roles");
    let job = create.task(role("learner")).task(role("worker"));
    let job = site.run(job).await;
    assert_eq!(job.phase(), types::Phase::Completed);
    assert_eq!(job.tasks(), ["learner-0", "worker-0"]);
    for task in ["learner-0", "worker-0"] {
        let (role, _) = task.split_once('-').unwrap();
        let object = job.log_object(task).unwrap();
        let expected = format!("/bucket/{role}/logs/modelarts-job-{}-{task}.log", job.id());
        assert_eq!(object, expected);
        let kept = site.emulator.obs_root().join(object.trim_start_matches('/'));
        let kept = std::fs::read_to_string(kept).unwrap();
        assert_eq!(kept, format!("{role}\n"));
    }
}

#[tokio::test]
async fn a_job_is_changed_and_many_are_deleted() {
    let details = json!({"kind": "job", "metadata": {"id": "j", "name": "a"}}).to_string();
    let server = Server::start([
        json_answer("200 OK", "", &details),
        json_answer("200 OK", "", "null"),
        json_answer("200 OK", "", ""),
        json_answer("202 Accepted", "", ""),
        json_answer("202 Accepted", "", ""),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().get("j").await.unwrap();
    job.set_description("new").await.unwrap();
    job.set_priority(3).await.unwrap();
    let jobs = vec![job.clone(); 101];
    client.training_jobs().delete_many(&jobs).await.unwrap();
    let requests = server.requests();
    let body = |request: &str| -> Value {
        serde_json::from_str(request.split("\r\n\r\n").nth(1).unwrap()).unwrap()
    };
    let line = |request: &str| request.lines().next().unwrap().to_owned();
    let at = format!("/v2/{PROJECT}/training-jobs");
    assert_eq!(line(&requests[1]), format!("PUT {at}/j HTTP/1.1"));
    assert_eq!(body(&requests[1]), json!({"description": "new"}));
    assert_eq!(line(&requests[2]), format!("PUT {at}/j HTTP/1.1"));
    assert_eq!(body(&requests[2]), json!({"spec": {"schedule_policy": {"priority": 3}}}));
    assert_eq!(line(&requests[3]), format!("POST {at}/batch-delete HTTP/1.1"));
    assert_eq!(body(&requests[3])["jobs"].as_array().unwrap().len(), 100);
    assert_eq!(body(&requests[4]), json!({"jobs": [{"kind": "job", "metadata": {"id": "j"}}]}));

    // Invalid requests are not sent.
    let message = |error: modelarts_ext::Error| error.to_string();
    assert_eq!(
        message(job.set_priority(4).await.unwrap_err()),
        "the change breaks a rule, so nothing was sent: spec.schedule_policy.priority = 4: \
         must be 1 to 3 (ModelArts.2816); choose a value within the limit"
    );
    let error = job.set_description("x".repeat(257)).await.unwrap_err();
    assert_eq!(error.violations()[0].field(), "description");
    let none: [&str; 0] = [];
    client.training_jobs().delete_many(none).await.unwrap();
    assert_eq!(server.requests().len(), 5);
}

/// Open Telekom Cloud has no deletion of several jobs.
#[tokio::test]
async fn many_jobs_are_deleted_one_by_one_on_open_telekom_cloud() {
    let accepted = || json_answer("202 Accepted", "", "");
    let server = Server::start([accepted(), accepted()]).await;
    let client = server.client(&TestClock::new()).cloud(Cloud::Otc);
    let client = client.build().unwrap();
    client.training_jobs().delete_many(["j", "k"]).await.unwrap();
    let lines = server.requests();
    let lines: Vec<_> = lines.iter().map(|request| request.lines().next()).collect();
    let line = |id| format!("DELETE /v2/{PROJECT}/training-jobs/{id} HTTP/1.1");
    assert_eq!(lines, [Some(&*line("j")), Some(&*line("k"))]);
}
