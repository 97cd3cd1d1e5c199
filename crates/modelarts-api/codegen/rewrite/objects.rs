//! Objects read themselves with `crate::object`, instead of what serde would derive, and those
//! all of whose fields may be missing write themselves with it, too.

use quote::quote;
use syn::{
    Attribute, Field, Fields, Item, ItemStruct, Path, Token, parse_quote, punctuated::Punctuated,
};

use super::syntax::{may_be_missing, type_name, wire_name};

/// Takes derives of serde away from an object, and gives the implementations that replace
/// them; `None` for what has no fields with names.
pub fn object(object: &mut ItemStruct) -> Option<Item> {
    let Fields::Named(fields) = &mut object.fields else {
        return None;
    };
    let ident = &object.ident;
    // What must be there has no default.
    if object.attrs.iter().any(derives_default)
        && fields.named.iter().all(|field| may_be_missing(&field.ty))
    {
        object
            .attrs
            .iter_mut()
            .for_each(|attribute| without(attribute, &["Deserialize", "Serialize"]));
        let (idents, names): (Vec<_>, Vec<_>) = fields
            .named
            .iter()
            .map(|field| (field.ident.clone(), wire_name(field)))
            .unzip();
        fields.named.iter_mut().for_each(only_for_schemas);
        return Some(parse_quote! {
            crate::object! { #ident { #(#idents: #names),* } }
        });
    }
    object
        .attrs
        .iter_mut()
        .for_each(|attribute| without(attribute, &["Deserialize"]));
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

/// schemars reads serde's attributes too: the name, and that a list may be missing.
fn only_for_schemas(field: &mut Field) {
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
    derived(attribute).is_some_and(|derived| derived.iter().any(|path| path.is_ident("Default")))
}

/// Takes away what serde derives.
fn without(attribute: &mut Attribute, traits: &[&str]) {
    if let Some(mut derived) = derived(attribute) {
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

/// What is derived, if this says so.
fn derived(attribute: &Attribute) -> Option<Vec<Path>> {
    if !attribute.path().is_ident("derive") {
        return None;
    }
    let list = attribute.meta.require_list().ok()?;
    let paths = list.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated);
    Some(paths.ok()?.into_iter().collect())
}
