//! Temporary directories that only the user of the program can read.

use std::io;

use tempfile::TempDir;

/// Creates a directory whose name begins with a prefix. It is deleted when the value is dropped.
///
/// Logs and code are private, and the directory of temporary files is shared by all users.
pub(crate) fn directory(prefix: &str) -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(prefix);
    #[cfg(unix)]
    {
        use std::{fs::Permissions, os::unix::fs::PermissionsExt};
        builder.permissions(Permissions::from_mode(0o700));
    }
    builder.tempdir()
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn other_users_cannot_read_a_directory() {
        let directory = directory("modelarts-test-").unwrap();
        let mode = directory.path().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
