//! Files that are dropped on the form.

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{check, errors, send, staged, valid_with};
use crate::support::Fixture;

const DRAFT: &str = "00112233445566778899aabbccddeeff";
/// Script that counts the rows of its input and writes the count to its output.
const SCRIPT: &str = "import pathlib, sys
given = dict(argument[2:].split('=', 1) for argument in sys.argv[1:] if '=' in argument)
rows = pathlib.Path(given['data_url'], 'rows.csv').read_text().split()
pathlib.Path(given['train_url'], 'count.txt').write_text(str(len(rows)))
";

/// Sends a file as the script of the page does. Returns the status.
async fn upload(fixture: &Fixture, path: &str, contents: &'static str) -> u16 {
    let path = format!("/create/files/{DRAFT}/{path}");
    fixture.change(&path, contents).await.status().as_u16()
}

/// Sends the bytes of a request, and returns the response. `None` in place of the rest of the body
/// closes the connection.
async fn send_raw(fixture: &Fixture, path: &str, declared: u64, body: &[u8]) -> String {
    let (cookie, csrf) = fixture.credentials();
    let url = fixture.console.url();
    let host = url.strip_prefix("http://").unwrap();
    let head = format!(
        "POST /create/files/{DRAFT}/{path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\
         X-CSRF-Token: {csrf}\r\nAccept: application/json\r\nContent-Length: {declared}\r\n\
         Connection: close\r\n\r\n"
    );
    let mut connection = TcpStream::connect(host).await.unwrap();
    connection.write_all(head.as_bytes()).await.unwrap();
    connection.write_all(body).await.unwrap();
    if !body.is_empty() {
        connection.shutdown().await.unwrap();
    }
    let mut response = Vec::new();
    // The server may close a connection that still has data with a reset.
    let _ = connection.read_to_end(&mut response).await;
    String::from_utf8(response).unwrap()
}

/// Returns the dropped files of a place, in words.
async fn files(fixture: &Fixture) -> Vec<(String, String)> {
    let checked = send(fixture, "/create/check", &[("draft", DRAFT)]).await;
    serde_json::from_value(checked["files"].clone()).unwrap()
}

#[tokio::test]
async fn dropped_code_and_data_run_as_a_job() {
    let (fixture, _cache) = staged().await;
    assert_eq!(upload(&fixture, "code/src/train.py", SCRIPT).await, 204);
    assert_eq!(upload(&fixture, "code/src/lib/empty.py", "").await, 204);
    assert_eq!(upload(&fixture, "inputs-2/rows.csv", "1\n2\n3\n").await, 204);
    let fields = valid_with(&[
        ("draft", DRAFT),
        ("code_dir", ""),
        ("boot_file", "src/train.py"),
        ("inputs[2].name", "data_url"),
        ("outputs[0].name", "train_url"),
        ("action", "create"),
    ]);
    let checked = send(&fixture, "/create/check", &fields).await;
    assert_eq!(errors(&checked), [""; 0], "{checked:#}");
    assert_eq!(
        checked["files"],
        serde_json::json!([
            ["code", format!("2 files, {} B", SCRIPT.len())],
            ["inputs-2", "1 file, 6 B"]
        ])
    );
    assert_eq!(checked["scripts"], serde_json::json!(["lib/empty.py", "train.py"]));
    let command = checked["command"].as_str().unwrap();
    assert!(command.starts_with("modelarts submit ./src/train.py \\\n"), "{command}");
    for flag in ["--data data_url=./data/ \\\n", "--out train_url \\\n"] {
        assert!(command.contains(flag), "{command}");
    }

    let progress = fixture.page(&format!("/create/progress/{DRAFT}")).await;
    assert_eq!(progress, "{\"progress\":null}");
    let created = send(&fixture, "/create", &fields).await;
    let location = created["location"].as_str().unwrap_or_else(|| panic!("{created:#}"));
    let id = location.strip_prefix("/jobs/").unwrap();
    fixture.emulator.wait_for(id, "Completed").await.unwrap();
    let job = fixture.client().training_jobs().get(id).await.unwrap();
    let algorithm = job.details().algorithm.as_deref().unwrap();
    let boot_file = algorithm.boot_file.as_deref().unwrap();
    assert!(boot_file.ends_with("/src/train.py"), "{boot_file}");
    let output = algorithm.outputs[0].remote.as_ref().unwrap();
    let output = output.obs.as_ref().unwrap().obs_url.as_deref().unwrap();
    let key = output.trim_start_matches("obs:/").trim_matches('/');
    let count = fixture.emulator.get(&format!("{key}/count.txt")).unwrap();
    assert_eq!(count, b"3");
    // The files are not kept.
    assert_eq!(files(&fixture).await, []);
}

