//! Tests of the watch of a project.

use std::{collections::BTreeMap, task::Poll};

use modelarts_emulator::faults::{Fault, FaultRule};
use modelarts_ext::{
    Filter,
    jobs::{JobChange, JobWatch, WatchPosition},
    types::Phase,
};
use serde_json::json;

use crate::support::{
    clock::seconds,
    errors::refused,
    faults::{LIST, status},
    simulated_site::SimulatedSite,
};

/// Reported phases of each job, and `Deleted`.
type Reported = BTreeMap<String, Vec<String>>;

fn add(reported: &mut Reported, change: &JobChange) {
    let phase = match change {
        JobChange::Phase { phase, .. } => phase.to_string(),
        _ => "Deleted".to_owned(),
    };
    reported.entry(change.job().name().to_owned()).or_default().push(phase);
}

fn is_end(change: &JobChange) -> bool {
    match change {
        JobChange::Phase { phase, .. } => {
            matches!(phase, Phase::Completed | Phase::Failed | Phase::Terminated)
        }
        _ => true,
    }
}

async fn site() -> SimulatedSite {
    let script = json!({"jobs": [
        {"name": "*-short", "runs": [{"seconds": 30}]},
        {"name": "*-long", "runs": [{"seconds": 600}]},
        {"name": "*-bad", "runs": [{"seconds": 90, "exit_code": 2}]},
    ]});
    SimulatedSite::start(script, seconds(100)).await
}

/// Adds changes until `ends` jobs have ended. After each third change, the watch is created again
/// from its position as JSON.
async fn run(
    site: &SimulatedSite,
    mut watch: JobWatch,
    ends: usize,
    reported: &mut Reported,
) -> WatchPosition {
    let (mut ended, mut count) = (0, 0);
    while ended < ends {
        let change = watch.next().await.unwrap();
        ended += usize::from(is_end(&change));
        add(reported, &change);
        count += 1;
        if count % 3 == 0 {
            let text = serde_json::to_string(&watch.position()).unwrap();
            watch =
                site.client.training_jobs().watch().resume(serde_json::from_str(&text).unwrap());
        }
    }
    watch.position()
}

#[tokio::test]
async fn every_phase_is_reported_once_across_restarts() {
    let site = site().await;
    let submit = async |name: &str| site.job(name).submit().await.unwrap();
    submit("old-short").await;
    site.clock.advance(seconds(300)).await;
    for name in ["a-short", "b-bad", "c-long"] {
        submit(name).await;
    }
    let mut reported = Reported::new();
    let watch = site.client.training_jobs().watch();
    let position = run(&site, watch, 2, &mut reported).await;
    // While nobody watches, a job begins and ends, another one ends, and one is deleted.
    submit("d-short").await;
    submit("e-long").await.delete().await.unwrap();
    submit("f-long").await;
    site.clock.advance(seconds(500)).await;
    let watch = site.client.training_jobs().watch().resume(position);
    let position = run(&site, watch, 3, &mut reported).await;
    let expected = [
        ("a-short", vec!["Running", "Completed"]),
        ("b-bad", vec!["Running", "Failed"]),
        ("c-long", vec!["Running", "Completed"]),
        ("d-short", vec!["Creating", "Running", "Completed"]),
        ("f-long", vec!["Creating", "Running", "Completed"]),
    ];
    let expected = expected
        .map(|(name, phases)| (name.to_owned(), phases.into_iter().map(str::to_owned).collect()));
    assert_eq!(reported, BTreeMap::from(expected));
    // A job that is deleted before it ends is reported once.
    let job = submit("g-long").await;
    let mut watch = site.client.training_jobs().watch().resume(position);
    let mut reported = Reported::new();
    loop {
        let change = watch.next().await.unwrap();
        add(&mut reported, &change);
        match &change {
            JobChange::Phase { phase: Phase::Running, .. } => job.delete().await.unwrap(),
            JobChange::Deleted { .. } => break,
            _ => {}
        }
    }
    let phases = &reported["g-long"];
    assert_eq!((phases.len(), &*phases[2], reported.len()), (3, "Deleted", 1));
}

/// The starts of the phases are those of the details.
#[tokio::test]
async fn a_phase_between_two_rounds_has_its_start() {
    let site = site().await;
    let mut watch = site.client.training_jobs().watch();
    let other = site.job("z-long").submit().await.unwrap();
    let change = watch.next().await.unwrap();
    assert_eq!(change.job().id(), other.id());
    let position = watch.position();
    let late = site.job("b-short").submit().await.unwrap();
    site.clock.advance(seconds(60)).await;
    let late = late.get().await.unwrap();
    let mut watch = site.client.training_jobs().watch().resume(position);
    let mut starts = Vec::new();
    while starts.len() < 3 {
        if let JobChange::Phase { job, from, phase, at, .. } = watch.next().await.unwrap() {
            assert_eq!(job.id(), late.id());
            starts.push((from.map(|phase| phase.to_string()), phase.to_string(), at));
        }
    }
    let text = |text: &str| Some(text.to_owned());
    let end = late.started_at().unwrap() + late.time_run().unwrap();
    assert_eq!(
        starts,
        [
            (None, "Creating".to_owned(), late.created_at()),
            (text("Creating"), "Running".to_owned(), late.started_at()),
            (text("Running"), "Completed".to_owned(), Some(end)),
        ]
    );
}

