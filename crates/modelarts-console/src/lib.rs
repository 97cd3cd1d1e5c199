//! Web page for ModelArts training jobs: list, events, logs, usage, and the form for new jobs.
//!
//! The page is a client of the service through modelarts-ext, so the same page serves the emulator
//! and the real service. [`Console`] listens on a loopback address. A browser logs in by a link
//! that is valid once; keys of the service never reach the browser.
//!
//! ```
//! use modelarts_console::Console;
//! use modelarts_ext::ClientBuilder;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let emulator = modelarts_emulator::Emulator::start().await?;
//! let client = ClientBuilder::from_env();
//! # let client = ClientBuilder::from_vars(emulator.vars());
//! let console = Console::builder(client.build()?).read_only(true).start().await?;
//! println!("Open {} in a browser.", console.login_url());
//! console.shutdown().await;
//! # Ok(())
//! # }
//! ```

mod access;
mod action;
mod administration;
mod assets;
mod choices;
mod console;
mod create;
#[doc(hidden)]
pub mod display;
mod drafts;
mod emulator;
mod facts;
mod guard;
mod job;
mod jobs;
mod live;
mod page;
#[doc(hidden)]
pub mod parameters;
mod problem;
mod service_clock;
mod site;
mod snippets;
mod temporary;
#[doc(hidden)]
pub mod trials;

pub use console::{Console, ConsoleBuilder};
