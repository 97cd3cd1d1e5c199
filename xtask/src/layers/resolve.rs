//! Resolves paths in the source to the modules that define their names.

use std::collections::BTreeSet;

use super::{source::Import, tree::Tree};

/// Result of resolving a path.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    Module(usize),
    /// A name that this module defines.
    Item(usize, String),
    /// A name of another crate, with its path.
    External(Vec<String>),
}

/// Resolved path: the definition that it refers to.
#[derive(Clone, Debug)]
pub struct Resolved {
    pub target: Target,
    /// Modules whose `use` items were followed.
    pub through: Vec<usize>,
}

impl Resolved {
    /// Returns the path of the target in the module that defines it.
    pub fn path(&self, tree: &Tree) -> String {
        let of = |module: usize, name: Option<&String>| {
            let path = &tree.modules[module].path;
            let names: Vec<_> = path.iter().chain(name).map(String::as_str).collect();
            [vec!["crate"], names].concat().join("::")
        };
        match &self.target {
            Target::Module(module) => of(*module, None),
            Target::Item(module, name) => of(*module, Some(name)),
            Target::External(path) => path.join("::"),
        }
    }
}

/// Resolves `path` in the module `from`; `None` where this is impossible, as for names that a macro
/// defines.
pub fn resolve(tree: &Tree, from: usize, path: &[String]) -> Option<Resolved> {
    Resolver {
        tree,
        visited: BTreeSet::new(),
        through: Vec::new(),
    }
    .run(from, path)
}

struct Resolver<'a> {
    tree: &'a Tree,
    /// Names that are being resolved, to detect circular imports.
    visited: BTreeSet<(usize, String)>,
    through: Vec<usize>,
}

impl Resolver<'_> {
    fn run(mut self, from: usize, path: &[String]) -> Option<Resolved> {
        let target = self.path(from, path)?;
        Some(Resolved {
            target,
            through: self.through,
        })
    }

    fn path(&mut self, from: usize, path: &[String]) -> Option<Target> {
        let (first, rest) = path.split_first()?;
        let start = match first.as_str() {
            "crate" => Target::Module(0),
            "self" => Target::Module(from),
            "super" => Target::Module(self.tree.modules[from].parent?),
            name => match self.name(from, name) {
                Some(found) => found,
                None if self.tree.modules[from].source.items.contains(name) => {
                    Target::Item(from, name.to_owned())
                }
                None => Target::External(vec![name.to_owned()]),
            },
        };
        self.walk(start, rest)
    }

    fn walk(&mut self, start: Target, path: &[String]) -> Option<Target> {
        let mut at = start;
        for name in path {
            at = match at {
                Target::Module(module) if name == "super" => {
                    Target::Module(self.tree.modules[module].parent?)
                }
                Target::Module(module) => match self.name(module, name) {
                    Some(found) => found,
                    None => self.item(module, name)?,
                },
                // The remaining names are a variant or an associated function of this item.
                Target::Item(..) => return Some(at),
                Target::External(mut path) => {
                    path.push(name.clone());
                    Target::External(path)
                }
            };
        }
        Some(at)
    }

    /// Returns the target of a name in a module: a child module or an imported name.
    fn name(&mut self, module: usize, name: &str) -> Option<Target> {
        if !self.visited.insert((module, name.to_owned())) {
            return None;
        }
        let here = &self.tree.modules[module];
        if let Some(child) = here.children.get(name) {
            self.visited.remove(&(module, name.to_owned()));
            return Some(Target::Module(*child));
        }
        let tree = self.tree;
        let imports = &tree.modules[module].source.imports;
        let named = |import: &&Import| import.name.as_deref() == Some(name);
        let found = match imports.iter().find(named) {
            // Handles `use anyhow;`, and names that only another crate can define.
            Some(import) if import.path.len() == 1 && import.path[0] == name => {
                Some(Target::External(import.path.clone()))
            }
            Some(import) => self.path(module, &import.path),
            None if here.source.items.contains(name) => None,
            None => imports
                .iter()
                .filter(|import| import.name.is_none())
                .find_map(|glob| self.in_glob(module, &glob.path, name)),
        };
        self.visited.remove(&(module, name.to_owned()));
        if found.is_some() && !self.through.contains(&module) {
            self.through.push(module);
        }
        found
    }

    fn in_glob(&mut self, module: usize, path: &[String], name: &str) -> Option<Target> {
        let Target::Module(there) = self.path(module, path)? else {
            return None;
        };
        match self.name(there, name) {
            Some(found) => Some(found),
            None if self.tree.modules[there].source.items.contains(name) => {
                Some(Target::Item(there, name.to_owned()))
            }
            None => None,
        }
    }

    /// Returns an item of the module itself, if no other module can provide the name.
    fn item(&self, module: usize, name: &str) -> Option<Target> {
        let modules = &self.tree.modules;
        let source = &modules[module].source;
        if module != 0 || source.items.contains(name) {
            return Some(Target::Item(module, name.to_owned()));
        }
        // The root also contains macros with `#[macro_export]`, and names that macros define.
        let exports = |module: &usize| modules[*module].source.exported_macros.contains(name);
        let exporter = (0..modules.len()).find(exports)?;
        Some(Target::Item(exporter, name.to_owned()))
    }
}
