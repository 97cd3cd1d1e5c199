//! Templates of the configuration file of a search.

use serde_json::json;

use crate::{
    api::error::ApiError,
    handlers::call::{ApiCall, ApiResult, ok},
};

/// Families of templates, with their names in English and Chinese (SOURCES O, X). The Chinese ones
/// are the emulator's own, because the example has a placeholder (SOURCES D-81).
const FAMILIES: [(&str, &str, &[&str]); 4] = [
    ("hpo", "超参搜索", &["Anneal", "Bayes", "DragonFly", "FixNorm", "GridSearch", "TPE"]),
    ("nas", "神经网络架构搜索", &["AutoBSS", "AutoEvo", "AutoTopo", "MBNAS"]),
    ("augment", "数据增强", &["AdvAutoAugment", "AutoAugment"]),
    ("compression", "模型压缩", &["AutoCompress"]),
];

/// Settings that a template adds to the common ones, as far as a source contains them.
const SETTINGS: [(&str, &str); 3] = [
    ("Anneal", "  type: anneal_search\n  avg_best_idx: 2.0\n  shrink_coef: 0.1\n"),
    ("Bayes", "  type: bayes_opt_search\n  kind: ucb\n"),
    ("TPE", "  type: tpe_search\n  gamma: 0.25\n  n_initial_points: 20\n"),
];

pub(super) fn list() -> ApiResult {
    let rows = FAMILIES.map(|(english, chinese, names)| {
        json!({
            "algorithm_type_en": english,
            "algorithm_type_zh": chinese,
            "algorithm_names": names,
        })
    });
    ok(json!({"yaml_templates": rows}))
}

pub(super) fn show(call: &ApiCall<'_>) -> ApiResult {
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
