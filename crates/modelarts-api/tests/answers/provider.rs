//! Comparison of the vendor's Terraform provider with the description.
//! `openapi/attested/provider.json` lists the requests, fields and states that the provider relies
//! on.

use std::collections::BTreeMap;

use modelarts_api::{FIELDS, OPERATIONS, Offset};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    attested::{at, operation, parameters, read, schema},
    description::{Description, Kind},
};

#[derive(Deserialize)]
struct Provider {
    /// Statuses that the provider's HTTP library treats as success, by method.
    defaults: BTreeMap<String, Vec<u16>>,
    /// The phases in which a job counts as created.
    phases: Vec<String>,
    /// Final states of an image-saving task.
    image_ends: Vec<String>,
    calls: BTreeMap<String, Call>,
}

#[derive(Deserialize)]
struct Call {
    method: String,
    path: String,
    /// Statuses that count as success for this call, if they differ from the defaults.
    success: Option<Vec<u16>>,
    /// Error code that means "not found" in a response with status 400.
    not_found: Option<String>,
    /// Paging of the list in the response.
    page: Option<String>,
    #[serde(default)]
    query: Vec<String>,
    /// Fields of the request body.
    #[serde(default)]
    sends: Vec<String>,
    /// Fields of the response, each with its type.
    #[serde(default)]
    reads: BTreeMap<String, String>,
}

fn provider() -> Provider {
    serde_json::from_value(read("provider.json")).unwrap()
}

fn description() -> Value {
    serde_json::from_str(modelarts_api::DESCRIPTION).unwrap()
}

#[test]
fn calls_of_the_provider_are_described() {
    let (provider, root) = (provider(), description());
    assert_eq!(provider.calls.len(), 22);
    for (id, call) in &provider.calls {
        let row = OPERATIONS.iter().find(|row| row.id == id).unwrap();
        assert_eq!((row.method, row.path), (&*call.method, &*call.path), "{id}");
        let (_, operation) = operation(&root, id);
        let clouds = operation["x-clouds"].as_array().unwrap();
        assert!(clouds.contains(&json!("huawei")), "{id}");
        let sources = operation["x-sources"].as_array().unwrap();
        assert!(sources.contains(&json!("T")), "{id}");

        let answers = operation["responses"].as_object().unwrap();
        let statuses = answers.keys().filter_map(|status| status.parse().ok());
        let success: Vec<u16> = statuses.filter(|status| *status < 400).collect();
        let taken = call.success.as_ref();
        let taken = taken.unwrap_or(&provider.defaults[&call.method]);
        assert!(success.iter().all(|s| taken.contains(s)), "{id}: {success:?}");

        let known = parameters(&root, operation);
        for name in &call.query {
            assert!(known.contains(&**name), "{id}: {name}");
        }
        let paged = row.pagination.map(|paging| {
            assert!(!paging.disputed, "{id}");
            (paging.offset, paging.max_limit)
        });
        if call.page.is_some() {
            assert_eq!(paged, Some((Offset::PageIndex, Some(50))), "{id}");
        }
        if let Some(code) = &call.not_found {
            let statuses = row.error_codes().filter(|row| row.code == &**code);
            let statuses: Vec<_> = statuses.map(|row| row.status).collect();
            assert_eq!(statuses, [400], "{id}: {code}");
        }
    }
}

#[test]
fn bodies_of_the_provider_have_every_field_that_must_be_there() {
    let (provider, root) = (provider(), description());
    for (id, call) in provider.calls.iter().filter(|(_, call)| !call.sends.is_empty()) {
        let (_, operation) = operation(&root, id);
        let schema = schema(&operation["requestBody"]);
        let fields: Vec<_> = FIELDS.iter().filter(|row| row.schema == schema).collect();
        for name in &call.sends {
            assert!(fields.iter().any(|row| row.name == name), "{id}: {name}");
        }
        for row in fields.iter().filter(|row| row.required) {
            assert!(call.sends.iter().any(|name| name == row.name), "{id}: {}", row.name);
        }
    }
}

#[test]
fn states_that_the_provider_waits_for_are_known() {
    let (provider, root) = (provider(), description());
    let known = |schema: &str| root["components"]["schemas"][schema]["enum"].clone();
    for (schema, states) in
        [("KnownPhase", provider.phases), ("KnownSaveImageStatus", provider.image_ends)]
    {
        let known = known(schema);
        for state in states {
            assert!(known.as_array().unwrap().contains(&json!(state)), "{state}");
        }
    }
}

#[test]
fn fields_that_the_provider_reads_have_the_type_that_it_reads() {
    let (provider, root) = (provider(), description());
    let (description, mut surprises, mut read) = (Description::read(), Vec::new(), 0);
    for (id, call) in &provider.calls {
        for (path, wanted) in &call.reads {
            read += 1;
            match at(&description, &root, id, path).map(|kind| spelled(&kind)) {
                Ok(found) if found == *wanted => {}
                Ok(found) => surprises.push(format!("{id} {path}: {found}, not {wanted}")),
                Err(why) => surprises.push(why),
            }
        }
    }
    assert_eq!(surprises, Vec::<String>::new());
    assert!(read > 150, "{read}");
}

fn spelled(kind: &Kind) -> String {
    let of = |name: &str, inner: &Kind| match inner {
        Kind::Text | Kind::Open(_) => format!("{name} of text"),
        _ => name.to_owned(),
    };
    match kind {
        Kind::Integer => "integer".to_owned(),
        Kind::Number => "number".to_owned(),
        Kind::Flag => "boolean".to_owned(),
        Kind::Text | Kind::Open(_) => "text".to_owned(),
        Kind::List(inner) => of("list", inner),
        Kind::Map { inner, .. } => of("map", inner),
        Kind::Object(schema) => schema.clone(),
        Kind::Any => "any".to_owned(),
    }
}
