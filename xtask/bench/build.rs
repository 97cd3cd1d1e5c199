//! Generates plain structs with all fields that a job can have: the structs of modelarts-api with
//! the derives of serde. A benchmark compares them with the lenient decoding of modelarts-api.

use std::{collections::BTreeMap, env, error::Error, fs, path::Path};

use quote::quote;
use syn::{
    Attribute, Expr, Field, Ident, Item, ItemStruct, Meta, TypePath, parse_quote,
    visit_mut::{self, VisitMut},
};

#[path = "../../crates/modelarts-api/codegen/snapshots.rs"]
mod snapshots;

const SNAPSHOTS: &str = "../../crates/modelarts-api/snapshots";

fn main() -> Result<(), Box<dyn Error>> {
    // Two packages share this build script, xtask/bench and xtask/instructions. The path is correct
    // for both.
    println!("cargo::rerun-if-changed=../bench/build.rs");
    println!("cargo::rerun-if-changed={SNAPSHOTS}");
    let file = syn::parse_file(&snapshots::join(&snapshots::read(Path::new(SNAPSHOTS))?))?;
    let types = file.items.into_iter().find_map(|item| match item {
        Item::Mod(item) if item.ident == "types" => item.content,
        _ => None,
    });
    let (_, items) = types.ok_or("the generated file has no types")?;
    let objects: BTreeMap<String, ItemStruct> = items
        .into_iter()
        .filter_map(|item| match item {
            // `object! { pub struct X { .. } }`
            Item::Macro(item) => item.mac.parse_body::<ItemStruct>().ok(),
            _ => None,
        })
        .map(|item| (item.ident.to_string(), item))
        .collect();

    let mut plain = Plain {
        objects: &objects,
        wanted: vec!["TrainingJob".to_owned()],
    };
    let mut written = BTreeMap::new();
    while let Some(name) = plain.wanted.pop() {
        if let (false, Some(object)) = (written.contains_key(&name), objects.get(&name)) {
            let mut object = object.clone();
            plain.visit_item_struct_mut(&mut object);
            written.insert(name, object);
        }
    }
    let structs = written.values();
    let out = Path::new(&env::var("OUT_DIR")?).join("plain.rs");
    fs::write(out, quote!(#(#structs)*).to_string())?;
    Ok(())
}

/// Visitor that removes all attributes of a struct except those of serde, and collects the structs
/// that its fields use.
struct Plain<'a> {
    objects: &'a BTreeMap<String, ItemStruct>,
    wanted: Vec<String>,
}

impl VisitMut for Plain<'_> {
    fn visit_item_struct_mut(&mut self, item: &mut ItemStruct) {
        item.attrs = vec![parse_quote!(#[derive(::serde::Deserialize)])];
        visit_mut::visit_item_struct_mut(self, item);
    }

    fn visit_field_mut(&mut self, field: &mut Field) {
        let name = field.attrs.iter().find_map(name_on_the_wire);
        field.attrs = vec![parse_quote!(#[serde(default)])];
        if let Some(name) = name {
            field.attrs.push(parse_quote!(#[serde(rename = #name)]));
        }
        visit_mut::visit_field_mut(self, field);
    }

    fn visit_type_path_mut(&mut self, ty: &mut TypePath) {
        visit_mut::visit_type_path_mut(self, ty);
        let Some(last) = ty.path.segments.last().map(|segment| segment.ident.clone()) else {
            return;
        };
        if self.objects.contains_key(&last.to_string()) {
            self.wanted.push(last.to_string());
            ty.path = last.into();
        } else if is_ours(ty, &last) {
            // Enumerations and named lists are not copied; they remain types of modelarts-api.
            let module: Option<Ident> = (last != "Secret").then(|| parse_quote!(types));
            let module = module.map(|module| quote!(#module::));
            ty.path = parse_quote!(::modelarts_ext::api::#module #last);
        }
    }
}

/// Returns whether a type is defined in modelarts-api.
fn is_ours(ty: &TypePath, last: &Ident) -> bool {
    let first = &ty.path.segments[0].ident;
    let primitive = ["i64", "f64", "bool"].iter().any(|name| last == name);
    ty.path.leading_colon.is_none() && (first == "crate" || first == "super" || !primitive)
}

fn name_on_the_wire(attribute: &Attribute) -> Option<Expr> {
    match &attribute.meta {
        Meta::NameValue(meta) if meta.path.is_ident("json") => Some(meta.value.clone()),
        _ => None,
    }
}
