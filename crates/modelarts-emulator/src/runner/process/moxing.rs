//! Wheel of MoXing, the service's library for OBS in training containers, in a version of the
//! emulator. The sources are in the directory `moxing` of this crate.

use std::{
    fs,
    io::{self, Cursor, Write},
    path::Path,
    sync::OnceLock,
};

use zip::{CompressionMethod, ZipWriter, result::ZipResult, write::SimpleFileOptions};

macro_rules! version {
    () => {
        "2.1.16+modelarts-emulator"
    };
}
/// File name of the wheel. Code that installs MoXing finds it by `moxing_framework-*.whl`.
pub(super) const WHEEL: &str = concat!("moxing_framework-", version!(), "-py3-none-any.whl");

macro_rules! sources {
    ($($path:literal)*) => {
        [$(($path, include_str!(concat!("../../../moxing/", $path)))),*]
    };
}
/// Modules, each with its path in the wheel.
const SOURCES: [(&str, &str); 0] = sources![];

/// Writes the wheel into a directory, unless it is there.
pub(super) fn write_wheel(directory: &Path) -> io::Result<()> {
    let path = directory.join(WHEEL);
    if path.exists() {
        return Ok(());
    }
    fs::create_dir_all(directory)?;
    // Another worker may write the same file.
    let mut file = tempfile::NamedTempFile::new_in(directory)?;
    file.write_all(content()?)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

/// Returns the content of the wheel.
fn content() -> io::Result<&'static [u8]> {
    static CONTENT: OnceLock<ZipResult<Vec<u8>>> = OnceLock::new();
    match CONTENT.get_or_init(build) {
        Ok(content) => Ok(content),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

fn build() -> ZipResult<Vec<u8>> {
    let info = concat!("moxing_framework-", version!(), ".dist-info");
    let metadata = concat!("Metadata-Version: 2.1\nName: moxing-framework\nVersion: ", version!(), "\n");
    let wheel = "Wheel-Version: 1.0\nGenerator: modelarts-emulator\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    let mut files: Vec<(String, String)> = SOURCES
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
        .collect();
    files.push((format!("{info}/METADATA"), metadata.to_owned()));
    files.push((format!("{info}/WHEEL"), wheel.to_owned()));
    let record = format!("{info}/RECORD");
    let names = files.iter().map(|(path, _)| path).chain([&record]);
    let lines: String = names.map(|path| format!("{path},,\n")).collect();
    files.push((record, lines));
    // Python imports modules from a wheel as it is.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in &files {
        archive.start_file(path.as_str(), options)?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}
