//! Boxes large objects inside answers.
//!
//! A job with all of its possible fields takes three kilobytes, most of them for fields that are
//! usually absent. Without boxes, a list of jobs would hold them all in place, and move them as it
//! grows.

use std::collections::BTreeMap;

use syn::{Fields, GenericArgument, Item, ItemStruct, PathArguments, Type, parse_quote};

use super::syntax::type_name;

/// The size of the largest object that is not boxed, in bytes on a 64-bit machine. Moving such an
/// object costs less than an allocation.
const INLINE: usize = 128;

/// The objects of a file.
pub struct Objects {
    fields: BTreeMap<String, Vec<Type>>,
}

impl Objects {
    pub fn new(items: &[Item]) -> Self {
        let fields = items.iter().filter_map(|item| match item {
            Item::Struct(ItemStruct {
                ident,
                fields: Fields::Named(named),
                ..
            }) => {
                let types = named.named.iter().map(|field| field.ty.clone());
                Some((ident.to_string(), types.collect()))
            }
            _ => None,
        });
        Self {
            fields: fields.collect(),
        }
    }

    /// Boxes the large fields of this object.
    pub fn shrink(&self, object: &mut ItemStruct) {
        for field in &mut object.fields {
            if self.is_boxed(&field.ty)
                && let Some(inner) = option_inner_mut(&mut field.ty)
            {
                *inner = parse_quote!(::std::boxed::Box<#inner>);
            }
        }
    }

    fn is_boxed(&self, field: &Type) -> bool {
        let object = option_inner(field).and_then(type_name);
        object.is_some_and(|name| self.fields.contains_key(&name) && self.size(&name) > INLINE)
    }

    /// The approximate size of an object whose large fields are boxed.
    fn size(&self, object: &str) -> usize {
        let fields = self.fields.get(object).into_iter().flatten();
        let sizes = fields.map(|field| {
            let inner = option_inner(field).unwrap_or(field);
            match type_name(inner).as_deref() {
                _ if self.is_boxed(field) => 8,
                Some("bool") => 1,
                Some("Box") => 8,
                Some("i64" | "f64") => 16,
                Some(name) if self.fields.contains_key(name) => self.size(name),
                // Text, lists, maps, and enumerations (which hold a text).
                _ => 24,
            }
        });
        sizes.sum()
    }
}

fn option_inner(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    match &last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Option" => {
            match arguments.args.first()? {
                GenericArgument::Type(inner) => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}

fn option_inner_mut(ty: &mut Type) -> Option<&mut Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last_mut()?;
    match &mut last.arguments {
        PathArguments::AngleBracketed(arguments) if last.ident == "Option" => {
            match arguments.args.first_mut()? {
                GenericArgument::Type(inner) => Some(inner),
                _ => None,
            }
        }
        _ => None,
    }
}
