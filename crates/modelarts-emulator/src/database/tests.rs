//! Tests of the database.

use futures::FutureExt;

use super::*;

#[test]
fn a_directory_in_use_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite3");
    let first = Database::open(Some(&path)).unwrap();
    assert_eq!(
        Database::open(Some(&path)).unwrap_err().to_string(),
        "another emulator runs on it: end that one, or choose another data directory"
    );
    drop(first);
    drop(Database::open(Some(&path)).unwrap());
}

#[test]
fn a_file_of_another_layout_is_refused_and_stays_as_it_was() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite3");
    drop(Database::open(Some(&path)).unwrap());
    for found in [LAYOUT - 1, LAYOUT + 1, 0, -1] {
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", found).unwrap();
        drop(connection);
        let before = std::fs::read(&path).unwrap();
        assert_eq!(
            Database::open(Some(&path)).unwrap_err().to_string(),
            format!(
                "it has the layout {found}, and this emulator reads only the layout {LAYOUT}: \
                 remove the directory and lose the jobs in it, choose another data directory, or \
                 use the version of the emulator that has written it"
            )
        );
        assert!(before == std::fs::read(&path).unwrap(), "the file has changed");
    }
}

#[test]
fn garbage_in_the_last_pages_is_found_when_the_file_is_opened() {
    const PAGE: usize = 4096;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite3");
    let database = Database::open(Some(&path)).unwrap();
    for n in 0..100 {
        let text = "x".repeat(1000);
        database.setting(&format!("name {n}"), text).unwrap();
    }
    drop(database);
    drop(Database::open(Some(&path)).unwrap());
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 2 * PAGE;
    bytes[last..].fill(0xa5);
    std::fs::write(&path, &bytes).unwrap();
    let error = Database::open(Some(&path)).unwrap_err();
    assert!(matches!(error, DatabaseError::Damaged(_)), "{error}");
    let text = error.to_string();
    assert!(text.starts_with("it is damaged: "), "{text}");
    assert!(text.ends_with(". Restore a backup, or delete it and lose the jobs in it"), "{text}");
    assert!(bytes == std::fs::read(&path).unwrap(), "the file has changed");
}

/// Failed changes also fail waiting and later callers; committed changes stay.
#[tokio::test]
async fn a_failure_reaches_all_waiters() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite3");
    let database = Database::open(Some(&path)).unwrap();
    assert_eq!(database.setting("name", "first".to_owned()).unwrap(), "first");
    database.committed().await.unwrap();
    let wrong = database.write(|connection| connection.execute("INSERT INTO nowhere", []));
    assert!(wrong.is_err());
    let error = database.committed().await.unwrap_err();
    assert_eq!(error.status, 500);
    assert!(database.setting("name", "second".to_owned()).is_err());
    drop(database);
    let database = Database::open(Some(&path)).unwrap();
    assert_eq!(database.setting("name", "third".to_owned()).unwrap(), "first");
}

#[test]
fn changes_in_memory_are_committed_before_write_returns() {
    let database = Database::open(None).unwrap();
    for n in 0..100 {
        database.setting(&format!("name {n}"), "value".to_owned()).unwrap();
        let written = database.committed().now_or_never();
        assert!(matches!(written, Some(Ok(()))), "change {n}: {written:?}");
    }
    let wrong = database.write(|connection| connection.execute("INSERT INTO nowhere", []));
    assert!(wrong.is_err());
    let error = database.committed().now_or_never().unwrap().unwrap_err();
    assert_eq!(error.status, 500);
    assert!(database.setting("name", "later".to_owned()).is_err());
}

#[cfg(unix)]
#[test]
fn only_the_user_can_read_the_tokens() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.sqlite3");
    let _database = Database::open(Some(&path)).unwrap();
    for file in ["state.sqlite3", "state.sqlite3-wal"] {
        let metadata = std::fs::metadata(directory.path().join(file)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{file}");
    }
}
