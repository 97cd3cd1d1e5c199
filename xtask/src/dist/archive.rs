//! Checksums and archive of a release.

use std::{
    fs::{self, File},
    path::Path,
};

use anyhow::Result;
use flate2::{Compression, GzBuilder};
use sha2::{Digest, Sha256};

use super::files;

/// Name of the file with the checksums of all other files.
pub const SUMS: &str = "SHA256SUMS";

/// Modification time of all entries, 1980-01-01. It is constant, so that the bytes of the archive
/// do not depend on the time of the release.
const TIME: u64 = 315_532_800;

/// Returns the checksums of all files in a folder, in the format of `sha256sum` and in the order of
/// the file names.
pub fn sums(folder: &Path) -> Result<String> {
    let mut sums = String::new();
    for name in files::all(folder)? {
        sums += &sum(folder, &folder.join(name))?;
    }
    Ok(sums)
}

/// Returns the checksum line of one file, with its name in the folder.
pub fn sum(folder: &Path, file: &Path) -> Result<String> {
    let sum = Sha256::digest(fs::read(file)?);
    let hex: String = sum.iter().map(|byte| format!("{byte:02x}")).collect();
    let name = file.strip_prefix(folder)?;
    Ok(format!("{hex}  {}\n", name.display()))
}

/// Writes a folder into an archive, in which the folder has the name `name`.
pub fn write(folder: &Path, name: &str, archive: &Path) -> Result<()> {
    let gzip = GzBuilder::new().write(File::create(archive)?, Compression::best());
    let mut tar = tar::Builder::new(gzip);
    for file in files::all(folder)? {
        let bytes = fs::read(folder.join(&file))?;
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(bytes.len())?);
        header.set_mode(0o644);
        header.set_mtime(TIME);
        tar.append_data(&mut header, Path::new(name).join(&file), bytes.as_slice())?;
    }
    tar.into_inner()?.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{io::Read, path::PathBuf};

    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("c")).unwrap();
        for name in ["b", "a", "c/d"] {
            fs::write(folder.path().join(name), "abc").unwrap();
        }
        folder
    }

    #[test]
    fn sums_are_those_of_sha256sum() {
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sums(folder().path()).unwrap(), format!("{sum}  a\n{sum}  b\n{sum}  c/d\n"));
    }

    #[test]
    fn an_archive_of_the_same_files_has_the_same_bytes() {
        let target = tempfile::tempdir().unwrap();
        let archives = ["1.tar.gz", "2.tar.gz"].map(|name| target.path().join(name));
        for archive in &archives {
            // The files of the second folder have different modification times, and possibly a
            // different order.
            write(folder().path(), "release", archive).unwrap();
        }
        let [first, second] = archives.map(|archive| fs::read(archive).unwrap());
        assert_eq!(first, second);

        let mut tar = tar::Archive::new(flate2::read::GzDecoder::new(first.as_slice()));
        let mut entries = Vec::new();
        for entry in tar.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            entries.push((entry.path().unwrap().into_owned(), text));
        }
        let expected = ["release/a", "release/b", "release/c/d"];
        assert_eq!(entries, expected.map(|name| (PathBuf::from(name), "abc".to_owned())));
    }
}