/// A call that is dropped while it waits for a response is continued by the next one.
#[tokio::test]
async fn a_dropped_call_loses_no_change() {
    let site = site().await;
    for name in ["a-long", "b-long", "c-long", "d-long"] {
        site.job(name).submit().await.unwrap();
    }
    let mut watch = site.client.training_jobs().watch();
    let mut reported = Reported::new();
    let mut drops = 0;
    while reported.len() < 4 {
        let mut next = Box::pin(watch.next());
        // Each poll ends at the next response.
        match futures::poll!(&mut next) {
            Poll::Ready(change) => add(&mut reported, &change.unwrap()),
            Poll::Pending => drops += 1,
        }
        drop(next);
        // The first change of each job is its phase, also after a restart between them.
        let position = watch.position();
        if reported.len() == 3 && drops > 0 {
            watch = site.client.training_jobs().watch().resume(position);
            drops = 0;
        }
        tokio::task::yield_now().await;
    }
    assert!(reported.values().all(|phases| *phases == ["Running"]), "{reported:?}");
}

/// An idle project has no unfinished jobs, so only the search for new jobs succeeds.
#[tokio::test]
async fn failures_with_successes_between_them_are_tolerated() {
    let site = site().await;
    let mut watch = site.client.training_jobs().watch();
    for _ in 0..2 {
        let rule = FaultRule::times(5, LIST, status(503, None));
        site.emulator.faults().add(rule).unwrap();
        let end = site.now() + seconds(3600);
        while site.now() < end {
            // No job exists, so the watch runs rounds.
            assert!(futures::poll!(Box::pin(watch.next())).is_pending());
            tokio::task::yield_now().await;
        }
    }
    site.job("a-long").submit().await.unwrap();
    assert_eq!(watch.next().await.unwrap().job().name(), "a-long");
}

#[tokio::test]
async fn a_position_of_another_project_is_refused() {
    let site = site().await;
    let position = json!({"project": "other", "newest": null, "jobs": []});
    let position: WatchPosition = serde_json::from_value(position).unwrap();
    let mut watch = site.client.training_jobs().watch().resume(position);
    assert_eq!(
        refused(watch.next().await).to_string(),
        format!(
            "the position is of the project other; it must be of the project of the client, {}",
            site.client.project_id()
        )
    );
}

#[tokio::test]
async fn a_watch_has_the_conditions_of_its_search_and_survives_failures() {
    let site = site().await;
    site.job("a-long").submit().await.unwrap();
    site.job("b-long").submit().await.unwrap();
    let rule = FaultRule::times(20, LIST, Fault::Reset);
    site.emulator.faults().add(rule).unwrap();
    site.emulator.faults().add(FaultRule::times(20, LIST, status(429, None))).unwrap();
    let mut watch = site.client.training_jobs().list().filter(Filter::name().like("b-")).watch();
    let change = watch.next().await.unwrap();
    assert_eq!(change.job().name(), "b-long");
    let phase = Filter::phase().is_in([Phase::Running]);
    let mut watch = site.client.training_jobs().list().filter(phase).watch();
    assert_eq!(
        refused(watch.next().await).to_string(),
        "the conditions of a watch must not be on the phase or on hosts, because a job would leave \
         the search when they change; select the changes instead"
    );
}

/// The position has no phase of a job that was not reported, and the first round fails.
#[tokio::test]
async fn a_job_that_was_not_read_has_no_change() {
    let site = site().await;
    let job = site.job("a-long").submit().await.unwrap();
    site.clock.advance(seconds(1)).await;
    let position = json!({
        "project": site.client.project_id().to_string(),
        "newest": job.created_at(),
        "jobs": [{
            "id": job.id(), "name": job.name(), "workspace": null, "created": job.created_at(),
            "phase": null, "existed": true,
        }],
    });
    let position: WatchPosition = serde_json::from_value(position).unwrap();
    site.emulator.faults().add(FaultRule::times(5, LIST, status(503, None))).unwrap();
    let mut watch = site.client.training_jobs().watch().resume(position);
    let mut reported = Reported::new();
    add(&mut reported, &watch.next().await.unwrap());
    assert_eq!(reported["a-long"], ["Running"]);
}
