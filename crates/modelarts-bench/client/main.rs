//! Measurements of the client: `cargo bench -p modelarts-bench -- NAME`.
//!
//! Most of them report the ratio of two programs, which are measured in alternating rounds.
//! Absolute figures would vary on a shared machine. `BENCH.md` contains results.

mod by_hand;
mod get;
mod instructions;
mod lists;
#[path = "../../modelarts-api/benches/pages/mod.rs"]
mod pages;
mod server;
mod timing;
mod waits;

use std::env;

use anyhow::{Result, bail};
use tokio::runtime::Builder;

fn main() -> Result<()> {
    // reqwest is built without a crypto provider of rustls, and would panic without this default.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Builder::new_current_thread().enable_all().build()?;
    // Cargo adds `--bench`.
    let arguments: Vec<_> = env::args().filter(|it| it != "--bench").collect();
    let arguments: Vec<_> = arguments.iter().skip(1).map(String::as_str).collect();
    match *arguments {
        ["get"] => runtime.block_on(get::compare()),
        ["get", python] => runtime.block_on(get::compare_with_python(python)),
        ["in-flight"] => runtime.block_on(lists::in_flight()),
        ["memory"] => runtime.block_on(lists::memory()),
        ["first-page"] => runtime.block_on(lists::first_page()),
        ["waits"] => runtime.block_on(waits::together()),
        ["single-waits"] => runtime.block_on(waits::single()),
        ["follow-log"] => runtime.block_on(lists::follow_log()),
        ["instructions"] => instructions::compare(),
        ["counted"] => instructions::run(&runtime),
        _ => {
            bail!(
                "{arguments:?} must be get, get PYTHON, in-flight, memory, waits, single-waits or \
                 instructions"
            )
        }
    }
}
