//! Cuts the generated file into pieces of reviewable size: one per schema, one per operation, and
//! frames around them. Joined in order, the pieces are the file.

use std::collections::BTreeMap;

use proc_macro2::TokenStream;
use syn::{
    File, ImplItem, Item, ItemImpl, Path, parse_quote,
    visit_mut::{self, VisitMut},
};

use super::{
    error::Error,
    lower::Lowered,
    rewrite::syntax::{content, item_type, type_name},
    tables::{fields, limits, operations, parameters},
};

/// A part of the generated file.
#[derive(Debug)]
pub struct Piece {
    /// The name of the piece, such as `schema.TrainingJob` or `operation.StopTrainingJob`.
    #[allow(dead_code)]
    pub name: String,
    /// The text of the piece, which ends with a newline.
    pub text: String,
}

/// Cuts the generated file into its pieces.
pub fn cut(file: File, lowered: &Lowered) -> Result<Vec<Piece>, Error> {
    let mut client = Vec::new();
    let mut types = Vec::new();
    let mut operations = Vec::new();
    let mut methods = BTreeMap::new();
    for item in file.items {
        match item {
            Item::Mod(mut module) if module.ident == "types" => {
                types = std::mem::take(content(&mut module)?);
            }
            Item::Mod(mut module) if module.ident == "builder" => {
                operations = std::mem::take(content(&mut module)?);
            }
            Item::Impl(mut item)
                if item.trait_.is_none()
                    && type_name(&item.self_ty).as_deref() == Some("Client") =>
            {
                for method in std::mem::take(&mut item.items) {
                    match method {
                        ImplItem::Fn(function)
                            if lowered
                                .operations
                                .iter()
                                .any(|o| function.sig.ident == o.method_name) =>
                        {
                            methods.insert(function.sig.ident.to_string(), function);
                        }
                        other => item.items.push(other),
                    }
                }
                if !item.items.is_empty() {
                    client.push(Item::Impl(item));
                }
            }
            item => client.push(item),
        }
    }

    let mut pieces = vec![piece("client", client)];
    let mut tables = operations::table(&lowered.operations);
    tables.extend(limits::table(&lowered.limits));
    tables.extend(parameters::table(&lowered.parameters));
    pieces.push(parse_piece("tables", tables)?);
    pieces.push(parse_piece("error_codes", lowered.error_codes.clone())?);
    pieces.push(parse_piece("fields", fields::table(&lowered.fields))?);
    pieces.push(parse_piece("request_path", lowered.request_paths.clone())?);
    self::types(types, &mut pieces)?;
    self::operations(operations, methods, lowered, &mut pieces)?;
    Ok(pieces)
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

/// Parses the items of a piece.
fn parse_piece(name: &str, items: TokenStream) -> Result<Piece, Error> {
    let file: File = syn::parse2(items).map_err(Error::new)?;
    Ok(piece(name, file.items))
}

/// The opening or the end of a module.
fn frame(name: &str, text: &str) -> Piece {
    Piece {
        name: name.to_owned(),
        text: format!("{text}\n"),
    }
}

/// Groups items by the type that they belong to; the key of the others is "".
fn by_type(items: Vec<Item>) -> BTreeMap<String, Vec<Item>> {
    let mut sorted: BTreeMap<String, Vec<Item>> = BTreeMap::new();
    for item in items {
        sorted
            .entry(item_type(&item).unwrap_or_default())
            .or_default()
            .push(item);
    }
    sorted
}

fn types(items: Vec<Item>, pieces: &mut Vec<Piece>) -> Result<(), Error> {
    let mut builders = Vec::new();
    let mut plain = Vec::new();
    for item in items {
        match item {
            Item::Mod(mut module) if module.ident == "builder" => {
                builders = std::mem::take(content(&mut module)?);
            }
            item => plain.push(item),
        }
    }
    let mut schemas = by_type(plain);
    let names: Vec<String> = schemas
        .iter()
        .filter(|(_, items)| items.iter().any(defines))
        .map(|(name, _)| name.clone())
        .collect();
    pieces.push(frame(
        "types.begin",
        "/// The types of requests and answers.\npub mod types {",
    ));
    if let Some(common) = schemas.remove("") {
        pieces.push(piece("types.common", common));
    }
    for (name, items) in schemas {
        pieces.push(piece(&format!("schema.{name}"), items));
    }
    pieces.push(frame(
        "types.builder.begin",
        "/// Builders of the types that requests need.\npub mod builder {",
    ));
    for (name, items) in by_type(builders) {
        pieces.push(piece(&format!("schema.{name}.builder"), items));
    }
    pieces.push(frame("types.end", "}\n}"));
    pieces.push(frame("schemas", &for_each_schema(&names)));
    Ok(())
}

fn defines(item: &Item) -> bool {
    matches!(item, Item::Struct(_) | Item::Enum(_))
}

/// Writes a macro that finds a type by its name. Each name has its own line, so that a new schema
/// adds one line to a diff.
fn for_each_schema(names: &[String]) -> String {
    format!(
        "/// Calls a macro with the names of all generated types.\n\
         #[doc(hidden)]\n\
         #[macro_export]\n\
         macro_rules! for_each_schema {{\n    \
             ($callback:ident) => {{\n        \
                 $callback! {{\n            {}\n        }}\n    \
             }};\n\
         }}",
        names.join("\n            ")
    )
}

fn operations(
    items: Vec<Item>,
    mut methods: BTreeMap<String, syn::ImplItemFn>,
    lowered: &Lowered,
    pieces: &mut Vec<Piece>,
) -> Result<(), Error> {
    let mut sorted = by_type(items);
    pieces.push(frame(
        "operations.begin",
        "/// Builders of the calls, one per operation.\npub mod builder {",
    ));
    if let Some(common) = sorted.remove("") {
        pieces.push(piece("operations.common", common));
    }
    for operation in &lowered.operations {
        let missing = || Error(format!("operation {} was not generated", operation.id));
        let mut items = Vec::new();
        let mut method = methods.remove(&operation.method_name).ok_or_else(missing)?;
        StripBuilderPath.visit_impl_item_fn_mut(&mut method);
        let implementation: ItemImpl = parse_quote!(impl super::Client { #method });
        items.push(Item::Impl(implementation));
        let mut builder = sorted.remove(&operation.id).ok_or_else(missing)?;
        for item in &mut builder {
            if let Item::Struct(item) = item {
                let documentation = &operation.documentation;
                item.attrs.insert(0, parse_quote!(#[doc = #documentation]));
            }
        }
        items.extend(builder);
        pieces.push(piece(&format!("operation.{}", operation.id), items));
    }
    if let Some((name, _)) = sorted.into_iter().next() {
        return Err(Error(format!("{name} belongs to no operation")));
    }
    pieces.push(frame("operations.end", "}"));
    Ok(())
}

/// Removes `builder::` from paths of a method that moves into that module.
struct StripBuilderPath;

impl VisitMut for StripBuilderPath {
    fn visit_path_mut(&mut self, path: &mut Path) {
        if path.segments.len() > 1 && path.segments[0].ident == "builder" {
            path.segments = path.segments.iter().skip(1).cloned().collect();
        }
        visit_mut::visit_path_mut(self, path);
    }
}
