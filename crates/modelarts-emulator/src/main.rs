//! Entry point of the program `modelarts-emulator`.

use std::process::ExitCode;

fn main() -> ExitCode {
    modelarts_emulator::program::main()
}
