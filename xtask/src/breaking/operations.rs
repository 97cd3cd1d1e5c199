//! Comparison of operations: names, paths, parameters, bodies and extensions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    change::{Break, compare_setting, display},
    json::{entries, follow, strings},
    schemas,
    usage::Ways,
};

/// Operation with its parameters, including those of its path. All references are resolved.
pub struct Operation<'a> {
    method: &'a str,
    path: &'a str,
    value: &'a Value,
    parameters: BTreeMap<(&'a str, &'a str), &'a Value>,
}

pub fn compare(before: &Value, after: &Value, breaks: &mut Vec<Break>) {
    for (name, scheme) in entries(&before["components"]["securitySchemes"]) {
        let now = &after["components"]["securitySchemes"][name];
        if ["type", "in", "name"]
            .iter()
            .any(|key| scheme[key] != now[key])
        {
            breaks.push(Break {
                place: format!("security scheme {name}"),
                what: format!("was {scheme}, is {}", display(now)),
            });
        }
    }
    security(&before["security"], &after["security"], breaks);
    let (old, new) = (operations(before), operations(after));
    for (id, old) in old {
        let place = format!("operation {id}");
        match new.get(id) {
            None => breaks.push(Break {
                place,
                what: "is gone".into(),
            }),
            Some(new) => operation(&place, before, after, &old, new, breaks),
        }
    }
}

/// Compares the security schemes that all operations accept. A client uses one of them, so new
/// schemes may be added. An empty list would declare unsigned requests.
fn security(old: &Value, new: &Value, breaks: &mut Vec<Break>) {
    let ways = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (old, new) = (ways(old), ways(new));
    let mut say = |what: String| {
        breaks.push(Break {
            place: "security".into(),
            what,
        });
    };
    for way in old.iter().filter(|way| !new.contains(way)) {
        say(format!("{way} is gone"));
    }
    if old.is_empty() && !new.is_empty() {
        say("is required now".into());
    }
}

pub fn operations(root: &Value) -> BTreeMap<&str, Operation<'_>> {
    let mut operations = BTreeMap::new();
    for (path, item) in entries(&root["paths"]) {
        for (method, value) in entries(item) {
            if let Some(id) = value["operationId"].as_str() {
                let lists = [&item["parameters"], &value["parameters"]];
                let parameters = lists
                    .into_iter()
                    .filter_map(Value::as_array)
                    .flatten()
                    .map(|parameter| follow(root, parameter))
                    .filter_map(|it| Some(((it["in"].as_str()?, it["name"].as_str()?), it)))
                    .collect();
                let operation = Operation {
                    method,
                    path,
                    value,
                    parameters,
                };
                operations.insert(id, operation);
            }
        }
    }
    operations
}

fn operation(
    place: &str,
    before: &Value,
    after: &Value,
    old: &Operation<'_>,
    new: &Operation<'_>,
    breaks: &mut Vec<Break>,
) {
    let mut say = |what: String| {
        breaks.push(Break {
            place: place.to_owned(),
            what,
        });
    };
    if (old.method, old.path) != (new.method, new.path) {
        say(format!(
            "was {} {}, is {} {}",
            old.method, old.path, new.method, new.path
        ));
    }
    for cloud in strings(&old.value["x-clouds"]) {
        if !strings(&new.value["x-clouds"]).contains(&cloud) {
            say(format!("is gone from {cloud}"));
        }
    }
    for ((place, name), parameter) in &new.parameters {
        if parameter["required"] == true && !old.parameters.contains_key(&(*place, *name)) {
            say(format!("{place} parameter {name} is new and required"));
        }
    }
    for key in ["x-effect", "security"] {
        compare_setting(place, key, old.value, new.value, breaks);
    }
    pagination(
        place,
        &old.value["x-pagination"],
        &new.value["x-pagination"],
        breaks,
    );
    // Generators create one class for each tag.
    let (old_tags, new_tags) = (&old.value["tags"], &new.value["tags"]);
    if old_tags[0] != new_tags[0] {
        breaks.push(Break {
            place: place.to_owned(),
            what: format!(
                "tag was {}, is {}",
                display(&old_tags[0]),
                display(&new_tags[0])
            ),
        });
    }
    for ((location, name), parameter) in &old.parameters {
        let place = format!("{place}, {location} parameter {name}");
        let Some(now) = new.parameters.get(&(*location, *name)) else {
            breaks.push(Break {
                place,
                what: "is gone".into(),
            });
            continue;
        };
        if parameter["required"] != true && now["required"] == true {
            breaks.push(Break {
                place: place.clone(),
                what: "is required now".into(),
            });
        }
        for key in ["style", "explode"] {
            compare_setting(&place, key, parameter, now, breaks);
        }
        let sent = Ways {
            sent: true,
            received: false,
        };
        let (old, new) = (&parameter["schema"], &now["schema"]);
        // `x-open-enum` determines the Rust type of a parameter, but not that of a property, which
        // remains a string.
        compare_setting(&place, "x-open-enum", old, new, breaks);
        schemas::compare(&place, old, new, sent, breaks);
    }
    bodies(place, before, after, old.value, new.value, breaks);
}

