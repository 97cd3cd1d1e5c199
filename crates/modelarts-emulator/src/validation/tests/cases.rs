//! Request bodies for tests of the validation rules. For each rule, one body violates only that
//! rule, and another satisfies it at its limit.

use serde_json::{Value, json};

/// Returns a valid body.
pub(crate) fn sound() -> Value {
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

/// Returns a valid body with a custom image in a pool.
pub(crate) fn image() -> Value {
    json!({
        "kind": "job",
        "metadata": {"name": "image"},
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "python train.py"},
        "spec": {"resource": {"pool_id": "cpu"}},
    })
}

/// Returns a valid body with a stored algorithm.
pub(crate) fn stored() -> Value {
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

/// Returns a valid role of a heterogeneous job.
fn role() -> Value {
    json!({
        "role": "learner",
        "algorithm": {"engine": {"image_url": "org/image:1"}, "command": "python train.py"},
        "task_resource": {"flavor_id": "modelarts.vm.cpu.8u", "node_count": 1},
    })
}

/// Returns `body` with the members at the given pointers replaced; null removes a member.
pub(crate) fn with(mut body: Value, changes: &[(&str, Value)]) -> Value {
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

/// Status, code and part of the message of an expected error.
pub(super) type ExpectedError = (u16, u16, &'static str);

/// Returns the test cases: a rule, a body, and the expected error, if any.
pub(super) fn cases() -> Vec<(&'static str, Value, Option<ExpectedError>)> {
    let s = |changes: &[(&str, Value)]| with(sound(), changes);
    let i = |changes: &[(&str, Value)]| with(image(), changes);
    let a = |changes: &[(&str, Value)]| with(stored(), changes);
    let retry = "metadata|annotations|fault-tolerance/job-retry-num";
    let parameter = |value: &str, constraint: Value| {
        s(&[(
            "algorithm|parameters",
            json!([{"name": "p", "value": value, "constraint": constraint}]),
        )])
    };
    let flowers = || json!({"dataset": {"id": "flowers"}});
    let input = |remote: Value| json!({"name": "in", "remote": remote});
    let obs = |name: &str| {
        json!({"name": name,
        "remote": {"obs": {"obs_url": format!("/bucket/{name}/")}}})
    };
    let nfs = |at: usize| {
        json!({"nfs": {"nfs_server_path": format!("10.0.0.1:/{at}"),
        "local_path": format!("/mnt/{at}")}})
    };
    let mount = |place: &str| {
        i(&[("spec|volumes", json!([{"pfs": {"pfs_path": "/bucket/p/", "local_path": place}}]))])
    };
    let code = |name: &str| {
        s(&[
            ("algorithm|code_dir", format!("/bucket/{name}").into()),
            ("algorithm|boot_file", format!("/bucket/{name}/train.py").into()),
        ])
    };
    let condition = |operator: &str, values: Value| {
        i(&[(
            "spec|schedule_policy|required_affinity|node_affinity|nodeSelectorTerms",
            json!([{"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}]),
        )])
    };
    let search = |change: (&str, Value)| {
        s(&[(
            "algorithm|policies|auto_search",
            with(
                json!({
                    "reward_attrs": [{"name": "acc", "mode": "max", "regex": "acc=(.*)"}],
                    "search_params": [{"name": "lr", "param_type": "continuous",
                        "lower_bound": "0.1", "upper_bound": "1"}],
                    "algo_configs": [{"name": "tpe_search", "params": []}],
                }),
                &[change],
            ),
        )])
    };
    vec![
        (
            "kind-of-cloud",
            s(&[("kind", "edge_job".into())]),
            Some((400, 2788, "kind must be one of [job visualization_job]")),
        ),
        ("kind-of-cloud", s(&[("kind", "visualization_job".into())]), None),
        (
            "tasks-or-spec",
            s(&[("tasks", json!([role()]))]),
            Some((400, 2788, "tasks must not be set together with spec")),
        ),
        ("spec-required", s(&[("spec", Value::Null)]), Some((400, 2788, "spec is required"))),
        ("tasks-or-spec", s(&[("spec", Value::Null), ("tasks", json!([role()]))]), None),
        ("spec-required", s(&[]), None),
        (
            "algorithm-required",
            s(&[("algorithm", Value::Null)]),
            Some((400, 2788, "algorithm is required")),
        ),
        (
            "algorithm-required",
            s(&[("algorithm", Value::Null), ("train_type", "SFT".into())]),
            None,
        ),
        (
            "retries-in-range",
            s(&[(retry, "4".into())]),
            Some((400, 2788, "must be between 1 and 3")),
        ),
        (
            "retries-in-range",
            s(&[(retry, "0".into())]),
            Some((400, 2788, "must be between 1 and 3")),
        ),
        ("retries-in-range", s(&[(retry, "3".into())]), None),
        (
            "annotation-switches",
            s(&[("metadata|annotations|tensorboard/enable", "yes".into())]),
            Some((400, 2788, "tensorboard/enable must be true or false")),
        ),
        (
            "annotation-switches",
            s(&[("metadata|annotations|jupyter-lab/enable", "true".into())]),
            None,
        ),
        (
            "hang-retry-needs-retries",
            s(&[("metadata|annotations|fault-tolerance/hang-retry", "true".into())]),
            Some((400, 2788, "is required with fault-tolerance/hang-retry")),
        ),
        (
            "hang-retry-needs-retries",
            s(&[
                ("metadata|annotations|fault-tolerance/hang-retry", "true".into()),
                (retry, "1".into()),
            ]),
            None,
        ),
        (
            "job-template-known",
            s(&[("metadata|annotations|job_template", "Template X".into())]),
            Some((400, 2788, "must be Template RL or Template DL")),
        ),
        (
            "job-template-known",
            s(&[("metadata|annotations|job_template", "Template RL".into())]),
            None,
        ),
        (
            "subscription-and-version",
            a(&[("algorithm|item_version_id", "v".into())]),
            Some((400, 2788, "must be set together")),
        ),
        ("subscription-and-version", a(&[]), None),
        (
            "stored-algorithm-code",
            a(&[("algorithm|code_dir", "/bucket/code/".into())]),
            Some((
                400,
                2788,
                "algorithm.code_dir must not be set together with a stored algorithm",
            )),
        ),
        (
            "stored-algorithm-engine",
            a(&[("algorithm|engine", json!({"engine_name": "PyTorch"}))]),
            Some((400, 2788, "algorithm.engine must not be set together with a stored algorithm")),
        ),
        ("stored-algorithm-engine", a(&[("algorithm|engine", json!({}))]), None),
        ("stored-algorithm-code", a(&[("algorithm|code_dir", "".into())]), None),
        (
            "one-stored-algorithm",
            a(&[
                ("algorithm|subscription_id", "s".into()),
                ("algorithm|item_version_id", "v".into()),
            ]),
            Some((400, 2788, "must not be set together with algorithm.subscription_id")),
        ),
        ("one-stored-algorithm", a(&[]), None),
        (
            "algorithm-exists",
            with(stored(), &[("algorithm", json!({"id": "unknown"}))]),
            Some((400, 2755, "algorithm not found")),
        ),
        (
            "algorithm-exists",
            with(
                stored(),
                &[("algorithm", json!({"subscription_id": "s", "item_version_id": "v"}))],
            ),
            Some((400, 2755, "algorithm not found")),
        ),
        ("algorithm-exists", a(&[]), None),
        (
            "job-fits-algorithm",
            a(&[("algorithm|parameters", json!([{"name": "fixed", "value": "2"}]))]),
            Some((400, 2814, "(fixed)")),
        ),
        (
            "job-fits-algorithm",
            a(&[("algorithm|parameters", json!([{"name": "new", "value": "2"}]))]),
            Some((400, 2814, "(new)")),
        ),
        (
            "job-fits-algorithm",
            a(&[("algorithm|inputs", json!([]))]),
            Some((400, 2814, "(data_url)")),
        ),
        (
            "job-fits-algorithm",
            a(&[("algorithm|outputs", json!([obs("train_url")]))]),
            Some((400, 2814, "(train_url)")),
        ),
        (
            "job-fits-algorithm",
            a(&[(
                "algorithm|parameters",
                json!([{"name": "fixed", "value": "1"}, {"name": "open", "value": "2"}]),
            )]),
            None,
        ),
        (
            "data-fits-algorithm",
            a(&[(
                "algorithm|inputs",
                json!([{"name": "data_url", "remote": {"dataset": {"id": "flowers",
                    "version_id": "v1"}}}]),
            )]),
            Some((400, 2834, "(modelarts_dataset)")),
        ),
        ("data-fits-algorithm", a(&[]), None),
        (
            "boot-file-needs-code-dir",
            s(&[("algorithm|code_dir", Value::Null)]),
            Some((400, 2788, "algorithm.code_dir is required")),
        ),
        ("boot-file-needs-code-dir", s(&[]), None),
        (
            "command-or-boot-file",
            s(&[("algorithm|command", "ls".into())]),
            Some((400, 2788, "must not be set together with algorithm.boot_file")),
        ),
        ("command-or-boot-file", s(&[("algorithm|command", "".into())]), None),
        (
            "image-and-command",
            i(&[("algorithm|command", Value::Null)]),
            Some((400, 2806, "engine.image_url and command or engine.engine_name")),
        ),
        ("image-and-command", i(&[("algorithm|code_dir", "/bucket/code/".into())]), None),
        (
            "image-and-command",
            s(&[("algorithm|engine", json!({"image_url": "org/image:1"}))]),
            Some((400, 2806, "or engine.engine_name cannot be empty")),
        ),
        (
            "image-and-command",
            s(&[(
                "algorithm|engine",
                json!({"image_url": "org/image:1", "engine_name": "PyTorch"}),
            )]),
            None,
        ),
        (
            "boot-file-required",
            s(&[("algorithm|boot_file", Value::Null)]),
            Some((400, 2788, "algorithm.boot_file is required")),
        ),
        ("boot-file-required", i(&[]), None),
        (
            "boot-file-required",
            with(sound(), &[("algorithm", json!({})), ("train_type", "SFT".into())]),
            None,
        ),
        (
            "command-one-line",
            i(&[("algorithm|command", "a\nb".into())]),
            Some((400, 2788, "line breaks")),
        ),
        ("command-one-line", i(&[("algorithm|command", "a; b && c".into())]), None),
        (
            "engine-for-boot-file",
            s(&[("algorithm|engine", Value::Null)]),
            Some((400, 2788, "engine_name and engine_version")),
        ),
        (
            "engine-name-and-version",
            s(&[("algorithm|engine", json!({"engine_name": "PyTorch"}))]),
            Some((400, 2788, "both engine_name and engine_version")),
        ),
        ("engine-name-and-version", s(&[("algorithm|engine|engine_name", "PyTorch".into())]), None),
        (
            "engine-for-boot-file",
            s(&[(
                "algorithm|engine",
                json!({"engine_name": "PyTorch", "engine_version": "pytorch_1.8.0"}),
            )]),
            None,
        ),
        (
            "engine-id-beside-image",
            s(&[("algorithm|engine|image_url", "org/image:1".into())]),
            Some((400, 2788, "must not be set together with image_url")),
        ),
        (
            "engine-id-beside-image",
            s(&[
                ("algorithm|engine|engine_version", "pytorch_1.8.0".into()),
                ("algorithm|engine|engine_name", "PyTorch".into()),
            ]),
            None,
        ),
        (
            "image-without-registry",
            i(&[("algorithm|engine|image_url", "swr.eu-de.otc.t-systems.com/org/image:1".into())]),
            Some((400, 2788, "must not name a registry")),
        ),
        ("image-without-registry", i(&[]), None),
        (
            "engine-version-needs-name",
            i(&[("algorithm|engine|engine_version", "x".into())]),
            Some((400, 2788, "engine_name is required with engine_version")),
        ),
        (
            "engine-version-needs-name",
            i(&[
                ("algorithm|engine|engine_version", "x".into()),
                ("algorithm|engine|engine_name", "y".into()),
            ]),
            None,
        ),
        (
            "engine-exists",
            s(&[("algorithm|engine", json!({"engine_id": "none"}))]),
            Some((400, 2780, "AI engine(id:none) not found.")),
        ),
        (
            "engine-exists",
            s(&[(
                "algorithm|engine",
                json!({"engine_name": "PyTorch", "engine_version": "pytorch_1"}),
            )]),
            Some((400, 2780, "PyTorch pytorch_1")),
        ),
        (
            "engine-exists",
            s(&[("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"}))]),
            None,
        ),
        (
            "engine-not-retired",
            s(&[
                ("algorithm|engine", json!({"engine_id": "retired-engine-1.0"})),
                ("spec", json!({"resource": {"pool_id": "cpu"}})),
            ]),
            Some((400, 2832, "discontinued")),
        ),
        ("engine-not-retired", s(&[]), None),
        (
            "sys-packages-need-image",
            i(&[("algorithm|engine|install_sys_packages", true.into())]),
            Some((400, 2788, "install_sys_packages")),
        ),
        (
            "sys-packages-need-image",
            i(&[(
                "algorithm|engine",
                json!({"install_sys_packages": true, "engine_name": "a", "engine_version": "b",
                    "image_url": "c"}),
            )]),
            None,
        ),
        (
            "boot-file-inside",
            s(&[("algorithm|code_dir", "/bucket/full".into())]),
            Some((400, 2792, "does not belong")),
        ),
        ("boot-file-inside", s(&[]), None),
        (
            "boot-file-python",
            s(&[("algorithm|boot_file", "/bucket/code/run.sh".into())]),
            Some((400, 2758, "startup file")),
        ),
        ("boot-file-python", s(&[]), None),
        (
            "local-code-dir",
            s(&[("algorithm|local_code_dir", "/tmp".into())]),
            Some((400, 2857, "below /home")),
        ),
        ("local-code-dir", s(&[("algorithm|local_code_dir", "/home/me".into())]), None),
        (
            "local-code-dir-home",
            s(&[("algorithm|local_code_dir", "/home/".into())]),
            Some((400, 2857, "below /home")),
        ),
        ("local-code-dir-home", s(&[("algorithm|local_code_dir", "/home/me".into())]), None),
        (
            "local-code-dir",
            s(&[
                ("algorithm|local_code_dir", "/tmp".into()),
                ("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"})),
            ]),
            None,
        ),
        (
            "working-dir-plain",
            s(&[("algorithm|working_dir", "/home/../tmp".into())]),
            Some((400, 2859, ". and ..")),
        ),
        (
            "working-dir",
            s(&[("algorithm|working_dir", "code".into())]),
            Some((400, 2859, "absolute path")),
        ),
        ("working-dir", s(&[("algorithm|working_dir", "/opt/me".into())]), None),
        ("working-dir-plain", s(&[("algorithm|working_dir", "/opt/me".into())]), None),
        (
            "working-dir",
            s(&[
                ("algorithm|working_dir", "tmp".into()),
                ("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"})),
            ]),
            None,
        ),
        (
            "variable-names",
            s(&[("algorithm|environments", json!({"1A": ""}))]),
            Some((400, 2788, "must have names of letters")),
        ),
        ("variable-names", s(&[("algorithm|environments", json!({"_A1": ""}))]), None),
        (
            "variable-references",
            s(&[("algorithm|environments", json!({"A": "$B"}))]),
            Some((400, 2788, "algorithm.environments.A must not refer")),
        ),
        ("variable-references", s(&[("algorithm|environments", json!({"A": "B"}))]), None),
        (
            "parameter-names-different",
            s(&[("algorithm|parameters", json!([{"name": "p"}, {"name": "p"}]))]),
            Some((400, 2767, "key repeat")),
        ),
        (
            "parameter-names-different",
            s(&[("algorithm|parameters", json!([{"name": "p"}, {"name": "q"}]))]),
            None,
        ),
        ("parameter-types", parameter("1", json!({"type": "Date"})), Some((400, 2825, "(p)"))),
        ("parameter-types", parameter("1", json!({"type": "Integer"})), None),
        (
            "parameter-ranges",
            parameter("", json!({"valid_type": "Choice", "valid_range": []})),
            Some((400, 2770, "range error")),
        ),
        (
            "parameter-ranges",
            parameter(
                "",
                json!({"type": "Float", "valid_type": "Range", "valid_range": ["2", "1"]}),
            ),
            Some((400, 2770, "range error")),
        ),
        (
            "parameter-ranges",
            parameter(
                "1",
                json!({"type": "Float", "valid_type": "Range", "valid_range": ["1", "1"]}),
            ),
            None,
        ),
        (
            "parameter-required",
            parameter("", json!({"required": true})),
            Some((400, 2766, "Missing default")),
        ),
        ("parameter-required", parameter("1", json!({"required": true})), None),
        (
            "parameter-typed",
            parameter("1.5", json!({"type": "Integer"})),
            Some((400, 2768, "does not match")),
        ),
        (
            "parameter-typed",
            parameter("NaN", json!({"type": "Float"})),
            Some((400, 2768, "does not match")),
        ),
        (
            "parameter-typed",
            parameter("on", json!({"type": "Boolean"})),
            Some((400, 2768, "does not match")),
        ),
        ("parameter-typed", parameter("False", json!({"type": "Boolean"})), None),
        (
            "parameter-chosen",
            parameter("c", json!({"valid_type": "Choice", "valid_range": ["a", "b"]})),
            Some((400, 2765, "preset parameters")),
        ),
        (
            "parameter-chosen",
            parameter("b", json!({"valid_type": "Choice", "valid_range": ["a", "b"]})),
            None,
        ),
        (
            "parameter-in-range",
            parameter(
                "11",
                json!({"type": "Integer", "valid_type": "Range", "valid_range": ["1", "10"]}),
            ),
            Some((400, 2769, "setting range")),
        ),
        (
            "parameter-in-range",
            parameter(
                "10",
                json!({"type": "Integer", "valid_type": "Range", "valid_range": ["1", "10"]}),
            ),
            None,
        ),
        (
            "search-rewards",
            search(("reward_attrs", json!([]))),
            Some((400, 2788, "reward_attrs is required")),
        ),
        ("search-rewards", s(&[("algorithm|policies|auto_search", json!({}))]), None),
        (
            "search-algorithms",
            search(("algo_configs", json!([{"name": "luck"}]))),
            Some((400, 2788, "luck must be one of [")),
        ),
        (
            "search-rewards-different",
            search((
                "reward_attrs",
                json!([{"name": "a", "mode": "max", "regex": "x"}, {"name": "a", "mode": "min",
                    "regex": "x"}]),
            )),
            Some((400, 2824, "duplicate")),
        ),
        ("search-algorithms", search(("algo_configs", json!([{"name": "anneal_search"}]))), None),
        (
            "search-rewards-different",
            search((
                "reward_attrs",
                json!([{"name": "a", "mode": "max", "regex": "x"}, {"name": "b", "mode": "min",
                    "regex": "x"}]),
            )),
            None,
        ),
        (
            "search-engine",
            with(
                search(("skip_search_params", "".into())),
                &[("algorithm|engine", json!({"engine_id": "pytorch-cp36-1.3.0"}))],
            ),
            Some((400, 2788, "must run on pytorch_1.8.0 or tensorflow_2.1.0")),
        ),
        (
            "search-engine",
            with(
                search(("skip_search_params", "".into())),
                &[(
                    "algorithm|engine",
                    json!({"engine_name": "TensorFlow", "engine_version": "tensorflow_2.1.0"}),
                )],
            ),
            None,
        ),
        (
            "search-bounds",
            search((
                "search_params",
                json!([{"name": "lr", "lower_bound": "2", "upper_bound": "1"}]),
            )),
            Some((400, 2826, "search parameters")),
        ),
        (
            "search-floats",
            with(
                search(("skip_search_params", "".into())),
                &[(
                    "algorithm|parameters",
                    json!([{"name": "lr", "value": "1", "constraint": {"type": "Integer"}}]),
                )],
            ),
            Some((400, 2826, "search parameters")),
        ),
        (
            "search-floats",
            with(
                search(("skip_search_params", "".into())),
                &[(
                    "algorithm|parameters",
                    json!([{"name": "lr", "value": "1", "constraint": {"type": "Float"}}]),
                )],
            ),
            None,
        ),
        (
            "search-bounds",
            search(("search_params", json!([{"name": "lr", "discrete_values": ["1", "2"]}]))),
            None,
        ),
        (
            "channel-names-different",
            s(&[("algorithm|inputs", json!([obs("a"), obs("a")]))]),
            Some((400, 2753, "not standardized")),
        ),
        (
            "channel-directories-different",
            s(&[
                ("algorithm|inputs", json!([with(obs("a"), &[("local_dir", "/home/x".into())])])),
                ("algorithm|outputs", json!([with(obs("a"), &[("local_dir", "/home/x/".into())])])),
            ]),
            Some((400, 2788, "algorithm.outputs[0].local_dir must not be that of another channel")),
        ),
        (
            "channel-directories-different",
            s(&[
                ("algorithm|inputs", json!([with(obs("a"), &[("local_dir", "/home/x".into())])])),
                ("algorithm|outputs", json!([with(obs("a"), &[("local_dir", "/home/y".into())])])),
            ]),
            None,
        ),
        (
            "channel-names-different",
            s(&[
                ("algorithm|inputs", json!([obs("a"), obs("b")])),
                ("algorithm|outputs", json!([obs("a")])),
            ]),
            None,
        ),
        (
            "hosted-once",
            s(&[(
                "algorithm|outputs",
                json!([{"name": "a", "remote": {"modelarts_hosted": {}}}, {"name": "b",
                    "remote": {"modelarts_hosted": {}}}]),
            )]),
            Some((400, 2754, "Only one output")),
        ),
        (
            "hosted-once",
            s(&[("algorithm|outputs", json!([{"name": "a", "remote": {"modelarts_hosted": {}}}]))]),
            None,
        ),
        (
            "channel-kind",
            s(&[(
                "algorithm|inputs",
                json!([input(json!({"obs": {"obs_url": "/bucket/a/"}, "ftp": {}}))]),
            )]),
            Some((400, 2854, "remote type")),
        ),
        ("channel-kind", s(&[("algorithm|inputs", json!([obs("a")]))]), None),
        (
            "channel-one-source",
            s(&[("algorithm|inputs", json!([input(json!({}))]))]),
            Some((400, 2788, "algorithm.inputs[0].remote.obs is required")),
        ),
        (
            "channel-one-source",
            s(&[(
                "algorithm|inputs",
                json!([input(
                    json!({"obs": {"obs_url": "/bucket/a/"}, "dataset": {"id": "flowers",
                        "version_id": "v1"}})
                )]),
            )]),
            Some((400, 2788, "not both")),
        ),
        (
            "channel-one-source",
            s(&[(
                "algorithm|outputs",
                json!([with(obs("a"), &[("local_dir", "/home/out".into())])]),
            )]),
            None,
        ),
        (
            "channel-variable-name",
            s(&[(
                "algorithm|inputs",
                json!([with(obs("a-b"), &[("access_method", "env".into())])]),
            )]),
            Some((
                400,
                2788,
                "algorithm.inputs[0].name must be the name of an environment variable",
            )),
        ),
        (
            "channel-variable-name",
            s(&[(
                "algorithm|inputs",
                json!([with(obs("a-b"), &[("access_method", "parameter".into())])]),
            )]),
            None,
        ),
        (
            "constraint-attributes",
            s(&[(
                "algorithm|inputs",
                json!([with(
                    obs("a"),
                    &[(
                        "remote_constraint",
                        json!([{"data_type": "obs", "attributes": {"size": "1"}}])
                    )]
                )]),
            )]),
            Some((400, 2788, "must not have size")),
        ),
        (
            "constraint-attributes",
            s(&[(
                "algorithm|inputs",
                json!([with(
                    obs("a"),
                    &[(
                        "remote_constraint",
                        json!([{"data_type": "obs",
                            "attributes": "[{\"data_format\": \"x\", \"data_segmentation\": \"y\", \
                                \"dataset_type\": \"z\"}]"}])
                    )]
                )]),
            )]),
            None,
        ),
        (
            "constraint-attributes",
            s(&[(
                "algorithm|inputs",
                json!([with(
                    obs("a"),
                    &[(
                        "remote_constraint",
                        json!([{"data_type": "dataset", "attributes": "colour"}])
                    )]
                )]),
            )]),
            Some((400, 2788, "must be one of [data_format data_segmentation dataset_type]")),
        ),
        (
            "constraint-attributes",
            s(&[(
                "algorithm|inputs",
                json!([with(
                    obs("a"),
                    &[(
                        "remote_constraint",
                        json!([{"data_type": "dataset", "attributes": "data_format"}])
                    )]
                )]),
            )]),
            None,
        ),
        (
            "tasks-read-from-obs",
            s(&[
                ("spec", Value::Null),
                ("tasks", json!([{"algorithm": {"inputs": [input(flowers())]}}])),
            ]),
            Some((400, 2788, "tasks[0].algorithm.inputs must come from OBS")),
        ),
        (
            "tasks-read-from-obs",
            s(&[
                ("spec", Value::Null),
                ("tasks", json!([{"algorithm": {"job_config": {"inputs": [input(flowers())]}}}])),
            ]),
            Some((400, 2788, "must come from OBS")),
        ),
        (
            "tasks-read-from-obs",
            s(&[
                ("spec", Value::Null),
                ("tasks", json!([with(role(), &[("algorithm|inputs", json!([obs("a")]))])])),
            ]),
            None,
        ),
        (
            "dataset-version",
            s(&[("algorithm|inputs", json!([input(json!({"dataset": {"id": "flowers"}}))]))]),
            Some((400, 2788, "algorithm.inputs[0].remote.dataset.version_id is required")),
        ),
        (
            "dataset-version",
            s(&[(
                "algorithm|inputs",
                json!([input(json!({"dataset": {"id": "flowers", "service_type": "V3"}}))]),
            )]),
            None,
        ),
        (
            "dataset-exists",
            s(&[(
                "algorithm|inputs",
                json!([input(json!({"dataset": {"id": "../obs", "version_id": "bucket"}}))]),
            )]),
            Some((400, 2783, "Dataset (ID: ../obs) not found")),
        ),
        (
            "dataset-exists",
            s(&[(
                "algorithm|inputs",
                json!([input(json!({"dataset": {"id": "flowers", "version_id": "v1"}}))]),
            )]),
            None,
        ),
        (
            "dataset-version-exists",
            s(&[(
                "algorithm|inputs",
                json!([input(json!({"dataset": {"id": "flowers", "version_id": "v2"}}))]),
            )]),
            Some((400, 2782, "Dataset version (ID: v2) not found")),
        ),
        (
            "dataset-version-exists",
            s(&[(
                "algorithm|inputs",
                json!([input(json!({"dataset": {"id": "flowers", "version_id": "v1"}}))]),
            )]),
            None,
        ),
        (
            "flavor-or-pool",
            s(&[("spec|resource|flavor_id", Value::Null)]),
            Some((400, 2788, "flavor_id is required")),
        ),
        ("flavor-or-pool", i(&[]), None),
        (
            "pool-exists",
            i(&[("spec|resource|pool_id", "none".into())]),
            Some((404, 2890, "Pool (none) does not exist")),
        ),
        ("pool-exists", i(&[]), None),
        (
            "pool-runs",
            i(&[("spec|resource|pool_id", "off".into())]),
            Some((400, 2887, "Pool (off) is not running")),
        ),
        ("pool-runs", i(&[]), None),
        (
            "pool-trains",
            i(&[("spec|resource|pool_id", "other".into())]),
            Some((400, 2886, "Pool (other) is not a training pool")),
        ),
        ("pool-trains", i(&[]), None),
        (
            "flavor-exists",
            s(&[("spec|resource|flavor_id", "none".into())]),
            Some((400, 2781, "Flavor (none) not found.")),
        ),
        (
            "pool-flavor-needs-pool",
            s(&[("spec|resource|flavor_id", "modelarts.pool.visual.xlarge".into())]),
            Some((400, 2788, "pool_id is required with a flavor of pools")),
        ),
        (
            "pool-flavor-needs-pool",
            s(&[
                ("spec|resource|flavor_id", "modelarts.pool.visual.xlarge".into()),
                ("spec|resource|pool_group_id", "group".into()),
            ]),
            None,
        ),
        (
            "flavor-of-pool",
            i(&[("spec|resource|flavor_id", "modelarts.pool.visual.xlarge".into())]),
            Some((400, 2781, "not found")),
        ),
        (
            "flavor-of-pool",
            i(&[
                ("spec|resource|flavor_id", "modelarts.vm.cpu.8u".into()),
                ("spec|resource|pool_id", "gpu".into()),
            ]),
            Some((400, 2781, "not found")),
        ),
        (
            "flavor-of-pool",
            i(&[
                ("spec|resource|flavor_id", "modelarts.pool.visual.16xlarge".into()),
                ("spec|resource|pool_id", "gpu".into()),
            ]),
            None,
        ),
        ("flavor-exists", s(&[]), None),
        (
            "flavor-fits-algorithm",
            a(&[("spec|resource|flavor_id", "modelarts.p3.large.public".into())]),
            Some((400, 2763, "flavor is invalid")),
        ),
        (
            "flavor-fits-algorithm",
            a(&[("spec|resource|node_count", 2.into())]),
            Some((400, 2763, "flavor is invalid")),
        ),
        ("flavor-fits-algorithm", a(&[("spec|resource|node_count", 1.into())]), None),
        (
            "flavor-fits-engine",
            s(&[
                ("algorithm|engine", json!({"engine_id": "xgboost-sklearn-python3.6"})),
                ("spec|resource|flavor_id", "modelarts.p3.large.public".into()),
            ]),
            Some((400, 2840, "cannot be supported on this flavor")),
        ),
        (
            "flavor-fits-engine",
            s(&[("algorithm|engine", json!({"engine_id": "xgboost-sklearn-python3.6"}))]),
            None,
        ),
        (
            "nodes-of-flavor",
            s(&[("spec|resource|node_count", 17.into())]),
            Some((400, 2793, "(17) exceeds the maximum (16)")),
        ),
        (
            "nodes-of-flavor",
            s(&[
                ("spec|resource|flavor_id", "modelarts.vm.cpu.2u".into()),
                ("spec|resource|node_count", 2.into()),
            ]),
            Some((400, 2793, "(2) exceeds the maximum (1)")),
        ),
        (
            "nodes-of-flavor",
            i(&[("spec|resource|node_count", 5.into())]),
            Some((400, 2793, "(5) exceeds the maximum (4)")),
        ),
        ("nodes-of-flavor", s(&[("spec|resource|node_count", 16.into())]), None),
        (
            "user-id-number",
            s(&[("algorithm|engine|run_user", "root".into())]),
            Some((400, 2825, "run_user")),
        ),
        ("user-id-number", s(&[("algorithm|engine|run_user", "".into())]), None),
        (
            "user-id-most",
            i(&[("algorithm|engine|run_user", "65536".into())]),
            Some((400, 2816, "exceeds the upper limit 65535")),
        ),
        ("user-id-most", i(&[("algorithm|engine|run_user", "65535".into())]), None),
        (
            "user-id-least",
            s(&[("algorithm|engine|run_user", "999".into())]),
            Some((400, 2855, "run_user < 1000")),
        ),
        ("user-id-least", s(&[("algorithm|engine|run_user", 1000.into())]), None),
        ("user-id-least", i(&[("algorithm|engine|run_user", "0".into())]), None),
        (
            "priority-most",
            i(&[("spec|schedule_policy|priority", 4.into())]),
            Some((400, 2816, "upper limit 3")),
        ),
        (
            "priority-needs-pool",
            s(&[("spec|schedule_policy|priority", 2.into())]),
            Some((400, 2816, "upper limit 1")),
        ),
        ("priority-needs-pool", s(&[("spec|schedule_policy|priority", 1.into())]), None),
        ("priority-most", i(&[("spec|schedule_policy|priority", 3.into())]), None),
        (
            "priority-permission",
            i(&[("spec|schedule_policy|priority", 3.into()), ("metadata|name", "modest".into())]),
            Some((403, 108, "setHighPriority")),
        ),
        (
            "priority-permission",
            i(&[("spec|schedule_policy|priority", 2.into()), ("metadata|name", "modest".into())]),
            None,
        ),
        (
            "affinity-group-size",
            i(&[("spec|schedule_policy|required_affinity|affinity_type", "hyperinstance".into())]),
            Some((400, 2788, "affinity_group_size is required")),
        ),
        (
            "affinity-group-size",
            i(&[
                ("spec|schedule_policy|required_affinity|affinity_type", "hyperinstance".into()),
                ("spec|resource|pool_id", "super".into()),
            ]),
            None,
        ),
        (
            "affinity-group-size",
            i(&[(
                "spec|schedule_policy|required_affinity",
                json!({"affinity_type": "hyperinstance", "affinity_group_size": 1}),
            )]),
            None,
        ),
        (
            "affinity-group-size",
            i(&[(
                "spec|schedule_policy|required_affinity|affinity_type",
                "networkTopology".into(),
            )]),
            Some((400, 2788, "is required with networkTopology")),
        ),
        (
            "affinity-group-size",
            i(&[("spec|schedule_policy|required_affinity|affinity_type", "cabinet".into())]),
            None,
        ),
        ("condition-values", condition("In", json!([])), Some((400, 2788, "In must have values"))),
        ("condition-values", condition("In", json!(["a"])), None),
        (
            "condition-values",
            condition("Exists", json!(["a"])),
            Some((400, 2788, "Exists must have no values")),
        ),
        ("condition-values", condition("DoesNotExist", Value::Null), None),
        (
            "condition-values",
            condition("Gt", json!(["1", "2"])),
            Some((400, 2788, "one value, an integer")),
        ),
        (
            "condition-values",
            condition("Lt", json!(["few"])),
            Some((400, 2788, "one value, an integer")),
        ),
        ("condition-values", condition("Gt", json!(["-1"])), None),
        (
            "condition-values",
            i(&[(
                "spec|schedule_policy|preferred_affinity|node_affinity",
                json!([{"weight": 1, "preference": {"matchFields": [{"key": "k",
                    "operator": "NotIn"}]}}]),
            )]),
            Some((400, 2788, "NotIn must have values")),
        ),
        (
            "volume-one-kind",
            i(&[("spec|volumes", json!([{}]))]),
            Some((400, 2788, "spec.volumes[0] must have one of")),
        ),
        (
            "volume-one-kind",
            i(&[(
                "spec|volumes",
                json!([{"obs": {"obs_path": "/bucket/v/", "local_path": "/mnt"}}]),
            )]),
            None,
        ),
        (
            "nfs-needs-pool",
            s(&[("spec|volumes", json!([nfs(0)]))]),
            Some((400, 2788, "dedicated pool")),
        ),
        ("nfs-needs-pool", i(&[("spec|volumes", json!([nfs(0)]))]), None),
        (
            "volumes-at-most-8",
            i(&[(
                "spec|volumes",
                (0..8)
                    .map(nfs)
                    .chain([json!({"obs": {"obs_path": "/bucket/v/", "local_path": "/mnt"}})])
                    .collect(),
            )]),
            Some((400, 2788, "at most 8")),
        ),
        ("volumes-at-most-8", i(&[("spec|volumes", (0..8).map(nfs).collect())]), None),
        (
            "volume-once",
            i(&[(
                "spec|volumes",
                json!([nfs(1), with(nfs(2), &[("nfs|nfs_server_path", "10.0.0.1:/1/".into())])]),
            )]),
            Some((400, 2788, "must mount 10.0.0.1:/1/ once")),
        ),
        (
            "volume-once",
            i(&[(
                "spec|volumes",
                json!([{"pfs": {"pfs_path": "/bucket/p/", "local_path": "/mnt/1"}},
                    {"pfs": {"pfs_path": "/bucket/p", "local_path": "/mnt/2"}}]),
            )]),
            Some((400, 2788, "must mount /bucket/p once")),
        ),
        ("volume-once", i(&[("spec|volumes", json!([nfs(1), nfs(2)]))]), None),
        (
            "volume-places-different",
            i(&[(
                "spec|volumes",
                json!([nfs(1), with(nfs(2), &[("nfs|local_path", "/mnt/1/".into())])]),
            )]),
            Some((400, 2788, "one volume at /mnt/1")),
        ),
        ("volume-places-different", i(&[("spec|volumes", json!([nfs(1), nfs(2)]))]), None),
        ("volume-default-mount", mount("/"), Some((400, 2788, "must not be mounted at /"))),
        (
            "volume-default-mount",
            mount("/cache/"),
            Some((400, 2788, "must not be mounted at /cache")),
        ),
        (
            "volume-default-mount",
            mount("/home/ma-user/modelarts"),
            Some((400, 2788, "must not be mounted")),
        ),
        ("volume-path-plain", mount("/mnt/../etc"), Some((400, 2788, "must not be mounted"))),
        ("volume-default-mount", mount("/home/ma-user/work"), None),
        ("volume-path-plain", mount("/mnt/etc"), None),
        (
            "volume-over-home",
            mount("/home/ma-user/modelarts/log"),
            Some((400, 2788, "must not be mounted at /home/ma-user/modelarts/log")),
        ),
        (
            "volume-over-home",
            mount("/home/ma-user/"),
            Some((400, 2788, "must not be mounted at /home/ma-user")),
        ),
        ("volume-over-home", mount("/home/ma-user/work"), None),
        (
            "volume-over-channel",
            with(
                mount("/home/x"),
                &[(
                    "algorithm|inputs",
                    json!([with(obs("a"), &[("local_dir", "/home/x/".into())])]),
                )],
            ),
            Some((400, 2788, "must not be mounted at /home/x")),
        ),
        (
            "volume-over-channel",
            with(
                mount("/home/y"),
                &[(
                    "algorithm|inputs",
                    json!([with(obs("a"), &[("local_dir", "/home/x/".into())])]),
                )],
            ),
            None,
        ),
        (
            "metrics-url-and-port",
            s(&[("spec|custom_metrics", json!([{"metrics_url": "/m"}]))]),
            Some((400, 2788, "metrics_url and metrics_port")),
        ),
        (
            "metrics-url-and-port",
            s(&[("spec|custom_metrics", json!([{"metrics_port": 80}]))]),
            Some((400, 2788, "metrics_url and metrics_port")),
        ),
        (
            "metrics-url-and-port",
            s(&[(
                "spec|custom_metrics",
                json!([{"metrics_url": "/raw_text", "metrics_port": 5006},
                    {"http_get": {"path": "/m", "port": 20000}}]),
            )]),
            None,
        ),
        (
            "metrics-one-form",
            s(&[(
                "spec|custom_metrics",
                json!([{"exec": {"command": ["a", "b"]}, "http_get": {"path": "/m",
                    "port": 10001}}]),
            )]),
            Some((400, 2788, "must have one of metrics_url, exec and http_get")),
        ),
        (
            "metrics-one-form",
            s(&[("spec|custom_metrics", json!([{}]))]),
            Some((400, 2788, "must have one of")),
        ),
        (
            "metrics-one-form",
            s(&[("spec|custom_metrics", json!([{"exec": {"command": ["/bin/a", "-b"]}}]))]),
            None,
        ),
        (
            "summary-log-dir",
            s(&[("algorithm|summary", json!({"log_type": "tensorboard"}))]),
            Some((400, 2788, "log_dir is required")),
        ),
        (
            "summary-log-dir",
            s(&[(
                "algorithm|summary",
                json!({"log_type": "tensorboard",
                    "log_dir": {"pfs": {"pfs_path": "/bucket/logs/"}}}),
            )]),
            None,
        ),
        (
            "board-data-sources",
            s(&[("metadata|annotations|mindstudio-insight/enable", "true".into())]),
            Some((400, 2788, "data_sources is required")),
        ),
        (
            "board-data-sources",
            s(&[
                ("metadata|annotations|mindstudio-insight/enable", "true".into()),
                ("algorithm|summary|data_sources", json!([{"job": {"job_id": "x"}}])),
            ]),
            None,
        ),
        (
            "board-data-sources",
            s(&[("metadata|annotations|tensorboard/enable", "false".into())]),
            None,
        ),
        (
            "search-config-yaml",
            s(&[("algorithm|autosearch_config_path", "/bucket/x.json".into())]),
            Some((400, 2788, "YAML")),
        ),
        (
            "search-config-yaml",
            s(&[("algorithm|autosearch_config_path", "/bucket/x.yaml".into())]),
            None,
        ),
        (
            "obs-paths",
            s(&[("spec|log_export_path|obs_url", "bucket/logs".into())]),
            Some((400, 2791, "must start with obs:// or /")),
        ),
        ("obs-paths", s(&[("algorithm|autosearch_framework_path", "/framework/".into())]), None),
        (
            "obs-paths",
            s(&[(
                "algorithm|outputs",
                json!([{"name": "o", "remote": {"obs": {"obs_url": "/bucket/door"}}}]),
            )]),
            Some((400, 2791, "leads out")),
        ),
        ("obs-paths", s(&[("spec|log_export_path|obs_url", "obs://new-bucket".into())]), None),
        (
            "bucket-not-encrypted",
            s(&[(
                "algorithm|outputs",
                json!([{"name": "o", "remote": {"obs": {"obs_url": "/secret/out/"}}}]),
            )]),
            Some((400, 2791, "encrypted")),
        ),
        ("bucket-not-encrypted", s(&[("algorithm|outputs", json!([obs("o")]))]), None),
        (
            "code-dir-exists",
            i(&[("algorithm|code_dir", "/bucket/none/".into())]),
            Some((400, 2802, "Invalid codeDir path: /bucket/none/")),
        ),
        ("code-dir-exists", i(&[("algorithm|code_dir", "/bucket/code/".into())]), None),
        ("code-dir-files", code("too-full"), Some((400, 2759, "A maximum of 1000 files"))),
        ("code-dir-files", code("full"), None),
        ("code-dir-depth", code("too-deep"), Some((400, 2760, "up to 32 directories"))),
        ("code-dir-depth", code("deep"), None),
        ("code-dir-size", code("too-big"), Some((400, 2761, "up to 5 GB"))),
        ("code-dir-size", code("big"), None),
        (
            "boot-file-exists",
            s(&[("algorithm|boot_file", "/bucket/code/none.py".into())]),
            Some((400, 2758, "startup file")),
        ),
        ("boot-file-exists", s(&[]), None),
        (
            "input-exists",
            s(&[("algorithm|inputs", json!([obs("none")]))]),
            Some((400, 2791, "/bucket/none/, reason: not a directory")),
        ),
        (
            "input-exists",
            s(&[(
                "algorithm|inputs",
                json!([{"name": "a", "remote": {"obs": {"obs_url": "/bucket/code/train.py"}}}]),
            )]),
            Some((400, 2791, "not a directory")),
        ),
        ("input-exists", s(&[("algorithm|inputs", json!([obs("code")]))]), None),
    ]
}
