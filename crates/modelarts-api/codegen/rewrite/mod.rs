//! Changes to the output of progenitor that its settings do not support.

mod arguments;
mod boxing;
mod calls;
mod identifiers;
mod objects;
pub mod syntax;
mod types;

use syn::{
    Attribute, Expr, File, ImplItem, ImplItemFn, Item, Lit, LitStr, Meta, parse_quote,
    visit_mut::{self, VisitMut},
};

use self::syntax::is_named;
use super::{description::Usage, error::Error, lower::Lowered};

/// Rewrites the generated file.
pub fn rewrite(mut file: File, lowered: &Lowered, usage: &Usage) -> Result<File, Error> {
    file.items.retain(|item| !is_hook_assertion(item));
    for item in &mut file.items {
        match item {
            Item::Impl(item) if is_named(&item.self_ty, "Client") && item.trait_.is_none() => {
                // progenitor's constructor sets a timeout of 15 seconds for every call, and panics
                // without TLS support.
                item.items.retain(|item| !matches!(item, ImplItem::Fn(f) if f.sig.ident == "new"));
            }
            Item::Mod(item) if item.ident == "types" => types::rewrite(item, lowered, usage)?,
            _ => {}
        }
    }
    calls::rewrite(&mut file)?;
    InlineSendAndStripSchemas.visit_file_mut(&mut file);
    Ok(file)
}

/// Returns whether an item is `const _: () = { fn assert_client_hooks() .. }`, an assertion that
/// fails to compile when no call uses hooks.
fn is_hook_assertion(item: &Item) -> bool {
    matches!(item, Item::Const(constant) if constant.ident == "_")
}

/// Visitor that marks the functions that send requests as inline, and removes JSON schemas from the
/// documentation.
struct InlineSendAndStripSchemas;

impl VisitMut for InlineSendAndStripSchemas {
    /// Marks the functions that send requests as inline. Each function contains the decoding of all
    /// types of its response. Inline functions are compiled in the calling crate, so programs
    /// compile only the operations that they use.
    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        if function.sig.ident == "send" && function.sig.asyncness.is_some() {
            function.attrs.push(parse_quote!(#[inline]));
        }
        visit_mut::visit_impl_item_fn_mut(self, function);
    }

    /// Removes the JSON schema that typify adds to the documentation of each type.
    fn visit_attribute_mut(&mut self, attribute: &mut Attribute) {
        if attribute.path().is_ident("doc")
            && let Meta::NameValue(meta) = &mut attribute.meta
            && let Expr::Lit(literal) = &mut meta.value
            && let Lit::Str(text) = &mut literal.lit
            && let Some((before, _)) = text.value().split_once("<details>")
        {
            *text = LitStr::new(before.trim_end(), text.span());
        }
    }
}
