//! Prints the tables of `CREATING.md`, or writes them into it:
//! `cargo run --example parameters -- --write`.

use std::{env, error::Error, fs, path::Path};

use modelarts_ext::jobs::create::parameters_as_markdown;

const BEGIN: &str =
    "<!-- The rest is written by `cargo run --example parameters -- --write`. -->\n";

fn main() -> Result<(), Box<dyn Error>> {
    let tables = parameters_as_markdown();
    if env::args().nth(1).as_deref() != Some("--write") {
        print!("{tables}");
        return Ok(());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("CREATING.md");
    let page = fs::read_to_string(&path)?;
    let (text, _) = page.split_once(BEGIN).ok_or("CREATING.md has no mark")?;
    fs::write(path, format!("{text}{BEGIN}\n{tables}"))?;
    Ok(())
}
