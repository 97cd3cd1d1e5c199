//! Files and folders of a crate that import each other in a circle. What two of them need belongs
//! in a file below both.
// clippy's exemption for tests does not cover the functions that they call.
#![allow(clippy::unwrap_used)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, mem,
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree};

type Names = Vec<String>;

/// File of a crate.
#[derive(Default)]
struct Module {
    /// Imported names with their paths, and whether they are re-exported. `*` is every name.
    imports: Vec<(String, Names, bool)>,
    /// Paths and single names outside of `use` items.
    mentions: BTreeSet<Names>,
}

/// The files of a crate, by the names of their modules.
struct Crate(BTreeMap<Names, Module>);

impl Crate {
    /// Adds the files of a folder, except those of tests.
    fn add(&mut self, folder: &Path, names: &[String]) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            if stem == "tests" || stem.ends_with("_tests") {
                continue;
            }
            let mut names = names.to_vec();
            if !["mod", "lib", "main"].contains(&stem.as_str()) {
                names.push(stem);
            }
            if path.is_dir() {
                self.add(&path, &names);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let file = syn::parse_file(&fs::read_to_string(&path).unwrap()).unwrap();
                let module = self.0.entry(names).or_default();
                file.items.into_iter().for_each(|item| module.add(item));
            }
        }
    }

    /// Returns the module that defines what a path refers to, and whether that is the module
    /// itself; `None` for names of other crates. `owns` is false for the first name of a path, and
    /// `depth` limits the imports to follow.
    fn resolve(
        &self,
        at: &[String],
        path: &[String],
        owns: bool,
        depth: usize,
    ) -> Option<(Names, bool)> {
        let Some((name, rest)) = path.split_first() else {
            return Some((at.to_vec(), true));
        };
        let child = [at, std::slice::from_ref(name)].concat();
        match name.as_str() {
            "crate" => return self.resolve(&[], rest, true, depth),
            "self" => return self.resolve(at, rest, true, depth),
            "super" => return self.resolve(&at[..at.len().checked_sub(1)?], rest, true, depth),
            _ if self.0.contains_key(&child) => return self.resolve(&child, rest, true, depth),
            _ => {}
        }
        let (module, depth) = (self.0.get(at)?, depth.checked_sub(1)?);
        if let Some((_, target, _)) = module.imports.iter().find(|(known, ..)| known == name) {
            return self.resolve(at, &[target, rest].concat(), false, depth);
        }
        let globs = module.imports.iter().filter(|(name, ..)| name == "*");
        let mut found = globs.filter_map(|(_, target, _)| {
            let (there, _) = self.resolve(at, target, false, depth)?;
            self.resolve(&there, path, false, depth)
        });
        found.next().or_else(|| owns.then(|| (at.to_vec(), false)))
    }

    /// Returns the modules that each module uses.
    fn graph(&self) -> BTreeMap<&Names, BTreeSet<Names>> {
        let edges = self.0.iter().map(|(from, module)| {
            let imports = module.imports.iter().filter(|(name, path, public)| {
                // A facade re-exports names of modules below it.
                let target = self.resolve(from, path, false, 8);
                let is_below = target.is_some_and(|(to, _)| to.starts_with(from));
                !(*public && is_below) || module.mentions.iter().any(|path| path[0] == *name)
            });
            let paths = imports.map(|(_, path, _)| path).chain(&module.mentions);
            let found = paths.filter_map(|path| self.resolve(from, path, false, 8));
            // The import of a module counts where a path begins with its name.
            let items = found.filter(|(to, is_module)| !is_module && to != from);
            (from, items.map(|(to, _)| to).collect())
        });
        edges.collect()
    }
}

impl Module {
    /// Adds an item that is not restricted to tests.
    fn add(&mut self, item: Item) {
        if let Item::Use(item) = &item {
            let public = !matches!(item.vis, syn::Visibility::Inherited);
            if !item.attrs.iter().any(is_for_tests) && item.leading_colon.is_none() {
                self.import(&item.tree, &mut Vec::new(), public);
            }
            return;
        }
        if let Item::Mod(item) = &item {
            if item.attrs.iter().any(is_for_tests) {
                return;
            }
            // The file is not below this folder, so it counts as another crate.
            let mut attributes = item.attrs.iter();
            if attributes.any(|attribute| attribute.path().is_ident("path")) {
                let name = item.ident.to_string();
                return self.imports.push((name, vec!["core".to_owned()], false));
            }
        }
        self.scan(item.to_token_stream());
    }

