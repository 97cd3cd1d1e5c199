//! Rewriting of the types that progenitor generates. Types of responses are decoded by
//! `crate::decode`. Types that occur only in requests keep serde's derives, and have builders.

use std::collections::{BTreeMap, BTreeSet};

use heck::ToUpperCamelCase;
use quote::format_ident;
use syn::{Attribute, Fields, ImplItem, Item, ItemMod, ItemStruct, parse_quote};

use super::{
    super::{
        description::Usage,
        error::Error,
        lower::{Lowered, OpenEnum, SECRET},
    },
    arguments,
    boxing::Objects,
    identifiers, objects,
    syntax::{content, item_type, type_name},
};

/// Rewrites the module of the types.
pub fn rewrite(module: &mut ItemMod, lowered: &Lowered, usage: &Usage) -> Result<(), Error> {
    let in_requests = |name: &str| usage.in_requests.contains(name);
    let items = content(module)?;
    items.retain(|item| !is_replaced(item, lowered));
    let objects = Objects::new(items);
    let mut added = Vec::new();
    let (mut builders, in_lists) = take_builders(items, usage)?;
    let mut built = Vec::new();
    for item in items.iter_mut() {
        match item {
            Item::Struct(item) => {
                let name = item.ident.to_string();
                // Builders take the objects of requests by value, so these are not boxed.
                if !in_requests(&name) {
                    objects.shrink(item);
                }
                if !usage.is_only_sent(&name) {
                    added.extend(decode_impl(item)?);
                }
                derive_schema(&mut item.attrs);
                if matches!(item.fields, Fields::Named(_)) {
                    // The service regularly adds fields; an added field must not break programs.
                    item.attrs.push(parse_quote!(#[non_exhaustive]));
                }
                if let Some(builder) = builders.remove(&name) {
                    built.push(match usage.is_only_sent(&name) {
                        true => arguments::join(item, &builder),
                        false => Item::Struct(builder),
                    });
                }
            }
            Item::Enum(item) => {
                derive_schema(&mut item.attrs);
                let is_text = item.variants.iter().all(|variant| variant.fields.is_empty());
                if is_text && in_requests(&item.ident.to_string()) {
                    let name = &item.ident;
                    added.push(parse_quote! { crate::argument::from_text! { #name } });
                }
            }
            // Types that only the service creates need no builder.
            Item::Impl(item) if item.trait_.is_none() => {
                let name = type_name(&item.self_ty).unwrap_or_default();
                item.items.retain(|item| {
                    let is_builder = matches!(item, ImplItem::Fn(f) if f.sig.ident == "builder");
                    !is_builder || in_requests(&name)
                });
            }
            _ => {}
        }
    }
    items.retain(
        |item| !matches!(item, Item::Impl(item) if item.trait_.is_none() && item.items.is_empty()),
    );
    added.extend(in_lists.iter().map(|name| -> Item {
        let name = format_ident!("{name}");
        parse_quote! { crate::argument::built_list! { #name } }
    }));
    items.extend(added);
    items.push(parse_quote!(pub mod builder { #(#built)* }));
    for (name, pattern) in &lowered.identifiers {
        let (name, runs) = (format_ident!("{name}"), identifiers::runs(pattern)?);
        items.push(parse_quote! {
            crate::identifier::identifier! { #name, #pattern, #runs }
        });
    }
    items.extend(lowered.open_enums.iter().flat_map(open_enum));
    Ok(())
}

/// Removes the module of the builders, and returns those that requests need, and the names of the
/// objects in their lists.
fn take_builders(
    items: &mut Vec<Item>,
    usage: &Usage,
) -> Result<(BTreeMap<String, ItemStruct>, BTreeSet<String>), Error> {
    let is_builder = |item: &mut Item| matches!(item, Item::Mod(item) if item.ident == "builder");
    let mut builders = Vec::new();
    for module in items.extract_if(.., is_builder) {
        if let Item::Mod(mut module) = module {
            builders.append(content(&mut module)?);
        }
    }
    builders.retain(|item| item_type(item).is_some_and(|name| usage.in_requests.contains(&name)));
    arguments::take(&mut builders)
}

/// Returns whether generated code of this crate replaces the item: open enumerations, secrets, and
/// the implementations of identifiers.
fn is_replaced(item: &Item, lowered: &Lowered) -> bool {
    let Some(name) = item_type(item) else {
        return false;
    };
    name == SECRET
        || lowered.open_enums.iter().any(|open_enum| open_enum.name == name)
        || lowered.identifiers.contains_key(&name) && matches!(item, Item::Impl(_))
}

/// Returns the `crate::decode` implementation for a struct of responses; `None` if a macro makes it
/// from the struct.
fn decode_impl(item: &mut ItemStruct) -> Result<Option<Item>, Error> {
    if objects::replace_derives(item) {
        return Ok(None);
    }
    let ident = &item.ident;
    let Some(inner) = item.fields.iter().next() else {
        return Err(Error(format!("struct {ident} has no fields")));
    };
    let content = match type_name(&inner.ty).as_deref() {
        Some("Vec") => format_ident!("List"),
        Some("BTreeMap" | "Map") => format_ident!("Map"),
        _ => {
            return Ok(Some(parse_quote! {
                impl crate::decode::slot::Decode for #ident {
                    fn slot(value: &mut Option<Self>) -> crate::decode::slot::Slot<'_> {
                        crate::decode::slot::Slot::FromText(value)
                    }
                }
            }));
        }
    };
    item.attrs.push(parse_quote!(#[derive(Default)]));
    Ok(Some(parse_quote! {
        impl crate::decode::slot::Holder for #ident {
            type Content = dyn crate::decode::slot::#content;
            fn content(&mut self) -> &mut Self::Content {
                &mut self.0
            }
        }
    }))
}

fn derive_schema(attributes: &mut Vec<Attribute>) {
    attributes
        .push(parse_quote!(#[cfg_attr(feature = "schemars", derive(::schemars::JsonSchema))]));
}

/// Returns the Rust enum of an open enumeration (the known values and `Other`), and its
/// implementation.
fn open_enum(open_enum: &OpenEnum) -> [Item; 2] {
    let name = format_ident!("{}", open_enum.name);
    let (description, values) = (&open_enum.description, &open_enum.values);
    let variants = values.iter().map(|value| format_ident!("{}", value.to_upper_camel_case()));
    let variants: Vec<_> = variants.collect();
    let variant_docs = values.iter().map(|value| format!("`{value}`"));
    [
        parse_quote! {
            #[doc = #description]
            ///
            /// Text that is none of the known values is kept unchanged in `Other`.
            /// Comparison ignores case.
            #[derive(Clone, Debug)]
            #[non_exhaustive]
            pub enum #name {
                #(#[doc = #variant_docs] #variants,)*
                /// A value that the description does not list.
                Other(::std::string::String),
            }
        },
        parse_quote! {
            crate::open_enum::open_enum! { #name { #(#variants = #values),* } }
        },
    ]
}
