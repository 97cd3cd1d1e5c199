//! The answers that [`crate::decode`] reads, in plain structs that hold all of them.

// Decoded because a program would, not because this one looks at it.
#![allow(dead_code)]

use std::collections::BTreeMap;

use serde::Deserialize;

#[derive(Deserialize)]
pub struct Events {
    pub total: i64,
    pub limit: i64,
    pub offset: i64,
    pub order: String,
    pub start_time: String,
    pub end_time: String,
    pub events: Vec<Event>,
}

#[derive(Deserialize)]
pub struct Event {
    pub time: String,
    pub level: String,
    pub source: String,
    pub message: String,
}

#[derive(Deserialize)]
pub struct Jobs {
    pub total: i64,
    pub count: i64,
    pub limit: i64,
    pub offset: i64,
    pub sort_by: String,
    pub order: String,
    pub group_by: String,
    pub workspace_id: String,
    pub items: Vec<Job>,
}

#[derive(Deserialize)]
pub struct Job {
    pub kind: String,
    pub metadata: Metadata,
    pub status: Status,
    pub algorithm: Algorithm,
    pub spec: Spec,
}

#[derive(Deserialize)]
pub struct Metadata {
    pub id: String,
    pub name: String,
    pub description: String,
    pub create_time: i64,
    pub workspace_id: String,
    pub user_name: String,
    pub annotations: BTreeMap<String, String>,
}

#[derive(Deserialize)]
pub struct Status {
    pub phase: String,
    pub secondary_phase: String,
    pub duration: i64,
    pub start_time: i64,
    pub node_count_metrics: Vec<Vec<i64>>,
    pub tasks: Vec<String>,
}

#[derive(Deserialize)]
pub struct Algorithm {
    pub code_dir: String,
    pub boot_file: String,
    pub parameters: Vec<Parameter>,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub engine: Engine,
}

#[derive(Deserialize)]
pub struct Parameter {
    pub name: String,
    pub value: String,
    pub description: String,
    pub constraint: Constraint,
}

#[derive(Deserialize)]
pub struct Constraint {
    pub r#type: String,
    pub editable: bool,
    pub required: bool,
    pub sensitive: bool,
    pub valid_type: String,
    pub valid_range: Vec<String>,
}

#[derive(Deserialize)]
pub struct Input {
    pub name: String,
    pub local_dir: String,
    pub remote: Remote,
}

#[derive(Deserialize)]
pub struct Output {
    pub name: String,
    pub local_dir: String,
    pub remote: Remote,
    pub mode: String,
    pub period: String,
}

#[derive(Deserialize)]
pub struct Remote {
    pub obs: Obs,
}

#[derive(Deserialize)]
pub struct Obs {
    pub obs_url: String,
}

#[derive(Deserialize)]
pub struct Engine {
    pub engine_id: String,
    pub engine_name: String,
    pub engine_version: String,
    pub usage: String,
    pub v1_compatible: bool,
    pub run_user: String,
}

#[derive(Deserialize)]
pub struct Spec {
    pub resource: Resource,
    pub log_export_path: LogExportPath,
    pub is_hosted_log: bool,
}

#[derive(Deserialize)]
pub struct LogExportPath {
    pub obs_url: Option<String>,
}

#[derive(Deserialize)]
pub struct Resource {
    pub flavor_id: String,
    pub flavor_name: String,
    pub node_count: i64,
    pub flavor_detail: FlavorDetail,
}

#[derive(Deserialize)]
pub struct FlavorDetail {
    pub flavor_type: String,
    pub billing: Billing,
    pub flavor_info: FlavorInfo,
}

#[derive(Deserialize)]
pub struct Billing {
    pub code: String,
    pub unit_num: i64,
}

#[derive(Deserialize)]
pub struct FlavorInfo {
    pub cpu: Cpu,
    pub memory: Amount,
    pub disk: Amount,
}

#[derive(Deserialize)]
pub struct Cpu {
    pub arch: String,
    pub core_num: i64,
}

#[derive(Deserialize)]
pub struct Amount {
    pub size: i64,
    pub unit: String,
}
