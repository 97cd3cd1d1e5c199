//! Tests of the catalogues of the emulator, and of the settings for undocumented behaviour.

mod clouds;
mod quirks;
