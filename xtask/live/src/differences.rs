//! Differences between the project and the service.

use std::collections::BTreeMap;

use crate::transcript::Call;

/// Part of the project that a difference concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Description,
    Types,
    Emulator,
}

/// Differences by operation, each with the number of calls that show it.
#[derive(Default)]
pub struct Differences(BTreeMap<String, BTreeMap<(Party, String), usize>>);

impl Differences {
    /// Records a difference for one operation.
    pub fn add(&mut self, operation: &str, party: Party, text: String) {
        let of_operation = self.0.entry(operation.to_owned()).or_default();
        *of_operation.entry((party, text)).or_default() += 1;
    }

    /// Returns the number of distinct differences.
    pub fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Prints the differences by operation.
    pub fn print(&self) {
        for (operation, differences) in &self.0 {
            println!("{operation}");
            for ((party, text), calls) in differences {
                let party = match party {
                    Party::Description => "description",
                    Party::Types => "types",
                    Party::Emulator => "emulator",
                };
                let times = if *calls > 1 {
                    format!(" ({calls} calls)")
                } else {
                    String::new()
                };
                println!("  {party:11}  {text}{times}");
            }
        }
    }
}

/// Returns the heading under which the differences of a call are printed.
pub fn label(call: &Call) -> &str {
    call.operation.as_deref().unwrap_or("unknown operation")
}

/// Formats a JSON pointer for messages.
pub fn shown(place: &str) -> &str {
    if place.is_empty() { "(body)" } else { place }
}
