//! Tables of flavors and pools in `POOLS.md`, generated from the catalog.

use std::{env, fs, path::Path};

use crate::catalog::{
    flavors::{FLAVORS, Flavor},
    pools::{Pool, PoolKind},
};

const BEGIN: &str =
    "<!-- written by `UPDATE=1 cargo test -p modelarts-emulator --lib page_tables` -->\n\n";
const END: &str = "\n<!-- end of the tables -->\n";

/// Returns a row of the table of flavors.
fn flavor_row(flavor: &Flavor) -> String {
    let (cores, memory) = flavor.size();
    let cards = match flavor.gpu {
        Some((number, product, memory)) => format!("{number} {product}, {memory} each"),
        None => "none".to_owned(),
    };
    let disk = flavor.disk_gb.map_or("not stated".to_owned(), |size| format!("{size} GB"));
    format!(
        "| `{}` | {} | {cores} | {memory} GB | {cards} | {disk} | {} |\n",
        flavor.id,
        if flavor.of_pools { "dedicated, with cards" } else { "public" },
        flavor.max_nodes,
    )
}

/// Returns a row of the table of pools.
fn pool_row(pool: &Pool) -> String {
    let flavor = match pool.kind {
        PoolKind::Cpu => "none",
        PoolKind::Gpu => "`modelarts.pool.visual.*`",
    };
    format!("| `{}` | {} | {flavor} |\n", pool.id, pool.nodes)
}

fn tables() -> String {
    let mut tables = String::from(
        "| flavor | pool | CPU cores | memory | cards of a node | disk | nodes of a job, at most \
         |\n\
         |---|---|---|---|---|---|---|\n",
    );
    tables.extend(FLAVORS.iter().map(flavor_row));
    tables += "\n| dedicated pool | nodes | flavor of its jobs |\n|---|---|---|\n";
    tables.extend(Pool::defaults().iter().map(pool_row));
    tables
}

#[test]
fn the_page_has_the_tables_of_the_catalog() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("POOLS.md");
    let page = fs::read_to_string(&file).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (tables_of_page, after) = rest.split_once(END).unwrap();
    if env::var_os("UPDATE").is_some() {
        let page = format!("{before}{BEGIN}{}{END}{after}", tables());
        fs::write(file, page).unwrap();
        return;
    }
    assert!(
        tables_of_page == tables(),
        "the tables of POOLS.md differ from the catalog; run the test with UPDATE=1"
    );
}