    fn import(&mut self, tree: &UseTree, path: &mut Names, public: bool) {
        let (last, name) = match tree {
            UseTree::Path(tree) => {
                path.push(tree.ident.to_string());
                self.import(&tree.tree, path, public);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(tree, path, public));
            }
            UseTree::Name(tree) => (tree.ident.to_string(), tree.ident.to_string()),
            UseTree::Rename(tree) => (tree.ident.to_string(), tree.rename.to_string()),
            UseTree::Glob(_) => ("self".to_owned(), "*".to_owned()),
        };
        let mut path = path.clone();
        path.extend(Some(last).filter(|last| last != "self"));
        let name = match name.as_str() {
            "self" => path.last().cloned().unwrap_or_default(),
            _ => name,
        };
        self.imports.push((name, path, public));
    }

    /// Finds the paths in the tokens of an item, also in those of macros. Quoted code is not code
    /// of this crate.
    fn scan(&mut self, tokens: TokenStream) {
        let mut path = Names::new();
        let (mut colons, mut is_quoted) = (0, false);
        for tree in tokens {
            match &tree {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.mention(&mut path);
                    }
                    path.push(name.to_string());
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) if !is_quoted => {
                    self.mention(&mut path);
                    self.scan(group.stream());
                }
                TokenTree::Punct(punct) if punct.as_char() == '!' => {
                    is_quoted = path.last().is_some_and(|name| name.contains("quote"));
                    self.mention(&mut path);
                    continue;
                }
                _ => self.mention(&mut path),
            }
            (colons, is_quoted) = (0, false);
        }
        self.mention(&mut path);
    }

    fn mention(&mut self, path: &mut Names) {
        if !path.is_empty() {
            self.mentions.insert(mem::take(path));
        }
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.to_token_stream().to_string().contains("test")
}

/// Returns a circle of a graph, if there is one.
fn circle(graph: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut graph = graph.clone();
    let is_end = |graph: &BTreeMap<String, BTreeSet<String>>, used: &BTreeSet<String>| {
        used.iter().all(|name| !graph.contains_key(name))
    };
    // Only nodes on a circle, and those that use them, are left.
    while let Some((name, _)) = graph.iter().find(|(_, used)| is_end(&graph, used)) {
        let name = name.clone();
        graph.remove(&name);
    }
    let mut way = vec![graph.keys().next()?.clone()];
    loop {
        let mut used = graph[way.last()?].iter();
        let next = used.find(|name| graph.contains_key(*name))?.clone();
        let start = way.iter().position(|name| *name == next);
        way.push(next);
        if let Some(start) = start {
            return Some(way.split_off(start));
        }
    }
}

#[test]
fn no_files_or_folders_import_each_other_in_a_circle() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut circles = Vec::new();
    let crates = fs::read_dir(root.join("crates")).unwrap();
    let sources = crates.map(|entry| entry.unwrap().path().join("src"));
    let more = ["xtask/src", "crates/modelarts-api/codegen"];
    let sources = sources.chain(more.map(|folder| root.join(folder)));
    for source in sources.filter(|source| source.exists()) {
        let mut all = Crate(BTreeMap::new());
        all.add(&source, &[]);
        let files = all.graph();
        // The files, then the folders and files directly below `src`.
        for level in [usize::MAX, 1] {
            let node = |names: &Names| names[..names.len().min(level)].join("::");
            let mut graph: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (from, used) in &files {
                let edges = graph.entry(node(from)).or_default();
                edges.extend(used.iter().map(node).filter(|to| *to != node(from)));
            }
            circles
                .extend(circle(&graph).map(|way| (source.display().to_string(), way.join(" > "))));
        }
    }
    assert!(circles.is_empty(), "{circles:#?}");
}
