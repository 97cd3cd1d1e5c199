//! Tests of the handle of a running emulator: settings for clients, objects in the emulated OBS,
//! and shutdown.

mod faults;
mod keys;
mod objects;
mod suspend;
mod variables;
