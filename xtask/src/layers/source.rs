//! Parses Rust source into its imports, paths and modules.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{
    Attribute, Expr, ExprLit, ImplItem, Item, ItemUse, Lit, Meta, UseTree, Visibility,
    spanned::Spanned,
};

/// Imported name of a `use` item.
#[derive(Debug)]
pub struct Import {
    pub path: Vec<String>,
    /// Name in this module; `None` for `*`.
    pub name: Option<String>,
    /// True for a re-export with any visibility, such as `pub` or `pub(crate)`.
    pub public: bool,
    pub line: usize,
}

/// Path of two or more names outside of `use` items.
#[derive(Debug)]
pub struct Mention {
    pub path: Vec<String>,
    pub line: usize,
}

/// `mod` item that is not restricted to tests.
#[derive(Debug)]
pub struct Child {
    pub name: String,
    /// The value of `#[path]`.
    pub path: Option<String>,
    /// The content of an inline module.
    pub content: Option<Source>,
}

/// Content of a module, without its child modules and without code that is compiled only for tests.
#[derive(Debug, Default)]
pub struct Source {
    pub children: Vec<Child>,
    pub imports: Vec<Import>,
    pub mentions: Vec<Mention>,
    /// The names of the items in the module.
    pub items: BTreeSet<String>,
    /// Macros that `#[macro_export]` adds to the crate root.
    pub exported_macros: BTreeSet<String>,
    /// First names of all paths outside of `use` items.
    pub used: BTreeSet<String>,
    /// True if the module calls a macro between its items, which may define further items.
    pub has_hidden_items: bool,
}

/// Macros whose tokens are quoted Rust code, which is not code of this crate.
const QUOTES: [&str; 4] = [
    "quote",
    "quote_spanned",
    "parse_quote",
    "parse_quote_spanned",
];

/// Parses the text of a file.
pub fn read(text: &str) -> syn::Result<Source> {
    Ok(Source::of(syn::parse_file(text)?.items))
}

impl Source {
    fn of(items: Vec<Item>) -> Self {
        let mut source = Self::default();
        for item in items {
            source.add(item);
        }
        source
    }

    fn add(&mut self, item: Item) {
        if attributes(&item).iter().any(is_for_tests) {
            return;
        }
        self.items.extend(name(&item));
        match item {
            Item::Use(item) => self.import(&item),
            Item::Mod(item) => self.children.push(Child {
                name: item.ident.to_string(),
                path: item.attrs.iter().find_map(path_attribute),
                content: item.content.map(|(_, items)| Self::of(items)),
            }),
            Item::Impl(mut item) => {
                for part in std::mem::take(&mut item.items) {
                    if !attributes_in_impl(&part).iter().any(is_for_tests) {
                        self.scan(part.to_token_stream());
                    }
                }
                self.scan(item.to_token_stream());
            }
            Item::Macro(item) => {
                match &item.ident {
                    Some(name) if item.attrs.iter().any(|a| a.path().is_ident("macro_export")) => {
                        self.exported_macros.insert(name.to_string());
                    }
                    Some(_) => {}
                    None => self.has_hidden_items = true,
                }
                self.scan(item.to_token_stream());
            }
            item => self.scan(item.to_token_stream()),
        }
    }

    fn import(&mut self, item: &ItemUse) {
        // Skips paths that begin with `::`, which belong to other crates.
        if item.leading_colon.is_none() {
            let public = !matches!(item.vis, Visibility::Inherited);
            self.import_tree(&item.tree, &mut Vec::new(), public);
        }
    }

