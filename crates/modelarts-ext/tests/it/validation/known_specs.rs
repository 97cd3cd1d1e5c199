//! Tests of the requirements that an algorithm and a flavor set for a job.

use modelarts_ext::{
    CreateJob,
    validation::{AlgorithmSpec, FlavorSpec, Report},
};
use serde_json::json;

use crate::support::{
    clock::TestClock,
    create_job::{client, job, violations},
    rule_cases::plain,
    server::{PROJECT, Server, json_answer},
};

fn algorithm() -> AlgorithmSpec {
    AlgorithmSpec::from_json(&json!({
        "metadata": {"id": "a", "name": "classify"},
        "job_config": {
            "parameters_customization": false,
            "inputs": [
                {"name": "images", "remote_constraints": [{"data_type": "obs"}]},
                {"name": "labels", "remote_constraints": []},
            ],
            "outputs": [{"name": "model"}],
            "parameters": [
                {"name": "epochs", "value": "3", "constraint": {"type": "Integer", "editable": true,
                    "required": true, "valid_type": "Range", "valid_range": ["1", "10"]}},
                {
                    "name": "device", "value": "gpu",
                    "constraint": {"type": "String", "editable": false}
                },
                {"name": "kind", "value": "", "constraint": {"type": "String", "required": true,
                    "valid_type": "Choice", "valid_range": ["a", "b"]}},
                {"name": "rate", "value": "0.1", "constraint": {"type": "Float"}},
            ],
        },
        "resource_requirements": [
            {"key": "flavor_type", "operator": "in", "values": ["GPU"]},
            {"key": "device_distributed_mode", "operator": "in", "value": ["singular"]},
            {"key": "host_distributed_mode", "operator": "in", "values": ["singular"]},
        ],
    }))
}

fn of_algorithm() -> CreateJob {
    client()
        .training_jobs()
        .create("classify")
        .algorithm("a")
        .with_algorithm_spec(algorithm())
        .flavor("modelarts.vm.gpu.1")
}

fn fitting_job() -> CreateJob {
    of_algorithm()
        .input("images", "obs://bucket/images/")
        .add_input(modelarts_ext::jobs::create::Input::dataset("labels", "d", "v"))
        .output("model", "obs://bucket/model/")
        .parameter("epochs", 10)
        .parameter("kind", "b")
}

#[test]
fn a_job_must_fit_its_algorithm() {
    assert_eq!(fitting_job().check(), Report::default());
    // A fixed hyper-parameter may be set to its fixed value.
    assert_eq!(fitting_job().parameter("device", "gpu").check(), Report::default());

    let wrong = of_algorithm()
        .add_input(modelarts_ext::jobs::create::Input::dataset("images", "d", "v"))
        .input("pictures", "obs://bucket/pictures/")
        .parameter("epochs", 11)
        .parameter("device", "cpu")
        .parameter("rate", "fast")
        .parameter("colour", "red");
    assert_eq!(
        violations(&wrong),
        [
            "algorithm.inputs[0].remote = {\"dataset\":{\"id\":\"d\",\"version_id\":\"v\"}}: must \
             be data of a kind that the algorithm admits (ModelArts.2834); give obs",
            "algorithm.inputs[1].name = \"pictures\": must be an input of the algorithm \
             (ModelArts.2814); choose one of its inputs: images, labels",
            "algorithm.inputs[\"labels\"] is missing: must be given, because the algorithm has an \
             input of this name (ModelArts.2814); add it",
            "algorithm.outputs[\"model\"] is missing: must be given, because the algorithm has an \
             output of this name (ModelArts.2814); add it",
            "algorithm.parameters[0].value = \"11\": must lie in the range of the algorithm \
             (ModelArts.2769); choose a value in the range (Integer: 1, 10)",
            "algorithm.parameters[1].value = \"cpu\": must not be changed, because the algorithm \
             fixes this hyper-parameter (ModelArts.2814); leave it out (String)",
            "algorithm.parameters[2].value = \"fast\": must be of the type that the algorithm \
             states (ModelArts.2768); correct the value (Float)",
            "algorithm.parameters[3].name = \"colour\": must be a hyper-parameter of the \
             algorithm: epochs, device, kind, rate (ModelArts.2814); leave it out",
            "algorithm.parameters[\"kind\"] is missing: must be given, because the algorithm \
             requires this hyper-parameter and has no default for it (ModelArts.2766); give it a \
             value",
        ]
    );
    assert_eq!(
        violations(&fitting_job().parameter("kind", "c").parameter("epochs", "")),
        [
            "algorithm.parameters[0].value is missing: must have a value, because the algorithm \
             requires one (ModelArts.2766); give it a value (Integer: 1, 10)",
            "algorithm.parameters[1].value = \"c\": must be one of the choices of the algorithm \
             (ModelArts.2765); choose one of them (String: a, b)",
        ]
    );
    // An algorithm without requirements accepts every job.
    let open = AlgorithmSpec::from_json(&json!({"job_config": {"parameters_customization": true}}));
    let job = of_algorithm().with_algorithm_spec(open).parameter("colour", "red");
    assert_eq!(job.check(), Report::default());
}

