//! The handle of a running emulator: settings of its clients, objects in its OBS, and its end.

mod faults;
mod keys;
mod objects;
mod suspend;
mod variables;
