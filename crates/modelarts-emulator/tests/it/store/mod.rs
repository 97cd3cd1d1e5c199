//! Tests of the database of an emulator.

mod durability;
