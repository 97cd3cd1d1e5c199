//! Table of the fields of CreateTrainingJob. Each row contains names, need, handling and type.
//!
//! [`field_spec`] defines the form of a row. [`ignored`] finds fields without an effect, and
//! [`visible`] finds fields that responses return.
//!
//! A request with a field that violates its row is rejected with `ModelArts.2788` and the name of
//! the field. A test compares the table with the OpenAPI description. The table must contain all
//! fields, and must accept every value that the description permits, except in the rows that the
//! test lists. FIELDS.md is generated from the third column, the handling.

pub(crate) mod field_spec;
pub(crate) mod ignored;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod visible;

use crate::validation::fields::field_spec::{
    Handling::{Acted, Echoed, ReadOnly, Refused, Silent, Stored, Unshown},
    Need::{Optional, Required},
    Type::{
        self, Above, Any, AtMost, Between, Bool, Decimal, Exactly, Known, List, Name, Number,
        Object, OneOf, Open, Plain, Text, Texts, UpTo,
    },
};

const MANY: usize = usize::MAX;
/// Any 32-bit integer, as in the OpenAPI description.
const INTEGER: Type = Number(i32::MIN as i64, i32::MAX as i64);
const PARAMETER_TYPES: &[&str] = &["String", "Integer", "Float", "Boolean"];
const OBS_URL: Type = Object(&[(&["obs_url"], Required, Acted, Text)]);

const OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];
/// Condition on nodes, with an array of comparisons in each member.
#[rustfmt::skip]
const TERM: Type = Object(&[
    (&["matchExpressions", "matchFields"], Optional, Stored, List(&Object(&[
        (&["key"], Required, Stored, Text),
        (&["operator"], Required, Stored, OneOf(OPERATORS)),
        (&["values"], Optional, Stored, List(&Text)),
    ]))),
]);

#[rustfmt::skip]
const TASK_DATASET: Type = Object(&[
    (&["id"], Required, Refused, Text),
    (&["version_id", "obs_url", "service_type", "name"], Optional, Refused, Text),
    (&["dataset_proportion"], Optional, Refused, Number(1, 100)),
]);

#[rustfmt::skip]
const TASK_ENGINE: Type = Object(&[
    (&["engine_id", "engine_name", "engine_version", "image_url"], Optional, Acted, Text),
    (&["run_user"], Optional, Stored, Text),
]);

