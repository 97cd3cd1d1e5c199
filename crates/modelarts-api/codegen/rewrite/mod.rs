//! Changes progenitor's output where its settings do not suffice.

mod boxing;
mod calls;
mod identifiers;
mod objects;
mod open_enum;
pub mod syntax;

use quote::{ToTokens, format_ident};
use syn::{
    Attribute, Expr, Field, Fields, File, ImplItem, Item, ItemMod, ItemStruct, Type, Visibility,
    parse_quote, visit_mut::VisitMut,
};

use self::{
    boxing::Objects,
    syntax::{content, is_named, item_type, may_be_missing, type_name, wire_name},
};
use super::{error::Error, lower::Lowered};

/// Rewrites the generated file.
pub fn rewrite(mut file: File, lowered: &Lowered) -> Result<File, Error> {
    file.items.retain(|item| !is_hook_assertion(item));
    for item in &mut file.items {
        match item {
            Item::Impl(item) if is_named(&item.self_ty, "Client") && item.trait_.is_none() => {
                // progenitor's constructor sets a timeout of 15 seconds for every call, and panics
                // without TLS.
                item.items
                    .retain(|item| !matches!(item, ImplItem::Fn(f) if f.sig.ident == "new"));
            }
            Item::Mod(item) if item.ident == "types" => {
                types(item, lowered)?;
                identifiers::replace_patterns(item)?;
            }
            _ => {}
        }
    }
    calls::rewrite(&mut file)?;
    InlineSend.visit_file_mut(&mut file);
    StripSchemas.visit_file_mut(&mut file);
    Ok(file)
}

/// Returns whether an item is `const _: () = { fn assert_client_hooks() .. }`, which fails to
/// compile once no call uses hooks.
fn is_hook_assertion(item: &Item) -> bool {
    matches!(item, Item::Const(constant) if constant.ident == "_")
}

fn types(module: &mut ItemMod, lowered: &Lowered) -> Result<(), Error> {
    let items = content(module)?;
    let replaced = |name: &str| lowered.open_enums.iter().any(|e| e.name == name);
    // progenitor also generates a plain type for each replaced schema.
    items.retain(|item| !item_type(item).is_some_and(|name| replaced(&name)));

    let objects = Objects::new(items);
    let mut added = Vec::new();
    for item in items.iter_mut() {
        match item {
            Item::Struct(item) => {
                // Objects of requests are not boxed, because builders take them by value.
                if !lowered.in_requests.contains(&item.ident.to_string()) {
                    objects.shrink(item);
                }
                added.extend(decode_impls(item, lowered)?);
                derive_schema(&mut item.attrs);
                if matches!(item.fields, Fields::Named(_)) {
                    // The service adds fields regularly; that must not break programs.
                    item.attrs.push(parse_quote!(#[non_exhaustive]));
                }
            }
            Item::Enum(item) => {
                added.push(decode_impl(&item.ident, "FromText"));
                derive_schema(&mut item.attrs);
            }
            Item::Impl(item) if item.trait_.is_none() => {
                let name = type_name(&item.self_ty).unwrap_or_default();
                if !lowered.in_requests.contains(&name) {
                    item.items.retain(
                        |item| !matches!(item, ImplItem::Fn(f) if f.sig.ident == "builder"),
                    );
                }
            }
            Item::Mod(item) if item.ident == "builder" => {
                // Types that only the service creates need no builder.
                content(item)?.retain(|item| {
                    item_type(item).is_none_or(|name| lowered.in_requests.contains(&name))
                });
            }
            _ => {}
        }
    }
    items.retain(
        |item| !matches!(item, Item::Impl(item) if item.trait_.is_none() && item.items.is_empty()),
    );
    items.extend(added);
    for open_enum in &lowered.open_enums {
        let file: File = syn::parse2(open_enum::tokens(open_enum))
            .map_err(|error| Error(format!("enum {}: {error}", open_enum.name)))?;
        items.extend(file.items);
    }
    Ok(())
}

/// Implements decoding for a struct.
fn decode_impls(item: &mut ItemStruct, lowered: &Lowered) -> Result<Vec<Item>, Error> {
    let ident = item.ident.clone();
    if let Fields::Named(named) = &mut item.fields {
        for field in &mut named.named {
            let name = (ident.to_string(), wire_name(field));
            if lowered.secrets.contains(&name) {
                make_secret(field)?;
            }
        }
    }
    if let Some(item) = objects::replace_derives(item) {
        return Ok(vec![item]);
    }
    match item.fields.iter().next() {
        // A list or map with a name of its own.
        Some(Field { ty, .. }) if may_be_missing(ty) => Ok(vec![
            wrapper_impl(&ident, ty),
            decode_impl(&ident, kind(ty)),
        ]),
        // Text without a pattern, for which typify implements `Display`.
        Some(Field {
            vis: Visibility::Public(_),
            ..
        }) => Ok(vec![decode_impl(&ident, "FromText")]),
        Some(_) => Ok(vec![decode_impl(&ident, "FromText"), display_impl(&ident)]),
        None => Err(Error(format!("struct {ident} has no fields"))),
    }
}

fn kind(collection: &Type) -> &'static str {
    match type_name(collection).as_deref() {
        Some("Vec") => "List",
        _ => "Map",
    }
}

fn wrapper_impl(ident: &syn::Ident, inner: &Type) -> Item {
    parse_quote! {
        impl crate::decode::slot::Wrapper for #ident {
            type Inner = #inner;
            fn wrap(inner: Self::Inner) -> Self {
                Self(inner)
            }
            fn inner(&mut self) -> &mut Self::Inner {
                &mut self.0
            }
        }
    }
}

