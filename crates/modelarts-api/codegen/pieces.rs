//! Division of the generated file into pieces of reviewable size: one per schema, one per
//! operation, and the beginning and end of each module. The pieces, joined in order, are identical
//! to the generated file.

use std::{collections::BTreeMap, mem};

use proc_macro2::TokenStream;
use syn::{File, Item, parse_quote};

use super::{
    description::Usage,
    error::Error,
    rewrite::syntax::{content, item_type},
};

/// A part of the generated file.
#[derive(Debug)]
pub struct Piece {
    /// Name of the piece, such as `schema.TrainingJob` or `operation.StopTrainingJob`.
    #[allow(dead_code)]
    pub name: String,
    /// Code of the piece, which ends with a newline.
    pub text: String,
}

/// Cuts the generated file into its pieces, and adds the tables and the documentation of the
/// operation builders.
pub fn cut(
    mut file: File,
    tables: impl IntoIterator<Item = (&'static str, TokenStream)>,
    usage: &Usage,
    documentation: &BTreeMap<String, String>,
) -> Result<Vec<Piece>, Error> {
    let mut types = take_module(&mut file.items, "types")?;
    let type_builders = take_module(&mut types, "builder")?;
    let builders = take_module(&mut file.items, "builder")?;

    let mut pieces = vec![piece("client", file.items)];
    for (name, table) in tables {
        let table: File = syn::parse2(table).map_err(Error::new)?;
        pieces.push(piece(name, table.items));
    }
    let types = by_type(types);
    let is_defined = |items: &[Item]| {
        let mut items = items.iter();
        items.any(|item| matches!(item, Item::Struct(_) | Item::Enum(_)))
    };
    let names = types.iter().filter(|(_, items)| is_defined(items));
    let names = names.map(|(name, _)| name.as_str());
    let schemas = for_each_schema(names.partition(|name| usage.in_answers.contains(*name)));
    pieces.push(frame(
        "types.begin",
        "/// The types of requests and answers.\npub mod types {",
    ));
    for (name, items) in types {
        pieces.push(match name.as_str() {
            "" => piece("types.common", items),
            name => piece(&format!("schema.{name}"), items),
        });
    }
    let begin = "/// Builders of the types that requests need.\npub mod builder {";
    pieces.push(frame("types.builder.begin", begin));
    for (name, items) in by_type(type_builders) {
        pieces.push(piece(&format!("schema.{name}.builder"), items));
    }
    pieces.push(frame("types.end", "}\n}"));
    pieces.push(frame("schemas", &schemas));
    let begin = "/// Builders of the calls, one per operation.\npub mod builder {";
    pieces.push(frame("operations.begin", begin));
    for (name, mut items) in by_type(builders) {
        for item in &mut items {
            if let (Item::Struct(item), Some(text)) = (item, documentation.get(&name)) {
                item.attrs.insert(0, parse_quote!(#[doc = #text]));
            }
        }
        pieces.push(match name.as_str() {
            "" => piece("operations.common", items),
            name => piece(&format!("operation.{name}"), items),
        });
    }
    pieces.push(frame("operations.end", "}"));
    Ok(pieces)
}

/// Removes a module from the items, and returns its content.
fn take_module(items: &mut Vec<Item>, name: &str) -> Result<Vec<Item>, Error> {
    let is_wanted = |item: &Item| matches!(item, Item::Mod(module) if module.ident == name);
    match items.iter().position(is_wanted).map(|at| items.remove(at)) {
        Some(Item::Mod(mut module)) => Ok(mem::take(content(&mut module)?)),
        _ => Ok(Vec::new()),
    }
}

fn piece(name: &str, items: Vec<Item>) -> Piece {
    let text = prettyplease::unparse(&File {
        shebang: None,
        frontmatter: None,
        attrs: Vec::new(),
        items,
    });
    Piece {
        name: name.to_owned(),
        text,
    }
}

/// Returns the piece for the beginning or end of a module.
fn frame(name: &str, text: &str) -> Piece {
    Piece {
        name: name.to_owned(),
        text: format!("{text}\n"),
    }
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
fn for_each_schema((answers, others): (Vec<&str>, Vec<&str>)) -> String {
    format!(
        "/// Calls a macro with the names of all generated types: those of answers, then the others.\n\
         #[doc(hidden)]\n\
         #[macro_export]\n\
         macro_rules! for_each_schema {{\n    \
             ($callback:ident) => {{\n        \
                 $callback! {{\n            {};\n            {}\n        }}\n    \
             }};\n\
         }}",
        answers.join("\n            "),
        others.join("\n            ")
    )
}
