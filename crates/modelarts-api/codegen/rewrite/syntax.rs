//! Queries on the syntax of generated code, shared by `rewrite` and `pieces`.

use proc_macro2::TokenTree;
use syn::{Field, GenericArgument, Item, ItemMod, LitStr, Path, PathArguments, Type};

use super::super::error::Error;

/// Returns the name of a type that is a plain path, such as `types::Job` or `Job`.
pub fn type_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => None,
    }
}

/// Returns whether a type is a path whose last segment is this name.
pub fn is_named(ty: &Type, name: &str) -> bool {
    type_name(ty).as_deref() == Some(name)
}

/// Returns the items of a module.
pub fn content(module: &mut ItemMod) -> Result<&mut Vec<Item>, Error> {
    match &mut module.content {
        Some((_, items)) => Ok(items),
        None => Err(Error(format!("mod {} has no content", module.ident))),
    }
}

/// Returns the name of the type that an item defines, or for which it implements a trait.
pub fn item_type(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        // `open_enum! { X { .. } }` belongs to X.
        Item::Macro(item) => match item.mac.tokens.clone().into_iter().next()? {
            TokenTree::Ident(ident) => Some(ident.to_string()),
            _ => None,
        },
        Item::Impl(item) => match type_name(&item.self_ty)? {
            // `impl From<X> for String` belongs to X.
            name if ["String", "Vec", "BTreeMap", "Map"].contains(&name.as_str()) => {
                type_name(type_argument(&item.trait_.as_ref()?.0)?)
            }
            name => Some(name),
        },
        _ => None,
    }
}

/// Returns the first type argument of a path, such as `Job` of `Option<Job>`.
pub fn type_argument(path: &Path) -> Option<&Type> {
    match &path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(ty) => Some(ty),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the JSON name of a field.
pub fn wire_name(field: &Field) -> String {
    let mut name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("serde")) {
        // Parsing errors are ignored: they only mean that an attribute has a different form.
        let _ = attribute.parse_nested_meta(|meta| {
            if let Ok(value) = meta.value() {
                let text: LitStr = value.parse()?;
                if meta.path.is_ident("rename") {
                    name = text.value();
                }
            }
            Ok(())
        });
    }
    name
}
