//! `modelarts check`.

use serde_json::{Value, json};

use super::fixtures::{FLAVOR, Site, stdout};
use crate::support;

const FIVE_MISTAKES: &str = "\
metadata:
  name: no good
algorithm:
  code_dir: obs://bucket/code/
  boot_file: obs://bucket/code/train.sh
  engine: {engine_name: PyTorch, engine_version: pytorch_1.8.0}
spec:
  resource:
    flavour_id: modelarts.vm.cpu.8u
    node_count: many
  auto_stop: {time_unit: HOURS, duration: 100}
";

#[tokio::test(flavor = "multi_thread")]
async fn five_mistakes_of_a_file_are_found_at_once_with_their_lines() {
    let site = Site::start().await;
    site.fixture.write("job.yaml", FIVE_MISTAKES);
    let command = support::isolated(site.fixture.path()).args(["check", "-f", "job.yaml"]);
    let output = support::assert(command).await.code(3);
    output.stderr_eq("").stdout_eq(
        "error: job.yaml:9: spec.resource.flavour_id: there is no such field; did you mean \
         flavor_id?\n\
         error: job.yaml:10: spec.resource.node_count = \"many\": must be a whole number; change \
         its \
         type\n\
         error: job.yaml:2: metadata.name = \"no good\": must be 1 to 64 letters, digits, _ and - \
         (ModelArts.2788); use letters, digits, _ and -\n\
         error: job.yaml:11: spec.auto_stop.duration = 100: must be 1 to 72 hours \
         (ModelArts.2788); \
         choose a value within the limit\n\
         error: job.yaml:5: algorithm.boot_file = \"obs://bucket/code/train.sh\": must end in .py \
         (ModelArts.2758); start a Python file; other programs need an image and a command\n\
         no good breaks 5 rules\n",
    );
    // A submission of the file lists the same, and sends nothing.
    let output = support::assert(site.command("submit -f job.yaml")).await.code(3);
    let text = super::fixtures::stderr(&output);
    assert!(
        text.starts_with("error: the job breaks 5 rules, so nothing was sent:\n  job.yaml:9: "),
        "{text}"
    );
    assert_eq!(site.created(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_has_the_field_and_the_line_of_each_finding() {
    let site = Site::start().await;
    site.fixture.write("job.yaml", FIVE_MISTAKES);
    let command = support::isolated(site.fixture.path());
    let command = command.args(["check", "-f", "job.yaml", "-o", "json"]);
    let output = support::assert(command).await.code(3);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["ok"], false);
    let lines = document["violations"].as_array().unwrap().iter();
    let lines: Vec<_> = lines.map(|violation| violation["line"].as_u64()).collect();
    assert_eq!(lines, [Some(9), Some(10), Some(2), Some(11), Some(5)]);
    assert_eq!(document["violations"][1]["value"], "many");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_of_a_flag_has_no_line() {
    let site = Site::start().await;
    site.fixture.write(
        "job.json",
        &json!({
            "metadata": {"name": "fine"},
            "algorithm": {"command": "true", "engine": {"image_url": "o/i:t"}},
            "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
        })
        .to_string(),
    );
    let command = support::isolated(site.fixture.path());
    let command = command.args(["check", "-f", "job.json", "--name", "not.fine"]);
    let output = support::assert(command).await.code(3);
    assert!(
        stdout(&output).starts_with("error: metadata.name = \"not.fine\": must be"),
        "{:?}",
        output.get_output()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_parsed_is_2_with_the_line() {
    let site = Site::start().await;
    site.fixture.write("job.yaml", "spec:\n  resource: {\nx");
    let command = support::isolated(site.fixture.path()).args(["check", "-f", "job.yaml"]);
    let output = support::assert(command).await.code(2);
    let text = super::fixtures::stderr(&output);
    assert!(text.starts_with("error: job.yaml: not YAML: ") && text.contains("line "), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_local_job_is_checked_with_its_code_and_without_an_account() {
    let site = Site::start().await;
    site.script("");
    site.fixture.write("code/.venv/pyvenv.cfg", "");
    let check = |arguments: &str| {
        let arguments = format!("check code/train.py --name leaves --flavor {FLAVOR} {arguments}");
        let arguments: Vec<String> = arguments.split_whitespace().map(str::to_owned).collect();
        support::assert(support::isolated(site.fixture.path()).args(arguments))
    };
    let output = check("").await.code(0);
    output.stderr_eq("").stdout_eq(format!(
        "not compared with the service: the flavor {FLAVOR}; --service compares it\ncode: 1 \
             file, 0 B, 1 left out\nleft out  .venv: a virtual environment\nleaves breaks no rule\n"
    ));
    let output = check("--priority 2").await.code(0);
    assert!(
        stdout(&output).starts_with("warning: spec.schedule_policy.priority = 2: "),
        "{:?}",
        output.get_output()
    );
    let output = check("-p lr=0.1 --command train;sync --image org/image:1").await;
    let warning = "warning: algorithm.command = \"train;sync\": should end in the only program";
    assert!(stdout(&output.code(0)).contains(warning));

    for number in 0..1000 {
        site.fixture.write(&format!("code/{number}.txt"), "");
    }
    let output = check("").await.code(3);
    assert!(
        stdout(&output).contains("algorithm.code_dir = 1001 files"),
        "{:?}",
        output.get_output()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_service_is_asked_only_on_request() {
    let site = Site::start().await;
    site.script("");
    let arguments = "check code/train.py --flavor modelarts.vm.cpu.9u";
    support::assert(site.command(arguments)).await.code(0);
    assert_eq!(site.fixture.emulator.requests()["ShowTrainingJobFlavors"].received, 0);
    let output = support::assert(site.command(&format!("{arguments} --service"))).await.code(3);
    assert!(
        stdout(&output).contains("did you mean modelarts.vm.cpu.8u?"),
        "{:?}",
        output.get_output()
    );
    assert_eq!(site.created(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_that_only_the_service_knows_are_named() {
    let site = Site::start().await;
    site.script("");
    let arguments = "check code/train.py --flavor nonsense.x --engine Caffe:9 -o json";
    let command = support::isolated(site.fixture.path()).args(arguments.split(' '));
    let output = support::assert(command).await.code(0);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    let names = json!(["the flavor nonsense.x", "the engine Caffe:9"]);
    assert_eq!(document["not_compared"], names);
    let command = site.command(&format!("{arguments} --service"));
    let output = support::assert(command).await.code(3);
    let document: Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["not_compared"], json!([]));
}