#[test]
fn an_unreadable_part_of_an_algorithm_sets_no_requirement() {
    let with = |config: serde_json::Value| {
        let spec = AlgorithmSpec::from_json(&json!({"job_config": config}));
        let job = fitting_job().parameter("colour", "red");
        violations(&job.with_algorithm_spec(spec))
    };
    let (inputs, outputs) =
        (json!([{"name": "images"}, {"name": "labels"}]), json!([{"name": "model"}]));
    // A list element that cannot be decoded is ignored, and all other requirements apply.
    assert_eq!(
        with(json!({"inputs": inputs, "outputs": outputs,
            "parameters": ["x", {"name": "epochs"}, {"name": "kind"}]})),
        ["algorithm.parameters[2].name = \"colour\": must be a hyper-parameter of the \
             algorithm: epochs, kind (ModelArts.2814); leave it out"]
    );
    // Any other value that cannot be decoded makes the spec empty.
    assert_eq!(
        with(json!({"inputs": [{"name": "other"}], "parameters_customization": "yes"})),
        [""; 0]
    );
}

#[test]
fn constraints_of_inputs_have_either_name() {
    for name in ["remote_constraints", "remote_constraint"] {
        let spec = AlgorithmSpec::from_json(&json!({"job_config": {
            "parameters_customization": true,
            "inputs": [{"name": "images", name: [{"data_type": "modelarts_dataset"}]},
                {"name": "labels"}],
            "outputs": [{"name": "model"}],
        }}));
        assert_eq!(
            violations(&fitting_job().with_algorithm_spec(spec)),
            ["algorithm.inputs[0].remote = {\"obs\":{\"obs_url\":\"obs://bucket/images/\"}}: \
                 must be data of a kind that the algorithm admits (ModelArts.2834); give \
                 modelarts_dataset"],
            "{name}"
        );
    }
}

#[test]
fn an_unreadable_flavor_sets_no_limit() {
    let with = |max: serde_json::Value| {
        let spec = FlavorSpec::from_json(&json!({"flavor_type": "CPU", "max_num": max}));
        violations(&job(&plain()).nodes(2).with_flavor_spec(spec)).len()
    };
    assert_eq!(with(json!("1")), 1);
    assert_eq!(with(json!("many")), 0);
}

fn flavor(kind: &str, cards: u32, max: u32) -> FlavorSpec {
    FlavorSpec::from_json(&json!({
        "flavor_id": "f", "flavor_type": kind,
        "flavor_info": {
            "max_num": max, "gpu": {"unit_num": cards}, "disk": {"size": "50", "unit": "GB"}
        },
    }))
}

#[test]
fn a_job_must_fit_its_flavor() {
    let with = |spec: FlavorSpec, nodes: u32| {
        violations(&job(&plain()).nodes(nodes).with_flavor_spec(spec))
    };
    assert_eq!(flavor("GPU", 1, 1).disk_gb(), Some(50));
    assert_eq!(with(flavor("CPU", 0, 16), 16), [""; 0]);
    assert_eq!(
        with(flavor("CPU", 0, 16), 17),
        ["spec.resource.node_count = 17: must be at most 16 with this flavor (ModelArts.2793); \
             ask for fewer nodes, or choose another flavor"]
    );
    assert_eq!(with(flavor("CPU", 0, 1), 1), [""; 0]);
    assert_eq!(
        with(flavor("CPU", 0, 1), 2),
        ["spec.resource.node_count = 2: must be 1, because the flavor is not for distributed \
             jobs (ModelArts.2793); ask for fewer nodes, or choose another flavor"]
    );
    let logs = |kind: &str| {
        let job = job(&plain()).log_path("obs://bucket/logs/");
        job.with_flavor_spec(flavor(kind, 8, 8)).check().to_string()
    };
    assert_eq!(logs("GPU"), "");
    assert_eq!(
        logs("Ascend"),
        "warning: spec.log_export_path.obs_url = \"obs://bucket/logs/\": should be given with CPU \
         and GPU flavors only, because others do not offer persistent logs\n"
    );
}

