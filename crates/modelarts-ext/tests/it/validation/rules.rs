//! Tests of the validation rules. For each rule, one job violates only that rule, and another
//! satisfies it at its limit.

use std::time::Duration;

use modelarts_ext::{
    CreateJob, ErrorKind, config::Cloud, jobs::create::Volume, validation::Report,
};
use serde_json::{Value, json};

use crate::support::{
    create_job::{client, job, violations, warnings},
    rule_cases::{cases, patched, plain},
};

#[test]
fn each_rule_is_broken_alone_and_kept_at_its_limit() {
    let cases = cases();
    assert_eq!(cases.len(), 164);
    for case in cases {
        let (breaks, keeps) = (job(&case.breaks), job(&case.keeps));
        if case.is_advice {
            // Warnings do not prevent the submission of a job.
            assert!(breaks.check().is_ok(), "{}", case.name);
            assert_eq!(warnings(&breaks), [case.message], "{}", case.name);
            assert_eq!(warnings(&keeps), [""; 0], "{}", case.name);
        } else {
            assert_eq!(violations(&breaks), [case.message], "{}", case.name);
        }
        assert_eq!(violations(&keeps), [""; 0], "{}", case.name);
    }
}

#[test]
fn a_plain_job_breaks_nothing() {
    assert_eq!(job(&plain()).check(), Report::default());
}

#[test]
fn a_spec_beside_tasks_needs_no_resources() {
    let spec = |pool: Value, flavor: Value| {
        let patch = json!({
            "algorithm": null,
            "tasks": [{"task_resource": {"pool_id": pool, "flavor_id": flavor, "node_count": 1}}],
            "spec": {
                "resource": null,
                "volumes": [{"nfs": {"nfs_server_path": "10.0.0.5:/a", "local_path": "/mnt/a"}}],
            },
        });
        violations(&job(&patched(&plain(), &patch)))
    };
    assert_eq!(spec("pool-1".into(), Value::Null), [""; 0]);
    assert_eq!(
        spec(Value::Null, "modelarts.vm.cpu.8u".into()),
        ["spec.volumes[0].nfs = \
             {\"local_path\":\"/mnt/a\",\"nfs_server_path\":\"10.0.0.5:/a\"}: \
             SFS Turbo must be mounted in a dedicated pool only (ModelArts.2788); run in a \
             dedicated pool"]
    );
}

#[test]
fn a_job_has_at_most_100_variables() {
    let variables =
        |count: usize| (0..count).fold(job(&plain()), |job, n| job.env(format!("A{n}"), "secret"));
    assert_eq!(violations(&variables(100)), [""; 0]);
    assert_eq!(
        violations(&variables(101)),
        ["algorithm.environments (its value is not shown): must have at most 100 entries \
             (ModelArts.2788); choose a value within the limit"]
    );
}

#[test]
fn variables_of_tuning_have_limits_and_are_not_shown() {
    let tuning = |env: Value| {
        let patch = json!({
            "algorithm": null, "train_type": "SFT",
            "ftjob_config": {"ft_job_uuid": "u", "task_env": {"envs": [env]}},
        });
        job(&patched(&plain(), &patch))
    };
    let long = "s".repeat(1001);
    assert_eq!(violations(&tuning(json!({"value": "s".repeat(1000)}))), [""; 0]);
    assert_eq!(
        violations(&tuning(json!({"value": long, "used_steps": ["x".repeat(101)]}))),
        [
            "ftjob_config.task_env.envs[0].used_steps[0] (its value is not shown): must have at \
             most 100 characters (ModelArts.2788); choose a value within the limit",
            "ftjob_config.task_env.envs[0].value (its value is not shown): must have at most 1000 \
             characters (ModelArts.2788); choose a value within the limit",
        ]
    );
}

#[test]
fn a_secret_hyper_parameter_is_not_shown() {
    let constraint = json!({"type": "Integer", "sensitive": true});
    let parameter = json!({"name": "pin", "value": "hunter2", "constraint": constraint});
    let patch = json!({"algorithm": {"parameters": [parameter]}});
    assert_eq!(
        violations(&job(&patched(&plain(), &patch))),
        ["algorithm.parameters[0].value (its value is not shown): the value must be of the \
             type of the hyper-parameter (ModelArts.2768); correct the value"]
    );
}

/// Returns a job that violates twenty rules, created with the builder.
fn twenty() -> CreateJob {
    client()
        .training_jobs()
        .create("not a name")
        .description("x".repeat(257))
        .annotation("jupyter-lab/enable", "yes")
        .auto_restart(9)
        .preset_image("PyTorch", "pytorch_1.8.0")
        .code_dir("obs://bucket/code/")
        .boot_file("obs://bucket/other/train.sh")
        .command("a\nb")
        .local_code_dir("/opt")
        .env("1A", "secret")
        .env("B", "$A")
        .env("C", "$B")
        .working_dir("code")
        .run_user(65_536)
        .nodes(0)
        .parameter("a b", 1)
        .input("data url", "s3://bucket/data/")
        .input("data_url", "obs://bucket/data/")
        .volume(Volume::nfs("10.0.0.1:/", "/cache"))
        .priority(2)
        .auto_stop(Duration::from_secs(90 * 60))
        .tensorboard([""; 0])
}

