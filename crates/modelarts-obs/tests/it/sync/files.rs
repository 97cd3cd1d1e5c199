//! Tests of files that are left out, and of links.

use modelarts_emulator::Emulator;
use modelarts_obs::sync::SkipReason;

use super::{Place, names, skipped};

fn ignored(pattern: &str, file: &str) -> SkipReason {
    SkipReason::Ignored { pattern: pattern.to_owned(), file: file.to_owned() }
}

#[tokio::test]
async fn credentials_and_caches_are_left_out_and_reported() {
    let place = Place::new();
    for name in [
        "train.py",
        ".hidden",
        ".env.local",
        "keys/server.pem",
        "keys/id_rsa",
        "keys/id_rsa.pub",
        ".huaweicloud/credentials",
        "clouds.yaml",
        ".git/config",
        "pkg/__pycache__/a.pyc",
        "node_modules/a/index.js",
        "venv/pyvenv.cfg",
        "venv/lib/a.py",
    ] {
        place.write(&format!("src/{name}"), name);
    }
    place.write("src/keys/deploy", "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n");
    place.write("src/keys/text", "the line -----BEGIN PRIVATE KEY-----");
    let obs = place.obs();
    // The target has objects with the same names and sizes, so their contents are compared.
    for name in ["keys/deploy", "keys/text"] {
        let size = std::fs::metadata(place.path("src").join(name)).unwrap().len();
        place.write(&format!("obs/bucket/code/{name}"), vec![b'x'; size as usize]);
    }
    let up = obs.sync_up(place.path("src"), "obs://bucket/code");
    let summary = up.gitignore(true).await.unwrap();
    assert_eq!(
        skipped(&summary),
        [
            (".env.local", SkipReason::Credentials),
            (".git", SkipReason::Repository),
            (".huaweicloud", SkipReason::Credentials),
            ("clouds.yaml", SkipReason::Credentials),
            ("keys/deploy", SkipReason::PrivateKey),
            ("keys/id_rsa", SkipReason::Credentials),
            ("keys/server.pem", SkipReason::Credentials),
            ("node_modules", SkipReason::NodeModules),
            ("pkg/__pycache__", SkipReason::PythonCache),
            ("venv", SkipReason::VirtualEnvironment),
        ]
    );
    assert_eq!(
        names(&place.path("obs/bucket/code")),
        [".hidden", "keys/deploy", "keys/id_rsa.pub", "keys/text", "train.py"]
    );
    let sent = std::fs::read(place.path("obs/bucket/code/keys/deploy")).unwrap();
    assert!(sent.iter().all(|byte| *byte == b'x'));
    assert_eq!(summary.transferred.files, 4);
}

#[tokio::test]
async fn the_files_of_an_emulator_are_left_out() {
    let place = Place::new();
    for name in ["connection.json", "sub/emulator.env", "train.py"] {
        place.write(&format!("src/{name}"), name);
    }
    // The second place is that of the data directory by default.
    for directory in ["state", "modelarts-emulator-data/data"] {
        let emulator = Emulator::builder().data_dir(place.path("src").join(directory));
        emulator.start().await.unwrap().shutdown().await;
    }
    place.write("src/modelarts-emulator-data/obs/bucket/a", "a");
    let obs = place.obs();
    let up = obs.sync_up(place.path("src"), "obs://bucket/code");
    assert_eq!(
        skipped(&up.await.unwrap()),
        [
            ("connection.json", SkipReason::Credentials),
            ("modelarts-emulator-data", SkipReason::Emulator),
            ("state", SkipReason::Emulator),
            ("sub/emulator.env", SkipReason::Credentials),
        ]
    );
    assert_eq!(names(&place.path("obs/bucket/code")), ["train.py"]);
}

