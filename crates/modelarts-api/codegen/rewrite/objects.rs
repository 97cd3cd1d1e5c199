//! Replacement of serde's derives by `crate::object!`, for the objects of responses.

use syn::{
    Attribute, Field, Fields, Item, ItemStruct, Path, Token, parse_quote, punctuated::Punctuated,
};

use super::syntax::{type_name, wire_name};

/// Removes serde's derives from an object, and returns the implementations that replace them;
/// `None` for a type without named fields.
pub fn replace_derives(object: &mut ItemStruct) -> Option<Item> {
    let Fields::Named(fields) = &mut object.fields else {
        return None;
    };
    object.attrs.iter_mut().for_each(remove_serde);
    let (idents, names): (Vec<_>, Vec<_>) = fields
        .named
        .iter()
        .map(|field| (field.ident.clone(), wire_name(field)))
        .unzip();
    fields.named.iter_mut().for_each(keep_for_schemars);
    let ident = &object.ident;
    Some(parse_quote! {
        crate::object! { #ident { #(#idents: #names),* } }
    })
}

/// Keeps the serde attributes that schemars reads: the name, and the default of a list.
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
