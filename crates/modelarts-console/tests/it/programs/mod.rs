//! Programs that the page shows, which must compile.

#[expect(dead_code, reason = "the program would create a job")]
mod again;
