//! Rewriting of the builders of types, so that their methods take `impl Argument<T>`.
//!
//! progenitor's methods take `impl TryInto<T>`, which does not accept text for optional fields, nor
//! builders for optional objects, nor arrays for lists and maps. The macros of `crate::argument`
//! make a builder from its fields, so the generated file names each field once.

use std::collections::{BTreeMap, BTreeSet};

use syn::{
    Expr, FieldValue, Item, ItemStruct, Member, Path, Type, parse_quote,
    visit_mut::{self, VisitMut},
};

use super::{
    super::error::Error,
    syntax::{is_named, item_type, type_argument, type_name},
};

/// Removes the builders from their module, and returns an argument of `crate::argument::builder!`
/// for each, and the names of the objects in their lists.
pub fn take(
    items: &mut Vec<Item>,
) -> Result<(BTreeMap<String, ItemStruct>, BTreeSet<String>), Error> {
    let mut required = BTreeSet::new();
    for item in items.iter_mut() {
        let mut fields = RequiredFields(BTreeSet::new());
        fields.visit_item_mut(item);
        let name = item_type(item).unwrap_or_default();
        required.extend(fields.0.into_iter().map(|field| (name.clone(), field)));
    }
    let (mut builders, mut in_lists) = (BTreeMap::new(), BTreeSet::new());
    for item in items.drain(..) {
        let Item::Struct(mut builder) = item else {
            continue;
        };
        let name = builder.ident.to_string();
        builder.attrs = vec![parse_quote!(#[crate::argument::builder])];
        for field in &mut builder.fields {
            let Some(ty) = result(&field.ty) else {
                return Err(Error(format!(
                    "a field of the builder {name} is not of the form that \
                     codegen/rewrite/arguments.rs knows"
                )));
            };
            in_lists.extend(listed_object(&ty));
            field.ty = ty;
            let ident = field.ident.iter().map(ToString::to_string);
            if ident.map(|field| (name.clone(), field)).any(|key| required.contains(&key)) {
                field.attrs.push(parse_quote!(#[required = true]));
            }
        }
        AbsolutePaths.visit_item_struct_mut(&mut builder);
        builders.insert(name, builder);
    }
    Ok((builders, in_lists))
}

/// Adds a builder to its object: the object becomes the argument of `crate::argument::request!`,
/// which defines a macro of the name of the object. Returns the call that makes the builder.
pub fn join(object: &mut ItemStruct, builder: &ItemStruct) -> Item {
    for (field, argument) in object.fields.iter_mut().zip(&builder.fields) {
        field.ty = argument.ty.clone();
        field.attrs.extend(argument.attrs.iter().cloned());
    }
    object.attrs.push(parse_quote!(#[crate::argument::request]));
    let name = &object.ident;
    parse_quote!(#name! {})
}

/// Visitor that replaces `super::X` by a path that is correct in every module.
struct AbsolutePaths;

impl VisitMut for AbsolutePaths {
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        if path.segments.first().is_some_and(|first| first.ident == "super") {
            let rest = path.segments.iter().skip(1);
            *path = parse_quote!(crate::types::#(#rest)::*);
        }
    }
}

/// Visitor that collects the fields whose value in a struct is `Err(..)`: those without a default.
struct RequiredFields(BTreeSet<String>);

impl VisitMut for RequiredFields {
    fn visit_field_value_mut(&mut self, field: &mut FieldValue) {
        if let (Member::Named(name), Expr::Call(call)) = (&field.member, &field.expr)
            && let Expr::Path(function) = &*call.func
            && function.path.is_ident("Err")
        {
            self.0.insert(name.to_string());
        }
    }
}

/// Returns `T` of a type `Result<T, String>`.
fn result(ty: &Type) -> Option<Type> {
    match ty {
        Type::Path(path) if is_named(ty, "Result") => type_argument(&path.path).cloned(),
        _ => None,
    }
}

/// Returns the name `X` of a type `Vec<super::X>`.
fn listed_object(ty: &Type) -> Option<String> {
    let Type::Path(list) = ty else {
        return None;
    };
    let Type::Path(object) = type_argument(&list.path)? else {
        return None;
    };
    let is_object = object.path.segments.first()?.ident == "super";
    (is_named(ty, "Vec") && is_object).then(|| type_name(&Type::Path(object.clone())))?
}
