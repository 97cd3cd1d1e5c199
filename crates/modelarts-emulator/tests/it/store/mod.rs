//! The database of an emulator.

mod durability;
