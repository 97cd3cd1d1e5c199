//! Tests of the error codes with which the service rejects jobs that violate its rules.

use modelarts_emulator::pools::{Pool, PoolKind};
use modelarts_ext::types::{self};
use serde_json::json;

use crate::{
    jobs::create::fixtures::create_algorithm,
    support::{
        create_job::read,
        errors::refused,
        rule_cases::{cases, plain},
        site::Site,
    },
};

#[tokio::test]
async fn the_service_refuses_with_the_code_that_the_check_says() {
    // The cases refer to a pool of GPU nodes.
    let pool = Pool::new("pool-1", PoolKind::Gpu, 8);
    let otc = modelarts_emulator::Cloud::Otc;
    let site = Site::with(|builder| builder.pool(pool).cloud(otc)).await;
    site.put("bucket/code/train.py", "");
    site.put("bucket/data/x", "");
    for case in cases().into_iter().filter(|case| !case.is_advice) {
        let job = site
            .client
            .training_jobs()
            .from_value(&case.breaks)
            .unwrap()
            .cloud(modelarts_ext::config::Cloud::Otc);
        let violation = job.check().violations.remove(0);
        let error = refused(job.unchecked().submit().await);
        assert_eq!(error.code(), violation.code(), "{}: {error}", case.name);
        // Many rules share this code, so the error message must also mention the same part of the
        // body, such as `spec.volumes`.
        let about = violation.field().split('.').take(2).collect::<Vec<_>>().join(".");
        let about = about.split('[').next().unwrap();
        let message = error.message().unwrap();
        assert!(
            violation.code() != Some("ModelArts.2788") || message.contains(about),
            "{}: {error}",
            case.name
        );
    }
}

/// Creates an algorithm on the emulator and returns its id.
async fn stored(site: &Site) -> String {
    let body: types::AlgorithmRequest = read(json!({
        "metadata": {"name": "stored"},
        "job_config": plain()["algorithm"],
    }));
    create_algorithm(site, body).await
}

/// Jobs that do not follow advice are created. For resources that do not exist in the emulator, it
/// returns a separate error code.
#[tokio::test]
async fn the_service_takes_what_is_only_advised_against() {
    let pool = Pool::new("pool-1", PoolKind::Gpu, 8);
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(directory.path().join("d")).unwrap();
    let site = Site::with(|builder| {
        let builder = builder.pool(pool).nfs_root(directory.path());
        builder.datasets(directory.path())
    })
    .await;
    site.put("bucket/code/train.py", "");
    site.put("bucket/data/x", "");
    let stored = stored(&site).await;
    let mut refusals = Vec::new();
    let mut not_modelled = Vec::new();
    let cases = cases().into_iter().filter(|case| case.is_advice);
    for (n, mut case) in cases.enumerate() {
        if case.breaks["algorithm"]["id"] == "a" {
            case.breaks["algorithm"]["id"] = stored.as_str().into();
        }
        let jobs = site.client.training_jobs();
        let job = jobs.from_value(&case.breaks).unwrap();
        assert!(job.check().is_ok(), "{}", case.name);
        match job.name(format!("job-{n}")).submit().await {
            Ok(_) => {}
            Err(error) if error.code() == Some("Emulator.0501") => not_modelled.push(case.name),
            Err(error) => refusals.push(format!("{}: {error}", case.name)),
        }
    }
    assert_eq!(refusals, [""; 0]);
    not_modelled.retain(|name| {
        ![
            "tasks and spec are not given together",
            "a search is configured in YAML",
            "a search has a metric",
            "a metric has a regex",
            "the mode of a metric is max or min",
            "a search parameter is continuous or discrete",
            "the unit of auto stop is hours",
            "a search algorithm is known",
            "a local directory is plain",
            "a volume is not mounted over the home directory",
            "a volume is not mounted over the inputs",
            "a volume is mounted at an absolute path",
            "a working directory is plain",
            "a local code directory is not /home",
        ]
        .contains(&name.as_str())
    });
    assert_eq!(not_modelled, [""; 0]);
}
