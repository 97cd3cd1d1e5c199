//! Rewriting of the methods of builders, so that they take `impl Argument<T>`.
//!
//! progenitor's methods take `impl TryInto<T>`, which does not accept text for optional fields, nor
//! builders for optional objects, nor arrays for lists and maps.

use quote::ToTokens;
use syn::{GenericParam, ImplItem, ImplItemFn, ItemImpl, Type, WherePredicate, parse_quote};

use super::{
    super::error::Error,
    syntax::{is_named, type_argument, type_name},
};

/// Rewrites the methods of a builder, and returns the names of the objects in its lists.
pub fn rewrite(builder: &mut ItemImpl) -> Result<Vec<String>, Error> {
    let mut in_lists = Vec::new();
    for item in &mut builder.items {
        if let ImplItem::Fn(method) = item {
            let ty = rewrite_method(method)?;
            in_lists.extend(listed_object(&ty));
        }
    }
    Ok(in_lists)
}

/// Returns the name `X` of a type `Vec<super::X>`.
fn listed_object(ty: &Type) -> Option<String> {
    let Type::Path(list) = ty else {
        return None;
    };
    let Type::Path(object) = type_argument(&list.path)? else {
        return None;
    };
    let is_object = object.path.segments.first()?.ident == "super";
    (is_named(ty, "Vec") && is_object).then(|| type_name(&Type::Path(object.clone())))?
}

/// Rewrites a method, and returns the type of its field.
fn rewrite_method(method: &mut ImplItemFn) -> Result<Type, Error> {
    let Some(ty) = target(method) else {
        let text = method.to_token_stream();
        return Err(Error(format!(
            "a builder's method is not of the form that codegen/rewrite/arguments.rs knows: {text}"
        )));
    };
    let (attributes, ident) = (&method.attrs, &method.sig.ident);
    let name = ident.to_string();
    let name = name.trim_start_matches("r#");
    *method = parse_quote! {
        #(#attributes)*
        pub fn #ident(mut self, value: impl crate::argument::Argument<#ty>) -> Self {
            self.#ident = crate::argument::value_of(value, #name);
            self
        }
    };
    Ok(ty)
}

/// Returns `X` of a method with the generic parameter `T: TryInto<X>`.
fn target(method: &ImplItemFn) -> Option<Type> {
    let generics = &method.sig.generics;
    let Some(GenericParam::Type(_)) = generics.params.first() else {
        return None;
    };
    let predicate = generics.where_clause.as_ref()?.predicates.first()?;
    let WherePredicate::Type(predicate) = predicate else {
        return None;
    };
    let syn::TypeParamBound::Trait(bound) = predicate.bounds.first()? else {
        return None;
    };
    let is_conversion = bound.path.segments.last()?.ident == "TryInto";
    is_conversion.then(|| type_argument(&bound.path).cloned())?
}
