//! Tests of the look-ups of `submit()`: the specs of the algorithm and the flavor before the create
//! request, and the list of engines after a rejection.

use modelarts_emulator::faults::Fault;
use modelarts_ext::{ErrorKind, jobs::create::CreateJob, validation::Report};
use serde_json::json;

use crate::{
    jobs::create::fixtures::create_algorithm,
    support::{
        clock::TestClock,
        create_job::violations,
        errors::{message, refused},
        faults::status,
        rule_cases::plain,
        server::{Server, json_answer},
        site::Site,
    },
};

const ENGINES: &str = "ShowTrainingJobEngines";

/// Returns the number of algorithm requests, flavor requests, and create requests.
fn counts(site: &Site) -> (u64, u64, u64) {
    let received = |operation| site.count(operation).0;
    (
        received("ShowAlgorithmByUuid"),
        received("ShowTrainingJobFlavors"),
        site.count("CreateTrainingJob").0,
    )
}

/// Returns a job after a look-up, with its report.
async fn looked_up(job: CreateJob) -> (CreateJob, Report) {
    let job = job.look_up().await.unwrap();
    let report = job.check();
    (job, report)
}

#[tokio::test]
async fn submit_asks_about_the_flavor() {
    let site = Site::start().await;
    let job = site.script("wide", "").nodes(17);
    assert_eq!(violations(&job), [""; 0]);
    let error = refused(job.clone().submit().await);
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let message = "spec.resource.node_count = 17: must be at most 16 with this flavor \
                   (ModelArts.2793); ask for fewer nodes, or choose another flavor";
    assert_eq!(error.violations().len(), 1);
    assert_eq!(error.violations()[0].to_string(), message);
    assert_eq!(counts(&site), (0, 1, 0));
    // The service rejects the job for the same reason.
    let error = refused(job.clone().without_look_up().submit().await);
    assert_eq!(error.code(), Some("ModelArts.2793"));
    assert_eq!(counts(&site), (0, 1, 1));

    // Specs are looked up again only when the flavor changes.
    let job = job.nodes(1).look_up().await.unwrap();
    assert_eq!(counts(&site), (0, 2, 1));
    let job = job.look_up().await.unwrap();
    job.clone().submit().await.unwrap();
    assert_eq!(counts(&site), (0, 2, 2));
    let other = job.name("other").flavor("modelarts.vm.cpu.9000u");
    assert_eq!(violations(&other), [""; 0]);
    let error = refused(other.submit().await);
    assert_eq!(counts(&site), (0, 3, 2));
    assert_eq!(error.violations()[0].field(), "spec.resource.flavor_id");
    assert_eq!(error.violations()[0].code(), Some("ModelArts.2781"));
}

#[tokio::test]
async fn a_look_up_and_a_check_report_like_submit() {
    let site = Site::start().await;
    let job = site.script("wide", "").nodes(17);
    let (job, report) = looked_up(job).await;
    assert_eq!(counts(&site), (0, 1, 0));
    let error = refused(job.clone().submit().await);
    assert_eq!(report.violations, error.violations());
    assert_eq!(report.into_result("the job").unwrap_err().to_string(), error.to_string());
    // The flavor was looked up once for both.
    let (job, report) = looked_up(job.nodes(1)).await;
    assert!(report.is_ok());
    job.submit().await.unwrap();
    assert_eq!(counts(&site), (0, 1, 1));

    let unchecked = site.script("other", "").nodes(17).unchecked();
    let (unchecked, report) = looked_up(unchecked).await;
    assert!(report.is_ok() && unchecked.body()["spec"]["resource"]["node_count"] == 17);
    assert_eq!(counts(&site), (0, 1, 1));
}

#[tokio::test]
async fn a_service_that_does_not_tell_keeps_no_job_from_being_made() {
    let site = Site::start().await;
    let forbidden = Fault::Status {
        status: 403,
        retry_after: None,
        error_code: Some("ModelArts.0107".into()),
        error_msg: Some("no permission".into()),
    };
    site.fault(1, "ShowTrainingJobFlavors", forbidden);
    site.script("forbidden", "").submit().await.unwrap();
    assert_eq!(counts(&site), (0, 1, 1));
    site.fault(9, "ShowTrainingJobFlavors", Fault::Html { status: 502 });
    site.script("broken", "").submit().await.unwrap();
    assert_eq!(site.count("CreateTrainingJob"), (2, 2));
}

#[tokio::test]
async fn wrong_keys_are_tried_once() {
    let site = Site::start().await;
    let unauthorized = Fault::Status {
        status: 401,
        retry_after: None,
        error_code: Some("APIGW.0301".into()),
        error_msg: Some("Incorrect IAM authentication information".into()),
    };
    site.fault(9, "*", unauthorized);
    let error = refused(site.script("locked", "").submit().await);
    assert!(error.is_auth());
    assert_eq!(counts(&site), (0, 1, 0));
}

