//! The life of a job, from its creation to its end, seen through the SDK.

use std::{sync::Arc, time::Duration};

use futures::TryStreamExt;
use modelarts_emulator::Timing;
use modelarts_ext::{
    Filter, Job, ListJobs, LogItem, Observation, Outcome, TerminatedBy,
    types::{EventLevel, EventSource, Phase},
};

use crate::support::{
    clock::seconds,
    errors::{message, refused},
    gate::Gate,
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
    assert_eq!(
        job.created_at(),
        Some(modelarts_ext::Clock::now(&site.clock))
    );
    // The service writes OBS paths without their scheme.
    assert_eq!(
        job.outputs().collect::<Vec<_>>(),
        [("train_url", "/bucket/out/")]
    );
    let algorithm = job.details().algorithm.as_ref().unwrap();
    assert_eq!(algorithm.code_dir.as_deref(), Some("/bucket/first/code/"));
    assert_eq!(algorithm.parameters[0].value.as_deref(), Some("3"));
    assert_eq!(algorithm.environments["MODE"], "quick");

    site.emulator.settled(job.id()).await;
    let read = site.client.training_jobs().get(job.id()).await.unwrap();
    assert_eq!((read.id(), read.name()), (job.id(), "first"));
    assert_eq!(read.phase(), Phase::Completed);
    assert!(read.is_final());
    assert_eq!(
        read.details().metadata.as_ref().unwrap().description,
        Some("The first".into())
    );
    // What was read before does not change by itself.
    let mut old = job;
    assert_eq!(old.phase(), Phase::Creating);
    old.refresh().await.unwrap();
    assert_eq!(old.phase(), Phase::Completed);
}

/// Five jobs, made in this order: bert-0, bert-1 (fails), bert-2, resnet-0, resnet-1 (fails).
async fn five(site: &Site) {
    for name in ["bert-0", "bert-1", "bert-2", "resnet-0", "resnet-1"] {
        let script = if name.ends_with('1') { "exit(1)" } else { "" };
        site.run(site.script(name, script)).await;
    }
}

async fn names(list: ListJobs) -> Vec<String> {
    let jobs: Vec<Job> = list.stream().try_collect().await.unwrap();
    jobs.iter().map(|job| job.name().to_owned()).collect()
}

#[tokio::test]
async fn jobs_are_found() {
    let site = Site::start().await;
    let list = || site.client.training_jobs().list();
    assert_eq!(names(list()).await, [""; 0]);
    five(&site).await;

    assert_eq!(
        names(list()).await,
        ["resnet-1", "resnet-0", "bert-2", "bert-1", "bert-0"]
    );
    assert_eq!(
        names(list().oldest_first()).await,
        ["bert-0", "bert-1", "bert-2", "resnet-0", "resnet-1"]
    );
    assert_eq!(
        names(list().filter(Filter::name().like("bert"))).await,
        ["bert-2", "bert-1", "bert-0"]
    );
    assert_eq!(
        names(list().filter(Filter::phase().is_in([Phase::Failed, Phase::Running]))).await,
        ["resnet-1", "bert-1"]
    );
    assert_eq!(
        names(list().filter(Filter::phase().is_not_in([Phase::Failed]))).await,
        ["resnet-0", "bert-2", "bert-0"]
    );
    let both = list()
        .filter(Filter::name().like("bert"))
        .filter(Filter::phase().is(Phase::Completed));
    assert_eq!(names(both).await, ["bert-2", "bert-0"]);
    let none = list().filter(Filter::name().like("gpt"));
    assert_eq!(names(none).await, [""; 0]);
    let now = modelarts_ext::Clock::now(&site.clock);
    let before = list().filter(Filter::create_time().between(now - seconds(20), now - seconds(10)));
    assert_eq!(names(before).await, [""; 0]);
    let around = list().filter(Filter::create_time().between(now - seconds(10), now + seconds(10)));
    assert_eq!(names(around).await.len(), 5);
}

