//! Manners of all commands: streams, terminals, secrets.

mod secrets;
mod streams;
mod terminals;

use std::path::Path;

use snapbox::cmd::{Command, cargo_bin};

use crate::support::Fixture;

/// Returns a program with the environment of `modelarts` in a test, which it finds by this name.
fn program(fixture: &Fixture, name: &str) -> Command {
    let bin = cargo_bin!("modelarts").parent().map(Path::to_owned).unwrap();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(std::env::var_os("PATH").unwrap_or_default());
    let mut command = Command::new(name)
        .env_clear()
        .env("PATH", path)
        .env("HOME", fixture.path())
        .env("TERM", "xterm")
        .env("MODELARTS_CONFIG", fixture.path().join("config.toml"))
        .env("MODELARTS_STATE_DIR", fixture.path().join("state"))
        .env("MODELARTS_CACHE_DIR", fixture.path().join("cache"))
        .current_dir(fixture.path());
    for (name, value) in fixture.emulator.envs() {
        command = command.env(name, value);
    }
    command
}
