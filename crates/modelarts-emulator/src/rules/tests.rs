//! Each rule and each line of the table of fields: bodies that break nothing else, and bodies at
//! the limit that break nothing.

use std::collections::BTreeSet;
use std::fs;

use serde_json::{Value, json};

use super::fields::{Need, Type, lines};
use super::{Draft, RULES, Terms, shape};
use crate::cloud::Cloud;
use crate::confined::Confined;
use crate::error::ApiError;
use crate::pools::{Pool, PoolKind};

struct Place {
    _temp: tempfile::TempDir,
    terms: Terms,
    stored: Value,
}

fn place(cloud: Cloud) -> Place {
    let temp = tempfile::tempdir().unwrap();
    let obs = temp.path().join("obs");
    let code = obs.join("bucket/code");
    fs::create_dir_all(&code).unwrap();
    fs::write(code.join("train.py"), "").unwrap();
    fs::write(code.join("run.sh"), "").unwrap();
    for (name, files) in [("full", 999), ("too-full", 1000)] {
        let directory = obs.join("bucket").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("train.py"), "").unwrap();
        for file in 0..files {
            fs::write(directory.join(file.to_string()), "").unwrap();
        }
    }
    for (name, levels) in [("deep", 32), ("too-deep", 33)] {
        let directory = obs.join("bucket").join(name);
        fs::create_dir_all(directory.join("d/".repeat(levels))).unwrap();
        fs::write(directory.join("train.py"), "").unwrap();
    }
    for (name, bytes) in [("big", 5_u64 << 30), ("too-big", (5 << 30) + 1)] {
        let directory = obs.join("bucket").join(name);
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("train.py"), "").unwrap();
        // Sparse: it has this length and takes no room.
        let file = fs::File::create(directory.join("model")).unwrap();
        file.set_len(bytes).unwrap();
    }
    std::os::unix::fs::symlink("/etc", obs.join("bucket/door")).unwrap();
    let datasets = temp.path().join("datasets");
    fs::create_dir_all(datasets.join("flowers/v1")).unwrap();
    Place {
        terms: Terms {
            cloud,
            pools: vec![
                Pool::new("cpu", PoolKind::Cpu, 4),
                Pool::new("gpu", PoolKind::Gpu, 4),
                Pool::new("off", PoolKind::Cpu, 4).stopped(),
                Pool::new("other", PoolKind::Cpu, 4).not_for_training(),
                Pool::new("super", PoolKind::Cpu, 4).supernode(),
            ],
            encrypted: BTreeSet::from(["secret".to_owned()]),
            datasets: Some(datasets),
            nfs: true,
            obs: Confined::create(&obs).unwrap(),
            strict: false,
        },
        stored: json!({
            "job_config": {
                "parameters": [
                    {"name": "fixed", "value": "1", "constraint": {"editable": false}},
                    {"name": "open", "value": "1"},
                ],
                "inputs": [{"name": "data_url"}],
                "outputs": [],
            },
            "resource_requirements": [
                {"key": "flavor_type", "values": ["CPU"], "operator": "in"},
                {"key": "host_distributed_mode", "values": ["singular"], "operator": "in"},
            ],
        }),
        _temp: temp,
    }
}

/// A body that breaks nothing.
fn sound() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "sound"},
        "algorithm": {
            "code_dir": "obs://bucket/code/",
            "boot_file": "obs://bucket/code/train.py",
            "engine": {"engine_id": "pytorch_1.8.0-cuda_10.2-py_3.7-ubuntu_18.04-x86_64"},
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1}},
    })
}

/// Another body that breaks nothing, with a custom image in a pool.
fn image() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "image"},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "python train.py"},
        "spec": {"resource": {"pool_id": "cpu"}},
    })
}

/// A third, from a stored algorithm.
fn stored() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "stored"},
        "algorithm": {
            "id": "known",
            "inputs": [{"name": "data_url", "remote": {"obs": {"obs_url": "/bucket/data/"}}}],
        },
        "spec": {"resource": {"flavor_id": "modelarts.vm.cpu.8u"}},
    })
}

/// `body` with members set, by pointer; null takes a member away.
fn with(mut body: Value, changes: &[(&str, Value)]) -> Value {
    for (pointer, value) in changes {
        let mut here = &mut body;
        let steps: Vec<&str> = pointer.trim_start_matches('/').split('|').collect();
        let (last, parents) = steps.split_last().unwrap();
        for step in parents {
            here = &mut here[*step];
        }
        if value.is_null() {
            here.as_object_mut().unwrap().remove(*last);
        } else {
            here[*last] = value.clone();
        }
    }
    body
}

/// The rules that a body breaks: what they say, and their errors. A shape that is broken hides
/// them all.
fn broken(place: &Place, body: &Value) -> Vec<(&'static str, ApiError)> {
    if let Err(error) = shape::check(body) {
        return vec![("the table of fields", error)];
    }
    let known = body.pointer("/algorithm/id") == Some(&json!("known"));
    let draft = Draft {
        body,
        terms: &place.terms,
        stored: known.then_some(&place.stored),
        may_prioritise: body["metadata"]["name"] != "modest",
    };
    RULES
        .iter()
        .filter_map(|rule| Some((rule.says, (rule.check)(&draft).err()?)))
        .collect()
}

