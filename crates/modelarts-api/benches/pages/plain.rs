//! Plain structs with the fields of the pages, and with the code that serde derives.

// A real program would read all decoded fields; a benchmark does not.
#![allow(dead_code)]

use std::collections::BTreeMap;

use serde::Deserialize;

/// Declares structs that serde decodes. All their fields are public.
macro_rules! structs {
    ($($name:ident { $($field:ident: $type:ty),+ $(,)? })+) => {
        $(
            #[derive(Deserialize)]
            pub struct $name {
                $(pub $field: $type),+
            }
        )+
    };
}

structs! {
    Events {
        total: i64, limit: i64, offset: i64, order: String, start_time: String, end_time: String,
        events: Vec<Event>,
    }
    Event { time: String, level: String, source: String, message: String }
    Jobs {
        total: i64, count: i64, limit: i64, offset: i64, sort_by: String, order: String,
        group_by: String, workspace_id: String, items: Vec<Job>,
    }
    Job { kind: String, metadata: Metadata, status: Status, algorithm: Algorithm, spec: Spec }
    Metadata {
        id: String, name: String, description: String, create_time: i64, workspace_id: String,
        user_name: String, annotations: BTreeMap<String, String>,
    }
    Status {
        phase: String, secondary_phase: String, duration: i64, start_time: i64,
        node_count_metrics: Vec<Vec<i64>>, tasks: Vec<String>,
    }
    Algorithm {
        code_dir: String, boot_file: String, parameters: Vec<Parameter>, inputs: Vec<Channel>,
        outputs: Vec<Channel>, engine: Engine,
    }
    Parameter { name: String, value: String, description: String, constraint: Constraint }
    Constraint {
        r#type: String, editable: bool, required: bool, sensitive: bool, valid_type: String,
        valid_range: Vec<String>,
    }
    Channel {
        name: String, local_dir: String, remote: Remote, mode: Option<String>,
        period: Option<String>,
    }
    Remote { obs: Obs }
    Obs { obs_url: String }
    Engine {
        engine_id: String, engine_name: String, engine_version: String, usage: String,
        v1_compatible: bool, run_user: String,
    }
    Spec { resource: Resource, log_export_path: LogExportPath, is_hosted_log: bool }
    LogExportPath { obs_url: Option<String> }
    Resource {
        flavor_id: String, flavor_name: String, node_count: i64, flavor_detail: FlavorDetail,
    }
    FlavorDetail { flavor_type: String, billing: Billing, flavor_info: FlavorInfo }
    Billing { code: String, unit_num: i64 }
    FlavorInfo { cpu: Cpu, memory: Size, disk: Size }
    Cpu { arch: String, core_num: i64 }
    Size { size: i64, unit: String }
}
