//! Paths of request fields, as constants. If the description renames a field, code that uses its
//! path no longer compiles.

use std::collections::{BTreeMap, BTreeSet};

use heck::{ToShoutySnakeCase, ToSnakeCase};
use serde_json::{Map, Value};

use super::super::{
    description::{members, reference, references, schemas},
    error::Error,
};

/// Schemas of the request bodies for which paths are generated: jobs and algorithms, which programs
/// validate and edit as JSON.
const BODIES: [&str; 2] = ["AlgorithmRequest", "CreateTrainingJobRequest"];

/// Returns the source of the module with the paths. A macro names each field once, however many
/// paths lead through it.
pub fn module(description: &Value) -> Result<String, Error> {
    let mut inside: BTreeSet<_> = BODIES.map(str::to_owned).into();
    let schemas = schemas(description)?;
    for (_, body) in schemas.iter().filter(|(name, _)| BODIES.contains(&name.as_str())) {
        references(description, body, &mut inside)?;
    }
    let mut objects = BTreeMap::new();
    for (schema, definition) in schemas {
        if inside.contains(schema) && definition.get("properties").is_some() {
            let mut parts = BTreeSet::new();
            references(description, definition, &mut parts)?;
            // A recursive schema would have an infinite number of paths.
            objects.insert(schema.as_str(), !parts.contains(schema));
        }
    }
    let paths = Paths { schemas, objects };
    let (mut arms, mut modules) = (String::new(), String::new());
    for schema in paths.objects.keys() {
        let fields = paths.of(&schemas[*schema], "", 3);
        arms += &format!("        ({schema} $at:expr) => {{\n{fields}        }};\n");
        let module = schema.strip_suffix("Request").unwrap_or(schema);
        modules += &format!(
            "    /// Paths in `{schema}`.\n    \
                 pub mod {} {{\n        \
                     /// The name of the schema.\n        \
                     pub const SCHEMA: &str = \"{schema}\";\n        \
                     paths! {{ {schema} \"\" }}\n    \
                 }}\n",
            module.to_snake_case()
        );
    }
    Ok(format!(
        "{DOCUMENTATION}pub mod request_path {{\n    \
         macro_rules! paths {{\n{arms}    }}\n{modules}}}\n"
    ))
}

const DOCUMENTATION: &str = "\
/// The paths of the fields of requests that create jobs and algorithms.
///
/// Each schema in them has a module with the paths in its values: `create_training_job` those in
/// `CreateTrainingJobRequest`, `input` those in an element of `algorithm.inputs`. A field
/// with fields of its own has a constant and a module:
/// `create_training_job::spec::RESOURCE` and
/// `create_training_job::spec::resource::FLAVOR_ID`, which is `spec.resource.flavor_id`.
/// `ELEMENT` is any element of a list, `ENTRY` any value of a map:
/// `algorithm.inputs[].name`, `algorithm.environments{}`.
";

/// Schemas, and the objects among them for which the macro has paths: true if it has them inside
/// other objects as well.
struct Paths<'a> {
    schemas: &'a Map<String, Value>,
    objects: BTreeMap<&'a str, bool>,
}

impl Paths<'_> {
    /// Returns the constants and modules for the fields of a definition at the path `prefix` of an
    /// object.
    fn of(&self, definition: &Value, prefix: &str, depth: usize) -> String {
        let indent = "    ".repeat(depth);
        if let Some(schema) = reference(definition) {
            return match (self.objects.get(schema), self.schemas.get(schema)) {
                (Some(true), _) => {
                    format!("{indent}paths! {{ {schema} concat!($at, \"{prefix}.\") }}\n")
                }
                (None, Some(target)) => self.of(target, prefix, depth),
                _ => String::new(),
            };
        }
        let constant = |name: &str, path: &str| {
            format!("{indent}pub const {name}: &str = concat!($at, \"{path}\");\n")
        };
        let mut items = String::new();
        for (key, mark, name) in
            [("items", "[]", "ELEMENT"), ("additionalProperties", "{}", "ENTRY")]
        {
            if let Some(inner) = definition.get(key).filter(|inner| inner.is_object()) {
                let path = format!("{prefix}{mark}");
                items += &constant(name, &path);
                items += &self.of(inner, &path, depth);
            }
        }
        for (name, property) in members(definition, "properties") {
            let path = match prefix {
                "" => name.clone(),
                prefix => format!("{prefix}.{name}"),
            };
            items += &constant(&name.to_shouty_snake_case(), &path);
            let inner = self.of(property, &path, depth + 1);
            if !inner.is_empty() {
                let module = name.to_snake_case();
                items += &format!("{indent}pub mod {module} {{\n{inner}{indent}}}\n");
            }
        }
        items
    }
}
