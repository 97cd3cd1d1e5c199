//! Module tree of one crate, read from its files.

use std::{collections::BTreeMap, fs, path::Path};

use anyhow::{Context, Result, bail};

use super::source::{self, Child, Source};

/// Module, inline or in a file.
#[derive(Debug)]
pub struct Module {
    /// The names of the path below the root of the crate.
    pub path: Vec<String>,
    /// The path of the file, relative to the root of the workspace.
    pub file: String,
    pub parent: Option<usize>,
    pub children: BTreeMap<String, usize>,
    pub source: Source,
}

/// All modules of a crate except test modules. The first module is the root.
#[derive(Debug)]
pub struct Tree {
    pub modules: Vec<Module>,
}

impl Tree {
    /// Reads the crate whose root file is `start`, in the workspace `root`. `root` must be a
    /// canonical path.
    pub fn read(root: &Path, start: &Path) -> Result<Self> {
        let mut reader = Reader {
            root,
            modules: Vec::new(),
        };
        reader.file(start, None, Vec::new())?;
        Ok(Self {
            modules: reader.modules,
        })
    }

    /// Returns true if `module` is a descendant of `ancestor`.
    pub fn is_below(&self, module: usize, ancestor: usize) -> bool {
        let (below, above) = (&self.modules[module].path, &self.modules[ancestor].path);
        below.len() > above.len() && below.starts_with(above)
    }
}

struct Reader<'a> {
    root: &'a Path,
    modules: Vec<Module>,
}

impl Reader<'_> {
    fn file(&mut self, file: &Path, parent: Option<usize>, path: Vec<String>) -> Result<usize> {
        let shown = || file.display().to_string();
        let file = file.canonicalize().with_context(shown)?;
        let text = fs::read_to_string(&file).with_context(shown)?;
        let source = source::read(&text).with_context(shown)?;
        let directory = file.parent().unwrap_or(self.root).to_owned();
        let owns_directory = parent.is_none() || file.ends_with("mod.rs");
        let below = match (owns_directory, path.last()) {
            (false, Some(name)) => directory.join(name),
            _ => directory.clone(),
        };
        let relative = file.strip_prefix(self.root).unwrap_or(&file);
        let relative = relative.to_string_lossy().replace('\\', "/");
        self.module(source, relative, parent, path, &directory, &below)
    }

    /// Reads a module. `below` is the folder of its child modules, `beside` the folder of its own
    /// file.
    fn module(
        &mut self,
        mut source: Source,
        file: String,
        parent: Option<usize>,
        path: Vec<String>,
        beside: &Path,
        below: &Path,
    ) -> Result<usize> {
        let children = std::mem::take(&mut source.children);
        let index = self.modules.len();
        self.modules.push(Module {
            path: path.clone(),
            file: file.clone(),
            parent,
            children: BTreeMap::new(),
            source,
        });
        for child in children {
            let mut path = path.clone();
            path.push(child.name.clone());
            let name = child.name.clone();
            let inner = below.join(&name);
            let child = match child {
                Child {
                    content: Some(source),
                    ..
                } => self.module(source, file.clone(), Some(index), path, &inner, &inner)?,
                Child {
                    path: Some(elsewhere),
                    ..
                } => self.file(&beside.join(elsewhere), Some(index), path)?,
                Child { .. } => {
                    let found = [below.join(format!("{name}.rs")), inner.join("mod.rs")];
                    match found.iter().find(|file| file.exists()) {
                        Some(found) if !is_tests(found) => self.file(found, Some(index), path)?,
                        Some(_) => continue,
                        None => bail!("{file}: mod {name}; has no file"),
                    }
                }
            };
            self.modules[index].children.insert(name, child);
        }
        Ok(index)
    }
}

/// Returns true if a file contains only tests, even if its `mod` item has no attribute.
fn is_tests(file: &Path) -> bool {
    file.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        name == "tests.rs" || name.ends_with("_tests.rs")
    })
}
