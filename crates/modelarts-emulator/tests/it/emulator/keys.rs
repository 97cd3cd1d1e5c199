//! Keys of the first user, which a data directory keeps.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use modelarts_emulator::{Builder, Emulator};

use crate::support::Site;

type Keys = (String, String, String);

async fn keys(data: &Path, set: impl FnOnce(Builder) -> Builder) -> Keys {
    let builder = Emulator::builder().data_dir(data);
    let emulator = set(builder).start().await.unwrap();
    let keys = (
        emulator.project_id().to_owned(),
        emulator.access_key().to_owned(),
        emulator.secret_key().to_owned(),
    );
    emulator.shutdown().await;
    keys
}

#[tokio::test]
async fn a_restart_on_the_data_directory_keeps_its_keys() {
    let data = tempfile::tempdir().unwrap();
    let first = Site::with(|builder| builder.data_dir(data.path())).await;
    let client = first.client;
    first.emulator.shutdown().await;
    let mut second = Site::with(|builder| builder.data_dir(data.path())).await;
    // A client of the first start, which needs only the new address.
    let url = std::mem::take(&mut second.client.url);
    let client = crate::support::Client { url, ..client };
    assert_eq!(client.get("/training-job-engines").await.status, 200);

    let other = tempfile::tempdir().unwrap();
    let (project, access, secret) = keys(other.path(), |it| it).await;
    assert_ne!(project, client.project_id);
    assert_ne!(access, client.access_key);
    assert_ne!(secret, client.secret_key);
}

#[tokio::test]
async fn keys_that_are_set_apply_to_one_start() {
    let data = tempfile::tempdir().unwrap();
    let own = keys(data.path(), |it| it).await;
    let set = keys(data.path(), |it| it.access_key("A").secret_key("S")).await;
    assert_eq!(set, (own.0.clone(), "A".to_owned(), "S".to_owned()));
    assert_eq!(keys(data.path(), |it| it).await, own);
}

#[tokio::test]
async fn only_the_user_can_read_the_keys() {
    let data = tempfile::tempdir().unwrap();
    let (_, access, secret) = keys(data.path(), |it| it).await;
    let state = data.path().join("state.sqlite3");
    let content = String::from_utf8_lossy(&fs::read(&state).unwrap()).into_owned();
    assert!(content.contains(&access) && content.contains(&secret));
    // A copy of a directory may have lost the mode.
    fs::set_permissions(&state, fs::Permissions::from_mode(0o644)).unwrap();
    let emulator = Emulator::builder().data_dir(data.path());
    let _emulator = emulator.start().await.unwrap();
    for name in ["state.sqlite3", "state.sqlite3-wal"] {
        let metadata = fs::metadata(data.path().join(name)).unwrap();
        assert_eq!(metadata.permissions().mode() & 0o777, 0o600, "{name}");
    }
}
