//! Boxing of large objects inside responses.
//!
//! A job with all possible fields takes three kilobytes, mostly for fields that are usually absent.
//! Without boxes, a list of jobs would store all fields inline, and copy them each time the list
//! grows. Objects that also occur in requests are not boxed.

use std::collections::BTreeMap;

use syn::{Fields, Item, ItemStruct, Type, parse_quote};

use super::syntax::{type_argument, type_name};

/// Maximum size of an object that is stored inline, in bytes on a 64-bit machine. Moving such an
/// object costs less than an allocation.
const INLINE: usize = 128;

/// Types of the fields of all objects in a file, by the name of the object.
pub struct Objects(BTreeMap<String, Vec<Type>>);

impl Objects {
    pub fn new(items: &[Item]) -> Self {
        let fields = items.iter().filter_map(|item| match item {
            Item::Struct(ItemStruct { ident, fields: Fields::Named(named), .. }) => {
                let types = named.named.iter().map(|field| field.ty.clone());
                Some((ident.to_string(), types.collect()))
            }
            _ => None,
        });
        Self(fields.collect())
    }

    /// Boxes the large fields of this object.
    pub fn shrink(&self, object: &mut ItemStruct) {
        for field in &mut object.fields {
            if let Some(inner) = self.boxed(&field.ty) {
                let boxed = parse_quote!(::std::option::Option<::std::boxed::Box<#inner>>);
                field.ty = boxed;
            }
        }
    }

    /// Returns the type inside an optional field that must be boxed; `None` for any other field.
    fn boxed<'a>(&self, field: &'a Type) -> Option<&'a Type> {
        let inner = optional(field)?;
        let name = type_name(inner)?;
        (self.0.contains_key(&name) && self.size(&name) > INLINE).then_some(inner)
    }

    /// Returns the approximate size of an object whose large fields are boxed, in bytes.
    fn size(&self, object: &str) -> usize {
        let fields = self.0.get(object).into_iter().flatten();
        let sizes = fields.map(|field| {
            let inner = optional(field).unwrap_or(field);
            match type_name(inner).as_deref() {
                _ if self.boxed(field).is_some() => 8,
                Some("bool") => 1,
                Some("Box") => 8,
                Some("i64" | "f64") => 16,
                Some(name) if self.0.contains_key(name) => self.size(name),
                // Strings, lists, maps, and enumerations, which may hold a string.
                _ => 24,
            }
        });
        sizes.sum()
    }
}

/// Returns the type inside an `Option`.
fn optional(ty: &Type) -> Option<&Type> {
    match ty {
        Type::Path(path) if type_name(ty)? == "Option" => type_argument(&path.path),
        _ => None,
    }
}