/// What a case is expected to break: the code and a part of the message.
type Break = (u16, u16, &'static str);

/// Rule, body, break or none.
#[rustfmt::skip]
fn cases() -> Vec<(&'static str, Value, Option<Break>)> {
    let s = |changes: &[(&str, Value)]| with(sound(), changes);
    let i = |changes: &[(&str, Value)]| with(image(), changes);
    let a = |changes: &[(&str, Value)]| with(stored(), changes);
    let retry = "metadata|annotations|fault-tolerance/job-retry-num";
    let parameter = |value: &str, constraint: Value| s(&[("algorithm|parameters", json!([{"name": "p", "value": value, "constraint": constraint}]))]);
    let input = |remote: Value| json!({"name": "in", "remote": remote});
    let obs = |name: &str| json!({"name": name, "remote": {"obs": {"obs_url": format!("/bucket/{name}/")}}});
    let nfs = |at: usize| json!({"nfs": {"nfs_server_path": format!("10.0.0.1:/{at}"), "local_path": format!("/mnt/{at}")}});
    let mount = |place: &str| i(&[("spec|volumes", json!([{"pfs": {"pfs_path": "/bucket/p/", "local_path": place}}]))]);
    let code = |name: &str| s(&[("algorithm|code_dir", format!("/bucket/{name}").into()), ("algorithm|boot_file", format!("/bucket/{name}/train.py").into())]);
    let condition = |operator: &str, values: Value| i(&[("spec|schedule_policy|required_affinity|node_affinity|nodeSelectorTerms", json!([{"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}]))]);
    let search = |change: (&str, Value)| s(&[("algorithm|policies|auto_search", with(json!({
        "reward_attrs": [{"name": "acc", "mode": "max", "regex": "acc=(.*)"}],
        "search_params": [{"name": "lr", "param_type": "continuous", "lower_bound": "0.1", "upper_bound": "1"}],
        "algo_configs": [{"name": "tpe_search", "params": []}],
    }), &[change]))]);
    vec![
        ("kind is a kind of job of this cloud", s(&[("kind", "edge_job".into())]), Some((400, 2788, "kind must be one of [job visualization_job]"))),
        ("kind is a kind of job of this cloud", s(&[("kind", "visualization_job".into())]), None),
        ("tasks stand in the place of algorithm and spec", s(&[("tasks", json!([{}]))]), Some((400, 2788, "tasks must not stand beside spec"))),
        ("tasks stand in the place of algorithm and spec", s(&[("spec", Value::Null)]), Some((400, 2788, "spec is required"))),
        ("tasks stand in the place of algorithm and spec", s(&[("spec", Value::Null), ("tasks", json!([{}]))]), None),
        ("the number of retries is 1 to 3 (Huawei Cloud: 128)", s(&[(retry, "4".into())]), Some((400, 2788, "must be between 1 and 3"))),
        ("the number of retries is 1 to 3 (Huawei Cloud: 128)", s(&[(retry, "0".into())]), Some((400, 2788, "must be between 1 and 3"))),
        ("the number of retries is 1 to 3 (Huawei Cloud: 128)", s(&[(retry, "3".into())]), None),
        ("annotations that switch say true or false", s(&[("metadata|annotations|tensorboard/enable", "yes".into())]), Some((400, 2788, "tensorboard/enable must be true or false"))),
        ("annotations that switch say true or false", s(&[("metadata|annotations|jupyter-lab/enable", "true".into())]), None),
        ("hang-retry needs job-retry-num", s(&[("metadata|annotations|fault-tolerance/hang-retry", "true".into())]), Some((400, 2788, "is required with fault-tolerance/hang-retry"))),
        ("hang-retry needs job-retry-num", s(&[("metadata|annotations|fault-tolerance/hang-retry", "true".into()), (retry, "1".into())]), None),
        ("a job template is one of two", s(&[("metadata|annotations|job_template", "Template X".into())]), Some((400, 2788, "must be Template RL or Template DL"))),
        ("a job template is one of two", s(&[("metadata|annotations|job_template", "Template RL".into())]), None),

        ("subscription_id and item_version_id come together", a(&[("algorithm|item_version_id", "v".into())]), Some((400, 2788, "must come together"))),
        ("subscription_id and item_version_id come together", a(&[]), None),
        ("with id or subscription_id there is no code_dir, boot_file, engine or command", a(&[("algorithm|code_dir", "/bucket/code/".into())]), Some((400, 2788, "algorithm.code_dir must not stand beside algorithm.id"))),
        ("with id or subscription_id there is no code_dir, boot_file, engine or command", a(&[("algorithm|engine", json!({"engine_name": "PyTorch"}))]), Some((400, 2788, "algorithm.engine must not stand beside algorithm.id"))),
        ("with id or subscription_id there is no code_dir, boot_file, engine or command", a(&[("algorithm|engine", json!({}))]), None),
        ("a stored algorithm exists", with(stored(), &[("algorithm", json!({"id": "unknown"}))]), Some((400, 2755, "algorithm not found"))),
        ("a stored algorithm exists", with(stored(), &[("algorithm", json!({"subscription_id": "s", "item_version_id": "v"}))]), Some((400, 2755, "algorithm not found"))),
        ("a stored algorithm exists", a(&[]), None),
        ("a job's settings fit its stored algorithm", a(&[("algorithm|parameters", json!([{"name": "fixed", "value": "2"}]))]), Some((400, 2814, "(fixed)"))),
        ("a job's settings fit its stored algorithm", a(&[("algorithm|parameters", json!([{"name": "new", "value": "2"}]))]), Some((400, 2814, "(new)"))),
        ("a job's settings fit its stored algorithm", a(&[("algorithm|inputs", json!([]))]), Some((400, 2814, "(data_url)"))),
        ("a job's settings fit its stored algorithm", a(&[("algorithm|outputs", json!([obs("train_url")]))]), Some((400, 2814, "(train_url)"))),
        ("a job's settings fit its stored algorithm", a(&[("algorithm|parameters", json!([{"name": "fixed", "value": "1"}, {"name": "open", "value": "2"}]))]), None),

        ("boot_file needs code_dir", s(&[("algorithm|code_dir", Value::Null)]), Some((400, 2788, "algorithm.code_dir is required"))),
        ("boot_file needs code_dir", s(&[]), None),
        ("command and boot_file exclude each other", s(&[("algorithm|command", "ls".into())]), Some((400, 2788, "must not stand beside algorithm.boot_file"))),
        ("command and boot_file exclude each other", s(&[("algorithm|command", "".into())]), None),
        ("a command needs an image, an image a command or a boot_file", i(&[("algorithm|command", Value::Null)]), Some((400, 2806, "command and engine.url"))),
        ("a command needs an image, an image a command or a boot_file", i(&[("algorithm|code_dir", "/bucket/code/".into())]), None),
        ("a command needs an image, an image a command or a boot_file", s(&[("algorithm|engine", json!({"image_url": "org/image:1"}))]), None),
        ("without an image there is a boot_file", s(&[("algorithm|boot_file", Value::Null)]), Some((400, 2788, "algorithm.boot_file is required"))),
        ("without an image there is a boot_file", i(&[]), None),
        ("a command is one line", i(&[("algorithm|command", "a\nb".into())]), Some((400, 2788, "line breaks"))),
        ("a command is one line", i(&[("algorithm|command", "a; b && c".into())]), None),
        ("a boot_file needs an engine: id, or name and version, or image", s(&[("algorithm|engine", json!({"engine_name": "PyTorch"}))]), Some((400, 2788, "engine_name and engine_version"))),
        ("a boot_file needs an engine: id, or name and version, or image", s(&[("algorithm|engine", json!({"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"}))]), None),
        ("an engine_id stands alone", s(&[("algorithm|engine|engine_name", "PyTorch".into())]), Some((400, 2788, "engine_id must not stand beside engine_name"))),
        ("an engine_id stands alone", s(&[("algorithm|engine|image_url", "org/image:1".into())]), Some((400, 2788, "must not stand beside image_url"))),
        ("an engine_id stands alone", s(&[("algorithm|engine|engine_name", "".into())]), None),
        ("an engine_version beside an image needs a name", i(&[("algorithm|engine|engine_version", "x".into())]), Some((400, 2830, "engine_id cannot be empty"))),
        ("an engine_version beside an image needs a name", i(&[("algorithm|engine|engine_version", "x".into()), ("algorithm|engine|engine_name", "y".into())]), None),
        ("a preset engine exists", s(&[("algorithm|engine", json!({"engine_id": "none"}))]), Some((400, 2780, "AI engine(id:none) not found."))),
        ("a preset engine exists", s(&[("algorithm|engine", json!({"engine_name": "PyTorch", "engine_version": "pytorch_1"}))]), Some((400, 2780, "PyTorch pytorch_1"))),
        ("a preset engine exists", s(&[("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"}))]), None),
        ("a preset engine is not retired", s(&[("algorithm|engine", json!({"engine_id": "retired-engine-1.0"})), ("spec", json!({"resource": {"pool_id": "cpu"}}))]), Some((400, 2832, "discontinued"))),
        ("a preset engine is not retired", s(&[]), None),
        ("install_sys_packages needs engine_name, engine_version and image_url", i(&[("algorithm|engine|install_sys_packages", true.into())]), Some((400, 2788, "install_sys_packages"))),
        ("install_sys_packages needs engine_name, engine_version and image_url", i(&[("algorithm|engine", json!({"install_sys_packages": true, "engine_name": "a", "engine_version": "b", "image_url": "c"}))]), None),
        ("boot_file lies in code_dir", s(&[("algorithm|code_dir", "/bucket/full".into())]), Some((400, 2792, "does not belong"))),
        ("boot_file lies in code_dir", s(&[]), None),
        ("boot_file ends in .py", s(&[("algorithm|boot_file", "/bucket/code/run.sh".into())]), Some((400, 2758, "startup file"))),
        ("boot_file ends in .py", s(&[]), None),
        ("local_code_dir lies below /home, and not where the service keeps things", s(&[("algorithm|local_code_dir", "/tmp".into())]), Some((400, 2857, "below /home"))),
        ("local_code_dir lies below /home, and not where the service keeps things", s(&[("algorithm|local_code_dir", "/home/me".into())]), None),
        ("local_code_dir lies below /home, and not where the service keeps things", s(&[("spec", Value::Null), ("tasks", json!([{"algorithm": {"local_code_dir": "/tmp"}}]))]), Some((400, 2857, "below /home"))),
        ("local_code_dir lies below /home, and not where the service keeps things", s(&[("algorithm|local_code_dir", "/tmp".into()), ("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"}))]), None),
        ("working_dir is a directory", s(&[("algorithm|working_dir", "/home/../tmp".into())]), Some((400, 2859, ". and .."))),
        ("working_dir is a directory", s(&[("algorithm|working_dir", "/home/me".into())]), None),
        ("working_dir is a directory", s(&[("algorithm|working_dir", "/tmp".into()), ("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"}))]), None),

        ("environment variables have names", s(&[("algorithm|environments", json!({"1A": ""}))]), Some((400, 2788, "must have names of letters"))),
        ("environment variables have names", s(&[("algorithm|environments", json!({"_A1": ""}))]), None),
        ("values of environment variables refer to no others", s(&[("algorithm|environments", json!({"A": "$B"}))]), Some((400, 2788, "algorithm.environments.A must not refer"))),
        ("values of environment variables refer to no others", s(&[("algorithm|environments", json!({"A": "B"}))]), None),
        ("parameters have different names", s(&[("algorithm|parameters", json!([{"name": "p"}, {"name": "p"}]))]), Some((400, 2767, "key repeat"))),
        ("parameters have different names", s(&[("algorithm|parameters", json!([{"name": "p"}, {"name": "q"}]))]), None),
        ("constraints have a documented type", parameter("1", json!({"type": "Date"})), Some((400, 2825, "(p)"))),
        ("constraints have a documented type", parameter("1", json!({"type": "Integer"})), None),
        ("a choice or a range has values, a range two in order", parameter("", json!({"valid_type": "Choice", "valid_range": []})), Some((400, 2770, "range error"))),
        ("a choice or a range has values, a range two in order", parameter("", json!({"type": "Float", "valid_type": "Range", "valid_range": ["2", "1"]})), Some((400, 2770, "range error"))),
        ("a choice or a range has values, a range two in order", parameter("1", json!({"type": "Float", "valid_type": "Range", "valid_range": ["1", "1"]})), None),
        ("a required parameter has a value", parameter("", json!({"required": true})), Some((400, 2766, "Missing default"))),
        ("a required parameter has a value", parameter("1", json!({"required": true})), None),
        ("a parameter's value is of its type", parameter("1.5", json!({"type": "Integer"})), Some((400, 2768, "does not match"))),
        ("a parameter's value is of its type", parameter("NaN", json!({"type": "Float"})), Some((400, 2768, "does not match"))),
        ("a parameter's value is of its type", parameter("on", json!({"type": "Boolean"})), Some((400, 2768, "does not match"))),
        ("a parameter's value is of its type", parameter("False", json!({"type": "Boolean"})), None),
        ("a text is one of its choices", parameter("c", json!({"valid_type": "Choice", "valid_range": ["a", "b"]})), Some((400, 2765, "preset parameters"))),
        ("a text is one of its choices", parameter("b", json!({"valid_type": "Choice", "valid_range": ["a", "b"]})), None),
        ("a number lies in its range", parameter("11", json!({"type": "Integer", "valid_type": "Range", "valid_range": ["1", "10"]})), Some((400, 2769, "setting range"))),
        ("a number lies in its range", parameter("10", json!({"type": "Integer", "valid_type": "Range", "valid_range": ["1", "10"]})), None),
        ("hyper-parameter search has an indicator", search(("reward_attrs", json!([]))), Some((400, 2788, "reward_attrs is required"))),
        ("hyper-parameter search has an indicator", s(&[("algorithm|policies|auto_search", json!({}))]), None),
        ("hyper-parameter search has a known algorithm and different indicators", search(("algo_configs", json!([{"name": "luck"}]))), Some((400, 2788, "luck is not a search algorithm"))),
        ("hyper-parameter search has a known algorithm and different indicators", search(("reward_attrs", json!([{"name": "a", "mode": "max", "regex": "x"}, {"name": "a", "mode": "min", "regex": "x"}]))), Some((400, 2824, "duplicate"))),
        ("hyper-parameter search has a known algorithm and different indicators", search(("algo_configs", json!([{"name": "anneal_search"}]))), None),
        ("hyper-parameter search runs on its two engines", with(search(("skip_search_params", "".into())), &[("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"}))]), Some((400, 2788, "must run on pytorch_1.8.0 or tensorflow_2.1.0"))),
        ("hyper-parameter search runs on its two engines", with(search(("skip_search_params", "".into())), &[("algorithm|engine", json!({"engine_name": "TensorFlow", "engine_version": "tensorflow_2.1.0"}))]), None),
        ("searched parameters are numbers with bounds", search(("search_params", json!([{"name": "lr", "lower_bound": "2", "upper_bound": "1"}]))), Some((400, 2826, "search parameters"))),
        ("searched parameters are numbers with bounds", with(search(("skip_search_params", "".into())), &[("algorithm|parameters", json!([{"name": "lr", "value": "1", "constraint": {"type": "Integer"}}]))]), Some((400, 2826, "search parameters"))),
        ("searched parameters are numbers with bounds", search(("search_params", json!([{"name": "lr", "discrete_values": ["1", "2"]}]))), None),

        ("inputs, and outputs, have different names and directories", s(&[("algorithm|inputs", json!([obs("a"), obs("a")]))]), Some((400, 2753, "not standardized"))),
        ("inputs, and outputs, have different names and directories", s(&[("algorithm|inputs", json!([with(obs("a"), &[("local_dir", "/home/x".into())])])), ("algorithm|outputs", json!([with(obs("a"), &[("local_dir", "/home/x/".into())])]))]), Some((400, 2753, "not standardized"))),
        ("inputs, and outputs, have different names and directories", s(&[("algorithm|inputs", json!([obs("a"), obs("b")])), ("algorithm|outputs", json!([obs("a")]))]), None),
        ("only one output is hosted", s(&[("algorithm|outputs", json!([{"name": "a", "remote": {"modelarts_hosted": {}}}, {"name": "b", "remote": {"modelarts_hosted": {}}}]))]), Some((400, 2754, "Only one output"))),
        ("only one output is hosted", s(&[("algorithm|outputs", json!([{"name": "a", "remote": {"modelarts_hosted": {}}}]))]), None),
        ("a channel's data is of a known kind", s(&[("algorithm|inputs", json!([input(json!({"obs": {"obs_url": "/bucket/a/"}, "ftp": {}}))]))]), Some((400, 2854, "remote type"))),
        ("a channel's data is of a known kind", s(&[("algorithm|inputs", json!([obs("a")]))]), None),
        ("a channel has exactly one place", s(&[("algorithm|inputs", json!([input(json!({}))]))]), Some((400, 2788, "algorithm.inputs[0].remote.obs is required"))),
        ("a channel has exactly one place", s(&[("algorithm|inputs", json!([input(json!({"obs": {"obs_url": "/bucket/a/"}, "dataset": {"id": "flowers", "version_id": "v1"}}))]))]), Some((400, 2788, "not both"))),
        ("a channel has exactly one place", s(&[("algorithm|outputs", json!([with(obs("a"), &[("local_dir", "/tmp".into())])]))]), Some((400, 2788, "algorithm.outputs[0].local_dir must be usable"))),
        ("a channel has exactly one place", s(&[("algorithm|outputs", json!([with(obs("a"), &[("local_dir", "/home/out".into())])]))]), None),
        ("a channel handed over as a variable has the name of one", s(&[("algorithm|inputs", json!([with(obs("a-b"), &[("access_method", "env".into())])]))]), Some((400, 2788, "algorithm.inputs[0].name must be the name of an environment variable"))),
        ("a channel handed over as a variable has the name of one", s(&[("algorithm|inputs", json!([with(obs("a-b"), &[("access_method", "parameter".into())])]))]), None),
        ("constraints on an input know three attributes", s(&[("algorithm|inputs", json!([with(obs("a"), &[("remote_constraint", json!([{"data_type": "obs", "attributes": {"size": "1"}}]))])]))]), Some((400, 2788, "must not have size"))),
        ("constraints on an input know three attributes", s(&[("algorithm|inputs", json!([with(obs("a"), &[("remote_constraint", json!([{"data_type": "obs", "attributes": "[{\"data_format\": \"x\", \"data_segmentation\": \"y\", \"dataset_type\": \"z\"}]"}]))])]))]), None),
        ("constraints on an input know three attributes", s(&[("algorithm|inputs", json!([with(obs("a"), &[("remote_constraint", json!([{"data_type": "dataset", "attributes": "colour"}]))])]))]), Some((400, 2788, "must be one of [data_format data_segmentation dataset_type]"))),
        ("constraints on an input know three attributes", s(&[("algorithm|inputs", json!([with(obs("a"), &[("remote_constraint", json!([{"data_type": "dataset", "attributes": "data_format"}]))])]))]), None),
        ("tasks read from OBS", s(&[("spec", Value::Null), ("tasks", json!([{"algorithm": {"inputs": [input(json!({"dataset": {"id": "flowers"}}))]}}]))]), Some((400, 2788, "tasks[0].algorithm.inputs must come from OBS"))),
        ("tasks read from OBS", s(&[("spec", Value::Null), ("tasks", json!([{"algorithm": {"job_config": {"inputs": [input(json!({"dataset": {"id": "flowers"}}))]}}}]))]), Some((400, 2788, "must come from OBS"))),
        ("tasks read from OBS", s(&[("spec", Value::Null), ("tasks", json!([{"algorithm": {"inputs": [obs("a")]}}]))]), None),
        ("a data set's version is named", s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "flowers"}}))]))]), Some((400, 2788, "algorithm.inputs[0].remote.dataset.version_id is required"))),
        ("a data set's version is named", s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "flowers", "service_type": "V3"}}))]))]), None),
        ("a data set exists", s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "../obs", "version_id": "bucket"}}))]))]), Some((400, 2783, "Dataset (ID: ../obs) not found"))),
        ("a data set exists", s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "flowers", "version_id": "v1"}}))]))]), None),
        ("a data set's version exists", s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "flowers", "version_id": "v2"}}))]))]), Some((400, 2782, "Dataset version (ID: v2) not found"))),
        ("a data set's version exists", s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "flowers", "version_id": "v1"}}))]))]), None),

        ("there is a flavor or a pool", s(&[("spec|resource|flavor_id", Value::Null)]), Some((400, 2788, "flavor_id is required"))),
        ("there is a flavor or a pool", i(&[]), None),
        ("the pool exists", i(&[("spec|resource|pool_id", "none".into())]), Some((404, 2890, "Pool (none) does not exist"))),
        ("the pool exists", i(&[]), None),
        ("the pool is running", i(&[("spec|resource|pool_id", "off".into())]), Some((400, 2887, "Pool (off) is not running"))),
        ("the pool is running", i(&[]), None),
        ("the pool is for training", i(&[("spec|resource|pool_id", "other".into())]), Some((400, 2886, "Pool (other) is not a training pool"))),
        ("the pool is for training", i(&[]), None),
        ("the flavor exists, and is one for this pool", s(&[("spec|resource|flavor_id", "none".into())]), Some((400, 2781, "Flavor (none) not found."))),
        ("the flavor exists, and is one for this pool", s(&[("spec|resource|flavor_id", "modelarts.pool.visual.xlarge".into())]), Some((400, 2781, "not found"))),
        ("the flavor exists, and is one for this pool", i(&[("spec|resource|flavor_id", "modelarts.pool.visual.xlarge".into())]), Some((400, 2781, "not found"))),
        ("the flavor exists, and is one for this pool", i(&[("spec|resource|flavor_id", "modelarts.vm.cpu.8u".into()), ("spec|resource|pool_id", "gpu".into())]), Some((400, 2781, "not found"))),
        ("the flavor exists, and is one for this pool", i(&[("spec|resource|flavor_id", "modelarts.pool.visual.16xlarge".into()), ("spec|resource|pool_id", "gpu".into())]), None),
        ("the flavor fits the algorithm", a(&[("spec|resource|flavor_id", "modelarts.p3.large.public".into())]), Some((400, 2763, "flavor is invalid"))),
        ("the flavor fits the algorithm", a(&[("spec|resource|node_count", 2.into())]), Some((400, 2763, "flavor is invalid"))),
        ("the flavor fits the algorithm", a(&[("spec|resource|node_count", 1.into())]), None),
        ("the flavor fits the engine", s(&[("algorithm|engine", json!({"engine_id": "xgboost-sklearn-python3.6"})), ("spec|resource|flavor_id", "modelarts.p3.large.public".into())]), Some((400, 2840, "cannot be supported on this flavor"))),
        ("the flavor fits the engine", s(&[("algorithm|engine", json!({"engine_id": "xgboost-sklearn-python3.6"}))]), None),
        ("no more nodes than the flavor allows", s(&[("spec|resource|node_count", 17.into())]), Some((400, 2793, "(17) exceeds the maximum (16)"))),
        ("no more nodes than the flavor allows", s(&[("spec|resource|flavor_id", "modelarts.vm.cpu.2u".into()), ("spec|resource|node_count", 2.into())]), Some((400, 2793, "(2) exceeds the maximum (1)"))),
        ("no more nodes than the flavor allows", i(&[("spec|resource|node_count", 5.into())]), Some((400, 2793, "(5) exceeds the maximum (4)"))),
        ("no more nodes than the flavor allows", s(&[("spec|resource|node_count", 16.into())]), None),
        ("the user id is a number", s(&[("algorithm|engine|run_user", "root".into())]), Some((400, 2825, "run_user"))),
        ("the user id is a number", s(&[("algorithm|engine|run_user", "".into())]), None),
        ("the user id is 65535 at most", i(&[("algorithm|engine|run_user", "65536".into())]), Some((400, 2816, "exceeds the upper limit 65535"))),
        ("the user id is 65535 at most", i(&[("algorithm|engine|run_user", "65535".into())]), None),
        ("the user id is 1000 at least outside of pools", s(&[("algorithm|engine|run_user", "999".into())]), Some((400, 2855, "run_user < 1000"))),
        ("the user id is 1000 at least outside of pools", s(&[("algorithm|engine|run_user", 1000.into())]), None),
        ("the user id is 1000 at least outside of pools", i(&[("algorithm|engine|run_user", "0".into())]), None),
        ("the priority is 3 at most, 1 outside of pools", i(&[("spec|schedule_policy|priority", 4.into())]), Some((400, 2816, "upper limit 3"))),
        ("the priority is 3 at most, 1 outside of pools", s(&[("spec|schedule_policy|priority", 2.into())]), Some((400, 2816, "upper limit 1"))),
        ("the priority is 3 at most, 1 outside of pools", i(&[("spec|schedule_policy|priority", 3.into())]), None),
        ("the priority 3 needs a permission", i(&[("spec|schedule_policy|priority", 3.into()), ("metadata|name", "modest".into())]), Some((403, 108, "setHighPriority"))),
        ("the priority 3 needs a permission", i(&[("spec|schedule_policy|priority", 2.into()), ("metadata|name", "modest".into())]), None),
        ("hyperinstance and networkTopology need affinity_group_size", i(&[("spec|schedule_policy|required_affinity|affinity_type", "hyperinstance".into())]), Some((400, 2788, "affinity_group_size is required"))),
        ("hyperinstance and networkTopology need affinity_group_size", i(&[("spec|schedule_policy|required_affinity|affinity_type", "hyperinstance".into()), ("spec|resource|pool_id", "super".into())]), None),
        ("hyperinstance and networkTopology need affinity_group_size", i(&[("spec|schedule_policy|required_affinity", json!({"affinity_type": "hyperinstance", "affinity_group_size": 1}))]), None),
        ("hyperinstance and networkTopology need affinity_group_size", i(&[("spec|schedule_policy|required_affinity|affinity_type", "networkTopology".into())]), Some((400, 2788, "is required with networkTopology"))),
        ("hyperinstance and networkTopology need affinity_group_size", i(&[("spec|schedule_policy|required_affinity|affinity_type", "cabinet".into())]), None),
        ("conditions on nodes have the values that they compare with", condition("In", json!([])), Some((400, 2788, "In must have values"))),
        ("conditions on nodes have the values that they compare with", condition("In", json!(["a"])), None),
        ("conditions on nodes have the values that they compare with", condition("Exists", json!(["a"])), Some((400, 2788, "Exists must have no values"))),
        ("conditions on nodes have the values that they compare with", condition("DoesNotExist", Value::Null), None),
        ("conditions on nodes have the values that they compare with", condition("Gt", json!(["1", "2"])), Some((400, 2788, "one value, an integer"))),
        ("conditions on nodes have the values that they compare with", condition("Lt", json!(["few"])), Some((400, 2788, "one value, an integer"))),
        ("conditions on nodes have the values that they compare with", condition("Gt", json!(["-1"])), None),
        ("conditions on nodes have the values that they compare with", i(&[("spec|schedule_policy|preferred_affinity|node_affinity", json!([{"weight": 1, "preference": {"matchFields": [{"key": "k", "operator": "NotIn"}]}}]))]), Some((400, 2788, "NotIn must have values"))),

        ("a volume is one of nfs, pfs and obs", i(&[("spec|volumes", json!([{}]))]), Some((400, 2788, "spec.volumes[0] must have one of"))),
        ("a volume is one of nfs, pfs and obs", i(&[("spec|volumes", json!([{"obs": {"obs_path": "/bucket/v/", "local_path": "/mnt"}}]))]), None),
        ("nfs needs a pool", s(&[("spec|volumes", json!([nfs(0)]))]), Some((400, 2788, "dedicated pool"))),
        ("nfs needs a pool", i(&[("spec|volumes", json!([nfs(0)]))]), None),
        ("at most 8 nfs volumes", i(&[("spec|volumes", (0..9).map(nfs).collect())]), Some((400, 2788, "at most 8"))),
        ("at most 8 nfs volumes", i(&[("spec|volumes", (0..8).map(nfs).collect())]), None),
        ("a file system is mounted once", i(&[("spec|volumes", json!([nfs(1), with(nfs(2), &[("nfs|nfs_server_path", "10.0.0.1:/1/".into())])]))]), Some((400, 2788, "must mount 10.0.0.1:/1/ once"))),
        ("a file system is mounted once", i(&[("spec|volumes", json!([nfs(1), nfs(2)]))]), None),
        ("volumes are mounted at different places", i(&[("spec|volumes", json!([nfs(1), with(nfs(2), &[("nfs|local_path", "/mnt/1/".into())])]))]), Some((400, 2788, "one volume at /mnt/1/"))),
        ("volumes are mounted at different places", i(&[("spec|volumes", json!([nfs(1), nfs(2)]))]), None),
        ("volumes are not mounted over the service's directories", mount("/"), Some((400, 2788, "must not be mounted at /"))),
        ("volumes are not mounted over the service's directories", mount("/cache/"), Some((400, 2788, "must not be mounted at /cache/"))),
        ("volumes are not mounted over the service's directories", mount("/home/ma-user/modelarts"), Some((400, 2788, "must not be mounted"))),
        ("volumes are not mounted over the service's directories", mount("/mnt/../etc"), Some((400, 2788, "must not be mounted"))),
        ("volumes are not mounted over the service's directories", mount("/home/ma-user/work"), None),

        ("custom metrics have URL and port, or neither", s(&[("spec|custom_metrics", json!([{"metrics_url": "/m"}]))]), Some((400, 2788, "metrics_url and metrics_port"))),
        ("custom metrics have URL and port, or neither", s(&[("spec|custom_metrics", json!([{"metrics_port": 80}]))]), Some((400, 2788, "metrics_url and metrics_port"))),
        ("custom metrics have URL and port, or neither", s(&[("spec|custom_metrics", json!([{"metrics_url": "/raw_text", "metrics_port": 5006}, {"http_get": {"path": "/m", "port": 20000}}]))]), None),
        ("custom metrics come in one form", s(&[("spec|custom_metrics", json!([{"exec": {"command": ["a", "b"]}, "http_get": {"path": "/m", "port": 10001}}]))]), Some((400, 2788, "must have one of metrics_url, exec and http_get"))),
        ("custom metrics come in one form", s(&[("spec|custom_metrics", json!([{}]))]), Some((400, 2788, "must have one of"))),
        ("custom metrics come in one form", s(&[("spec|custom_metrics", json!([{"exec": {"command": ["/bin/a", "-b"]}}]))]), None),
        ("log_dir is there when log_type is", s(&[("algorithm|summary", json!({"log_type": "tensorboard"}))]), Some((400, 2788, "log_dir is required"))),
        ("log_dir is there when log_type is", s(&[("algorithm|summary", json!({"log_type": "tensorboard", "log_dir": {"pfs": {"pfs_path": "/bucket/logs/"}}}))]), None),
        ("data_sources are there when a board is enabled", s(&[("metadata|annotations|mindstudio-insight/enable", "true".into())]), Some((400, 2788, "data_sources is required"))),
        ("data_sources are there when a board is enabled", s(&[("metadata|annotations|mindstudio-insight/enable", "true".into()), ("algorithm|summary|data_sources", json!([{"job": {"job_id": "x"}}]))]), None),
        ("data_sources are there when a board is enabled", s(&[("metadata|annotations|tensorboard/enable", "false".into())]), None),
        ("autosearch_config_path is a YAML file", s(&[("algorithm|autosearch_config_path", "/bucket/x.json".into())]), Some((400, 2788, "YAML"))),
        ("autosearch_config_path is a YAML file", s(&[("algorithm|autosearch_config_path", "/bucket/x.yaml".into())]), None),

        ("OBS paths can be read, and lead nowhere else", s(&[("spec|log_export_path|obs_url", "bucket/logs".into())]), Some((400, 2791, "must start with obs:// or /"))),
        ("OBS paths can be read, and lead nowhere else", s(&[("algorithm|autosearch_framework_path", "x".into())]), Some((400, 2791, "must start with"))),
        ("OBS paths can be read, and lead nowhere else", s(&[("algorithm|outputs", json!([{"name": "o", "remote": {"obs": {"obs_url": "/bucket/door"}}}]))]), Some((400, 2791, "leads out"))),
        ("OBS paths can be read, and lead nowhere else", s(&[("spec|log_export_path|obs_url", "obs://new-bucket".into())]), None),
        ("buckets are not encrypted", s(&[("algorithm|outputs", json!([{"name": "o", "remote": {"obs": {"obs_url": "/secret/out/"}}}]))]), Some((400, 2791, "encrypted"))),
        ("buckets are not encrypted", s(&[("algorithm|outputs", json!([obs("o")]))]), None),
        ("code_dir is there", i(&[("algorithm|code_dir", "/bucket/none/".into())]), Some((400, 2757, "code directory"))),
        ("code_dir is there", i(&[("algorithm|code_dir", "/bucket/code/".into())]), None),
        ("code_dir has at most 1,000 files and directories", code("too-full"), Some((400, 2759, "A maximum of 1000 files"))),
        ("code_dir has at most 1,000 files and directories", code("full"), None),
        ("code_dir is at most 32 directories deep", code("too-deep"), Some((400, 2760, "up to 32 directories"))),
        ("code_dir is at most 32 directories deep", code("deep"), None),
        ("code_dir has at most 5 GB", code("too-big"), Some((400, 2761, "up to 5 GB"))),
        ("code_dir has at most 5 GB", code("big"), None),
        ("boot_file is there", s(&[("algorithm|boot_file", "/bucket/code/none.py".into())]), Some((400, 2758, "startup file"))),
        ("boot_file is there", s(&[]), None),
    ]
}

