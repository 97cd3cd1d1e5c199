//! Wheel of the emulator's version of MoXing, the library of the service for OBS in training
//! containers. The directory `moxing` of this crate contains the sources and the wheel.

use std::{io, path::Path};

use crate::files::confined_dir::ConfinedDir;

/// File name of the wheel without its tags. The version has no hyphen, which would separate parts.
macro_rules! stem {
    () => {
        "moxing_framework-2.5.0+modelarts.emulator"
    };
}
/// File name of the wheel, as pip requires it. Code finds it by `moxing_framework-*.whl`.
pub(super) const WHEEL: &str = concat!(stem!(), "-py3-none-any.whl");

/// The wheel, written by `UPDATE=1 cargo test -p modelarts-emulator --lib moxing`.
const CONTENT: &[u8] = include_bytes!(concat!("../../../moxing/", stem!(), "-py3-none-any.whl"));

/// Writes the wheel into a directory, unless the directory already contains it.
pub(super) fn write_wheel(directory: &Path) -> io::Result<()> {
    if directory.join(WHEEL).exists() {
        return Ok(());
    }
    ConfinedDir::create(directory)?.write(Path::new(WHEEL), CONTENT)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        io::{Cursor, Write},
    };

    use zip::{CompressionMethod, ZipWriter, result::ZipResult, write::SimpleFileOptions};

    use super::*;

    const DIRECTORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/moxing");
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

    #[test]
    fn the_wheel_contains_the_sources() {
        let files = Path::new(DIRECTORY).join("moxing");
        let modules = walkdir::WalkDir::new(files).sort_by_file_name().into_iter().map(|entry| {
            let path = entry.unwrap().into_path();
            let name = path.strip_prefix(DIRECTORY).unwrap().to_str().unwrap().to_owned();
            (name, path)
        });
        let modules = modules.filter(|(name, _)| name.ends_with(".py"));
        let mut files: Vec<(String, String)> =
            modules.map(|(name, path)| (name, fs::read_to_string(path).unwrap())).collect();
        let info = |name: &str| format!(concat!(stem!(), ".dist-info/{}"), name);
        files.extend([(info("METADATA"), METADATA.into()), (info("WHEEL"), TAGS.into())]);
        let record = info("RECORD");
        let names = files.iter().map(|(name, _)| name).chain([&record]);
        let lines = names.map(|name| format!("{name},,\n")).collect();
        files.push((record, lines));
        let wheel = pack(&files).unwrap();
        if std::env::var_os("UPDATE").is_some() {
            fs::write(Path::new(DIRECTORY).join(WHEEL), &wheel).unwrap();
        } else {
            assert!(wheel == CONTENT, "the wheel differs from its sources; run with UPDATE=1");
        }
    }

    fn pack(files: &[(String, String)]) -> ZipResult<Vec<u8>> {
        // Python imports uncompressed modules from the wheel, even without the module zlib.
        let options = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        for (path, text) in files {
            archive.start_file(path, options)?;
            archive.write_all(text.as_bytes())?;
        }
        Ok(archive.finish()?.into_inner())
    }
}
