//! Dependencies between the files of a crate.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::{
    finding::Finding,
    resolve::{Resolved, Target, resolve},
    source::Import,
    tree::Tree,
};

/// First use of a file in another file.
#[derive(Clone, Debug)]
pub struct Edge {
    pub line: usize,
    /// Path of the definition, which may differ from the path in the source.
    pub path: String,
}

/// For each file, the files that it uses.
pub type Graph = BTreeMap<String, BTreeMap<String, Edge>>;

/// Builds the graph of a crate, and finds imports from its root of names that are defined
/// elsewhere.
pub fn read(tree: &Tree) -> (Graph, Vec<Finding>) {
    let mut reader = Reader {
        tree,
        graph: Graph::new(),
        findings: Vec::new(),
    };
    for (index, module) in tree.modules.iter().enumerate() {
        reader.graph.entry(module.file.clone()).or_default();
        for import in &module.source.imports {
            reader.import(index, import);
        }
        for mention in &module.source.mentions {
            reader.mention(index, &mention.path, mention.line);
        }
    }
    (reader.graph, reader.findings)
}

struct Reader<'a> {
    tree: &'a Tree,
    graph: Graph,
    findings: Vec<Finding>,
}

impl Reader<'_> {
    fn import(&mut self, from: usize, import: &Import) {
        let Some(resolved) = resolve(self.tree, from, &import.path) else {
            return;
        };
        self.forbid_root(from, &import.path, import.line, &resolved);
        let (module, is_module) = match resolved.target {
            Target::Module(module) => (module, import.name.is_some()),
            Target::Item(module, _) => (module, false),
            Target::External(_) => return,
        };
        let used = &self.tree.modules[from].source.used;
        let is_used = import.name.as_ref().is_some_and(|name| used.contains(name));
        let is_facade = import.public && !is_used && self.tree.is_below(module, from);
        // The import of a module is no dependency itself. The module counts as used where paths
        // begin with its name.
        let is_alias = is_module && !import.public;
        if !is_facade && !is_alias {
            self.add(from, module, import.line, &resolved);
        }
    }

    fn mention(&mut self, from: usize, path: &[String], line: usize) {
        let Some(resolved) = resolve(self.tree, from, path) else {
            return;
        };
        let starts_at_module = match path[0].as_str() {
            "crate" | "self" | "super" => true,
            _ => {
                let first = resolve(self.tree, from, &path[..1]);
                matches!(first.map(|first| first.target), Some(Target::Module(_)))
            }
        };
        if !starts_at_module {
            return;
        }
        self.forbid_root(from, path, line, &resolved);
        if let Target::Item(module, _) = resolved.target {
            self.add(from, module, line, &resolved);
        }
    }

    fn add(&mut self, from: usize, to: usize, line: usize, resolved: &Resolved) {
        let modules = &self.tree.modules;
        let (from, to) = (&modules[from].file, &modules[to].file);
        if from != to {
            let edges = self.graph.entry(from.clone()).or_default();
            let path = resolved.path(self.tree);
            let edge = edges.entry(to.clone()).or_insert_with(|| Edge {
                line,
                path: path.clone(),
            });
            if line < edge.line {
                *edge = Edge { line, path };
            }
        }
    }

    /// Returns the path from which the crate root imports the first name of `path`; `None` if the
    /// root does not import this name.
    fn path_in_root(&self, path: &[String]) -> Option<String> {
        let root = &self.tree.modules[0];
        let is_name = |part: &&String| !["crate", "self", "super"].contains(&part.as_str());
        let name = path.iter().find(is_name)?;
        let mut imports = root.source.imports.iter();
        let import = imports.find(|import| import.name.as_ref() == Some(name))?;
        let found = import.path.join("::");
        Some(match import.path[0].as_str() {
            "crate" => found,
            "self" => found.replacen("self", "crate", 1),
            first if root.children.contains_key(first) => format!("crate::{found}"),
            _ => found,
        })
    }

    /// Finds names that are imported from the crate root instead of the module that defines them.
    fn forbid_root(&mut self, from: usize, path: &[String], line: usize, resolved: &Resolved) {
        let modules = &self.tree.modules;
        let root = &modules[0].file;
        let file = &modules[from].file;
        let by_root = |module: &usize| modules[*module].file == *root;
        // A name that this file renames is not imported through the root.
        if file != root && resolved.through.iter().any(by_root) {
            let written = path.join("::");
            let defined = match self.path_in_root(path) {
                Some(path) => path,
                None => resolved.path(self.tree),
            };
            self.findings.push(Finding::new(
                file,
                line,
                format!("{written} is re-exported by the crate root, must be {defined}"),
            ));
        }
    }
}

/// Finds import cycles. All files that depend on each other are reported as one finding.
pub fn circles(graph: &Graph) -> Vec<Finding> {
    let reached: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|file| (file.as_str(), reachable(graph, file)))
        .collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for file in graph.keys().map(String::as_str) {
        if !reached[file].contains(file) || seen.contains(file) {
            continue;
        }
        let both_ways = |other: &&&str| reached.get(**other).is_some_and(|r| r.contains(file));
        let circle: BTreeSet<&str> = reached[file].iter().filter(both_ways).copied().collect();
        findings.extend(describe(graph, &circle));
        seen.extend(circle);
    }
    findings
}

fn describe(graph: &Graph, circle: &BTreeSet<&str>) -> Option<Finding> {
    let round = circle
        .iter()
        .filter_map(|file| shortest_circle(graph, file))
        .min_by_key(Vec::len)?;
    let folder = common_folder(circle);
    let short = |file: &str| file[folder..].to_owned();
    let mut steps = String::new();
    for (from, to) in round.iter().zip(round.iter().cycle().skip(1)) {
        steps += &format!("{}:{} -> ", short(from), graph[*from][*to].line);
    }
    steps += &short(round[0]);
    let others = match circle.len() > round.len() {
        true => {
            let files: Vec<_> = circle.iter().map(|file| short(file)).collect();
            let count = circle.len();
            format!(
                ", one of {count} files that use each other: {}",
                files.join(" ")
            )
        }
        false => String::new(),
    };
    let line = graph[round[0]][*round.get(1)?].line;
    Some(Finding::new(
        round[0],
        line,
        format!(
            "an import circle, must be cut: {steps}{others}; what both need stands in a file \
             below both"
        ),
    ))
}

/// Returns the length of the path of the common folder of all files.
fn common_folder(files: &BTreeSet<&str>) -> usize {
    let (Some(first), Some(last)) = (files.first(), files.last()) else {
        return 0;
    };
    // The common prefix of sorted strings is that of the first and the last string.
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b);
    first[..same.count()]
        .rfind('/')
        .map_or(0, |slash| slash + 1)
}

fn reachable<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(file) = open.pop() {
        for next in graph.get(file).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(next.as_str()) {
                open.push(next);
            }
        }
    }
    reached
}

/// Returns the files of the shortest cycle that contains a file, each once.
fn shortest_circle<'a>(graph: &'a Graph, start: &'a str) -> Option<Vec<&'a str>> {
    let mut before: BTreeMap<&str, &str> = BTreeMap::new();
    let mut open = VecDeque::from([start]);
    while let Some(file) = open.pop_front() {
        for next in graph.get(file)?.keys() {
            if next == start {
                let mut way = vec![file];
                while let Some(previous) = before.get(way[way.len() - 1]) {
                    way.push(previous);
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(next.as_str()) {
                before.insert(next, file);
                open.push_back(next);
            }
        }
    }
    None
}
