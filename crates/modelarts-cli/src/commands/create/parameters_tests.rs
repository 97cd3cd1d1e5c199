//! The 32 parameters of the form that creates a job in the console: each has a flag or a path of
//! `--set`, and sets its field of the request body.

use std::collections::BTreeSet;

use clap::Parser;
use modelarts_console::parameters::parameters;
use modelarts_ext::{Client, Credentials};
use serde_json::{Value, json};

use crate::{
    commands::create::{
        draft::{Draft, generated_name},
        flags::JobFlags,
    },
    context::Context,
};

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    flags: JobFlags,
}

/// Parameters: a line with the number in the form of the service and the arguments of the program,
/// and below it the fields of the body, as JSON pointers, with their values.
const PARAMETERS: &str = r#"
1: S --name leaves
    /metadata/name "leaves"
2: S --description text
    /metadata/description "text"
3: S --engine PyTorch:1.8
    /algorithm/engine/engine_name "PyTorch"
    /algorithm/engine/engine_version "1.8"
3: S --engine pytorch_1.8
    /algorithm/engine/engine_id "pytorch_1.8"
4: S
    /algorithm/code_dir "obs://b/code/"
4: S --code-dir obs://b/
    /algorithm/code_dir "obs://b/"
5: S
    /algorithm/boot_file "obs://b/code/train.py"
5: --code-dir obs://b/c --boot-file t.py
    /algorithm/boot_file "obs://b/c/t.py"
6: --image o/i:t --command true
    /algorithm/engine/image_url "o/i:t"
7: --image o/i:t --command true --code-dir obs://b/c/
    /algorithm/code_dir "obs://b/c/"
    /algorithm/boot_file null
8: --image o/i:t --command true --run-user 1000
    /algorithm/engine/run_user "1000"
9: --image o/i:t --command true
    /algorithm/command "true"
10: S --local-code-dir /home/c
    /algorithm/local_code_dir "/home/c"
11: S --working-dir /home/w
    /algorithm/working_dir "/home/w"
12: --algorithm id-1
    /algorithm/id "id-1"
12: --algorithm x --set algorithm.id=null --set algorithm.subscription_id=s
    /algorithm/subscription_id "s"
13: S --data rows=obs://b/d/
    /algorithm/inputs/0/name "rows"
13: S --data obs://b/d/
    /algorithm/inputs/0/name "data_url"
14: S --dataset rows=id-1:v2
    /algorithm/inputs/0/remote/dataset/id "id-1"
    /algorithm/inputs/0/remote/dataset/version_id "v2"
15: S --data obs://b/d/
    /algorithm/inputs/0/remote/obs/obs_url "obs://b/d/"
16: S --data obs://b/d/ --pass-by-env data_url
    /algorithm/inputs/0/access_method "env"
17: S --out model
    /algorithm/outputs/0/name "model"
18: S --out model=obs://b/o/
    /algorithm/outputs/0/remote/obs/obs_url "obs://b/o/"
19: S --out model --pass-by-env model
    /algorithm/outputs/0/access_method "env"
20: S --out model --predownload model
    /algorithm/outputs/0/prefetch_to_local true
21: S -p lr=1e-05 -- --epochs 3
    /algorithm/parameters/0/name "lr"
    /algorithm/parameters/0/value "1e-05"
    /algorithm/parameters/1/name "epochs"
    /algorithm/parameters/1/value "3"
22: S --env SEED=1
    /algorithm/environments/SEED "1"
23: S --restarts 2
    /metadata/annotations/fault-tolerance~1job-retry-num "2"
23: S --set metadata.annotations.fault-tolerance/hang-retry=true
    /metadata/annotations/fault-tolerance~1hang-retry "true"
24: S --pool p-1
    /spec/resource/pool_id "p-1"
25: S --flavor modelarts.p3.large.public
    /spec/resource/flavor_id "modelarts.p3.large.public"
26: S --flavor modelarts.vm.cpu.8u
    /spec/resource/flavor_id "modelarts.vm.cpu.8u"
27: S --nodes 4
    /spec/resource/node_count 4
28: S --priority 2
    /spec/schedule_policy/priority 2
29: S --volume 10.0.0.5:/share:/mnt/data:ro
    /spec/volumes/0/nfs/nfs_server_path "10.0.0.5:/share"
    /spec/volumes/0/nfs/local_path "/mnt/data"
    /spec/volumes/0/nfs/read_only true