/// Type of the CreateTrainingJob body.
#[rustfmt::skip]
pub(crate) static CREATION: Type = Object(&[
    (&["kind"], Required, Acted, Text),
    (&["metadata"], Required, Acted, Object(&[
        (&["name"], Required, Acted, Name),
        (&["description"], Optional, Echoed, UpTo(256)),
        (&["workspace_id"], Optional, Acted, Text),
        (&["annotations"], Optional, Acted, Texts(MANY, MANY, MANY, &[
            (&[
                "fault-tolerance/pod-retry-num", "fault-tolerance/hccl_op_retry", "job_template",
                "jupyter-lab/enable", "mindstudio-insight/enable",
                "performance_diagnosis_enabled", "record/code-dir", "tensorboard/enable",
            ], Optional, Stored, Text),
        ])),
        (&["training_experiment_reference"], Optional, Echoed, Object(&[
            (&["id"], Optional, Acted, Text),
            (&["name"], Optional, Echoed, UpTo(64)),
            (&["description"], Optional, Silent, UpTo(256)),
        ])),
        (&["id", "create_time", "user_name"], Optional, ReadOnly, Any),
    ])),
    (&["status"], Optional, ReadOnly, Any),
    (&["algorithm"], Optional, Acted, Object(&[
        (&["id"], Optional, Acted, Text),
        (&["name"], Optional, Echoed, Text),
        (&[
            "subscription_id", "item_version_id", "code_dir", "boot_file", "command",
            "local_code_dir", "working_dir",
        ], Optional, Acted, Text),
        (&["autosearch_config_path", "autosearch_framework_path"], Optional, Stored, Text),
        (&["engine"], Optional, Acted, Object(&[
            (&["engine_id", "engine_name", "engine_version", "image_url"], Optional, Acted, Text),
            (&["image_repo_id"], Optional, Stored, Text),
            (&["install_sys_packages"], Optional, Stored, Bool),
            (&["run_user"], Optional, Stored, Any),
        ])),
        (&["parameters"], Optional, Acted, List(&Object(&[
            (&["name"], Required, Acted, Name),
            (&["value"], Optional, Acted, Text),
            (&["description"], Optional, Echoed, Text),
            (&["constraint"], Optional, Acted, Object(&[
                (&["type"], Optional, Acted, Text),
                (&["editable"], Optional, Echoed, Bool),
                (&["required"], Optional, Acted, Bool),
                (&["sensitive"], Optional, Echoed, Bool),
                (&["valid_type"], Optional, Acted, Open(&["Choice", "Range", "None"])),
                (&["valid_range"], Optional, Acted, List(&Text)),
            ])),
            (&["i18n_description"], Optional, Echoed, Object(&[
                (&["language"], Optional, Echoed, OneOf(&["zh-cn", "en-us"])),
                (&["description"], Optional, Echoed, Text),
            ])),
        ]))),
        (&["policies"], Optional, Acted, Object(&[
            (&["auto_search"], Optional, Acted, Object(&[
                (&["skip_search_params"], Optional, Acted, Text),
                (&["reward_attrs"], Optional, Acted, List(&Object(&[
                    (&["name"], Optional, Acted, Text),
                    (&["mode"], Optional, Acted, Known(&["max", "min"])),
                    (&["regex"], Optional, Acted, Text),
                ]))),
                (&["search_params"], Optional, Acted, List(&Object(&[
                    (&["name"], Required, Acted, Name),
                    (&["param_type"], Optional, Acted, Known(&["continuous", "discrete"])),
                    (&[
                        "lower_bound", "upper_bound", "discrete_points_num",
                    ], Optional, Acted, Text),
                    (&["discrete_values"], Optional, Acted, List(&Text)),
                ]))),
                (&["algo_configs"], Optional, Acted, List(&Object(&[
                    (&["name"], Required, Acted, Text),
                    (&["params"], Optional, Acted, List(&Object(&[
                        (&["key", "value", "type"], Optional, Acted, Text),
                    ]))),
                ]))),
            ])),
        ])),
        (&["inputs"], Optional, Acted, List(&Object(&[
            (&["name"], Optional, Acted, Name),
            (&["description"], Optional, Echoed, Text),
            (&["local_dir"], Optional, Acted, Text),
            (&["access_method"], Optional, Acted, Open(&["parameter", "env"])),
            (&["remote"], Required, Acted, Object(&[
                (&["obs"], Optional, Acted, OBS_URL),
                (&["dataset"], Optional, Acted, Object(&[
                    (&["id"], Required, Acted, Text),
                    (&["version_id", "service_type"], Optional, Acted, Text),
                    (&["name"], Optional, Echoed, Text),
                    (&["dataset_proportion"], Optional, Unshown, Number(1, 100)),
                    (&["obs_url"], Optional, ReadOnly, Any),
                ])),
            ])),
            (&["remote_constraint"], Optional, Stored, List(&Object(&[
                (&["data_type"], Optional, Stored, Text),
                (&["attributes"], Optional, Stored, Any),
            ]))),
        ]))),
        (&["outputs"], Optional, Acted, List(&Object(&[
            (&["name"], Required, Acted, Name),
            (&["description"], Optional, Echoed, Text),
            (&["local_dir"], Optional, Acted, Text),
            (&["access_method"], Optional, Acted, Open(&["parameter", "env"])),
            (&["prefetch_to_local"], Optional, Acted, Bool),
            (&["mode"], Optional, Acted, Open(&["upload_periodically"])),
            (&["period"], Optional, Acted, Any),
            (&["remote"], Required, Acted, Object(&[
                (&["obs"], Optional, Acted, OBS_URL),
                (&["modelarts_hosted"], Optional, Refused, Any),
            ])),
        ]))),
        (&["environments"], Optional, Acted, Texts(100, 8192, 4096, &[])),
        (&["summary"], Optional, Stored, Object(&[
            (&["log_type"], Optional, Stored, Text),
            (&["log_dir"], Optional, Stored, Object(&[
                (&["pfs"], Required, Stored, Object(&[(&["pfs_path"], Required, Stored, Text)])),
            ])),
            (&["data_sources"], Optional, Stored, List(&Object(&[
                (&["job"], Required, Stored, Object(&[(&["job_id"], Required, Stored, Text)])),
                (&["nfs"], Optional, Unshown, Object(&[(&["nfs_path"], Required, Unshown, Text)])),
            ]))),
        ])),
    ])),
    (&["spec"], Optional, Acted, Object(&[
        (&["resource"], Optional, Acted, Object(&[
            (&["flavor_id", "pool_id"], Optional, Acted, Text),
            (&["node_count"], Optional, Acted, Number(1, i64::MAX)),
            (&["pool_group_id"], Optional, Stored, Text),
            (&["main_container_customized_flavor"], Optional, Stored, Object(&[
                (&["cpu_core_num", "mem_size"], Optional, Stored, Above(0.0)),
                (&["accelerator_num"], Optional, Stored, Decimal(0.0, f64::MAX)),
            ])),
            (&["flavor_name", "flavor_detail"], Optional, ReadOnly, Any),
        ])),
        (&["volumes"], Optional, Acted, List(&Object(&[
            (&["nfs"], Optional, Acted, Object(&[
                (&["nfs_server_path", "local_path"], Optional, Acted, Text),
                (&["read_only"], Optional, Stored, Bool),
            ])),
            (&["pfs"], Optional, Acted, Object(&[
                (&["pfs_path", "local_path"], Optional, Acted, Text),
            ])),
            (&["obs"], Optional, Acted, Object(&[
                (&["obs_path", "local_path"], Optional, Acted, Text),
            ])),
        ]))),
        (&["log_export_path"], Optional, Acted, Object(&[
            (&["obs_url"], Optional, Acted, Text),
            (&["host_path"], Optional, Stored, Text),
        ])),
        (&["auto_stop"], Optional, Acted, Object(&[
            (&["time_unit"], Required, Acted, Known(&["HOURS"])),
            (&["duration"], Required, Acted, Number(1, 72)),
        ])),
        (&["schedule_policy"], Optional, Acted, Object(&[
            (&["priority"], Optional, Acted, Number(0, i64::MAX)),
            (&["preemptible"], Optional, Acted, Bool),
            (&["required_affinity"], Optional, Stored, Object(&[
                (&["affinity_type"], Optional, Stored, Text),
                (&["affinity_group_size"], Optional, Stored, Number(1, i64::MAX)),
                (&["affinity_group_level", "job_level"], Optional, Stored, Text),
                (&["node_affinity"], Optional, Stored, Object(&[
                    (&["nodeSelectorTerms"], Required, Stored, List(&TERM)),
                ])),
            ])),
            (&["preferred_affinity"], Optional, Stored, Object(&[
                (&["node_affinity"], Optional, Stored, List(&Object(&[
                    (&["weight"], Optional, Stored, Number(0, 100)),
                    (&["preference"], Optional, Stored, TERM),
                ]))),
            ])),
        ])),
        (&["notification"], Optional, Stored, Object(&[
            (&["topic_urn"], Optional, Stored, Text),
            (&["events"], Optional, Stored, List(&Text)),
        ])),
        (&["custom_metrics"], Optional, Stored, List(&Object(&[
            (&["metrics_url"], Optional, Stored, Text),
            (&["metrics_port"], Optional, Stored, INTEGER),
            (&["exec"], Optional, Stored, Object(&[
                (&["command"], Optional, Stored, Exactly(2, &Plain(256))),
            ])),
            (&["http_get"], Optional, Stored, Object(&[
                (&["path"], Optional, Stored, Between(2, 128)),
                (&["port"], Optional, Stored, Number(10_001, 20_000)),
            ])),
        ]))),
        (&["runtime_type"], Optional, Stored, Text),
        (&["retention"], Optional, Unshown, Object(&[
            (&["policy"], Optional, Unshown, OneOf(&["enabled", "disabled"])),
        ])),
        (&["log_export_config"], Optional, Stored, Object(&[
            (&["version"], Optional, Stored, Text),
            (&["rotation_enabled"], Optional, Stored, Bool),
        ])),
        (&["output_model"], Optional, Stored, Object(&[
            (&["obs"], Optional, Stored, Object(&[
                (&["obs_path"], Required, Stored, Text),
                (&["local_path"], Optional, Stored, Text),
            ])),
        ])),
        (&["asset_model"], Optional, Stored, Object(&[
            (&["name"], Required, Stored, Text),
            (&["code"], Optional, Stored, Text),
            (&["version"], Required, Stored, Text),
            (&["desc", "series"], Optional, Stored, Text),
            (&["type"], Required, Stored, Text),
            (&["model_desc", "parent_asset_id"], Optional, Unshown, Text),
        ])),
        (&["asset_id"], Optional, Unshown, Between(1, 100)),
        (&["reserved_time"], Optional, Unshown, Object(&[
            (&["time_unit"], Required, Unshown, Text),
            (&["duration"], Required, Unshown, Number(1, i64::MAX)),
        ])),
    ])),
    (&["endpoints"], Optional, Stored, Object(&[
        (&["ssh"], Optional, Stored, Object(&[
            (&["key_pair_names"], Optional, Stored, List(&Text)),
        ])),
    ])),
    (&["tasks"], Optional, Acted, List(&Object(&[
        (&["role"], Optional, Acted, Name),
        (&["algorithm"], Optional, Acted, Object(&[
            (&["job_config"], Optional, Acted, Object(&[
                (&["parameters"], Optional, Acted, List(&Object(&[
                    (&["name", "value"], Optional, Acted, Text),
                    (&["description"], Optional, Silent, Text),
                    (&["constraint"], Optional, Acted, Object(&[
                        (&["type"], Optional, Acted, OneOf(PARAMETER_TYPES)),
                        (&["editable"], Optional, Silent, Bool),
                        (&["required"], Optional, Acted, Bool),
                        (&["sensitive"], Optional, Silent, Bool),
                        (&["valid_type"], Optional, Acted, Open(&["Choice", "Range", "None"])),
                        (&["valid_range"], Optional, Acted, List(&Text)),
                    ])),
                    (&["i18n_description"], Optional, Silent, Object(&[
                        (&["language"], Optional, Silent, OneOf(&["zh-cn", "en-us"])),
                        (&["description"], Optional, Silent, Text),
                    ])),
                ]))),
                (&["inputs"], Optional, Acted, List(&Object(&[
                    (&["name"], Optional, Acted, Text),
                    (&["description"], Optional, Silent, Text),
                    (&["local_dir"], Optional, Acted, Text),
                    (&["access_method"], Optional, Acted, Open(&["parameter", "env"])),
                    (&["remote"], Required, Acted, Object(&[
                        (&["dataset"], Optional, Refused, TASK_DATASET),
                        (&["obs"], Optional, Acted, OBS_URL),
                    ])),
                    (&["remote_constraint"], Optional, Unshown, List(&Object(&[
                        (&["data_type", "attributes"], Optional, Unshown, Text),
                    ]))),
                ]))),
                (&["outputs"], Optional, Acted, List(&Object(&[
                    (&["name"], Required, Acted, Text),
                    (&["description"], Optional, Silent, Text),
                    (&["local_dir"], Optional, Acted, Text),
                    (&["access_method"], Optional, Acted, Open(&["parameter", "env"])),
                    (&["remote"], Required, Acted, Object(&[
                        (&["obs"], Required, Acted, OBS_URL),
                    ])),
                    (&["prefetch_to_local"], Optional, Acted, Bool),
                ]))),
                (&["engine"], Optional, Acted, TASK_ENGINE),
            ])),
            (&["code_dir", "boot_file", "command"], Optional, Acted, Text),
            (&["engine"], Optional, Acted, TASK_ENGINE),
            (&["inputs"], Optional, Acted, List(&Object(&[
                (&["name"], Required, Acted, Text),
                (&["description"], Optional, Silent, Text),
                (&["local_dir"], Optional, Acted, Text),
                (&["remote"], Required, Acted, Object(&[
                    (&["dataset"], Optional, Refused, TASK_DATASET),
                    (&["obs"], Optional, Acted, OBS_URL),
                ])),
            ]))),
            (&["outputs"], Optional, Acted, List(&Object(&[
                (&["name"], Required, Acted, Text),
                (&["description"], Optional, Silent, Text),
                (&["local_dir"], Optional, Acted, Text),
                (&["remote"], Required, Acted, Object(&[(&["obs"], Required, Acted, OBS_URL)])),
            ]))),
            (&["local_code_dir", "working_dir"], Optional, Acted, Text),
            (&["environments"], Optional, Acted, Texts(MANY, MANY, MANY, &[])),
        ])),
        (&["task_resource"], Optional, Acted, Object(&[
            (&["flavor_id"], Optional, Acted, Text),
            (&["node_count"], Required, Acted, Number(1, i64::MAX)),
            (&["pool_id"], Optional, Acted, Text),
        ])),
        (&["log_export_path"], Optional, Acted, Object(&[(&["obs_url"], Optional, Acted, Text)])),
    ]))),
    (&["train_type"], Optional, Unshown, Text),
    (&["ftjob_config"], Optional, Stored, Object(&[
        (&["ft_job_uuid", "ft_train_type", "model_type"], Optional, Stored, UpTo(100)),
        (&["train_output_path"], Optional, Stored, UpTo(36)),
        (&["train_process"], Optional, Stored, Decimal(0.0, 1.0)),
        (&["checkpoint_id"], Optional, Stored, UpTo(100)),
        (&["task_env"], Optional, Stored, Object(&[
            (&["envs"], Optional, Stored, AtMost(1000, &Object(&[
                (&["label"], Optional, Stored, UpTo(1000)),
                (&["des"], Optional, Stored, Text),
                (&["env_name", "env_type", "value"], Optional, Stored, UpTo(1000)),
                (&["modifiable", "displayable"], Optional, Stored, Bool),
                (&["used_steps"], Optional, Stored, AtMost(100, &UpTo(100))),
            ]))),
        ])),
        (&["checkpoint_config"], Optional, Stored, Object(&[
            (&["checkpoint_id"], Optional, Stored, UpTo(100)),
            (&["save_checkpoints_max"], Optional, Stored, Number(-1, 2147483647)),
            (&["skipped_steps", "restore_training"], Optional, Stored, Number(0, 2147483647)),
        ])),
    ])),
]);