/// Implements `Display` for an identifier, as its text.
fn display_impl(ident: &syn::Ident) -> Item {
    parse_quote! {
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }
    }
}

/// Implements `Decode` with a slot of this kind.
fn decode_impl(ident: &syn::Ident, kind: &str) -> Item {
    let kind = format_ident!("{kind}");
    parse_quote! {
        impl crate::decode::slot::Decode for #ident {
            fn slot(value: &mut ::std::option::Option<Self>) -> crate::decode::slot::Slot<'_> {
                crate::decode::slot::Slot::#kind(value)
            }
        }
    }
}

/// Replaces `Option<String>` by `Option<Secret>`.
fn make_secret(field: &mut Field) -> Result<(), Error> {
    let text = field.ty.to_token_stream().to_string().replace(' ', "");
    if !text.ends_with("Option<::std::string::String>") {
        return Err(Error(format!(
            "field {}: format password is only for optional text, not {text}",
            wire_name(field)
        )));
    }
    field.ty = parse_quote!(::std::option::Option<crate::Secret>);
    Ok(())
}

fn derive_schema(attributes: &mut Vec<Attribute>) {
    attributes
        .push(parse_quote!(#[cfg_attr(feature = "schemars", derive(::schemars::JsonSchema))]));
}

/// Marks the functions that send requests as inline. Each decodes its answer and all types inside;
/// inline functions are compiled in the calling crate, so that programs compile only the operations
/// that they use.
struct InlineSend;

impl VisitMut for InlineSend {
    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        if function.sig.ident == "send" && function.sig.asyncness.is_some() {
            function.attrs.push(parse_quote!(#[inline]));
        }
    }
}

/// Removes the JSON schema that typify repeats in the documentation of each type.
struct StripSchemas;

impl VisitMut for StripSchemas {
    fn visit_attribute_mut(&mut self, attribute: &mut Attribute) {
        if !attribute.path().is_ident("doc") {
            return;
        }
        if let syn::Meta::NameValue(meta) = &mut attribute.meta
            && let Expr::Lit(literal) = &mut meta.value
            && let syn::Lit::Str(text) = &mut literal.lit
        {
            let value = text.value();
            if let Some((before, _)) = value.split_once("<details>") {
                *text = syn::LitStr::new(before.trim_end(), text.span());
            }
        }
    }
}
