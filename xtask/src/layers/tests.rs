//! Tests of each kind of finding, with small crates.

use std::fs;

use super::*;

/// Returns the findings for a crate with these files and tables. The root of the crate is
/// `src/lib.rs`.
fn findings_by(tables: &str, files: &[(&str, &str)]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let file = directory.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    let start = directory.path().join("src/lib.rs");
    let findings = check(directory.path(), &[start], tables).unwrap();
    findings.iter().map(ToString::to_string).collect()
}

fn findings(files: &[(&str, &str)]) -> Vec<String> {
    findings_by("", files)
}

/// Returns the findings for a crate with two modules: a lower module `a` with this text, and an
/// upper module `b`.
fn in_lower(text: &str) -> Vec<String> {
    let table = "```text src\na   lower\nb   upper\nlib\n```\n";
    let b = "pub struct B;\npub mod c { pub struct C; }\n";
    findings_by(
        table,
        &[
            ("src/lib.rs", "mod a;\nmod b;\n"),
            ("src/a.rs", text),
            ("src/b.rs", b),
        ],
    )
}

fn against_order(line: usize, path: &str) -> String {
    format!(
        "src/a.rs:{line}: a uses b ({path}), which comes after it in the order, must use only \
         what comes before"
    )
}

#[test]
fn a_crate_in_order_has_no_findings() {
    let table = "```text src\na < b   two modules\nlib\n```\n";
    let files = [
        ("src/lib.rs", "mod a;\nmod b;\npub use a::A;\npub use b::B;"),
        ("src/a.rs", "pub struct A;"),
        ("src/b.rs", "use crate::a::A;\npub struct B(A);"),
    ];
    assert_eq!(findings_by(table, &files), [""; 0]);
}

#[test]
fn imports_against_the_order_are_found_however_they_are_written() {
    for (text, line, path) in [
        ("use crate::b::B;", 1, "crate::b::B"),
        ("\nuse super::b::B;", 2, "crate::b::B"),
        ("use crate::b::B as Other;", 1, "crate::b::B"),
        ("use crate::b::*;", 1, "crate::b"),
        (
            "use std::{fs,\n io};\nuse crate::{\n b::{\n c::{C as D}}};",
            5,
            "crate::b::c::C",
        ),
        ("use crate::b;\nfn f() -> b::B { b::B }", 2, "crate::b::B"),
        (
            "use crate::b as other;\nfn f(b: other::c::C) {}",
            2,
            "crate::b::c::C",
        ),
        ("use crate::b::{self, B};", 1, "crate::b::B"),
        ("fn f() {\n let x = crate::b::B;\n}", 2, "crate::b::B"),
        ("fn f() {\n use crate::b::B;\n}", 2, "crate::b::B"),
        (
            "fn f() {\n println!(\"{}\", crate::b::B);\n}",
            2,
            "crate::b::B",
        ),
        (
            "macro_rules! m { () => {\n $crate::b::B\n}; }",
            2,
            "crate::b::B",
        ),
        ("m! { x: crate::b::B }", 1, "crate::b::B"),
        ("mod inner {\n use super::super::b::B;\n}", 2, "crate::b::B"),
        ("mod inner {\n use crate::{a, b::B};\n}", 2, "crate::b::B"),
        (
            "struct S;\nimpl S {\n fn f(b: crate::b::B) {}\n}",
            3,
            "crate::b::B",
        ),
        ("fn f() { 0..crate::b::c::C; }", 1, "crate::b::c::C"),
    ] {
        assert_eq!(in_lower(text), [against_order(line, path)], "{text}");
    }
}