    fn import_tree(&mut self, tree: &UseTree, path: &mut Vec<String>, public: bool) {
        let (last, name, span) = match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import_tree(&tree.tree, path, public);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import_tree(tree, path, public);
                }
                return;
            }
            UseTree::Name(tree) => (Some(&tree.ident), Some(&tree.ident), tree.ident.span()),
            UseTree::Rename(tree) => (Some(&tree.ident), Some(&tree.rename), tree.ident.span()),
            UseTree::Glob(glob) => (None, None, glob.star_token.span()),
        };
        let mut path = path.clone();
        // `use a::{self}` is equivalent to `use a`.
        path.extend(last.map(ToString::to_string).filter(|last| last != "self"));
        let name = match name.map(ToString::to_string) {
            Some(name) if name == "self" => path.last().cloned(),
            name => name,
        };
        self.imports.push(Import {
            path,
            name,
            public,
            line: span.start().line,
        });
    }

    /// Finds paths in the tokens of an item, including those in macros.
    fn scan(&mut self, tokens: TokenStream) {
        let trees: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            match &trees[at] {
                TokenTree::Group(group) => self.scan(group.stream()),
                TokenTree::Ident(ident) if ident == "use" => {
                    let end = (at..trees.len()).find(|&i| is_punct(&trees, i, ';'));
                    let item = end.and_then(|end| {
                        let tokens = trees[at..=end].iter().cloned().collect();
                        Some((end, syn::parse2::<ItemUse>(tokens).ok()?))
                    });
                    if let Some((end, item)) = item {
                        self.import(&item);
                        at = end;
                    }
                }
                TokenTree::Ident(ident) if !continues(&trees, at) => {
                    let line = ident.span().start().line;
                    let mut path = vec![ident.to_string()];
                    while is_double_colon(&trees, at + 1)
                        && let Some(TokenTree::Ident(next)) = trees.get(at + 3)
                    {
                        path.push(next.to_string());
                        at += 3;
                    }
                    self.used.insert(path[0].clone());
                    let last = path.last().map_or("", String::as_str);
                    if QUOTES.contains(&last) && is_punct(&trees, at + 1, '!') {
                        at += 2;
                    }
                    if path.len() > 1 {
                        self.mentions.push(Mention { path, line });
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }
}

fn is_punct(trees: &[TokenTree], at: usize, char: char) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == char)
}

fn is_double_colon(trees: &[TokenTree], at: usize) -> bool {
    matches!(trees.get(at), Some(TokenTree::Punct(punct))
        if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
        && is_punct(trees, at + 1, ':')
}

/// Returns true if the token continues a path or a field access: `…::name`, `value.name`.
fn continues(trees: &[TokenTree], at: usize) -> bool {
    let before = |steps: usize, char| at >= steps && is_punct(trees, at - steps, char);
    (at >= 2 && is_double_colon(trees, at - 2)) || (before(1, '.') && !before(2, '.'))
}

/// Returns true for `#[cfg(test)]`, `#[cfg(doctest)]`, `#[cfg(all(test, …))]` and `#[test]`.
fn is_for_tests(attribute: &Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    list.path.is_ident("cfg") && needs_test(list.tokens.clone())
}

fn needs_test(condition: TokenStream) -> bool {
    let trees: Vec<TokenTree> = condition.into_iter().collect();
    match trees.as_slice() {
        [TokenTree::Ident(name)] => name == "test" || name == "doctest",
        [TokenTree::Ident(all), TokenTree::Group(group)]
            if all == "all" && group.delimiter() == Delimiter::Parenthesis =>
        {
            let trees: Vec<TokenTree> = group.stream().into_iter().collect();
            trees
                .split(|tree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ','))
                .any(|part| needs_test(part.iter().cloned().collect()))
        }
        _ => false,
    }
}

fn path_attribute(attribute: &Attribute) -> Option<String> {
    match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

fn attributes_in_impl(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

fn name(item: &Item) -> Option<String> {
    Some(
        match item {
            Item::Const(item) => &item.ident,
            Item::Enum(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Macro(item) => item.ident.as_ref()?,
            Item::Static(item) => &item.ident,
            Item::Struct(item) => &item.ident,
            Item::Trait(item) => &item.ident,
            Item::Type(item) => &item.ident,
            Item::Union(item) => &item.ident,
            _ => return None,
        }
        .to_string(),
    )
}
