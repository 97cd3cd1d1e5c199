//! Wheel of the emulator's version of MoXing, the library of the service for OBS in training
//! containers. The sources are in the directory `moxing` of this crate.

use std::{
    io::{self, Cursor, Write},
    path::Path,
    sync::OnceLock,
};

use zip::{CompressionMethod, ZipWriter, result::ZipResult, write::SimpleFileOptions};

use crate::files::confined_dir::ConfinedDir;

/// File name of the wheel without its tags. The version has no hyphen, which would separate parts.
macro_rules! stem {
    () => {
        "moxing_framework-2.5.0+modelarts.emulator"
    };
}
/// File name of the wheel, as pip requires it. Code finds it by `moxing_framework-*.whl`.
pub(super) const WHEEL: &str = concat!(stem!(), "-py3-none-any.whl");

const METADATA: &str = "Metadata-Version: 2.1
Name: moxing-framework
Version: 2.5.0+modelarts-emulator
Summary: MoXing of the ModelArts emulator, not Huawei's
License: MIT OR Apache-2.0
Requires-Python: >=3.7
";
const TAGS: &str = "Wheel-Version: 1.0
Generator: modelarts-emulator
Root-Is-Purelib: true
Tag: py3-none-any
";

macro_rules! sources {
    ($($path:literal)*) => {
        [$(($path, include_str!(concat!("../../../moxing/", $path)))),*]
    };
}
const SOURCES: [(&str, &str); 13] = sources![
    "moxing/__init__.py"
    "moxing/_missing.py"
    "moxing/framework/__init__.py"
    "moxing/framework/file/__init__.py"
    "moxing/framework/file/_auth.py"
    "moxing/framework/file/_changes.py"
    "moxing/framework/file/_errors.py"
    "moxing/framework/file/_location.py"
    "moxing/framework/file/_pending.py"
    "moxing/framework/file/_queries.py"
    "moxing/framework/file/_shift.py"
    "moxing/framework/file/_stream.py"
    "moxing/framework/file/file_io.py"
];

/// Writes the wheel into a directory, unless the directory already contains it.
pub(super) fn write_wheel(directory: &Path) -> io::Result<()> {
    if directory.join(WHEEL).exists() {
        return Ok(());
    }
    ConfinedDir::create(directory)?.write(Path::new(WHEEL), content()?)
}

fn content() -> io::Result<&'static [u8]> {
    static CONTENT: OnceLock<ZipResult<Vec<u8>>> = OnceLock::new();
    match CONTENT.get_or_init(build) {
        Ok(content) => Ok(content),
        Err(error) => Err(io::Error::other(error.to_string())),
    }
}

fn build() -> ZipResult<Vec<u8>> {
    let info = concat!(stem!(), ".dist-info");
    let [metadata, tags, record] =
        ["METADATA", "WHEEL", "RECORD"].map(|name| format!("{info}/{name}"));
    let mut files = SOURCES.to_vec();
    files.extend([(metadata.as_str(), METADATA), (tags.as_str(), TAGS)]);
    let names = files.iter().map(|(path, _)| *path).chain([record.as_str()]);
    let lines: String = names.map(|path| format!("{path},,\n")).collect();
    files.push((&record, &lines));
    // Python imports uncompressed modules directly from the wheel, even without the module zlib.
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, text) in files {
        archive.start_file(path, options)?;
        archive.write_all(text.as_bytes())?;
    }
    Ok(archive.finish()?.into_inner())
}
