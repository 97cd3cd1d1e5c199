//! The offer of the service: engines, flavors, quotas, kinds of events, search algorithms.

use serde_json::{Value, json};

use crate::{
    api::{error::ApiError, json_field::JsonField},
    catalog::{engines::Engine, flavors::Flavor},
    handlers::call::{ApiCall, ApiResult, bad_param, ok},
};

pub(super) fn engines() -> ApiResult {
    ok(Engine::list())
}

pub(super) fn flavors(call: &ApiCall<'_>) -> ApiResult {
    ok(Flavor::list(
        call.choice("flavor_type", &["CPU", "GPU", "Ascend"])?,
    ))
}

pub(super) fn pool_flavor(call: &ApiCall<'_>) -> ApiResult {
    let flavor_id = call.param("flavor_id")?;
    let flavor_id = flavor_id.ok_or_else(|| bad_param("flavor_id"))?;
    let pool_id = call.param("pool_id")?.ok_or_else(|| bad_param("pool_id"))?;
    if !call.state.offer.pools.iter().any(|pool| pool.id == pool_id) {
        return Err(ApiError::of(2890, &[&pool_id]));
    }
    let flavor = Flavor::find(&flavor_id).ok_or_else(|| ApiError::of(2781, &[&flavor_id]))?;
    let (cores, gigabytes) = flavor.size();
    ok(json!({"cpu_core_num": cores, "mem_size": gigabytes}))
}

// ---- quotas ----

const RESOURCES: [&str; 4] = [
    "job-num",
    "visual-job-num",
    "job-retention-enabled",
    "job-num-quota-notify",
];

pub(super) fn quotas(call: &ApiCall<'_>) -> ApiResult {
    let resource = call.choice("resource", &RESOURCES)?;
    let project = &call.user.project_id;
    let used = call.state.store.count(project)?;
    let mut rows: Vec<Value> = Vec::new();
    for name in RESOURCES {
        if resource.is_none_or(|resource| resource == name)
            && let Some(quota) = call.state.quotas.get(project, name)?
        {
            let used = if name == "job-num" { used } else { 0 };
            rows.push(json!({"resource": name, "quota": quota, "used": used}));
        }
    }
    ok(json!({"quotas": rows}))
}

pub(super) fn modify_quotas(call: &ApiCall<'_>) -> ApiResult {
    let body = call.json()?;
    let root = JsonField::root(&body);
    root.required("user_id")?.text()?;
    let mut wanted = Vec::new();
    for item in root.required("quotas")?.items()? {
        let resource = item.required("resource")?;
        let name = RESOURCES
            .into_iter()
            .find(|name| resource.text() == Ok(*name));
        let name =
            name.ok_or_else(|| resource.must(format!("be one of [{}]", RESOURCES.join(" "))))?;
        let quota = item.required("quota")?;
        let most = match name {
            "job-retention-enabled" => 1,
            "job-num-quota-notify" => 0,
            _ => i64::from(i32::MAX),
        };
        let number = quota.integer()?;
        if !(0..=most).contains(&number) {
            return Err(quota.must(format!("be between 0 and {most}")));
        }
        wanted.push((name, number));
    }
    for (name, number) in wanted {
        call.state.quotas.set(&call.user.project_id, name, number)?;
    }
    ok(body)
}

// ---- events ----

/// The events of a notification. Only jobs with cards can hang.
pub(super) fn event_categories(call: &ApiCall<'_>) -> ApiResult {
    let flavor = call.choice("flavor_type", &["CPU", "GPU", "Ascend"])?;
    let rows: Vec<Value> = [
        ("JobStarted", "The job starts to run."),
        ("JobCompleted", "The job has ended well."),
        ("JobFailed", "The job has failed."),
        ("JobTerminated", "The job has been stopped."),
        ("JobRestarted", "The job has been started again."),
        ("JobHanged", "The job may be suspended."),
        ("JobPreempted", "Another job has taken the nodes."),
    ]
    .iter()
    .filter(|(id, _)| !(flavor == Some("CPU") && *id == "JobHanged"))
    .map(|(id, description)| {
        json!({"id": id, "name": id, "description": description, "notification": true})
    })
    .collect();
    ok(json!({"event-categories": rows}))
}