#[test]
fn other_paths_give_no_finding() {
    for text in [
        "#[cfg(test)]\nmod tests { use crate::b::B; }",
        "#[cfg(all(test, unix))]\nuse crate::b::B;",
        "#[cfg(test)]\nfn f() { crate::b::B; }",
        "struct S;\nimpl S {\n #[cfg(test)]\n fn f(_: crate::b::B) {}\n}",
        "#[test]\nfn f() { crate::b::B; }",
        "//! [`crate::b::B`]\n/// As crate::b::B.\nfn f() {}",
        "fn f(x: S) { x.b::<u8>(); }",
        "pub(in crate::b) fn f() {}",
        "fn f() { quote! { crate::b::B }; syn::parse_quote!(super::b::B) }",
        "use ::b::B;",
        "use b::B;",
    ] {
        assert_eq!(in_lower(text), [""; 0], "{text}");
    }
    let only_not = "#[cfg(not(test))]\nuse crate::b::B;";
    assert_eq!(in_lower(only_not), [against_order(2, "crate::b::B")]);
}

#[test]
fn modules_of_one_floor_do_not_use_each_other() {
    let files = [
        ("src/lib.rs", "mod a;\nmod b;\n"),
        ("src/a.rs", "use crate::b::B;"),
        ("src/b.rs", "pub struct B;"),
    ];
    assert_eq!(
        findings_by("```text src\na, b  both\nlib\n```\n", &files),
        [
            "src/a.rs:1: a uses b (crate::b::B), which is on the same floor in the order, must use \
             only what comes before"
        ]
    );
    assert_eq!(
        findings_by("```text src\nb < a  both\nlib\n```\n", &files),
        [""; 0]
    );
}

#[test]
fn parts_of_a_folder_have_places_of_their_own_or_that_of_the_folder() {
    let files = [
        ("src/lib.rs", "mod jobs;\nmod base;\n"),
        ("src/base/mod.rs", "mod one;\nmod two;\n"),
        ("src/base/one.rs", "use super::two::Two;"),
        ("src/base/two.rs", "pub struct Two;"),
        ("src/jobs/mod.rs", "mod job;\nmod list;\npub use job::Job;"),
        (
            "src/jobs/job.rs",
            "use super::list::List;\npub struct Job(List);",
        ),
        ("src/jobs/list.rs", "pub struct List;"),
    ];
    assert_eq!(
        findings_by(
            "```text src\nbase\njobs::job\njobs::list\njobs\nlib\n```\n",
            &files
        ),
        [
            "src/jobs/job.rs:1: jobs::job uses jobs::list (crate::jobs::list::List), which comes \
             after it in the order, must use only what comes before"
        ]
    );
    assert_eq!(
        findings_by(
            "```text src\nbase\njobs::list < jobs::job\nlib\n```\n",
            &files
        ),
        [
            "src/jobs/mod.rs:1: jobs is missing in the order, must be put into the table of src \
             in CONTRIBUTING.md"
        ]
    );
}

#[test]
fn the_table_and_the_modules_are_the_same() {
    let files = [("src/lib.rs", "mod a;"), ("src/a.rs", "")];
    assert_eq!(
        findings_by(
            "# Order\n\n```text src\nb, lib  more\nlib\n```\n\na\n",
            &files
        ),
        [
            "CONTRIBUTING.md:4: b is no module of src, must go",
            "CONTRIBUTING.md:5: lib stands in the order twice, must stand once",
            "src/a.rs:1: a is missing in the order, must be put into the table of src in \
             CONTRIBUTING.md",
        ]
    );
}

#[test]
fn a_circle_of_two_files_is_found() {
    assert_eq!(
        findings(&[
            ("src/lib.rs", "mod a;\nmod b;"),
            ("src/a.rs", "pub struct A;\n\nuse crate::b::B;"),
            ("src/b.rs", "pub struct B;\nuse crate::a::A;"),
        ]),
        [
            "src/a.rs:3: an import circle, must be cut: a.rs:3 -> b.rs:2 -> a.rs; what both need \
             stands in a file below both"
        ]
    );
}