/// Compares the paging of a list. `disputed` is not compared, because compatibility does not cover
/// it. `max-limit` and `total` may be added.
fn pagination(place: &str, old: &Value, new: &Value, breaks: &mut Vec<Break>) {
    let place = format!("{place}, x-pagination");
    for (key, _) in entries(old).filter(|(key, _)| *key != "disputed") {
        compare_setting(&place, key, old, new, breaks);
    }
    let known: &[&str] = match old.is_object() {
        true => &["disputed", "max-limit", "total"],
        false => &[],
    };
    let added = entries(new).filter(|(key, _)| old[*key].is_null());
    for (key, _) in added.filter(|(key, _)| !known.contains(&key.as_str())) {
        compare_setting(&place, key, old, new, breaks);
    }
}

fn bodies(
    place: &str,
    before: &Value,
    after: &Value,
    old: &Value,
    new: &Value,
    breaks: &mut Vec<Break>,
) {
    let body = |root, value: &Value| follow(root, &value["requestBody"]).clone();
    let (old_body, new_body) = (body(before, old), body(after, new));
    if old_body["required"] != true && new_body["required"] == true {
        breaks.push(Break {
            place: format!("{place}, request"),
            what: "a body is required now".into(),
        });
    }
    let sent = Ways {
        sent: true,
        received: false,
    };
    content(
        &format!("{place}, request"),
        &old_body,
        &new_body,
        sent,
        breaks,
    );

    let received = Ways {
        sent: false,
        received: true,
    };
    for (status, answer) in entries(&old["responses"]) {
        let place = format!("{place}, answer {status}");
        let now = &new["responses"][status];
        if now.is_null() {
            breaks.push(Break {
                place,
                what: "is gone".into(),
            });
            continue;
        }
        let (answer, now) = (follow(before, answer), follow(after, now));
        content(&place, answer, now, received, breaks);
    }
    // Client generators derive the return type of a method from all success responses of the
    // operation.
    let success = |status: &str| status.starts_with('2') || status == "default";
    for (status, _) in entries(&new["responses"]) {
        if success(status) && old["responses"][status].is_null() {
            breaks.push(Break {
                place: format!("{place}, answer {status}"),
                what: "is new".into(),
            });
        }
    }
}

