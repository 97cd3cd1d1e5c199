//! Replaces serde's derives for objects by `crate::object!`, and for objects with required fields
//! by `crate::complete_object!`.

use quote::quote;
use syn::{
    Attribute, Field, Fields, Item, ItemStruct, Path, Token, parse_quote, punctuated::Punctuated,
};

use super::syntax::{may_be_missing, type_name, wire_name};

/// Removes serde's derives from an object, and returns the implementations that replace them;
/// `None` for a type without named fields.
pub fn replace_derives(object: &mut ItemStruct) -> Option<Item> {
    let Fields::Named(fields) = &mut object.fields else {
        return None;
    };
    let ident = &object.ident;
    // Required fields have no default.
    if object.attrs.iter().any(derives_default)
        && fields.named.iter().all(|field| may_be_missing(&field.ty))
    {
        object
            .attrs
            .iter_mut()
            .for_each(|attribute| remove_derives(attribute, &["Deserialize", "Serialize"]));
        let (idents, names): (Vec<_>, Vec<_>) = fields
            .named
            .iter()
            .map(|field| (field.ident.clone(), wire_name(field)))
            .unzip();
        fields.named.iter_mut().for_each(keep_for_schemars);
        return Some(parse_quote! {
            crate::object! { #ident { #(#idents: #names),* } }
        });
    }
    object
        .attrs
        .iter_mut()
        .for_each(|attribute| remove_derives(attribute, &["Deserialize"]));
    let typed = |field: &Field| {
        let (ident, ty, name) = (&field.ident, &field.ty, wire_name(field));
        quote!(#ident: #ty = #name)
    };
    let (optional, needed): (Vec<_>, Vec<_>) = fields
        .named
        .iter()
        .partition(|field| may_be_missing(&field.ty));
    let (optional, needed) = (
        optional.into_iter().map(typed),
        needed.into_iter().map(typed),
    );
    Some(parse_quote! {
        crate::complete_object! { #ident { #(#needed),*; #(#optional),* } }
    })
}

/// Keeps the attributes of serde that schemars reads: the name, and the default of a list.
fn keep_for_schemars(field: &mut Field) {
    let renamed = field
        .ident
        .as_ref()
        .is_none_or(|ident| *ident != wire_name(field));
    let needed = renamed || type_name(&field.ty).as_deref() != Some("Option");
    field
        .attrs
        .retain(|attribute| needed || !attribute.path().is_ident("serde"));
    for attribute in &mut field.attrs {
        if attribute.path().is_ident("serde") {
            let meta = &attribute.meta;
            *attribute = parse_quote!(#[cfg_attr(feature = "schemars", #meta)]);
        }
    }
}

fn derives_default(attribute: &Attribute) -> bool {
    derived_traits(attribute)
        .is_some_and(|derived| derived.iter().any(|path| path.is_ident("Default")))
}

/// Removes traits from a `derive` attribute.
fn remove_derives(attribute: &mut Attribute, traits: &[&str]) {
    if let Some(mut derived) = derived_traits(attribute) {
        derived.retain(|path| {
            let serde = path.segments.iter().any(|segment| segment.ident == "serde");
            let last = path
                .segments
                .last()
                .map(|segment| segment.ident.to_string());
            !(serde && last.is_some_and(|last| traits.contains(&last.as_str())))
        });
        *attribute = parse_quote!(#[derive(#(#derived),*)]);
    }
}

/// The traits of a `derive` attribute.
fn derived_traits(attribute: &Attribute) -> Option<Vec<Path>> {
    if !attribute.path().is_ident("derive") {
        return None;
    }
    let list = attribute.meta.require_list().ok()?;
    let paths = list.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    Some(paths.ok()?.into_iter().collect())
}