#[test]
fn a_larger_circle_shows_its_shortest_way_and_all_its_files() {
    assert_eq!(
        findings(&[
            ("src/lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("src/a.rs", "use crate::b::B;\npub struct A;"),
            ("src/b.rs", "use crate::c::C;\npub struct B;"),
            ("src/c.rs", "use crate::{a::A, b::B};\npub struct C;"),
            ("src/d.rs", "use crate::a::A;"),
        ]),
        [
            "src/b.rs:1: an import circle, must be cut: b.rs:1 -> c.rs:1 -> b.rs, one of 3 files \
             that use each other: a.rs b.rs c.rs; what both need stands in a file below both"
        ]
    );
}

#[test]
fn a_folder_and_its_child_that_use_each_other_are_a_circle() {
    let child = "use super::Shared;\npub struct Child(Shared);";
    let with = |head: &str| {
        findings(&[
            ("src/lib.rs", "mod a;"),
            ("src/a/mod.rs", head),
            ("src/a/child.rs", child),
        ])
    };
    let circle = [
        "src/a/child.rs:1: an import circle, must be cut: child.rs:1 -> mod.rs:2 -> child.rs; \
         what both need stands in a file below both",
    ];
    let shared = "pub struct Shared;";
    assert_eq!(
        with(&format!("mod child;\nuse child::Child;\n{shared}")),
        circle
    );
    // Calling a function of a child is a dependency.
    assert_eq!(
        with(&format!("mod child;\nfn f() {{ child::f() }}\n{shared}")),
        circle
    );
    // A re-export of names of the children is not a dependency.
    assert_eq!(
        with(&format!("mod child;\npub use child::Child;\n{shared}")),
        [""; 0]
    );
    // If the file uses these names itself, the re-export is a dependency.
    assert_eq!(
        with(&format!(
            "mod child;\npub use child::Child;\n{shared} fn f(_: Child) {{}}"
        )),
        circle
    );
}

#[test]
fn a_re_export_leads_to_the_file_that_defines_the_name() {
    // The path leads through the folder of both modules, but `one` depends only on `two`, not on
    // the folder.
    let files = |two| {
        findings(&[
            ("src/lib.rs", "mod a;"),
            (
                "src/a/mod.rs",
                "mod one;\nmod two;\nuse one::One;\npub use two::*;",
            ),
            ("src/a/one.rs", "use super::Two;\npub struct One;"),
            ("src/a/two.rs", two),
        ])
    };
    assert_eq!(files("pub struct Two;"), [""; 0]);
    assert_eq!(
        files("pub struct Two;\nuse super::one::One;"),
        [
            "src/a/one.rs:1: an import circle, must be cut: one.rs:1 -> two.rs:2 -> one.rs; what \
             both need stands in a file below both"
        ]
    );
}

#[test]
fn names_of_the_crate_root_are_imported_from_where_they_are_defined() {
    let root = "mod error;\nmod a;\npub use error::{Error, Kind as ErrorKind};\n\
                pub use other_crate::types;\npub struct Own;\n";
    let with = |text| {
        findings(&[
            ("src/lib.rs", root),
            (
                "src/error/mod.rs",
                "mod kind;\npub use kind::Kind;\npub struct Error;",
            ),
            ("src/error/kind.rs", "pub enum Kind { A }"),
            ("src/a.rs", text),
        ])
    };
    for (text, line, written, defined) in [
        (
            "use crate::Error;",
            1,
            "crate::Error",
            "crate::error::Error",
        ),
        (
            "\nuse super::Error;",
            2,
            "super::Error",
            "crate::error::Error",
        ),
        (
            "use crate::{Error as E};",
            1,
            "crate::Error",
            "crate::error::Error",
        ),
        (
            "use crate::ErrorKind;",
            1,
            "crate::ErrorKind",
            "crate::error::Kind",
        ),
        (
            "fn f() {\n crate::ErrorKind::A\n}",
            2,
            "crate::ErrorKind::A",
            "crate::error::Kind",
        ),
        (
            "use crate::types::Job;",
            1,
            "crate::types::Job",
            "other_crate::types",
        ),
    ] {
        let message = format!(
            "src/a.rs:{line}: {written} is re-exported by the crate root, must be {defined}"
        );
        assert_eq!(with(text), [message], "{text}");
    }
    for text in [
        "use crate::error::Error;",
        "use crate::error::Kind;",
        "use crate::Own;",
        "use other_crate::types;",
    ] {
        assert_eq!(with(text), [""; 0], "{text}");
    }
}

#[test]
fn exported_macros_stand_in_the_file_that_defines_them() {
    assert_eq!(
        findings(&[
            ("src/lib.rs", "mod a;\nmod b;"),
            (
                "src/a.rs",
                "#[macro_export]\nmacro_rules! make { () => { crate::b::B }; }"
            ),
            (
                "src/b.rs",
                "pub struct B;\nfn f() { crate::make!() }\nuse crate::make;"
            ),
        ]),
        [
            "src/a.rs:2: an import circle, must be cut: a.rs:2 -> b.rs:2 -> a.rs; what both need \
             stands in a file below both"
        ]
    );
}

#[test]
fn a_folder_has_at_most_fifteen_source_files() {
    let folder = |name: &str, count: usize| {
        let files = (0..count).map(|i| (format!("src/{name}/f{i}.rs"), String::new()));
        let mods: String = (0..count).map(|i| format!("mod f{i};\n")).collect();
        let mut files: Vec<_> = files.collect();
        let tests = "#[cfg(test)] mod tests;\n#[cfg(test)] mod support;\nmod more_tests;";
        files.push((format!("src/{name}/mod.rs"), format!("{mods}{tests}")));
        files.push((format!("src/{name}/more_tests.rs"), String::new()));
        files.push(("src/lib.rs".into(), format!("mod {name};")));
        let files: Vec<_> = files
            .iter()
            .map(|(n, t)| (n.as_str(), t.as_str()))
            .collect();
        findings(&files)
    };
    assert_eq!(folder("a", 14), [""; 0]);
    assert_eq!(
        folder("a", 15),
        [
            "src/a/mod.rs:1: src/a has 16 source files, must have at most 15; those of one \
             subject go into a folder"
        ]
    );
    assert_eq!(folder("rules", 30), [""; 0]);
}

#[test]
fn modules_are_found_where_rust_finds_them() {
    let circle = "use crate::end::End;\npub struct Far;";
    for (root, path, file) in [
        ("mod a;", "crate::a::far::Far", "a/far.rs"),
        ("mod a { pub mod far; }", "crate::a::far::Far", "a/far.rs"),
        (
            "#[path = \"a/far.rs\"]\nmod elsewhere;",
            "crate::elsewhere::Far",
            "a/far.rs",
        ),
    ] {
        let end = format!("use {path};\npub struct End;");
        let found = findings(&[
            ("src/lib.rs", &format!("{root}\nmod end;")),
            ("src/a.rs", "pub mod far;"),
            ("src/a/far.rs", circle),
            ("src/end.rs", &end),
        ]);
        let expected = [format!(
            "src/{file}:1: an import circle, must be cut: {file}:1 -> end.rs:1 -> {file}; what \
             both need stands in a file below both"
        )];
        assert_eq!(found, expected, "{root}");
    }
}

#[test]
fn a_module_without_a_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/lib.rs"), "mod gone;").unwrap();
    let error = check(&root, &[root.join("src/lib.rs")], "").unwrap_err();
    assert_eq!(format!("{error:#}"), "src/lib.rs: mod gone; has no file");
}

#[test]
fn the_crates_of_a_workspace_are_found() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let write = |name: &str, text: &str| {
        let file = root.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    let package = "[package]\nname = \"one\"\nedition = \"2024\"\n[workspace]\n";
    write("Cargo.toml", package);
    write("build.rs", "fn main() {}");
    write("src/lib.rs", "mod a;\nmod b;\n");
    write("src/main.rs", "fn main() {}");
    write("src/a.rs", "use crate::b::B;");
    write("src/b.rs", "pub struct B;");
    write("tests/it.rs", "mod support;");
    write("CONTRIBUTING.md", "```text src\na\nb\nlib, main\n```\n");
    assert_eq!(Metadata::read(root).unwrap().roots().len(), 3);
    let code = |tables: Option<&Path>| format!("{:?}", run(root, tables).unwrap());
    assert_eq!(code(None), format!("{:?}", ExitCode::FAILURE));
    write("other.md", "```text src\nb\na\nlib, main\n```\n");
    let other = root.join("other.md");
    assert_eq!(code(Some(&other)), format!("{:?}", ExitCode::SUCCESS));
}