/// Creates an algorithm on the emulator and returns its id.
async fn stored(site: &Site) -> String {
    site.put("bucket/algorithm/train.py", "");
    site.put("bucket/images/1", "");
    let engine = "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64";
    let body: modelarts_ext::types::AlgorithmRequest = serde_json::from_value(json!({
        "metadata": {"name": "classify"},
        "job_config": {
            "code_dir": "/bucket/algorithm/", "boot_file": "/bucket/algorithm/train.py",
            "engine": {"engine_id": engine},
            "inputs": [{"name": "images"}],
            "parameters": [{"name": "epochs", "value": "3",
                "constraint": {"type": "Integer", "editable": false}}],
        },
    }))
    .unwrap();
    create_algorithm(site, body).await
}

#[tokio::test]
async fn submit_asks_about_the_algorithm() {
    let site = Site::start().await;
    let id = stored(&site).await;
    let job = |name: &str, id: &str| {
        let jobs = site.client.training_jobs();
        jobs.create(name).algorithm(id).flavor("modelarts.vm.cpu.8u")
    };
    let wrong = job("wrong", &id).parameter("epochs", 4).nodes(17);
    let error = refused(wrong.clone().submit().await);
    let lines: Vec<_> = error.violations().iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "algorithm.inputs[\"images\"] is missing: must be given, because the algorithm has an \
             input of this name (ModelArts.2814); add it",
            "algorithm.parameters[0].value = \"4\": must not be changed, because the algorithm \
             fixes this hyper-parameter (ModelArts.2814); leave it out (Integer)",
            "spec.resource.node_count = 17: must be at most 16 with this flavor (ModelArts.2793); \
             ask for fewer nodes, or choose another flavor",
        ]
    );
    assert_eq!(counts(&site), (1, 1, 0));
    let error = refused(wrong.unchecked().submit().await);
    assert_eq!(error.code(), Some("ModelArts.2814"));
    assert_eq!(counts(&site), (1, 1, 1));

    let right = job("right", &id).input("images", "obs://bucket/images/");
    right.submit().await.unwrap();
    assert_eq!(counts(&site), (2, 2, 2));

    // This algorithm does not exist in the service.
    let unknown = job("unknown", "6f1d42ab-d9d2-4000-b3ba-000000000000");
    let error = refused(unknown.clone().submit().await);
    assert_eq!(
        error.violations()[0].to_string(),
        "algorithm.id = \"6f1d42ab-d9d2-4000-b3ba-000000000000\": must be an algorithm that the \
         service has (ModelArts.2755); correct the id, or create the algorithm first"
    );
    assert_eq!(counts(&site), (3, 3, 2));
    let error = refused(unknown.unchecked().submit().await);
    assert_eq!(error.code(), Some("ModelArts.2755"));
}

#[tokio::test]
async fn engines_similar_to_a_rejected_one_are_named() {
    let site = Site::start().await;
    let engine = |name: &str, version: &str| site.script("job", "").preset_image(name, version);
    let refusal = async |job: CreateJob| {
        let error = refused(job.submit().await);
        assert_eq!(error.code(), Some("ModelArts.2780"));
        assert_eq!(site.count("CreateTrainingJob"), (site.count(ENGINES).0, 0));
        message(&error)
    };
    let names = "Caffe, Horovod, PyTorch, TensorFlow, XGBoost-Sklearn";
    for (name, hint) in [
        ("PyTorhc", format!("did you mean PyTorch? Otherwise choose one of these: {names}")),
        ("pytorch", format!("did you mean PyTorch? Otherwise choose one of these: {names}")),
        ("Kubeflow", format!("choose one of these: {names}")),
    ] {
        assert_eq!(
            refusal(engine(name, "pytorch_1.8.0")).await,
            format!(
                "CreateTrainingJob: AI engine(id:{name} pytorch_1.8.0) not found (ModelArts.2780, \
                 HTTP 400, request id REQUEST); Check whether the engine informer in the request \
                 is valid; no engine has the name {name:?}; {hint}"
            )
        );
    }
    let version = refusal(engine("PyTorch", "PyTorch-1.5.0")).await;
    let start = "CreateTrainingJob: AI engine(id:PyTorch PyTorch-1.5.0) not found \
                 (ModelArts.2780, HTTP 400, request id REQUEST); Check whether the engine informer \
                 in the request is valid; PyTorch has no version \"PyTorch-1.5.0\"; did you mean \
                 PyTorch-1.3.0-python3.6? Otherwise choose one of these: PyTorch-1.3.0-python3.6, \
                 PyTorch-1.4.0-python3.6-v2, ";
    assert!(version.starts_with(start), "{version}");
    assert!(!version.contains("Horovod"), "{version}");
    let id = site
        .script("job", "")
        .without_field("algorithm.engine")
        .preset_engine("pytorch-cp36-1.4.0");
    let id = refusal(id).await;
    let hint = "; no engine has the id \"pytorch-cp36-1.4.0\"; did you mean \
                pytorch-cp36-1.4.0-v2? Otherwise choose one of these: caffe-1.0.0-python2.7, ";
    assert!(id.contains(hint), "{id}");

    // Without the list, the error of the service is returned as it is.
    site.fault(9, ENGINES, status(403, None));
    let error = refused(engine("PyTorhc", "1").submit().await);
    assert_eq!(
        error.solution(),
        Some("Check whether the engine informer in the request is valid.")
    );
    // A job with an existing engine needs no list.
    let before = site.count(ENGINES).0;
    site.script("job", "").submit().await.unwrap();
    assert_eq!(site.count(ENGINES).0, before);
}