#[tokio::test]
async fn lists_are_read_page_by_page() {
    let site = Site::start().await;
    five(&site).await;
    let list = || site.client.training_jobs().list().page_size(2);
    let asked = || site.count("ListTrainingJobs").0;

    let before = asked();
    assert_eq!(
        names(list()).await,
        ["resnet-1", "resnet-0", "bert-2", "bert-1", "bert-0"]
    );
    assert_eq!(asked() - before, 3);

    let before = asked();
    let pages: Vec<_> = list().pages().try_collect().await.unwrap();
    let rows = pages.iter().map(|page| {
        let names: Vec<_> = page.items.iter().map(Job::name).collect();
        (names.join(" "), page.total, page.dropped)
    });
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ("resnet-1 resnet-0".to_owned(), Some(5), 0),
            ("bert-2 bert-1".to_owned(), Some(5), 0),
            ("bert-0".to_owned(), Some(5), 0),
        ]
    );
    assert_eq!(asked() - before, 3);

    // Nothing is asked for that nobody wants.
    let before = asked();
    let two = list().collect(2).await.unwrap();
    assert_eq!(
        two.iter().map(Job::name).collect::<Vec<_>>(),
        ["resnet-1", "resnet-0"]
    );
    assert_eq!(asked() - before, 1);
    assert_eq!(list().collect(4).await.unwrap().len(), 4);
    assert_eq!(list().collect(100).await.unwrap().len(), 5);

    let before = asked();
    for (size, text) in [(0, "0"), (51, "51")] {
        let error = refused(
            site.client
                .training_jobs()
                .list()
                .page_size(size)
                .collect(1)
                .await,
        );
        assert_eq!(
            message(&error),
            format!("page_size {text}: it must be 1 to 50")
        );
    }
    let blank = site.client.training_jobs().list();
    let error = refused(blank.filter(Filter::name().like("")).collect(1).await);
    assert_eq!(
        message(&error),
        "filter name: a blank value, which the service takes for no condition at all; leave the \
         filter out to find everything"
    );
    assert_eq!(asked(), before);
}

/// The events of a job with one node, without channels, as lines.
fn events_of_completed(id: &str) -> Vec<String> {
    [
        "Info    Job  Training job created.",
        "Info    Job  The training job is queuing and awaiting resource allocation.",
        "Info    K8s  [Pod: modelarts-job-ID-worker-0] Pulled: Successfully pulled image \
         \"pytorch_1.8.0\"",
        "Info    K8S  [Pod: modelarts-job-ID-worker-0] SuccessfulCreate: Created container",
        "Info    K8S  [Pod: modelarts-job-ID-worker-0] Started: Started container",
        "Info    Task [worker-0] The training code is being downloaded.",
        "Info    Task [worker-0] [Duration: 0.000] Training code downloaded.",
        "Info    Job  Training job is running.",
        "Info    Task [worker-0] training started.",
        "Info    Task [worker-0] Training finished. Exit code 0.",
        "Info    Job  Training job executed.",
        "Info    Job  Billing information synchronized.",
    ]
    .map(|line| format!("2026-01-15T16:30:45+08:00 {}", line.replace("ID", id)))
    .to_vec()
}

