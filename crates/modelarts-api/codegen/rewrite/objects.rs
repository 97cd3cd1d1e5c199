//! Replacement of serde's derives by `crate::object!`, for the objects of responses.

use syn::{Attribute, Field, Fields, ItemStruct, Path, Token, parse_quote, punctuated::Punctuated};

use super::syntax::{type_name, wire_name};

/// Replaces serde's derives of an object by the macro, which reads the JSON names in `#[json]`.
/// Returns false for a type without named fields.
pub fn replace_derives(object: &mut ItemStruct) -> bool {
    let Fields::Named(fields) = &mut object.fields else {
        return false;
    };
    object.attrs.iter_mut().for_each(remove_serde);
    object.attrs.push(parse_quote!(#[crate::object]));
    for field in &mut fields.named {
        let name = wire_name(field);
        keep_for_schemars(field);
        if field.ident.as_ref().is_none_or(|ident| *ident != name) {
            let mut attributes = field.attrs.iter();
            let after_docs = attributes.position(|attribute| !attribute.path().is_ident("doc"));
            let at = after_docs.unwrap_or(field.attrs.len());
            field.attrs.insert(at, parse_quote!(#[json = #name]));
        }
    }
    true
}

/// Keeps the serde attributes that schemars reads: the name, and the default of a list.
fn keep_for_schemars(field: &mut Field) {
    let renamed = field.ident.as_ref().is_none_or(|ident| *ident != wire_name(field));
    let needed = renamed || type_name(&field.ty).as_deref() != Some("Option");
    field.attrs.retain(|attribute| needed || !attribute.path().is_ident("serde"));
    for attribute in &mut field.attrs {
        if attribute.path().is_ident("serde") {
            let meta = &attribute.meta;
            *attribute = parse_quote!(#[cfg_attr(feature = "schemars", #meta)]);
        }
    }
}

/// Removes serde's traits from a `derive` attribute.
fn remove_serde(attribute: &mut Attribute) {
    let derived = Punctuated::<Path, Token![,]>::parse_terminated;
    if attribute.path().is_ident("derive")
        && let Ok(derived) = attribute.parse_args_with(derived)
    {
        let is_serde = |path: &Path| path.segments.iter().any(|segment| segment.ident == "serde");
        let kept = derived.iter().filter(|path| !is_serde(path));
        *attribute = parse_quote!(#[derive(#(#kept),*)]);
    }
}
