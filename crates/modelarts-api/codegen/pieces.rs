//! Division of the generated code into snapshots of reviewable size: for each resource its types
//! and its operations; and the client, the builders of types, and each table.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
};

use proc_macro2::TokenStream;
use quote::ToTokens;
use serde_json::Value;
use syn::{Attribute, File, Item, parse_quote};

use super::{
    description::{Usage, elements, operations, text, texts},
    error::Error,
    rewrite::syntax::{content, item_type},
    tables::request_paths,
};

/// Name of the resource of schemas that three or more resources use, or none.
const SHARED: &str = "shared";

/// Cuts the generated file into the texts of the snapshots, and adds the tables and the
/// documentation of the operation builders.
pub fn cut(
    mut file: File,
    tables: impl IntoIterator<Item = (&'static str, TokenStream)>,
    description: &Value,
    usage: &Usage,
    documentation: &BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, Error> {
    let mut types = take_module(&mut file.items, "types")?;
    let type_builders = take_module(&mut types, "builder")?;
    let mut operations = take_module(&mut file.items, "builder")?;
    for item in &mut operations {
        if let Item::Struct(item) = item
            && let Some(text) = documentation.get(&item.ident.to_string())
        {
            item.attrs.insert(0, parse_quote!(#[doc = #text]));
        }
    }
    let schemas = for_each_schema(&types, usage);

    let mut pieces =
        BTreeMap::from([("client".to_owned(), file.items), ("builders".to_owned(), type_builders)]);
    for (name, table) in tables {
        let table: File = syn::parse2(table).map_err(Error::new)?;
        pieces.insert(name.to_owned(), table.items);
    }
    let resources = resources(description)?;
    for (kind, items) in [("types", types), ("operations", operations)] {
        for (name, items) in by_type(items) {
            let resource = resources.get(&name).map_or(SHARED, String::as_str);
            let piece = pieces.entry(format!("{kind}.{resource}"));
            piece.or_default().extend(items);
        }
    }
    let mut texts: BTreeMap<_, _> = pieces
        .into_iter()
        .filter(|(_, items)| !items.is_empty())
        .map(|(name, items)| (name, unparse(items)))
        .collect();
    texts.insert("schemas".to_owned(), schemas);
    texts.insert("request_path".to_owned(), request_paths::module(description)?);
    Ok(texts)
}

/// Removes a module from the items, and returns its content.
fn take_module(items: &mut Vec<Item>, name: &str) -> Result<Vec<Item>, Error> {
    let is_wanted = |item: &Item| matches!(item, Item::Mod(module) if module.ident == name);
    match items.iter().position(is_wanted).map(|at| items.remove(at)) {
        Some(Item::Mod(mut module)) => Ok(mem::take(content(&mut module)?)),
        _ => Ok(Vec::new()),
    }
}

/// Returns the resource of each operation and schema by its name. Resources are the tags of the
/// description. A schema belongs to the first resource that uses it.
fn resources(description: &Value) -> Result<BTreeMap<String, String>, Error> {
    let mut of_schemas: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut resources = BTreeMap::new();
    for tag in elements(description, "tags").filter_map(|tag| text(tag, "name")) {
        let mut usage = Usage::default();
        for operation in operations(description)? {
            if texts(operation.definition, "tags").next() == Some(tag) {
                usage.add(description, &operation)?;
                resources.insert(operation.id.to_owned(), tag.to_owned());
            }
        }
        for schema in usage.in_requests.union(&usage.in_answers) {
            of_schemas.entry(schema.clone()).or_default().push(tag);
        }
    }
    for (schema, tags) in of_schemas {
        if let [tag] | [tag, _] = tags[..] {
            resources.insert(schema, tag.to_owned());
        }
    }
    Ok(resources)
}

/// Formats the items. A struct with an attribute in `crate` becomes the argument of this macro, so
/// that the text names each field once.
fn unparse(items: Vec<Item>) -> String {
    let mut text = String::new();
    for mut item in items {
        let name = take_macro(&mut item);
        let item = prettyplease::unparse(&File {
            shebang: None,
            frontmatter: None,
            attrs: Vec::new(),
            items: vec![item],
        });
        text += &match name {
            Some(name) => format!("{name}! {{\n{item}}}\n"),
            None => item,
        };
    }
    text
}

/// Removes the attribute that names a macro.
fn take_macro(item: &mut Item) -> Option<String> {
    let Item::Struct(item) = item else {
        return None;
    };
    let is_macro = |attribute: &Attribute| attribute.path().segments[0].ident == "crate";
    let at = item.attrs.iter().position(is_macro)?;
    let name = item.attrs.remove(at).path().to_token_stream().to_string();
    Some(name.replace(' ', ""))
}

/// Groups items by the type that they define or implement; the key of all other items is the empty
/// string.
fn by_type(items: Vec<Item>) -> BTreeMap<String, Vec<Item>> {
    let mut sorted: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items {
        let name = item_type(&item).unwrap_or_default();
        sorted.entry(name).or_default().push(item);
    }
    sorted
}

/// Returns the source of a macro that passes the names of all generated types to another macro.
/// Each name is on its own line, so a new schema adds one line to a diff.
fn for_each_schema(types: &[Item], usage: &Usage) -> String {
    let defined = types.iter().filter(|item| matches!(item, Item::Struct(_) | Item::Enum(_)));
    let names: BTreeSet<String> = defined.filter_map(item_type).collect();
    let (answers, others): (Vec<_>, Vec<_>) =
        names.iter().map(String::as_str).partition(|name| usage.in_answers.contains(*name));
    format!(
        "/// Calls a macro with the names of all generated types: those of answers, then the \
         others.\n\
         #[doc(hidden)]\n\
         #[macro_export]\n\
         macro_rules! for_each_schema {{\n    \
             ($callback:ident) => {{\n        \
                 $callback! {{\n            {};\n            {}\n        }}\n    \
             }};\n\
         }}\n",
        answers.join("\n            "),
        others.join("\n            ")
    )
}