/// Compares media types and their schemas. Adding a body where none was declared changes generated
/// signatures, and so does removing the body.
fn content(place: &str, old: &Value, new: &Value, ways: Ways, breaks: &mut Vec<Break>) {
    let kinds = |value: &Value| {
        entries(&value["content"])
            .map(|(kind, _)| kind.clone())
            .collect()
    };
    let (old_kinds, new_kinds): (Vec<_>, Vec<_>) = (kinds(old), kinds(new));
    if old_kinds != new_kinds {
        let list = |kinds: Vec<String>| match kinds.is_empty() {
            true => "nothing".to_owned(),
            false => kinds.join(", "),
        };
        breaks.push(Break {
            place: place.to_owned(),
            what: format!("content was {}, is {}", list(old_kinds), list(new_kinds)),
        });
        return;
    }
    for (kind, old) in entries(&old["content"]) {
        let new = &new["content"][kind];
        schemas::compare(place, &old["schema"], &new["schema"], ways, breaks);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{after, sample};
    use super::*;

    const JOBS: &str = "/paths/~1jobs/post";

    fn at(rest: &str) -> String {
        format!("{JOBS}/{rest}")
    }

    #[test]
    fn names_and_places_of_operations_stay() {
        assert_eq!(after(JOBS, json!(null)), ["operation CreateJob: is gone"]);
        assert_eq!(
            after(&at("operationId"), json!("MakeJob")),
            ["operation CreateJob: is gone"]
        );
        let mut moved = sample();
        let path = moved["paths"].as_object_mut().unwrap().remove("/jobs");
        moved["paths"]["/tasks"] = path.unwrap();
        let breaks = super::super::between(&sample(), &moved);
        assert_eq!(
            breaks[0].to_string(),
            "operation CreateJob: was post /jobs, is post /tasks"
        );
    }

    #[test]
    fn promises_of_the_extensions_stay() {
        assert_eq!(
            after(&at("x-effect"), json!("idempotent")),
            ["operation CreateJob: x-effect was \"create\", is \"idempotent\""]
        );
        assert_eq!(
            after(&at("x-pagination"), json!({ "offset": "page-index" })),
            ["operation CreateJob, x-pagination: offset was \"record\", is \"page-index\""]
        );
        assert_eq!(
            after(&at("x-clouds"), json!(["huawei"])),
            ["operation CreateJob: is gone from otc"]
        );
        assert_eq!(
            after(&at("tags"), json!(["Tasks"])),
            ["operation CreateJob: tag was \"Jobs\", is \"Tasks\""]
        );
    }

    #[test]
    fn paging_may_become_better_known() {
        let pagination = at("x-pagination");
        for more in ["max-limit", "total", "disputed"] {
            let better = json!({ "offset": "record", more: "known" });
            assert_eq!(after(&pagination, better), [""; 0], "{more}");
        }
        assert_eq!(
            after(
                &pagination,
                json!({ "offset": "record", "offset-name": "page" })
            ),
            ["operation CreateJob, x-pagination: offset-name was not there, is \"page\""]
        );
        assert_eq!(
            after(&pagination, json!(null)),
            ["operation CreateJob, x-pagination: offset was \"record\", is not there"]
        );
        let (mut disputed, mut unpaged) = (sample(), sample());
        disputed["paths"]["/jobs"]["post"]["x-pagination"]["disputed"] = json!(true);
        assert_eq!(super::super::between(&disputed, &sample()), []);
        let operation = unpaged["paths"]["/jobs"]["post"].as_object_mut().unwrap();
        operation.remove("x-pagination").unwrap();
        assert_eq!(super::super::between(&unpaged, &sample()).len(), 1);
    }

    #[test]
    fn another_success_status_changes_the_result_of_a_call() {
        let job = json!({ "content": { "application/json": {
            "schema": { "$ref": "#/components/schemas/Job" },
        } } });
        for status in ["200", "default"] {
            assert_eq!(
                after(&at(&format!("responses/{status}")), job.clone()),
                [format!("operation CreateJob, answer {status}: is new")]
            );
        }
        assert_eq!(after(&at("responses/5XX"), job), [""; 0]);
    }

    #[test]
    fn the_values_that_a_parameter_takes_stay_those_of_its_schema() {
        let limit = |open: Value| {
            let schema = json!({ "type": "integer", "maximum": 50, "x-open-enum": open });
            json!([{ "name": "limit", "in": "query", "schema": schema }])
        };
        assert_eq!(
            after(&at("parameters"), limit(json!("Phase"))),
            ["operation CreateJob, query parameter limit: x-open-enum was not there, is \"Phase\""]
        );
    }

    #[test]
    fn security_schemes_of_all_operations_stay() {
        assert_eq!(
            after("/security", json!(null)),
            [
                "security: {\"Token\":[]} is gone",
                "security: {\"AkSk\":[]} is gone"
            ]
        );
        assert_eq!(
            after("/security", json!([{ "Token": [] }])),
            ["security: {\"AkSk\":[]} is gone"]
        );
        let more = json!([{ "Token": [] }, { "AkSk": [] }, { "Other": [] }]);
        assert_eq!(after("/security", more), [""; 0]);
        let mut open = sample();
        open["security"] = json!([]);
        assert_eq!(
            super::super::between(&open, &sample())[0].to_string(),
            "security: is required now"
        );
    }

    #[test]
    fn parameters_stay_and_become_no_narrower() {
        let parameters = at("parameters");
        let limit = |schema: Value| json!([{ "name": "limit", "in": "query", "schema": schema }]);
        assert_eq!(
            after(&parameters, json!([])),
            ["operation CreateJob, query parameter limit: is gone"]
        );
        assert_eq!(
            after(
                &parameters,
                limit(json!({ "type": "integer", "maximum": 10 }))
            ),
            ["operation CreateJob, query parameter limit: maximum was 50, is 10"]
        );
        assert_eq!(
            after(&parameters, limit(json!({ "type": "string" }))),
            ["operation CreateJob, query parameter limit: was integer, is string"]
        );
        let mut required = limit(json!({ "type": "integer", "maximum": 50 }));
        required[0]["required"] = json!(true);
        assert_eq!(
            after(&parameters, required),
            ["operation CreateJob, query parameter limit: is required now"]
        );
        let mut more = limit(json!({ "type": "integer", "maximum": 50 }));
        let new = json!({ "name": "order", "in": "query", "schema": { "type": "string" } });
        more.as_array_mut().unwrap().push(new);
        assert_eq!(after(&parameters, more.clone()), [""; 0], "optional");
        more[1]["required"] = json!(true);
        assert_eq!(
            after(&parameters, more),
            ["operation CreateJob: query parameter order is new and required"]
        );
        assert_eq!(
            after("/components/parameters/Project/in", json!("query"))[0],
            "operation CreateJob: query parameter project is new and required"
        );
    }

    #[test]
    fn bodies_stay() {
        assert_eq!(
            after(&at("requestBody/required"), json!(true)),
            ["operation CreateJob, request: a body is required now"]
        );
        assert_eq!(
            after(&at("requestBody"), json!(null)),
            ["operation CreateJob, request: content was application/json, is nothing"]
        );
        assert_eq!(
            after(&at("responses/201/content"), json!(null)),
            ["operation CreateJob, answer 201: content was application/json, is nothing"]
        );
        assert_eq!(
            after(&at("responses/201"), json!(null)),
            ["operation CreateJob, answer 201: is gone"]
        );
        assert_eq!(
            after(
                &at("responses/201/content/application~1json/schema"),
                json!({ "$ref": "#/components/schemas/ApiError" })
            ),
            ["operation CreateJob, answer 201: was Job, is ApiError"]
        );
    }

    #[test]
    fn ways_to_sign_stay() {
        assert_eq!(
            after("/components/securitySchemes/Token/name", json!("X-Token")).len(),
            1
        );
        assert_eq!(
            after("/components/securitySchemes/Token", json!(null)),
            [
                "security scheme Token: was {\"in\":\"header\",\"name\":\"X-Auth-Token\",\"type\":\"apiKey\"}, is not there"
            ]
        );
    }

    #[test]
    fn texts_and_codes_are_free() {
        assert_eq!(after(&at("description"), json!("Other words.")), [""; 0]);
        assert_eq!(after(&at("x-error-codes"), json!([])), [""; 0]);
        let name = "/components/schemas/ApiError/properties/error_code/x-open-enum";
        assert_eq!(after(name, json!("KnownErrorCode")), [""; 0]);
    }
}
