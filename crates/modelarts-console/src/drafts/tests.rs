//! Tests of the limits and the names of dropped files.

use futures::stream;

use super::*;

const ID: &str = "00112233445566778899aabbccddeeff";

fn drafts(bytes: u64, files: usize) -> Drafts {
    Drafts::new(Limits { bytes, files, drafts: 2 })
}

fn body(chunks: &[&'static str]) -> impl Stream<Item = Result<Bytes, ()>> + Unpin + use<> {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok(Bytes::from(*chunk))).collect();
    stream::iter(chunks)
}

async fn put(draft: &Draft, path: &str, text: &'static str) -> Result<(), Problem> {
    draft.receive(CODE, path, None, body(&[text])).await
}

/// Returns all files below a directory.
fn all_files(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries
        .flat_map(|entry| {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => all_files(&path),
                false => vec![path],
            }
        })
        .collect()
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let drafts = drafts(10, 9);
    let draft = drafts.open(ID).unwrap();
    let broken = stream::iter([Ok(Bytes::from("12345")), Err(())]);
    let problem = draft.receive(CODE, "train.py", None, broken).await;
    let problem = problem.unwrap_err();
    assert_eq!(problem.message, "the upload of train.py broke off, and was discarded");
    assert_eq!(all_files(draft.path()), Vec::<PathBuf>::new());
    assert!(draft.dropped(CODE).is_none());
    // The room of the broken upload is free again.
    put(&draft, "train.py", "1234567890").await.unwrap();
    assert_eq!(draft.summary()[CODE], (1, 10));
}

#[tokio::test]
async fn files_beyond_the_limits_are_rejected() {
    let drafts = drafts(10, 2);
    let draft = drafts.open(ID).unwrap();
    let declared = draft.receive(CODE, "a", Some(11), body(&["1"])).await;
    assert_eq!(declared.unwrap_err().status, StatusCode::PAYLOAD_TOO_LARGE);
    let undeclared = draft.receive(CODE, "a", None, body(&["123456", "78901"]));
    assert_eq!(undeclared.await.unwrap_err().message, "a form takes at most 10 B of files");
    assert_eq!(all_files(draft.path()), Vec::<PathBuf>::new());
    put(&draft, "a", "1234567890").await.unwrap();
    assert!(put(&draft, "b", "1").await.is_err());
    // A replaced file makes room.
    draft.clear(CODE).unwrap();
    put(&draft, "a", "1").await.unwrap();
    put(&draft, "b", "1").await.unwrap();
    assert_eq!(put(&draft, "c", "1").await.unwrap_err().message, "a form takes at most 2 files");
}

#[tokio::test]
async fn names_that_leave_the_directory_are_rejected() {
    let drafts = drafts(1_000, 100);
    let draft = drafts.open(ID).unwrap();
    let long = "x".repeat(256);
    let deep = "d/".repeat(33) + "f";
    for path in
        ["../x", "a/../../x", "/etc/x", "a//x", "a/./x", "", "a/", "a\\..\\x", "a\0x", &long, &deep]
    {
        let problem = put(&draft, path, "1").await.unwrap_err();
        assert_eq!(problem.status, StatusCode::BAD_REQUEST, "{path:?}");
        assert!(problem.message.contains(" must "), "{}", problem.message);
    }
    for slot in ["", "..", "code/..", "inputs-", "inputs-x", "inputs-12345"] {
        let received = draft.receive(slot, "x", None, body(&["1"])).await;
        assert_eq!(received.unwrap_err().status, StatusCode::NOT_FOUND, "{slot}");
    }
    assert_eq!(all_files(draft.path()), Vec::<PathBuf>::new());
}

#[tokio::test]
async fn a_dropped_directory_keeps_its_name() {
    let drafts = drafts(1_000, 100);
    let draft = drafts.open(ID).unwrap();
    put(&draft, "src/train.py", "1").await.unwrap();
    put(&draft, "src/lib/a.py", "22").await.unwrap();
    let dropped = draft.dropped(CODE).unwrap();
    assert_eq!(dropped.name, "src");
    let files = [("lib/a.py".to_owned(), 2), ("train.py".to_owned(), 1)];
    assert_eq!(dropped.files, files);
    assert!(dropped.root.join("lib/a.py").is_file());
    put(&draft, "main.py", "1").await.unwrap();
    let dropped = draft.dropped(CODE).unwrap();
    assert_eq!((dropped.name.as_str(), dropped.files.len()), ("code", 3));
    assert!(dropped.root.join("main.py").is_file());
    let problem = put(&draft, "main.py/x", "1").await.unwrap_err();
    assert_eq!(problem.status, StatusCode::BAD_REQUEST, "{}", problem.message);
}

#[tokio::test]
async fn files_do_not_change_while_they_are_staged() {
    let drafts = drafts(1_000, 100);
    let draft = drafts.open(ID).unwrap();
    let lock = draft.lock().unwrap();
    assert!(draft.lock().is_err());
    let problem = put(&draft, "train.py", "1").await.unwrap_err();
    assert_eq!(problem.status, StatusCode::CONFLICT);
    assert!(draft.clear(CODE).is_err());
    draft.set_progress(Progress { part: CODE.to_owned(), done: 1, total: 2 });
    assert_eq!(draft.progress().map(|progress| progress.done), Some(1));
    drop(lock);
    assert!(draft.progress().is_none());
    put(&draft, "train.py", "1").await.unwrap();
}

#[tokio::test]
async fn a_further_draft_replaces_the_one_unused_for_the_longest_time() {
    let drafts = drafts(1_000, 100);
    let [one, two, three] = ["1", "2", "3"].map(|digit| digit.repeat(ID_DIGITS));
    let directory = drafts.open(&one).unwrap().path().to_owned();
    drafts.open(&two).unwrap();
    drafts.get(&one).unwrap();
    drafts.open(&three).unwrap();
    assert!(drafts.get(&two).is_none());
    assert!(directory.is_dir());
    drafts.remove(&one);
    assert!(!directory.exists());
    assert!(drafts.open("../x").is_err());
}

#[test]
fn files_that_arrive_at_the_same_time_have_one_draft() {
    let drafts = drafts(10, 10);
    // Both requests have found no draft.
    let [first, second] = [0, 1].map(|_| Arc::new(drafts.create().unwrap()));
    let one = drafts.insert(ID, Arc::clone(&first));
    let other = drafts.insert(ID, second);
    assert!(Arc::ptr_eq(&one, &first) && Arc::ptr_eq(&other, &first));
    assert!(Arc::ptr_eq(&drafts.open(ID).unwrap(), &first));
}

#[tokio::test]
async fn all_files_are_deleted_at_the_end() {
    let drafts = drafts(10, 10);
    let draft = drafts.open(ID).unwrap();
    put(&draft, "train.py", "1").await.unwrap();
    let directory = draft.path().parent().unwrap().to_owned();
    assert!(directory.is_dir());
    drafts.close();
    // The draft is still in use.
    assert!(!directory.exists());
    let problem = drafts.open(&"1".repeat(ID_DIGITS)).err().unwrap();
    assert!(problem.message.contains("the page has ended"));
}