#[test]
fn every_rule_is_broken_by_one_body_alone_and_kept_at_its_limit() {
    let place = place(Cloud::Otc);
    let (mut breaking, mut passing) = (BTreeSet::new(), BTreeSet::new());
    for (rule, body, expected) in cases() {
        let found = broken(&place, &body);
        match expected {
            None => {
                assert!(found.is_empty(), "{rule}: {found:?}\n{body}");
                passing.insert(rule);
            }
            Some((status, number, part)) => {
                let says: Vec<&str> = found.iter().map(|(says, _)| *says).collect();
                assert_eq!(says, [rule], "{body}\n{found:?}");
                let error = &found[0].1;
                let body = error.body("");
                assert_eq!(error.status.as_u16(), status, "{rule}");
                assert_eq!(
                    body["error_code"],
                    format!("ModelArts.{number:04}"),
                    "{rule}"
                );
                let message = body["error_msg"].as_str().unwrap();
                assert!(message.contains(part), "{rule}: {message}");
                assert!(body["error_solution"].is_string(), "{rule}");
                breaking.insert(rule);
            }
        }
    }
    let all: BTreeSet<&str> = RULES.iter().map(|rule| rule.says).collect();
    assert_eq!(all.len(), RULES.len());
    assert_eq!(breaking, all);
    assert_eq!(passing, all);
}

