//! Rewriting of the methods of builders, so that they take `impl Into<Argument<T>>`.
//!
//! progenitor's methods take `impl TryInto<T>`, which does not accept text for optional fields, nor
//! builders for optional objects, nor arrays for lists and maps.

use quote::ToTokens;
use syn::{GenericParam, ImplItem, ImplItemFn, ItemImpl, Type, WherePredicate, parse_quote};

use super::{super::error::Error, syntax::type_argument};

/// Rewrites the methods of a builder.
pub fn rewrite(builder: &mut ItemImpl) -> Result<(), Error> {
    for item in &mut builder.items {
        if let ImplItem::Fn(method) = item {
            rewrite_method(method)?;
        }
    }
    Ok(())
}

fn rewrite_method(method: &mut ImplItemFn) -> Result<(), Error> {
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
        pub fn #ident(
            mut self,
            value: impl ::std::convert::Into<crate::argument::Argument<#ty>>,
        ) -> Self {
            self.#ident = value.into().named(#name);
            self
        }
    };
    Ok(())
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
