//! `cargo xtask api`: the public API of the crates as lists, so that a change of the API shows in a
//! diff.

use std::{collections::BTreeSet, env, fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, ensure};

use crate::workspace;

/// Crates whose API is recorded. That of modelarts-api is in the snapshots of the generated code.
const CRATES: [&str; 3] = ["modelarts-emulator", "modelarts-ext", "modelarts-obs"];

/// Writes a list of the public items of each crate, with all features. With `check`, fails if a
/// list is outdated.
pub fn run(check: bool) -> Result<ExitCode> {
    let mut command = workspace::cargo(["doc", "--workspace", "--no-deps", "--all-features"]);
    // The format of the JSON belongs to a version of rustdoc, and of the crate `public-api`.
    command.env("RUSTDOC", workspace::root().join(".ci/rustdoc-json"));
    let status = command.status().context("cargo could not be started")?;
    ensure!(status.success(), "rustdoc failed");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let documents = workspace::root().join(target).join("doc");
    let mut code = ExitCode::SUCCESS;
    for name in CRATES {
        let document = documents.join(format!("{}.json", name.replace('-', "_")));
        let api = public_api::Builder::from_rustdoc_json(&document)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build()
            .with_context(|| format!("{}, by another rustdoc than 1.95?", document.display()))?;
        let after: String = api.items().map(|item| format!("{item}\n")).collect();
        let file = workspace::root().join(format!("xtask/api/{name}.txt"));
        let before = fs::read_to_string(&file).unwrap_or_default();
        if before == after {
            println!("the public API of {name} is that of its list");
            continue;
        }
        let lines = |text: &'_ str| text.lines().map(str::to_owned).collect::<BTreeSet<String>>();
        let (old, new) = (lines(&before), lines(&after));
        old.difference(&new).for_each(|line| println!("-{line}"));
        new.difference(&old).for_each(|line| println!("+{line}"));
        if check {
            println!("the public API of {name} has changed; run `cargo xtask api`");
            code = ExitCode::FAILURE;
        } else {
            fs::write(&file, after).with_context(|| file.display().to_string())?;
        }
    }
    Ok(code)
}
