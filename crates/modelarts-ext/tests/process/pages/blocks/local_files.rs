use modelarts_ext::jobs::create::{CodeDir, check_input_size};

fn main() -> Result<(), modelarts_ext::Error> {
    let report = CodeDir::scan("./code")?.check(Some("train.py"));
    print!("{report}");
    // The disk of the flavor has 50 GB.
    print!("{}", check_input_size("./data", 50)?);
    Ok(())
}