#[tokio::test]
async fn dropped_code_is_checked_before_it_is_sent() {
    let (fixture, _cache) = staged().await;
    assert_eq!(upload(&fixture, "code/train.py", "print(1)").await, 204);
    let fields = [("draft", DRAFT), ("code_dir", ""), ("boot_file", "trian.py")];
    let (body, found) = check(&fixture, &valid_with(&fields)).await;
    assert_eq!(body["algorithm"]["code_dir"], "obs://bucket/modelarts/code/new/code/");
    assert!(found.len() == 1 && found[0].starts_with("boot_file: must "), "{found:?}");
    // An address and files exclude each other.
    let fields = [("draft", DRAFT), ("boot_file", "train.py")];
    let (_, found) = check(&fixture, &valid_with(&fields)).await;
    assert_eq!(found, ["code_dir: must be an address or dropped files, not both ()"]);
    let fields = [("draft", DRAFT), ("code_dir", ""), ("boot_file", "train.py")];
    let (_, found) = check(&fixture, &valid_with(&fields)).await;
    assert_eq!(found, [""; 0]);
    // Without the files, the directory is missing.
    let (_, csrf) = fixture.credentials();
    let request = fixture.request("DELETE", &format!("/create/files/{DRAFT}/code"));
    let response = request.header("x-csrf-token", csrf).send().await.unwrap();
    assert_eq!(response.status(), 204);
    let (_, found) = check(&fixture, &valid_with(&fields)).await;
    assert!(found.iter().any(|error| error.starts_with("code_dir: must ")), "{found:?}");
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let (fixture, _cache) = staged().await;
    let response = send_raw(&fixture, "code/train.py", 1_000, b"print(1)").await;
    assert!(!response.starts_with("HTTP/1.1 2"), "{response}");
    assert_eq!(files(&fixture).await, []);
    assert_eq!(upload(&fixture, "code/train.py", "print(1)").await, 204);
    let expected = [("code".to_owned(), "1 file, 8 B".to_owned())];
    assert_eq!(files(&fixture).await, expected);
}

#[tokio::test]
async fn an_upload_that_is_too_large_is_rejected_before_it_is_sent() {
    let (fixture, _cache) = staged().await;
    let response = send_raw(&fixture, "code/model.bin", 6 << 30, b"").await;
    assert!(response.starts_with("HTTP/1.1 413 "), "{response}");
    assert!(response.contains("a form takes at most 5.00 GiB of files"), "{response}");
    assert!(response.contains("modelarts sync"), "{response}");
    assert_eq!(files(&fixture).await, []);
}

#[tokio::test]
async fn a_browser_that_leaves_does_not_stop_the_creation() {
    let (fixture, _cache) = staged().await;
    assert_eq!(upload(&fixture, "code/train.py", "print(1)").await, 204);
    let fields =
        [("draft", DRAFT), ("code_dir", ""), ("boot_file", "train.py"), ("action", "create")];
    // The check reads the lists of the service, so that the creation needs no time for them.
    let (_, found) = check(&fixture, &valid_with(&fields)).await;
    assert_eq!(found, [""; 0]);
    let (cookie, csrf) = fixture.credentials();
    let mut body = url::form_urlencoded::Serializer::new(String::new());
    let body = body.extend_pairs(valid_with(&fields)).finish();
    let url = fixture.console.url();
    let host = url.strip_prefix("http://").unwrap();
    let length = body.len();
    let request = format!(
        "POST /create HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nX-CSRF-Token: {csrf}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let mut connection = TcpStream::connect(host).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    drop(connection);
    let jobs = fixture.client().training_jobs();
    let created = async {
        while jobs.get_by_name("leaves").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    let limit = std::time::Duration::from_secs(20);
    tokio::time::timeout(limit, created).await.unwrap();
}

#[tokio::test]
async fn names_of_files_that_leave_the_directory_are_rejected() {
    let (fixture, _cache) = staged().await;
    for path in [
        "code/..%2Fx",
        "code/a/..%2F..%2F..%2Fx",
        "code/%2Fetc%2Fpasswd",
        "code/a%2F%2Fx",
        "code/a%5C..%5Cx",
        "code/a%00x",
    ] {
        assert_eq!(upload(&fixture, path, "x").await, 400, "{path}");
    }
    for path in ["..%2Fcode/x", "other/x", "inputs-x/x"] {
        assert_eq!(upload(&fixture, path, "x").await, 404, "{path}");
    }
    let response = send_raw(&fixture, "code/../../x", 1, b"x").await;
    assert!(response.starts_with("HTTP/1.1 400 "), "{response}");
    assert_eq!(files(&fixture).await, []);
    let name = "code/%3Cb%3E%26.py";
    assert_eq!(upload(&fixture, name, "x").await, 204);
    let other = fixture.change("/create/files/..%2Fx/code/x", "x").await;
    assert_eq!(other.status(), 400);
}

/// The service downloads inputs to the disk of the flavor, and fails only then.
#[tokio::test]
async fn inputs_that_do_not_fit_the_disk_are_refused() {
    let (fixture, _cache) = staged().await;
    fixture.emulator.put("bucket/code/train.py", "1\n").unwrap();
    let directory = fixture.emulator.obs_root().join("bucket/big");
    std::fs::create_dir(&directory).unwrap();
    // The file takes no space.
    let file = std::fs::File::create(directory.join("rows.bin")).unwrap();
    let fields = valid_with(&[
        ("inputs[0].name", "data_url"),
        ("inputs[0].path", "obs://bucket/big/"),
        ("action", "create"),
    ]);
    file.set_len((50 << 30) + 1).unwrap();
    let refused = send(&fixture, "/create", &fields).await;
    assert_eq!(errors(&refused).len(), 1, "{refused:#}");
    let rule = refused["errors"][0]["rule"].as_str().unwrap();
    assert_eq!(rule, "must fit the disk of the flavor");
    file.set_len(10).unwrap();
    let created = send(&fixture, "/create", &fields).await;
    assert!(created["location"].is_string(), "{created:#}");
}
