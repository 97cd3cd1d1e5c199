//! Changes to progenitor's output that its settings do not offer.

use proc_macro2::TokenTree;
use quote::{ToTokens, format_ident};
use syn::{
    Attribute, Expr, Field, Fields, File, GenericArgument, ImplItem, Item, ItemImpl, ItemMod,
    ItemStruct, PathArguments, Type, Visibility, parse_quote, visit_mut::VisitMut,
};

use super::{Error, boxing::Objects, call, lower::Lowered, object, pattern};

pub fn rewrite(mut file: File, lowered: &Lowered) -> Result<File, Error> {
    file.items.retain(|item| !is_hook_assertion(item));
    for item in &mut file.items {
        match item {
            Item::Impl(item) if names(&item.self_ty, "Client") && item.trait_.is_none() => {
                // progenitor's own constructor gives every call 15 seconds and panics without TLS.
                item.items
                    .retain(|item| !matches!(item, ImplItem::Fn(f) if f.sig.ident == "new"));
            }
            Item::Mod(item) if item.ident == "types" => {
                types(item, lowered)?;
                pattern::plain(item)?;
            }
            _ => {}
        }
    }
    call::rewrite(&mut file)?;
    OnDemand.visit_file_mut(&mut file);
    Docs.visit_file_mut(&mut file);
    Ok(file)
}

/// `const _: () = { fn assert_client_hooks() .. }`: there are no hooks, because no call uses
/// them any more.
fn is_hook_assertion(item: &Item) -> bool {
    matches!(item, Item::Const(constant) if constant.ident == "_")
}

/// The name of a type that is a plain path, such as `types::Job` or `Job`.
pub fn type_name(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => Some(path.path.segments.last()?.ident.to_string()),
        Type::Reference(reference) => type_name(&reference.elem),
        _ => None,
    }
}

fn names(ty: &Type, name: &str) -> bool {
    type_name(ty).as_deref() == Some(name)
}

pub fn content(module: &mut ItemMod) -> Result<&mut Vec<Item>, Error> {
    match &mut module.content {
        Some((_, items)) => Ok(items),
        None => Err(Error(format!("mod {} has no content", module.ident))),
    }
}