30: S --volume pfs://fs/dir:/mnt/pfs
    /spec/volumes/0/pfs/pfs_path "/fs/dir"
    /spec/volumes/0/pfs/local_path "/mnt/pfs"
31: S --log-url obs://b/logs/
    /spec/log_export_path/obs_url "obs://b/logs/"
32: S --auto-stop 2h
    /spec/auto_stop/time_unit "HOURS"
    /spec/auto_stop/duration 2
"#;

const SCRIPT: &str = "obs://b/code/train.py";

/// Returns the body of a job with these arguments.
fn body(arguments: &str) -> Value {
    let arguments = arguments.split(' ').map(|word| match word {
        "S" => SCRIPT,
        word => word,
    });
    let program = Program::try_parse_from(std::iter::once("test").chain(arguments)).unwrap();
    let client = Client::builder()
        .endpoint("https://modelarts.example.com")
        .project_id("p")
        .credentials(Credentials::token("t"))
        .build()
        .unwrap();
    let jobs = client.training_jobs();
    let draft = Draft::new(&program.flags, None, &jobs, &Context::default()).unwrap();
    draft.job.body()
}

#[test]
fn each_parameter_of_the_console_sets_its_field() {
    let mut numbers = BTreeSet::new();
    let mut flags = BTreeSet::new();
    for row in
        PARAMETERS.trim().split("\n").collect::<Vec<_>>().chunk_by(|_, line| line.starts_with(' '))
    {
        let (number, arguments) = row[0].split_once(": ").unwrap();
        numbers.insert(number.parse::<u8>().unwrap());
        flags.extend(arguments.split(' ').filter(|word| word.starts_with("--")));
        let body = body(arguments);
        for field in &row[1..] {
            let (pointer, value) = field.trim().split_once(' ').unwrap();
            let expected: Value = serde_json::from_str(value).unwrap();
            let actual = body.pointer(pointer).unwrap_or(&Value::Null);
            assert_eq!(*actual, expected, "{}: {pointer} of {body:#}", row[0]);
        }
    }
    assert_eq!(numbers, (1..=32).collect());
    let table = parameters().filter(|parameter| parameter.number > 0);
    for flag in table.filter_map(|parameter| parameter.flag.as_ref()) {
        assert!(flags.contains(flag.name), "{flag:?}");
    }
}

#[test]
fn the_name_of_a_job_begins_with_that_of_its_script() {
    let name = body("S")["metadata"]["name"].as_str().unwrap().to_owned();
    let (stem, random) = name.rsplit_once('-').unwrap();
    assert_eq!((stem, random.len()), ("train", 4));
    assert_ne!(body("S")["metadata"]["name"], json!(name));
}

#[test]
fn the_context_gives_flavor_and_pool_unless_one_is_given() {
    let mut context = Context::default();
    (context.flavor, context.pool) = (Some("f".to_owned()), Some("p".to_owned()));
    let client = Client::builder()
        .endpoint("https://modelarts.example.com")
        .project_id("p")
        .credentials(Credentials::token("t"))
        .build()
        .unwrap();
    for (arguments, expected) in [
        (vec!["test", SCRIPT], json!({"flavor_id": "f", "pool_id": "p", "node_count": 1})),
        (vec!["test", SCRIPT, "--flavor", "g"], json!({"flavor_id": "g", "node_count": 1})),
        (vec!["test", SCRIPT, "--pool", "q"], json!({"pool_id": "q", "node_count": 1})),
    ] {
        let program = Program::try_parse_from(arguments).unwrap();
        let draft = Draft::new(&program.flags, None, &client.training_jobs(), &context).unwrap();
        assert_eq!(draft.job.body()["spec"]["resource"], expected);
    }
}

#[test]
fn a_generated_name_is_no_flag() {
    for (script, stem) in [
        ("train.py", "train-"),
        ("my model.py", "my-model-"),
        ("-x-.py", "x-"),
        ("训练.py", "job-"),
    ] {
        let script = format!("obs://bucket/code/{script}");
        let program = Program::try_parse_from(["test", &script]).unwrap();
        let name = generated_name(program.flags.script.as_deref(), None);
        assert!(name.starts_with(stem) && name.len() == stem.len() + 4, "{script}: {name}");
    }
}