#[test]
fn the_other_cloud_has_other_limits() {
    let place = place(Cloud::Huawei);
    let retries = |number: &str| {
        with(
            sound(),
            &[(
                "metadata|annotations|fault-tolerance/job-retry-num",
                number.into(),
            )],
        )
    };
    assert!(broken(&place, &retries("128")).is_empty());
    assert_eq!(broken(&place, &retries("129")).len(), 1);
    assert!(broken(&place, &with(sound(), &[("kind", "edge_job".into())])).is_empty());
    for (path, refused) in [
        ("/home/ma-user", true),
        ("/home/ma-user/modelarts/", true),
        ("/home/ma-user/infer/x", true),
        ("/home/ma-user/inferno", false),
        ("/home/ma-user/modelarts/user-job-dir", false),
    ] {
        let body = with(sound(), &[("algorithm|local_code_dir", path.into())]);
        assert_eq!(!broken(&place, &body).is_empty(), refused, "{path}");
    }
}

/// A value of a type, one at its limit, and one that breaks it.
fn examples(kind: &Type) -> (Value, Option<Value>) {
    match kind {
        Type::Any => (json!(7), None),
        Type::Text => (json!("x"), Some(json!(7))),
        Type::Between(_, most) => (json!("é".repeat(*most)), Some(json!("x".repeat(most + 1)))),
        Type::Plain(most) => (json!("-".repeat(*most)), Some(json!("a;b"))),
        Type::Decimal(least, _) => (json!(least), Some(json!(least - 0.1))),
        Type::Above(bound) => (json!(bound + 0.1), Some(json!(bound))),
        Type::AtMost(most) => (json!(vec![0; *most]), Some(json!(vec![0; most + 1]))),
        Type::Exactly(count) => (json!(vec![0; *count]), Some(json!(vec![0; count + 1]))),
        Type::UpTo(most) => (json!("é".repeat(*most)), Some(json!("x".repeat(most + 1)))),
        Type::Name => (json!("x".repeat(64)), Some(json!("x".repeat(65)))),
        Type::OneOf(values) => (json!(values[values.len() - 1]), Some(json!("other"))),
        Type::Number(least, most) => (
            json!(most),
            Some(json!(if *most == i64::MAX {
                least - 1
            } else {
                most + 1
            })),
        ),
        Type::Bool => (json!(true), Some(json!("true"))),
        Type::Object => (json!({}), Some(json!([]))),
        Type::List => (json!([]), Some(json!({}))),
        Type::Texts(pairs, _, value) if *pairs != usize::MAX => {
            let full: serde_json::Map<String, Value> = (0..*pairs)
                .map(|at| (format!("k{at}"), "x".repeat(*value).into()))
                .collect();
            let mut more = full.clone();
            more.insert("one-more".into(), "".into());
            (full.into(), Some(more.into()))
        }
        Type::Texts(..) => (json!({"k": "v"}), Some(json!({"k": 1}))),
    }
}

