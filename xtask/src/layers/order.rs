//! Order of modules, as defined in `CONTRIBUTING.md`, and its check.

use std::collections::{BTreeMap, BTreeSet};

use super::{finding::Finding, graph::Graph};

/// Order of the modules of one source folder.
#[derive(Debug, PartialEq)]
pub struct Order {
    /// The path of the folder, relative to the root of the workspace.
    pub folder: String,
    /// The line of the block in the document.
    pub line: usize,
    pub entries: Vec<Entry>,
}

/// Entry of a table: a module.
#[derive(Debug, PartialEq)]
pub struct Entry {
    pub module: String,
    /// Layer of the module, which may use only modules of lower layers.
    pub floor: usize,
    pub line: usize,
}

/// Parses the code blocks whose first line consists of three backticks, `text` and a folder.
///
/// Each line is a layer, with the lowest layer first. It contains modules separated by commas, then
/// two spaces and a remark. `a < b` denotes two layers in one line.
pub fn parse(document: &str) -> Vec<Order> {
    let mut orders: Vec<Order> = Vec::new();
    let mut is_open = false;
    let mut floor = 0;
    for (index, text) in document.lines().enumerate() {
        let line = index + 1;
        if let Some(info) = text.strip_prefix("```") {
            is_open = false;
            if let Some(folder) = info.strip_prefix("text ") {
                is_open = true;
                floor = 0;
                orders.push(Order {
                    folder: folder.trim().to_owned(),
                    line,
                    entries: Vec::new(),
                });
            }
        } else if is_open && let Some(order) = orders.last_mut() {
            let modules = text.split("  ").next().unwrap_or_default();
            for group in modules.split('<') {
                let names = group.split(',').map(str::trim);
                for module in names.filter(|name| !name.is_empty()) {
                    order.entries.push(Entry {
                        module: module.to_owned(),
                        floor,
                        line,
                    });
                }
                floor += 1;
            }
        }
    }
    orders
}

impl Order {
    /// Returns the module of a file, if the table covers its folder.
    fn module(&self, file: &str) -> Option<String> {
        let file = file.strip_prefix(&self.folder)?.strip_prefix('/')?;
        let name = file.strip_suffix(".rs").unwrap_or(file);
        Some(name.strip_suffix("/mod").unwrap_or(name).replace('/', "::"))
    }

    /// Returns the entry of a module. If the table lists no module of a folder, the entry of the
    /// folder applies to its modules.
    fn entry(&self, module: &str) -> Option<&Entry> {
        let named = |name: &str| self.entries.iter().find(|entry| entry.module == name);
        let mut name = module;
        if let Some(entry) = named(name) {
            return Some(entry);
        }
        while let Some((folder, _)) = name.rsplit_once("::") {
            let inside = format!("{folder}::");
            if self.entries.iter().any(|e| e.module.starts_with(&inside)) {
                return None;
            }
            if let Some(entry) = named(folder) {
                return Some(entry);
            }
            name = folder;
        }
        None
    }

    /// Finds imports that violate the order.
    pub fn check(&self, graph: &Graph) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (from, edges) in graph {
            for (to, edge) in edges {
                let (Some(user), Some(used)) = (self.module(from), self.module(to)) else {
                    continue;
                };
                let (Some(above), Some(below)) = (self.entry(&user), self.entry(&used)) else {
                    continue;
                };
                if above.module == below.module || below.floor < above.floor {
                    continue;
                }
                let place = match below.floor == above.floor {
                    true => "is on the same floor",
                    false => "comes after it",
                };
                findings.push(Finding::new(
                    from,
                    edge.line,
                    format!(
                        "{} uses {} ({}), which {place} in the order, \
                         must use only what comes before",
                        above.module, below.module, edge.path
                    ),
                ));
            }
        }
        findings
    }

    /// Finds modules without an entry in the table, and entries whose module does not exist.
    pub fn check_completeness(&self, document: &str, files: &BTreeSet<String>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let modules: BTreeMap<String, &String> = files
            .iter()
            .filter_map(|file| Some((self.module(file)?, file)))
            .collect();
        for (module, file) in &modules {
            if self.entry(module).is_none() {
                findings.push(Finding::new(
                    file,
                    1,
                    format!(
                        "{module} is missing in the order, must be put into the table of {} in \
                         {document}",
                        self.folder
                    ),
                ));
            }
        }
        let mut known = BTreeSet::new();
        for entry in &self.entries {
            let inside = format!("{}::", entry.module);
            let is_module =
                |module: &String| *module == entry.module || module.starts_with(&inside);
            let message = if !modules.keys().any(is_module) {
                format!("{} is no module of {}, must go", entry.module, self.folder)
            } else if !known.insert(&entry.module) {
                format!(
                    "{} stands in the order twice, must stand once",
                    entry.module
                )
            } else {
                continue;
            };
            findings.push(Finding::new(document, entry.line, message));
        }
        findings
    }
}