#[tokio::test]
async fn a_look_up_reads_the_engines_and_submit_does_not() {
    let site = Site::start().await;
    let job = |name: &str, version: &str| site.script("job", "").preset_image(name, version);
    let (wrong, report) = looked_up(job("PyTorch", "PyTorch-1.5.0")).await;
    let violation = &report.violations[0];
    assert_eq!(violation.field(), "algorithm.engine.engine_version");
    assert_eq!(violation.code(), Some("ModelArts.2780"));
    assert_eq!(violation.rule(), "must be a version of PyTorch that the service has");
    assert!(
        violation.advice().starts_with("did you mean PyTorch-1.3.0-python3.6? "),
        "{}",
        violation.advice()
    );
    assert_eq!(site.count(ENGINES).0, 1);
    // The engines are known, also for a job with another one.
    let error = refused(wrong.clone().submit().await);
    assert_eq!(error.violations(), report.violations);
    assert_eq!(violations(&wrong.preset_image("PyTorhc", "1")).len(), 1);
    assert_eq!(site.count(ENGINES).0, 1);

    let (right, report) = looked_up(site.script("right", "")).await;
    assert!(report.is_ok());
    assert_eq!(site.count(ENGINES).0, 2);
    right.submit().await.unwrap();
    assert_eq!(site.count(ENGINES).0, 2);
    let (_, report) = looked_up(job("PyTorch", "pytorch_1.8.0")).await;
    assert!(report.is_ok());
    assert_eq!(site.count(ENGINES).0, 3);

    // These jobs use no preset engine, or are not looked up.
    let image = site.script("image", "").custom_image("org/image:1");
    let (_, report) = looked_up(image).await;
    assert!(report.is_ok());
    let (_, report) = looked_up(job("PyTorhc", "1").without_look_up()).await;
    assert!(report.is_ok());
    assert_eq!(site.count(ENGINES).0, 3);
    // Without the list, the job is not checked against it.
    site.fault(9, ENGINES, status(403, None));
    let (_, report) = looked_up(job("PyTorhc", "1")).await;
    assert!(report.is_ok());
}

#[tokio::test]
async fn an_incomplete_list_excludes_nothing() {
    let one = json!([{"engine_id": "one", "engine_name": "one"}]);
    let flavor = json!([{"flavor_id": "modelarts.vm.cpu.2u"}]);
    for (total, engines, flavors) in [(0, json!([]), json!([])), (2, one, flavor)] {
        let answers = [
            json!({"total": total, "items": engines}),
            json!({"total_count": total, "flavors": flavors}),
        ];
        let answers = answers.map(|answer| json_answer("200 OK", "", &answer.to_string()));
        let server = Server::start(answers).await;
        let client = server.client(&TestClock::new()).build().unwrap();
        let job = client.training_jobs().from_value(&plain()).unwrap();
        let (_, report) = looked_up(job.preset_image("other", "1")).await;
        assert_eq!(report.violations, []);
        assert_eq!(server.left(), 0);
    }
}

#[tokio::test]
async fn a_look_up_that_fails_leaves_an_error() {
    let site = Site::start().await;
    site.fault(9, "ShowTrainingJobFlavors", status(403, None));
    let (job, report) = looked_up(site.script("job", "").nodes(17)).await;
    assert!(report.is_ok());
    assert_eq!(job.unread().len(), 1);
    assert_eq!(job.unread()[0].status(), Some(403));
    let job = job.look_up().await.unwrap();
    assert_eq!(job.unread().len(), 1);
    let job = job.without_look_up().look_up().await.unwrap();
    assert_eq!(site.count("ShowTrainingJobFlavors").0, 2);
    assert_eq!(job.unread().len(), 1);
}

#[tokio::test]
async fn a_flavor_similar_to_an_unknown_one_is_named() {
    let site = Site::start().await;
    let job = site.script("job", "").flavor("modelarts.vm.cpu.2");
    let error = refused(job.submit().await);
    assert_eq!(
        error.violations()[0].to_string(),
        "spec.resource.flavor_id = \"modelarts.vm.cpu.2\": must be a flavor that the public pool \
         offers (ModelArts.2781); did you mean modelarts.vm.cpu.2u? Otherwise choose one of these: \
         modelarts.vm.cpu.2u, modelarts.vm.cpu.8u, modelarts.p3.large.public.free, \
         modelarts.p3.large.public, modelarts.vm.pnt1.large.eco, modelarts.vm.p100.large.eco"
    );
}
