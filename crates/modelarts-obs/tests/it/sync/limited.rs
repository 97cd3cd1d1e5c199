//! Tests of synchronizations in a process with restricted rights: a full disk, and a file that
//! cannot be read.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use modelarts_obs::Obs;

use super::{Place, bytes, names};

/// Environment variable with the root of the [`Place`], for the restricted process.
const ROOT: &str = "MODELARTS_OBS_TEST_ROOT";

/// Runs a test of this file in a process that `wrapper` starts.
fn run(mut wrapper: Command, test: &str, root: &Path) -> String {
    let Output { stdout, stderr, .. } = wrapper
        .arg(env::current_exe().unwrap())
        .args(["--exact", &format!("sync::limited::{test}")])
        .args(["--ignored", "--nocapture"])
        .env(ROOT, root)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&stdout);
    let message = stdout.split_once("error: ").and_then(|(_, rest)| rest.split_once('\n'));
    let stderr = String::from_utf8_lossy(&stderr);
    let (message, _) = message.unwrap_or_else(|| panic!("{stdout}{stderr}"));
    message.to_owned()
}

/// Prints the error of a synchronization in the restricted process.
async fn report(up: bool) {
    let root = env::var(ROOT).unwrap();
    let root = Path::new(&root);
    let obs = Obs::directory(root.join("obs")).with_cache_dir(root.join("cache"));
    let sync = match up {
        true => obs.sync_up(root.join("data"), "obs://bucket/in"),
        false => obs.sync_down("obs://bucket/in", root.join("out")),
    };
    println!("error: {}", sync.await.unwrap_err());
}

#[tokio::test]
#[ignore = "started by the tests below"]
async fn up() {
    report(true).await;
}

#[tokio::test]
#[ignore = "started by the tests below"]
async fn down() {
    report(false).await;
}

#[tokio::test]
async fn a_full_disk_is_an_error_that_names_the_file() {
    for (size, left) in [(1 << 20, vec![]), (17 << 20, vec![".a b.modelarts-part"])] {
        let place = Place::new();
        place.write("obs/bucket/in/a b", bytes(size));
        // A limit on the file size simulates a full disk.
        let mut shell = Command::new("sh");
        shell.args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\""]);
        let error = run(shell, "down", &place.path(""));
        let out = place.path("out").canonicalize().unwrap();
        assert_eq!(
            error,
            format!(
                "writing {}/.a b.modelarts-part: File too large (os error 27); free space on the \
                 disk; the next call continues",
                out.display()
            )
        );
        assert_eq!(names(&out), left);
        place.obs().sync_down("obs://bucket/in", &out).await.unwrap();
        assert_eq!(names(&out), ["a b"]);
        assert!(fs::read(out.join("a b")).unwrap() == bytes(size));
    }
}

#[tokio::test]
async fn a_file_or_directory_that_cannot_be_read_is_named() {
    let place = Place::new();
    place.write("data/d/a", "a");
    let deny = |name: &str, mode| {
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(mode)).unwrap();
    };
    let data = place.path("data").canonicalize().unwrap();
    for (name, mode, expected) in [
        (
            "data/d/a",
            0o644,
            format!(
                "reading {}/d/a: Permission denied (os error 13); check the permissions of the \
                 file and its directory",
                data.display()
            ),
        ),
        (
            "data/d",
            0o755,
            format!(
                "reading the directory {}/d: Permission denied (os error 13); admit reading it, \
                 or leave it out with a line in .modelartsignore",
                data.display()
            ),
        ),
    ] {
        deny(name, 0);
        // The administrator can read every file, unless the process drops this capability.
        let is_admin = fs::read_dir(place.path(name)).is_ok() || fs::read(place.path(name)).is_ok();
        let wrapper = match is_admin {
            true => {
                let mut setpriv = Command::new("setpriv");
                setpriv.arg("--bounding-set=-dac_override,-dac_read_search");
                setpriv
            }
            false => Command::new("env"),
        };
        let error = run(wrapper, "up", &place.path(""));
        deny(name, mode);
        assert_eq!(error, expected);
        assert!(names(&place.path("obs/bucket")).is_empty());
    }
}