fn types(module: &mut ItemMod, lowered: &Lowered) -> Result<(), Error> {
    let items = content(module)?;
    let replaced = |name: &str| lowered.open_enums.iter().any(|e| e.name == name);
    // progenitor keeps a plain type for each replaced schema.
    items.retain(|item| !item_type(item).is_some_and(|name| replaced(&name)));

    let objects = Objects::new(items);
    let mut added = Vec::new();
    for item in items.iter_mut() {
        match item {
            Item::Struct(item) => {
                // Builders take the objects themselves.
                if !lowered.in_requests.contains(&item.ident.to_string()) {
                    objects.shrink(item);
                }
                added.extend(fields(item, lowered)?);
                derive_schema(&mut item.attrs);
                if matches!(item.fields, Fields::Named(_)) {
                    // The service adds fields all the time; that must not break programs.
                    item.attrs.push(parse_quote!(#[non_exhaustive]));
                }
            }
            Item::Enum(item) => {
                added.push(lenient(&item.ident, "Word"));
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
                // Nobody builds what only the service makes.
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
        let file: File = syn::parse2(open_enum.tokens())
            .map_err(|error| Error(format!("enum {}: {error}", open_enum.name)))?;
        items.extend(file.items);
    }
    Ok(())
}

/// The type that an item defines or implements something for.
pub fn item_type(item: &Item) -> Option<String> {
    match item {
        Item::Struct(item) => Some(item.ident.to_string()),
        Item::Enum(item) => Some(item.ident.to_string()),
        // `object! { X { .. } }` belongs to X.
        Item::Macro(item) => match item.mac.tokens.clone().into_iter().next()? {
            TokenTree::Ident(ident) => Some(ident.to_string()),
            _ => None,
        },
        Item::Impl(item) => match type_name(&item.self_ty)? {
            // `impl From<X> for String` belongs to X.
            name if ["String", "Vec", "BTreeMap", "Map"].contains(&name.as_str()) => {
                trait_argument(item)
            }
            name => Some(name),
        },
        _ => None,
    }
}

fn trait_argument(item: &ItemImpl) -> Option<String> {
    let (path, _) = item.trait_.as_ref()?;
    match &path.segments.last()?.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first()? {
            GenericArgument::Type(ty) => type_name(ty),
            _ => None,
        },
        _ => None,
    }
}

/// Says how to read a struct.
fn fields(item: &mut ItemStruct, lowered: &Lowered) -> Result<Vec<Item>, Error> {
    let ident = item.ident.clone();
    if let Fields::Named(named) = &mut item.fields {
        for field in &mut named.named {
            let name = (ident.to_string(), wire_name(field));
            if lowered.secrets.contains(&name) {
                hide(field)?;
            }
        }
    }
    if let Some(item) = object::object(item) {
        return Ok(vec![item]);
    }
    match item.fields.iter().next() {
        // A list or map with a name of its own.
        Some(Field { ty, .. }) if may_be_missing(ty) => {
            Ok(vec![wrapper(&ident, ty), lenient(&ident, kind(ty))])
        }
        // Text without a pattern, which typify prints.
        Some(Field {
            vis: Visibility::Public(_),
            ..
        }) => Ok(vec![lenient(&ident, "Word")]),
        Some(_) => Ok(vec![lenient(&ident, "Word"), display(&ident)]),
        None => Err(Error(format!("struct {ident} has no fields"))),
    }
}

fn kind(collection: &Type) -> &'static str {
    match type_name(collection).as_deref() {
        Some("Vec") => "List",
        _ => "Table",
    }
}

fn wrapper(ident: &syn::Ident, inner: &Type) -> Item {
    parse_quote! {
        impl crate::lenient::Wrapper for #ident {
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

/// Identifiers print as their text.
fn display(ident: &syn::Ident) -> Item {
    parse_quote! {
        impl ::std::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(&self.0)
            }
        }
    }
}

/// Says which kind of target a value goes to.
fn lenient(ident: &syn::Ident, kind: &str) -> Item {
    let kind = format_ident!("{kind}");
    parse_quote! {
        impl crate::lenient::Lenient for #ident {
            fn place(slot: &mut ::std::option::Option<Self>) -> crate::lenient::Target<'_> {
                crate::lenient::Target::#kind(slot)
            }
        }
    }
}

/// Whether a field of this type may be missing.
pub fn may_be_missing(ty: &Type) -> bool {
    type_name(ty).is_some_and(|name| ["Option", "Vec", "BTreeMap", "Map"].contains(&name.as_str()))
}

/// The name of a field in JSON.
pub fn wire_name(field: &Field) -> String {
    let mut name = field
        .ident
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("serde")) {
        // Errors would only mean that some other attribute has another form.
        let _ = attribute.parse_nested_meta(|meta| {
            let renames = meta.path.is_ident("rename");
            if let Ok(value) = meta.value() {
                let text: syn::LitStr = value.parse()?;
                if renames {
                    name = text.value();
                }
            }
            Ok(())
        });
    }
    name
}

/// `Option<String>` becomes `Option<Secret>`.
fn hide(field: &mut Field) -> Result<(), Error> {
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

/// Sending an operation decodes its answer, with all types inside. Inline functions are
/// compiled where they are called, so that programs build what they use and no more.
struct OnDemand;

impl VisitMut for OnDemand {
    fn visit_impl_item_fn_mut(&mut self, function: &mut syn::ImplItemFn) {
        if function.sig.ident == "send" && function.sig.asyncness.is_some() {
            function.attrs.push(parse_quote!(#[inline]));
        }
    }
}

/// typify repeats each schema as JSON in the documentation of its type.
struct Docs;

impl VisitMut for Docs {
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
