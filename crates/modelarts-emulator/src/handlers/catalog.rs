//! Engines, flavors, quotas, kinds of events and search algorithms.

use serde_json::{Value, json};

use crate::{
    api::{
        error::ApiError,
        json_field::JsonField,
        response::{Reply, ok},
    },
    catalog::{engines::Engine, flavors::Flavor},
    handlers::call::ApiCall,
};

const FLAVOR_TYPES: [&str; 3] = ["CPU", "GPU", "Ascend"];

pub(super) fn engines() -> Reply {
    ok(Engine::list())
}

pub(super) fn flavors(call: &ApiCall<'_>) -> Reply {
    ok(Flavor::list(call.choice("flavor_type", &FLAVOR_TYPES)?))
}

pub(super) fn pool_flavor(call: &ApiCall<'_>) -> Reply {
    let flavor_id = call.required_param("flavor_id")?;
    let pool_id = call.required_param("pool_id")?;
    if !call.state.offer.pools.iter().any(|pool| pool.id == pool_id) {
        return Err(ApiError::of(2890, &[&pool_id]));
    }
    let flavor = Flavor::find(&flavor_id).ok_or_else(|| ApiError::of(2781, &[&flavor_id]))?;
    let (cores, gigabytes) = flavor.size();
    ok(json!({"cpu_core_num": cores, "mem_size": gigabytes}))
}

// ---- quotas ----

const QUOTAS: [(&str, i64); 4] = [
    ("job-num", i32::MAX as i64),
    ("visual-job-num", i32::MAX as i64),
    ("job-retention-enabled", 1),
    ("job-num-quota-notify", 0),
];

pub(super) fn quotas(call: &ApiCall<'_>) -> Reply {
    let resource = call.choice("resource", &QUOTAS.map(|(name, _)| name))?;
    let project = &call.user.project_id;
    let jobs = call.state.store.count(project)?;
    let mut rows: Vec<Value> = Vec::new();
    for (name, _) in QUOTAS {
        if resource.is_none_or(|resource| resource == name)
            && let Some(quota) = call.state.records.quotas.get(project, name)?
        {
            let used = if name == "job-num" { jobs } else { 0 };
            rows.push(json!({"resource": name, "quota": quota, "used": used}));
        }
    }
    ok(json!({"quotas": rows}))
}

pub(super) fn modify_quotas(call: &ApiCall<'_>) -> Reply {
    let body = call.json()?;
    let root = JsonField::root(&body);
    root.required("user_id")?.text()?;
    let mut wanted = Vec::new();
    for item in root.required("quotas")?.items()? {
        let resource = item.required("resource")?;
        let known = QUOTAS.into_iter().find(|(name, _)| resource.text() == Ok(name));
        let (name, most) = known.ok_or_else(|| {
            let names = QUOTAS.map(|(name, _)| name).join(" ");
            resource.must(format!("be one of [{names}]"))
        })?;
        let quota = item.required("quota")?;
        let number = quota.integer()?;
        if !(0..=most).contains(&number) {
            return Err(quota.must(format!("be between 0 and {most}")));
        }
        wanted.push((name, number));
    }
    for (name, number) in wanted {
        call.state.records.quotas.set(&call.user.project_id, name, number)?;
    }
    ok(body)
}

// ---- events ----

const EVENTS: [(&str, &str); 7] = [
    ("JobStarted", "The job starts to run."),
    ("JobCompleted", "The job has ended well."),
    ("JobFailed", "The job has failed."),
    ("JobTerminated", "The job has been stopped."),
    ("JobRestarted", "The job has been started again."),
    ("JobHanged", "The job may be suspended."),
    ("JobPreempted", "Another job has taken the nodes."),
];

/// Lists the events for which notifications can be sent. Only jobs with accelerator cards can hang.
pub(super) fn event_categories(call: &ApiCall<'_>) -> Reply {
    let flavor = call.choice("flavor_type", &FLAVOR_TYPES)?;
    let events = EVENTS.iter().filter(|(id, _)| flavor != Some("CPU") || *id != "JobHanged");
    let rows = events.map(|(id, description)| {
        json!({"id": id, "name": id, "description": description, "notification": true})
    });
    ok(json!({"event-categories": rows.collect::<Value>()}))
}

// ---- templates of the configuration file of a search ----

/// Families of templates, with their names in English and Chinese (SOURCES O, X). The Chinese names
/// are the emulator's own, because the example has a placeholder (SOURCES D-81).
const FAMILIES: [(&str, &str, &[&str]); 4] = [
    ("hpo", "超参搜索", &["Anneal", "Bayes", "DragonFly", "FixNorm", "GridSearch", "TPE"]),
    ("nas", "神经网络架构搜索", &["AutoBSS", "AutoEvo", "AutoTopo", "MBNAS"]),
    ("augment", "数据增强", &["AdvAutoAugment", "AutoAugment"]),
    ("compression", "模型压缩", &["AutoCompress"]),
];

/// Settings that a template adds to the common settings, as far as a source contains them.
const SETTINGS: [(&str, &str); 3] = [
    ("Anneal", "  type: anneal_search\n  avg_best_idx: 2.0\n  shrink_coef: 0.1\n"),
    ("Bayes", "  type: bayes_opt_search\n  kind: ucb\n"),
    ("TPE", "  type: tpe_search\n  gamma: 0.25\n  n_initial_points: 20\n"),
];

pub(super) fn templates() -> Reply {
    let rows = FAMILIES.map(|(english, chinese, names)| {
        json!({
            "algorithm_type_en": english,
            "algorithm_type_zh": chinese,
            "algorithm_names": names,
        })
    });
    ok(json!({"yaml_templates": rows}))
}

pub(super) fn template(call: &ApiCall<'_>) -> Reply {
    let (family, name) = (call.id("algorithm_type"), call.id("algorithm_name"));
    let mut families = FAMILIES.iter();
    if !families.any(|(known, _, names)| *known == family && names.contains(&name)) {
        return Err(ApiError::of(2836, &[]));
    }
    let Some((_, settings)) = SETTINGS.iter().find(|(known, _)| *known == name) else {
        let template = format_args!("the template {family}/{name}");
        return Err(ApiError::not_modelled(template));
    };
    let content = format!(
        "general:\n  instance_per_trial: 1\n  cpu_per_instance: 1\n  gpu_per_instance: 1\n\n\
         search_space:\n  - params:\n    - type: continuous_param\n      name: \
         learning_rate\n      start: 0.0001\n      stop: 0.1\n\n\
         search_algorithm:\n{settings}  reward_attr: accuracy\n  mode: max\n  num_samples: \
         20\n  max_concurrent: 4\n\n\
         scheduler:\n  type: FIFOScheduler\n"
    );
    ok(json!({"file_name": format!("{name}.yaml"), "content": content}))
}