#[tokio::test]
async fn gitignore_applies_only_if_asked_and_modelartsignore_replaces_it() {
    let place = Place::new();
    for name in ["a.pt", "b.log", "d/c.pt", "d/keep.pt", "e/f"] {
        place.write(&format!("src/{name}"), name);
    }
    place.write("src/.gitignore", "*.pt\n/e/\n");
    place.write("src/d/.gitignore", "!keep.pt\n");
    let obs = place.obs();
    let up = |to: &str| obs.sync_up(place.path("src"), to);

    let all = up("obs://bucket/data").await.unwrap();
    assert_eq!((all.transferred.files, all.skipped.len()), (7, 0));

    let code = up("obs://bucket/code").gitignore(true).await.unwrap();
    assert_eq!(
        skipped(&code),
        [
            ("a.pt", ignored("*.pt", ".gitignore")),
            ("d/c.pt", ignored("*.pt", ".gitignore")),
            ("e", ignored("/e/", ".gitignore")),
        ]
    );
    assert_eq!(
        names(&place.path("obs/bucket/code")),
        [".gitignore", "b.log", "d/.gitignore", "d/keep.pt"]
    );

    place.write("src/.modelartsignore", "*.log\n");
    for gitignore in [false, true] {
        let to = format!("obs://bucket/replaced-{gitignore}");
        let code = up(&to).gitignore(gitignore).await.unwrap();
        assert_eq!(skipped(&code), [("b.log", ignored("*.log", ".modelartsignore"))]);
    }
}

#[tokio::test]
async fn patterns_above_apply_only_within_a_repository() {
    let place = Place::new();
    place.write("project/.gitignore", "*.pt\n");
    place.write("project/src/a.pt", "a");
    place.write("project/src/a.py", "a");
    let obs = place.obs();
    let up = || obs.sync_up(place.path("project/src"), "obs://bucket/code");
    let summary = up().gitignore(true).dry_run(true).await.unwrap();
    assert_eq!(summary.transferred.files, 2);
    place.write("project/.git/HEAD", "");
    let summary = up().gitignore(true).dry_run(true).await.unwrap();
    let pattern = place.path("project/.gitignore").canonicalize().unwrap();
    let pattern = ignored("*.pt", pattern.to_str().unwrap());
    assert_eq!(skipped(&summary), [("a.pt", pattern)]);
}

#[cfg(unix)]
#[tokio::test]
async fn links_inside_are_followed_without_loops() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    place.write("src/lib/a.py", "a");
    place.write("src/.env", "SECRET=1");
    symlink("lib", place.path("src/same")).unwrap();
    symlink("../lib/a.py", place.path("src/lib/b.py")).unwrap();
    symlink("..", place.path("src/lib/up")).unwrap();
    symlink(".env", place.path("src/settings")).unwrap();
    let obs = place.obs();
    let up = obs.sync_up(place.path("src"), "obs://bucket/code");
    let summary = up.await.unwrap();
    assert_eq!(
        skipped(&summary),
        [
            (".env", SkipReason::Credentials),
            ("lib/up", SkipReason::LinkLoop),
            ("same/up", SkipReason::LinkLoop),
            ("settings", SkipReason::Credentials),
        ]
    );
    assert_eq!(
        names(&place.path("obs/bucket/code")),
        ["lib/a.py", "lib/b.py", "same/a.py", "same/b.py"]
    );
}

#[cfg(unix)]
#[tokio::test]
async fn links_out_of_the_directory_are_refused() {
    use std::os::unix::fs::symlink;

    let place = Place::new();
    place.write("src/a", "a");
    let outside = place.write("outside/secret", "s");
    let obs = place.obs();
    let up = || obs.sync_up(place.path("src"), "obs://bucket/code");
    let root = place.path("src").canonicalize().unwrap();
    for target in [outside.clone(), place.path("outside")] {
        let link = place.path("src/link");
        symlink(&target, &link).unwrap();
        let error = up().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            format!(
                "the link link leads to {}, which must be inside of {}; replace the link by the \
                 file, \
                 or leave it out with a line in .modelartsignore",
                target.display(),
                root.display()
            )
        );
        std::fs::remove_file(&link).unwrap();
    }
    symlink("missing", place.path("src/link")).unwrap();
    let error = up().await.unwrap_err().to_string();
    let expected = "the link link leads to missing, which must exist and be readable: No such file";
    assert!(error.starts_with(expected), "{error}");
    assert!(names(&place.path("obs/bucket")).is_empty());

    place.write("src/.modelartsignore", "link\n");
    assert_eq!(up().await.unwrap().transferred.files, 2);
}

#[cfg(unix)]
#[tokio::test]
async fn sockets_are_left_out() {
    let place = Place::new();
    place.write("src/a", "a");
    let _socket = std::os::unix::net::UnixListener::bind(place.path("src/socket")).unwrap();
    let obs = place.obs();
    let up = obs.sync_up(place.path("src"), "obs://bucket/code");
    let summary = up.await.unwrap();
    assert_eq!(skipped(&summary), [("socket", SkipReason::SpecialFile)]);
}
