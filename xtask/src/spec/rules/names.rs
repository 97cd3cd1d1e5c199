//! Rules on names, which must remain distinct in the naming conventions of each language.

use std::collections::BTreeMap;

use heck::{ToSnakeCase, ToUpperCamelCase};

use super::super::{
    document::{Document, Role, entries},
    offence::Offence,
    pointer::join,
};

/// Checks that names of schemas are in PascalCase and differ by more than the case of letters.
/// Generators derive names of types and files from them, and some file systems ignore case.
pub fn schemas(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for schema in &document.schemas {
        let Role::Named(name) = schema.role else {
            continue;
        };
        let mut offend = |message: String| offences.push(Offence::new(&schema.place, message));
        let pascal = name.to_upper_camel_case();
        if pascal != name {
            offend(format!("write the name as {pascal}"));
        }
        // The Go generator defines types with such names itself.
        if name.starts_with("Nullable") {
            offend("a name must not begin with Nullable: Go has such a type for each other".into());
        }
        if let Some(other) = seen.insert(name.to_lowercase(), name) {
            offend(format!("differs from {other} only in case; rename one"));
        }
    }
    offences
}

/// Checks that names of components are unique across sections, because generators for Go and Rust
/// put all components into one namespace.
pub fn components(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for (section, components) in entries(document.at("/components")) {
        for (name, _) in entries(Some(components)) {
            let place = join(&join("/components", section), name);
            let suffix = section == "parameters" && !name.ends_with("Parameter");
            if suffix {
                offences.push(Offence::new(&place, "names of parameters end in Parameter"));
            }
            if let Some(other) = seen.insert(name.to_lowercase(), place.clone()) {
                offences.push(Offence::new(
                    place,
                    format!("has the name of {other}; rename one"),
                ));
            }
        }
    }
    offences
}

/// Checks that properties have different names in snake_case, because the generated struct would
/// not compile otherwise.
pub fn properties(document: &Document) -> Vec<Offence> {
    let mut offences = Vec::new();
    for schema in &document.schemas {
        let mut seen: BTreeMap<String, &str> = BTreeMap::new();
        for (name, _) in entries(schema.value.get("properties")) {
            if let Some(other) = seen.insert(name.to_snake_case(), name) {
                offences.push(Offence::new(
                    join(&join(&schema.place, "properties"), name),
                    format!("has the same name as {other} in snake_case; no client can have both"),
                ));
            }
        }
    }
    offences
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{
        super::sample::{JOB, with},
        *,
    };

    const SCHEMAS: &str = "/components/schemas";

    #[test]
    fn names_of_schemas_that_clash_fire() {
        let schema = json!({ "type": "object" });
        assert_eq!(
            with(schemas, SCHEMAS, "job_state", schema.clone()),
            ["/components/schemas/job_state: write the name as JobState"]
        );
        assert_eq!(
            with(schemas, SCHEMAS, "JoB", schema.clone()),
            ["/components/schemas/Job: differs from JoB only in case; rename one"]
        );
        assert_eq!(
            with(schemas, SCHEMAS, "NullableJob", schema),
            [
                "/components/schemas/NullableJob: a name must not begin with Nullable: \
                 Go has such a type for each other"
            ]
        );
    }

    #[test]
    fn other_names_of_schemas_are_silent() {
        let schema = json!({ "type": "object" });
        assert_eq!(with(schemas, SCHEMAS, "JobNullable2", schema), [""; 0]);
    }

    #[test]
    fn components_of_one_name_and_parameters_without_their_suffix_fire() {
        let place = "/components/parameters";
        let parameter = json!({ "name": "job", "in": "query", "schema": { "type": "string" } });
        assert_eq!(
            with(components, place, "JobParameter", parameter.clone()),
            [""; 0]
        );
        assert_eq!(
            with(components, "/components/responses", "JOB", json!({})),
            ["/components/schemas/Job: has the name of /components/responses/JOB; rename one"]
        );
        assert_eq!(
            with(components, place, "Page", parameter),
            ["/components/parameters/Page: names of parameters end in Parameter"]
        );
    }

    #[test]
    fn properties_that_are_one_in_snake_case_fire() {
        let properties = format!("{JOB}/properties");
        let property = json!({ "type": "string" });
        assert_eq!(
            with(super::properties, &properties, "Name", property),
            [format!(
                "{properties}/name: has the same name as Name in snake_case; no client can have both"
            )]
        );
    }

    #[test]
    fn properties_with_other_names_are_silent() {
        let properties = format!("{JOB}/properties");
        let property = json!({ "type": "string" });
        assert_eq!(
            with(super::properties, &properties, "names", property),
            [""; 0]
        );
    }
}
