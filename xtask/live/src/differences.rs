//! Differences between the project and the service.

use std::collections::BTreeMap;

use crate::transcript::Call;

/// The part of the project that differs from the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    Description,
    Types,
    Emulator,
}

/// The differences of each operation, and how many calls have each of them.
#[derive(Default)]
pub struct Differences(BTreeMap<String, BTreeMap<(Party, String), usize>>);

impl Differences {
    /// Adds one.
    pub fn add(&mut self, operation: &str, party: Party, text: String) {
        let of_operation = self.0.entry(operation.to_owned()).or_default();
        *of_operation.entry((party, text)).or_default() += 1;
    }

    /// The number of different ones.
    pub fn count(&self) -> usize {
        self.0.values().map(BTreeMap::len).sum()
    }

    /// Prints them by operation.
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

/// The name that the differences of a call stand under.
pub fn label(call: &Call) -> &str {
    call.operation.as_deref().unwrap_or("unknown operation")
}

/// A place, for a reader.
pub fn shown(place: &str) -> &str {
    if place.is_empty() { "(body)" } else { place }
}