#[test]
fn every_line_of_the_table_is_checked() {
    for line in lines() {
        let (path, kind, need, _) = line;
        let steps: Vec<&str> = path.split('.').collect();
        let (good, bad) = examples(kind);
        // The line alone, in a body that has nothing else than its parents.
        let nest = |value: Option<Value>| {
            let (last, parents) = steps.split_last().unwrap();
            let mut body = match (last.strip_suffix("[]"), value) {
                (Some(name), Some(value)) => json!({ name: [value] }),
                (None, Some(value)) => json!({ *last: value }),
                (_, None) => json!({}),
            };
            for step in parents.iter().rev() {
                body = match step.strip_suffix("[]") {
                    Some(name) => json!({ name: [body] }),
                    None => json!({ *step: body }),
                };
            }
            body
        };
        let check = |value: Option<Value>| shape::against(&[*line], &nest(value));
        assert_eq!(check(Some(good)), Ok(()), "{path}");
        let shown = path.replace("[]", "[0]");
        if let Some(bad) = bad {
            let error = check(Some(bad)).unwrap_err().body("");
            assert_eq!(error["error_code"], "ModelArts.2788", "{path}");
            let message = error["error_msg"].as_str().unwrap();
            assert!(message.contains(&shown), "{path}: {message}");
        }
        let absent = check(None);
        if *need == Need::Required && !path.ends_with("[]") {
            assert_eq!(
                absent.unwrap_err().body("")["error_msg"],
                format!("Invalid parameter({shown} is required)."),
            );
        } else {
            assert_eq!(absent, Ok(()), "{path}");
        }
    }
    let long = json!({"algorithm": {"environments": {"k".repeat(8193): ""}}});
    assert!(
        shape::check(&with(
            sound(),
            &[(
                "algorithm|environments",
                long["algorithm"]["environments"].clone()
            )]
        ))
        .is_err()
    );
    let most = json!({"k".repeat(8192): "v".repeat(4096)});
    assert_eq!(
        shape::check(&with(sound(), &[("algorithm|environments", most)])),
        Ok(())
    );
    let most = json!({"k": "v".repeat(4097)});
    assert!(shape::check(&with(sound(), &[("algorithm|environments", most)])).is_err());
}

#[test]
fn read_only_fields_are_ignored() {
    let place = place(Cloud::Otc);
    let body = with(
        sound(),
        &[
            ("metadata|id", "x".into()),
            ("metadata|create_time", "then".into()),
            ("metadata|user_name", 1.into()),
            ("status", "Completed".into()),
            ("spec|resource|flavor_name", "x".into()),
            ("spec|resource|flavor_detail", json!({})),
        ],
    );
    assert!(broken(&place, &body).is_empty());
}
