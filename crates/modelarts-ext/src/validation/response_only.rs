//! Fields that only answers have: the service sets them, and a creation cannot contain them.

/// The fields, by their general names. The fields below them are not sent again either. A test
/// compares the list with the description: it must have each field of an answer that no request
/// has.
const FIELDS: &[&str] = &[
    // Identity and progress of the job.
    "status",
    "metadata.id",
    "metadata.uuid",
    "metadata.create_time",
    "metadata.update_time",
    "metadata.user_name",
    // Retired, always with the same value.
    "metadata.ai_project",
    // Tags are set after creation, by a separate operation.
    "metadata.tags",
    "metadata.training_experiment_reference.serial_number",
    // Details of algorithm, engine and data set that the service looks up.
    "algorithm.name",
    "algorithm.parameters_customization",
    "algorithm.engine.usage",
    "algorithm.engine.support_groups",
    "algorithm.engine.tags",
    "algorithm.engine.v1_compatible",
    "algorithm.engine.image_info",
    "algorithm.inputs[].remote.dataset.obs_url",
    "tasks[].algorithm.engine.v1_compatible",
    // Mode and period of copying outputs, the same for all jobs.
    "algorithm.outputs[].mode",
    "algorithm.outputs[].period",
    "tasks[].algorithm.outputs[].mode",
    "tasks[].algorithm.outputs[].period",
    // Details of the resources.
    "spec.resource.policy",
    "spec.resource.flavor_name",
    "spec.resource.flavor_detail",
    "spec.resource.pool_name",
    "spec.resource.pool_info",
    "spec.resource.main_container_allocated_resources",
    "tasks[].task_resource.flavor_name",
    "tasks[].task_resource.flavor_type",
    "tasks[].task_resource.max_num",
    "tasks[].task_resource.billing",
    "tasks[].task_resource.flavor_info",
    "tasks[].task_resource.attributes",
    "spec.is_hosted_log",
    "spec.asset_model.id",
    "spec.asset_model.location",
    // Addresses and tokens of the one job.
    "endpoints.ssh.task_urls",
    "endpoints.jupyter_lab",
    "endpoints.tensorboard",
    "endpoints.mindstudio_insight",
];

/// True if only the service sets this field, given by its general name.
pub(crate) fn is_response_only(general: &str) -> bool {
    FIELDS.contains(&general)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    /// The leaves of a schema: `spec.volumes[].nfs.local_path`.
    fn leaves(schemas: &Value, schema: &Value, path: &str, found: &mut Vec<String>) {
        let mut schema = schema;
        loop {
            let reference = schema.get("$ref").and_then(Value::as_str);
            let next = match (reference, schema.pointer("/allOf/0")) {
                (Some(reference), _) => &schemas[reference.rsplit('/').next().unwrap()],
                (None, Some(only)) => only,
                (None, None) => break,
            };
            schema = next;
        }
        if let Some(items) = schema.get("items") {
            leaves(schemas, items, &format!("{path}[]"), found);
        } else if let Some(fields) = schema.get("properties").and_then(Value::as_object) {
            for (name, field) in fields {
                let path = match path {
                    "" => name.clone(),
                    path => format!("{path}.{name}"),
                };
                leaves(schemas, field, &path, found);
            }
        } else {
            found.push(path.to_owned());
        }
    }

    #[test]
    fn the_list_has_the_fields_of_answers_that_no_request_has() {
        let description: Value = serde_saphyr::from_str(modelarts_api::DESCRIPTION).unwrap();
        let schemas = &description["components"]["schemas"];
        let of = |name: &str| {
            let mut found = Vec::new();
            leaves(schemas, &schemas[name], "", &mut found);
            found
        };
        let (answered, sent) = (of("TrainingJob"), of("CreateTrainingJobRequest"));
        assert!(answered.len() > 200 && sent.len() > 200);
        let listed = |leaf: &str| {
            FIELDS.iter().find(|field| {
                let rest = leaf.strip_prefix(**field);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
            })
        };
        let mut used: Vec<&str> = Vec::new();
        for leaf in &answered {
            match listed(leaf) {
                Some(field) => used.push(field),
                None => assert!(
                    sent.contains(leaf),
                    "{leaf} is in no request, and not listed"
                ),
            }
        }
        for field in FIELDS {
            assert!(used.contains(field), "no answer has {field}");
        }
        // The two fields of requests in the list: the service derives their values.
        let both: Vec<_> = sent.iter().filter(|leaf| listed(leaf).is_some()).collect();
        assert_eq!(
            both,
            [
                "algorithm.inputs[].remote.dataset.obs_url",
                "algorithm.name"
            ]
        );
    }
}