#[tokio::test]
async fn events_are_read() {
    let site = Site::start().await;
    let job = site.run(site.script("events", "")).await;
    let lines = async |events: modelarts_ext::Events| {
        let events: Vec<_> = events.stream().try_collect().await.unwrap();
        events.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let all = events_of_completed(job.id());
    assert_eq!(lines(job.events()).await, all);

    let before = site.count("ListTrainingJobEvents").0;
    assert_eq!(lines(job.events().page_size(5)).await, all);
    assert_eq!(site.count("ListTrainingJobEvents").0 - before, 3);

    let mut reversed = all.clone();
    reversed.reverse();
    assert_eq!(lines(job.events().newest_first()).await, reversed);
    assert_eq!(
        lines(job.events().source(EventSource::Task)).await,
        [&all[5], &all[6], &all[8], &all[9]].map(Clone::clone)
    );
    assert_eq!(lines(job.events().level(EventLevel::Error)).await, [""; 0]);
    assert_eq!(lines(job.events().pattern("downloaded")).await, all[5..=6]);
    let now = modelarts_ext::Clock::now(&site.clock);
    assert_eq!(
        lines(job.events().between(now - seconds(60), now - seconds(1))).await,
        [""; 0]
    );
    assert_eq!(
        lines(job.events().between(now - seconds(60), now)).await,
        all
    );

    let event = job.events().collect_first().await;
    assert_eq!(event.time(), Some(now));
    assert_eq!(*event.level(), EventLevel::Info);
    assert_eq!(*event.source(), EventSource::Job);
    assert_eq!(event.message(), "Training job created.");

    let error = refused(
        job.events()
            .pattern("x".repeat(257))
            .stream()
            .try_next()
            .await,
    );
    assert_eq!(
        message(&error),
        "pattern: 257 characters; it must be 256 at the most"
    );
    let error = refused(
        job.events()
            .between(now, now - seconds(1))
            .follow()
            .try_next()
            .await,
    );
    assert_eq!(message(&error), "between: the end is before the start");
}

trait First {
    async fn collect_first(self) -> modelarts_ext::Event;
}

impl First for modelarts_ext::Events {
    async fn collect_first(self) -> modelarts_ext::Event {
        self.stream().try_next().await.unwrap().unwrap()
    }
}

/// A job that stands at a gate, and what lets it run to its end during the next
/// pause of the client.
async fn at_the_gate(site: &Site, name: &str, before: &str, after: &str) -> Job {
    let gate = Gate::new().await;
    let script = gate.script(before, after);
    let job = site.script(name, &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
    site.clock.step(async move {
        waiting.let_through().await;
        emulator.settled(&id).await;
    });
    job
}

#[tokio::test]
async fn events_are_followed_to_the_end_of_the_job() {
    let site = Site::start().await;
    let job = at_the_gate(&site, "followed", "", "").await;
    let events: Vec<_> = job.events().follow().try_collect().await.unwrap();
    let lines: Vec<_> = events.iter().map(ToString::to_string).collect();
    assert_eq!(lines, events_of_completed(job.id()));
    assert_eq!(site.clock.steps_left(), 0);
    // One look while it runs, one that finds the end, and half a minute of quiet.
    assert_eq!(site.clock.slept(), [seconds(5); 7]);
}

#[tokio::test]
async fn a_log_is_followed_to_the_end_of_the_job() {
    let site = Site::start().await;
    let job = at_the_gate(
        &site,
        "logged",
        "print('one')\nprint('two, ', end='')",
        "print('and more')\nprint()\nprint('ä, no end', end='')",
    )
    .await;
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    let lines = ["one", "two, and more", "", "ä, no end"];
    assert_eq!(items, lines.map(|line| LogItem::Line(line.into())));
    assert_eq!(site.clock.steps_left(), 0);
    assert_eq!(site.clock.slept(), [seconds(5); 4]);

    let preview = job.logs("worker-0").preview().await.unwrap();
    assert_eq!(
        preview.content.as_deref(),
        Some("one\ntwo, and more\n\nä, no end")
    );
    let error = refused(job.logs("worker-7").preview().await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobLogsPreview: Invalid parameter(task_id worker-7 is not a task of the job) \
         (ModelArts.2788, HTTP 400, request id REQUEST); Check the request parameter"
    );
}

#[tokio::test]
async fn a_log_that_does_not_exist_yet_is_waited_for() {
    let mut timing = Timing::instant();
    timing.queuing = seconds(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let job = site
        .script("later", "print('here')")
        .submit()
        .await
        .unwrap();
    site.emulator.wait_for(job.id(), "Pending").await.unwrap();
    let error = refused(job.logs("worker-0").preview().await);
    assert_eq!(
        message(&error),
        "ShowTrainingJobLogsPreview: not ready yet (HTTP 204, request id REQUEST)"
    );
    assert!(error.is_not_ready() && error.is_retryable() && !error.is_not_found());

    let (emulator, clock, id) = (
        Arc::clone(&site.emulator),
        site.clock.clone(),
        job.id().to_owned(),
    );
    site.clock.step(async move {
        clock.advance(seconds(100));
        emulator.settled(&id).await;
    });
    let items: Vec<_> = job.logs("worker-0").follow().try_collect().await.unwrap();
    assert_eq!(items, [LogItem::Line("here".into())]);
}

#[tokio::test]
async fn a_wait_is_awaited() {
    let site = Site::start().await;
    let job = at_the_gate(&site, "awaited", "", "").await;
    let end = job.wait().await.unwrap();
    assert_eq!(*end.outcome(), Outcome::Completed);
    assert!(end.is_completed());
    assert_eq!(end.errors(), 0);
    assert_eq!(
        (end.job().id(), end.job().phase()),
        (job.id(), Phase::Completed)
    );
    assert_eq!(site.clock.slept().len(), 1);
}

#[tokio::test]
async fn a_wait_is_observed() {
    let mut timing = Timing::instant();
    timing.creating = seconds(100);
    timing.queuing = seconds(100);
    let site = Site::with(|builder| builder.timing(timing)).await;
    let gate = Gate::new().await;
    let script = gate.script("", "");
    let job = site.script("observed", &script).submit().await.unwrap();
    for phase in ["Pending", "Running"] {
        let (emulator, clock, id) = (
            Arc::clone(&site.emulator),
            site.clock.clone(),
            job.id().to_owned(),
        );
        // A look that sees nothing new in between tells nothing.
        site.clock.step(async {});
        site.clock.step(async move {
            clock.advance(seconds(100));
            emulator.wait_for(&id, phase).await.unwrap();
        });
    }
    let (emulator, id) = (Arc::clone(&site.emulator), job.id().to_owned());
    site.clock.step(async move {
        gate.reached().await.let_through().await;
        emulator.settled(&id).await;
    });
    let seen: Vec<Observation> = job.wait().observe().try_collect().await.unwrap();
    let seen = seen.iter().map(|seen| {
        let secondary = seen.job.secondary_phase().unwrap().to_string();
        (
            seen.job.phase(),
            secondary,
            seen.outcome.clone(),
            seen.errors,
        )
    });
    assert_eq!(
        seen.collect::<Vec<_>>(),
        [
            (Phase::Creating, "Creating".into(), None, 0),
            (Phase::Pending, "Queuing".into(), None, 0),
            (Phase::Running, "Running".into(), None, 0),
            (
                Phase::Completed,
                "Completed".into(),
                Some(Outcome::Completed),
                0
            ),
        ]
    );
    assert_eq!(site.clock.steps_left(), 0);
    assert_eq!(site.clock.slept().len(), 5);
}

#[tokio::test]
async fn a_job_is_terminated() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.script("", "");
    let job = site.script("stopped", &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    let stopping = job.terminate().await.unwrap();
    assert_eq!(
        (stopping.id(), stopping.phase()),
        (job.id(), Phase::Terminating)
    );
    site.emulator.settled(job.id()).await;
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
    let gate = Gate::new().await;
    let script = gate.script("", "");
    let job = site.script("limited", &script).auto_stop(seconds(7200));
    let job = job.submit().await.unwrap();
    let waiting = gate.reached().await;
    let (emulator, clock, id) = (
        Arc::clone(&site.emulator),
        site.clock.clone(),
        job.id().to_owned(),
    );
    site.clock.step(async move {
        clock.advance(seconds(7200));
        emulator.settled(&id).await;
    });
    let end = job.wait().await.unwrap();
    drop(waiting);
    let by = TerminatedBy::AutoStop {
        limit: seconds(7200),
    };
    assert_eq!(*end.outcome(), Outcome::Terminated { by });

    let error = refused(
        site.script("odd", "")
            .auto_stop(seconds(5400))
            .submit()
            .await,
    );
    assert_eq!(
        message(&error),
        "the job breaks a rule, so nothing was sent:\n  spec.auto_stop.duration = 1.5: a whole \
         number (ModelArts.2788); round it"
    );
}

#[tokio::test]
async fn a_job_vanishes_while_it_is_waited_for() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.script("", "");
    let job = site.script("deleted", &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    let (emulator, deleted) = (Arc::clone(&site.emulator), job.clone());
    site.clock.step(async move {
        deleted.delete().await.unwrap();
        emulator.gone(deleted.id()).await;
    });
    let end = job.wait().await.unwrap();
    drop(waiting);
    assert_eq!(*end.outcome(), Outcome::Vanished);
    // As it was seen last.
    assert_eq!(end.job().phase(), Phase::Running);

    // Nor is it there for those who wait now: it was, or nobody would have it.
    assert_eq!(*job.wait().await.unwrap().outcome(), Outcome::Vanished);
    let all = site.client.training_jobs().wait_all([job.clone()]);
    assert_eq!(*all.await.unwrap()[0].outcome(), Outcome::Vanished);
    let error = refused(job.delete().await);
    assert!(error.is_not_found());
    assert_eq!(
        job.events().follow().try_collect::<Vec<_>>().await.unwrap(),
        []
    );
    assert_eq!(
        job.logs("worker-0")
            .follow()
            .try_collect::<Vec<_>>()
            .await
            .unwrap(),
        []
    );
}

#[tokio::test]
async fn a_wait_that_takes_too_long_is_no_error() {
    let site = Site::start().await;
    let gate = Gate::new().await;
    let script = gate.script("", "");
    let job = site.script("slow", &script).submit().await.unwrap();
    let waiting = gate.reached().await;
    let end = job.wait().timeout(seconds(100)).await.unwrap();
    assert_eq!(*end.outcome(), Outcome::TimedOut);
    assert_eq!(end.job().phase(), Phase::Running);
    // Exactly that long; the pauses grow from a second, give or take a tenth.
    let slept = site.clock.slept();
    assert_eq!(slept.iter().sum::<Duration>(), seconds(100));
    assert!((0.9..=1.1).contains(&slept[0].as_secs_f64()), "{slept:?}");
    assert!(slept.iter().all(|pause| *pause <= seconds(33)), "{slept:?}");
    assert!(slept.len() > 5 && slept.len() < 20, "{slept:?}");
    drop(waiting);
}

#[tokio::test]
async fn a_call_tells_what_is_known_about_it() {
    let site = Site::start().await;
    let job = site.run(site.script("called", "")).await;
    let answer = site
        .client
        .call(|api| {
            api.show_training_job_details()
                .project_id(site.client.project_id())
                .training_job_id(job.id())
                .send()
        })
        .await
        .unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.request_id().map(str::len), Some(32));
    assert_eq!(answer.attempts(), 1);
    assert_eq!(answer.elapsed(), Duration::ZERO);
    assert!(answer.dropped().is_empty());
    let raw: serde_json::Value = serde_json::from_slice(answer.raw()).unwrap();
    assert_eq!(raw["metadata"]["id"], job.id());
    assert_eq!(raw["status"]["phase"], "Completed");
    assert_eq!(
        answer.metadata.as_ref().unwrap().name.as_deref(),
        Some("called")
    );
}

#[tokio::test]
async fn the_generated_client_signs_too() {
    let site = Site::start().await;
    let job = site.run(site.script("direct", "")).await;
    let call = async |client: &modelarts_ext::Client| {
        client
            .api()
            .show_training_job_details()
            .project_id(client.project_id())
            .training_job_id(job.id())
            .send()
            .await
    };
    let answer = call(&site.client).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(
        answer.into_inner().metadata.unwrap().name.as_deref(),
        Some("direct")
    );

    let wrong = modelarts_ext::Credentials::keys(site.emulator.access_key(), "wrong");
    let client = site.client().credentials(wrong).build().unwrap();
    let error = call(&client).await.unwrap_err();
    assert_eq!(error.status().map(|status| status.as_u16()), Some(401));
    // It is retried as well.
    let reset = modelarts_emulator::Fault::Reset;
    site.fault(1, "ShowTrainingJobDetails", reset);
    assert_eq!(call(&site.client).await.unwrap().status(), 200);
    assert_eq!(site.clock.slept().len(), 1);
}
