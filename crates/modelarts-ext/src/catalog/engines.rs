//! The newest of the preset images with an engine.

use std::cmp::Reverse;

use crate::{
    client::Client,
    error::{Error, ErrorKind},
};

/// Maximum number of engines that are read.
const MAX_ROWS: usize = 500;

impl Client {
    /// Returns the name and the version of the newest engine with this name, such as `PyTorch`, in
    /// the form of [`CreateJob::preset_image`](crate::CreateJob::preset_image). Versions are compared
    /// by the numbers at their beginning. Engines of version 1 of the API ignore the directories of a
    /// request, so they come last.
    ///
    /// ```
    /// # include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/local/doc_tests.rs"));
    /// # fn main() -> Result { run(async |emulator, client| {
    /// let (name, version) = client.newest_engine("PyTorch").await?;
    /// let job = client.training_jobs().create("first").preset_image(name, version);
    /// # assert!(job.body()["algorithm"]["engine"]["engine_version"].is_string());
    /// # Ok(()) }) }
    /// ```
    ///
    /// # Errors
    /// Returns an error with [`Error::is_not_found`] if no engine has this name. Its advice lists the
    /// engines.
    pub async fn newest_engine(&self, name: &str) -> Result<(String, String), Error> {
        let engines = self.engines().collect(MAX_ROWS).await?;
        let known = engines.iter().filter_map(|engine| {
            let version = engine.engine_version.as_deref()?;
            Some((engine.engine_name.as_deref()?, version, engine.v1_compatible == Some(true)))
        });
        let named = known.clone().filter(|(other, ..)| *other == name);
        let newest = named.max_by_key(|(_, version, is_old)| (Reverse(*is_old), numbers(version)));
        if let Some((name, version, _)) = newest {
            return Ok((name.to_owned(), version.to_owned()));
        }
        let lines = known.map(|(name, version, _)| format!("\n  {name}:{version}"));
        let advice = format!("choose one of these:{}", lines.collect::<String>());
        Err(Error::new(ErrorKind::NotFound, format!("no engine is named {name}"))
            .with_advice(Some(advice)))
    }
}

/// Returns the leading number of a version in parts: 1, 8, 0 for `pytorch_1.8.0-cuda_10.2`.
fn numbers(version: &str) -> Vec<u64> {
    let digits = version.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != '.');
    let digits = &digits[..end.unwrap_or(digits.len())];
    digits.split('.').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(numbers("pytorch_1.8.0-cuda_10.2-py_3.7"), [1, 8, 0]);
        assert_eq!(numbers("PyTorch-1.10.2-python3.6-v2"), [1, 10, 2]);
        assert!(numbers("pytorch_1.10.0") > numbers("pytorch_1.8.0"));
        assert_eq!(numbers("retired"), [0_u64; 0]);
    }
}
