//! Entry point of the program `modelarts`.

use std::process::ExitCode;

fn main() -> ExitCode {
    modelarts_cli::main()
}