#[test]
fn a_flavor_must_fit_the_algorithm() {
    let with = |spec, nodes| violations(&fitting_job().nodes(nodes).with_flavor_spec(spec));
    assert_eq!(with(flavor("GPU", 1, 4), 1), [""; 0]);
    assert_eq!(
        with(flavor("CPU", 0, 4), 2),
        [
            "spec.resource.flavor_id = \"modelarts.vm.gpu.1\": must fit the algorithm: \
             flavor_type is CPU, and GPU is required (ModelArts.2763); choose a flavor and a \
             number of nodes that fit",
            "spec.resource.node_count = 2: must fit the algorithm: host_distributed_mode is \
             multiple, and singular is required (ModelArts.2763); choose a flavor and a number of \
             nodes that fit",
        ]
    );
    assert_eq!(
        with(flavor("GPU", 8, 4), 1),
        ["spec.resource.flavor_id = \"modelarts.vm.gpu.1\": must fit the algorithm: \
             device_distributed_mode is multiple, and singular is required (ModelArts.2763); \
             choose a flavor and a number of nodes that fit"]
    );
}

fn flavors() -> String {
    json!({"total_count": 1, "flavors": [{
        "flavor_id": "modelarts.vm.cpu.8u", "flavor_type": "CPU",
        "flavor_info": {"max_num": 2, "disk": {"size": 50, "unit": "GB"}},
    }]})
    .to_string()
}

#[tokio::test]
async fn algorithm_and_flavor_are_looked_up() {
    let algorithm = json!({
        "metadata": {"id": "a"},
        "job_config": {
            "inputs": [{"name": "images"}],
            "parameters": [{"name": "epochs", "value": "1", "constraint": {"type": "Integer"}}],
        },
        "resource_requirements": [{"key": "flavor_type", "operator": "in", "values": ["GPU"]}],
    });
    let server = Server::start([
        json_answer("200 OK", "", &algorithm.to_string()),
        json_answer("200 OK", "", &flavors()),
    ])
    .await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client
        .training_jobs()
        .create("job")
        .algorithm("a")
        .parameter("epochs", "many")
        .flavor("modelarts.vm.cpu.8u")
        .nodes(3);
    assert_eq!(job.check().violations, []);
    let job = job.look_up().await.unwrap();
    assert_eq!(
        violations(&job),
        [
            "algorithm.inputs[\"images\"] is missing: must be given, because the algorithm has an \
             input of this name (ModelArts.2814); add it",
            "algorithm.parameters[0].value = \"many\": must be of the type that the algorithm \
             states (ModelArts.2768); correct the value (Integer)",
            "spec.resource.node_count = 3: must be at most 2 with this flavor (ModelArts.2793); \
             ask for fewer nodes, or choose another flavor",
            "spec.resource.flavor_id = \"modelarts.vm.cpu.8u\": must fit the algorithm: \
             flavor_type is CPU, and GPU is required (ModelArts.2763); choose a flavor and a \
             number of nodes that fit",
        ]
    );
    let paths: Vec<_> = server
        .requests()
        .iter()
        .map(|request| request.lines().next().unwrap().to_owned())
        .collect();
    assert_eq!(
        paths,
        [
            format!("GET /v2/{PROJECT}/algorithms/a HTTP/1.1"),
            format!("GET /v2/{PROJECT}/training-job-flavors HTTP/1.1"),
        ]
    );
    // The client looks up specs only for jobs that refer to them; a flavor must exist.
    let no_engines = || json_answer("200 OK", "", r#"{"total":0,"items":[]}"#);
    let flavors = json_answer("200 OK", "", &flavors());
    let server = Server::start([no_engines(), no_engines(), flavors]).await;
    let client = server.client(&TestClock::new()).build().unwrap();
    let job = client.training_jobs().from_value(&plain()).unwrap();
    let pool = job.clone().pool("p").look_up().await.unwrap();
    assert_eq!(pool.with_algorithm_spec(AlgorithmSpec::default()).check().violations.len(), 1);
    let job = job.flavor("modelarts.vm.cpu.9u").look_up().await.unwrap();
    assert_eq!(
        violations(&job),
        ["spec.resource.flavor_id = \"modelarts.vm.cpu.9u\": must be a flavor that the public \
             pool offers (ModelArts.2781); did you mean modelarts.vm.cpu.8u?"]
    );
    assert_eq!(server.left(), 0);
}
