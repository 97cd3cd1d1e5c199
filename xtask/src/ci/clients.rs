//! Check of the clients in other languages: generates them from the description, and runs them
//! against the emulator.

use anyhow::Result;

use crate::clients::{self, Selection};
use crate::outcome::Outcome;

pub fn run() -> Result<Outcome> {
    // `.ci/run` installs missing programs if it has permission to do so.
    let missing = clients::missing();
    if !missing.is_empty() {
        return Ok(Outcome::Skipped {
            why: format!("not installed: {}", missing.join(", ")),
            also_in_ci: false,
        });
    }
    let selection = Selection {
        names: Vec::new(),
        all_generators: false,
    };
    Ok(if clients::all_work(&selection, false)? {
        Outcome::Passed
    } else {
        Outcome::Failed("see the lines above".into())
    })
}