#[tokio::test]
async fn all_twenty_broken_rules_are_reported() {
    let lines = violations(&twenty());
    let fields: Vec<_> = lines.iter().map(|line| line.split([' ', ':']).next().unwrap()).collect();
    assert_eq!(
        fields,
        [
            "metadata.description",
            "metadata.name",
            "spec.auto_stop.duration",
            "spec.resource.node_count",
            r#"metadata.annotations["fault-tolerance/job-retry-num"]"#,
            "algorithm.boot_file",
            "algorithm.boot_file",
            "algorithm.engine.run_user",
            "algorithm.local_code_dir",
            "algorithm.working_dir",
            r#"algorithm.environments["1A"]"#,
            r#"algorithm.environments["B"]"#,
            r#"algorithm.environments["C"]"#,
            "algorithm.parameters[0].name",
            "algorithm.inputs[0].name",
            "algorithm.inputs[0].remote.obs.obs_url",
            "spec.resource.flavor_id",
            "spec.volumes[0].nfs",
            "spec.volumes[0].nfs.local_path",
            "algorithm.summary.data_sources",
        ]
    );
    assert_eq!(
        lines[2],
        "spec.auto_stop.duration = 1.5: must be a whole number of hours (ModelArts.2788); round it"
    );

    // Violated advice is reported as warnings.
    let advised: Vec<_> = warnings(&twenty());
    let advised: Vec<_> = advised.iter().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(
        advised,
        [
            r#"metadata.annotations["jupyter-lab/enable"]"#,
            "algorithm.command",
            "algorithm.command",
            "algorithm.command",
            "spec.schedule_policy.priority",
        ]
    );

    // `submit` returns the same lines and sends no request; no server listens at this address.
    let error = twenty().submit().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!(error.attempts(), 0);
    assert_eq!(
        error.to_string(),
        format!("the job breaks 20 rules, so nothing was sent:\n  {}", lines.join("\n  "))
    );
    assert_eq!(error.violations(), twenty().check().violations);
    assert!(!error.to_string().contains("secret"));
    let violation = &error.violations()[1];
    assert_eq!(violation.field(), "metadata.name");
    assert_eq!(violation.value(), Some(&json!("not a name")));
    assert_eq!(violation.rule(), "must be 1 to 64 letters, digits, _ and -");
    assert_eq!(violation.code(), Some("ModelArts.2788"));
    assert_eq!(violation.advice(), "use letters, digits, _ and -");
}

#[test]
fn a_fraction_of_an_hour_is_refused_by_the_generated_type() {
    let job = job(&plain()).auto_stop(Duration::from_secs(90 * 60));
    let error = job.request().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().starts_with("spec.auto_stop.duration: "), "{error}");
    assert_eq!(
        violations(&job),
        ["spec.auto_stop.duration = 1.5: must be a whole number of hours (ModelArts.2788); \
             round it"]
    );
}

#[test]
fn clouds_have_rules_of_their_own() {
    let both = |patch: Value| {
        let job = job(&patched(&plain(), &patch));
        let count = |cloud| job.clone().cloud(cloud).check().violations.len();
        (count(Cloud::Otc), count(Cloud::Huawei))
    };
    let retries =
        |n: &str| json!({"metadata": {"annotations": {"fault-tolerance/job-retry-num": n}}});
    assert_eq!(both(retries("4")), (1, 0));
    assert_eq!(both(retries("128")), (1, 0));
    assert_eq!(both(retries("129")), (1, 1));
    assert_eq!(both(json!({"kind": "hetero_job"})), (1, 0));
    assert_eq!(both(json!({"kind": "other_job"})), (1, 1));
    let local = |path: &str| json!({"algorithm": {"local_code_dir": path}});
    assert_eq!(both(local("/home/ma-user/modelarts")), (0, 1));
    assert_eq!(both(local("/home/ma-user/infer/code")), (0, 1));
    assert_eq!(both(local("/home/ma-user/modelarts/user-job-dir")), (0, 0));
    assert_eq!(both(local("/home/ma-user/modelarts/other")), (0, 0));
    assert_eq!(both(local("/home/")), (0, 0));
    let federated =
        json!({"kind": "federated_pool_job", "spec": {"resource": {"flavor_id": null}}});
    assert_eq!(both(federated), (2, 1));
    let federated = json!({
        "kind": "federated_pool_job",
        "spec": {"resource": {"flavor_id": null, "pool_group_id": "g"}},
    });
    assert_eq!(both(federated), (1, 0));
}

#[test]
fn recommendations_are_warnings() {
    let cases = include_str!("../../cases/recommendations.yaml");
    let cases: Vec<Value> = serde_saphyr::from_str(cases).unwrap();
    assert_eq!(cases.len(), 19);
    for case in cases {
        let job = job(&patched(&plain(), &case["job"]));
        assert_eq!(violations(&job), [""; 0], "{case}");
        assert_eq!(json!(warnings(&job)), case["warnings"], "{case}");
    }
}
