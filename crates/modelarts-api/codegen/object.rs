//! Objects all of whose fields may be missing read and write themselves with
//! `crate::object`, instead of what serde would derive.

use syn::{
    Attribute, Field, Fields, Item, ItemStruct, Path, Token, parse_quote, punctuated::Punctuated,
};

use super::rewrite::{reader, type_name, wire_name};

/// Takes serde's derives away from an object whose fields may all be missing, and gives the
/// implementations that replace them; `None` for any other.
pub fn plain(object: &mut ItemStruct) -> Option<Item> {
    let Fields::Named(fields) = &mut object.fields else {
        return None;
    };
    // What must be there has no default, and only serde's derive says that it is missing.
    if !object.attrs.iter().any(derives_default)
        || !fields.named.iter().all(|field| reader(&field.ty).is_some())
    {
        return None;
    }
    let (idents, names): (Vec<_>, Vec<_>) = fields
        .named
        .iter()
        .map(|field| (field.ident.clone(), wire_name(field)))
        .unzip();
    for field in &mut fields.named {
        only_for_schemas(field);
    }
    object.attrs.iter_mut().for_each(without_serde);
    let ident = &object.ident;
    Some(parse_quote! {
        crate::object! { #ident { #(#idents: #names),* } }
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

fn without_serde(attribute: &mut Attribute) {
    if let Some(mut derived) = derived(attribute) {
        derived.retain(|path| path.segments.iter().all(|segment| segment.ident != "serde"));
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
