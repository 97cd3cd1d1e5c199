//! Tests of confined directories and of copies between them.

use std::os::unix::fs::{MetadataExt, symlink};
use std::time::SystemTime;

use super::*;

struct Place {
    _temp: tempfile::TempDir,
    outside: PathBuf,
    inside: ConfinedDir,
    target: ConfinedDir,
}

fn place() -> Place {
    let temp = tempfile::tempdir().unwrap();
    let outside = temp.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    let inside = ConfinedDir::create(&temp.path().join("inside")).unwrap();
    let target = ConfinedDir::create(&temp.path().join("target")).unwrap();
    Place { _temp: temp, outside, inside, target }
}

fn copy(
    from: (&ConfinedDir, &Path),
    to: (&ConfinedDir, &Path),
    on_escape: OnEscape,
) -> io::Result<Vec<String>> {
    super::copy(from, to, on_escape, &CancellationToken::new())
}

fn refused<T: std::fmt::Debug>(result: io::Result<T>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn dots_and_absolute_paths_do_not_lead_out() {
    let place = place();
    for path in ["../outside/secret", "a/../../outside", "/etc/passwd"] {
        let path = Path::new(path);
        assert!(refused(place.inside.resolve(path)).ends_with("leads out of its root directory"));
        assert!(refused(place.inside.directory(path)).ends_with("leads out of its root directory"));
    }
    assert!(place.inside.directory(Path::new("a/./b/")).unwrap().ends_with("inside/a/b"));
}

#[test]
fn links_do_not_lead_out_when_reading() {
    let place = place();
    let bucket = place.inside.directory(Path::new("bucket")).unwrap();
    symlink(&place.outside, bucket.join("door")).unwrap();
    let read = place.inside.resolve(Path::new("bucket/door/secret"));
    assert_eq!(
        refused(read),
        "'bucket/door/secret' is a link that leads out of its root directory"
    );
    let from = (&place.inside, Path::new("bucket"));
    let to = (&place.target, Path::new("copy"));
    assert_eq!(
        refused(copy(from, to, OnEscape::Refuse)),
        "'door' is a link that leads out of its root directory"
    );
    assert_eq!(
        copy(from, to, OnEscape::Skip).unwrap(),
        ["'door' is a link that leads out of its root directory"]
    );
    assert!(!place.target.root().join("copy/door").exists());
}

#[test]
fn links_do_not_lead_out_when_writing() {
    let place = place();
    fs::write(place.inside.root().join("file"), "new").unwrap();
    symlink(&place.outside, place.target.root().join("door")).unwrap();
    let from = (&place.inside, Path::new(""));
    assert_eq!(
        refused(copy(from, (&place.target, Path::new("door")), OnEscape::Refuse)),
        "'door' is a link that leads out of its root directory"
    );
    // A link at the path of the file is replaced, and its target is not changed.
    symlink(place.outside.join("secret"), place.target.root().join("file")).unwrap();
    copy(from, (&place.target, Path::new("")), OnEscape::Refuse).unwrap();
    assert_eq!(fs::read_to_string(place.outside.join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_to_string(place.target.root().join("file")).unwrap(), "new");
}

#[test]
fn trees_and_single_files_are_copied() {
    let place = place();
    let deep = place.inside.directory(Path::new("data/a/b")).unwrap();
    fs::write(deep.join("x"), "1").unwrap();
    symlink(deep.join("x"), deep.join("same")).unwrap();
    copy((&place.inside, Path::new("data")), (&place.target, Path::new("in")), OnEscape::Refuse)
        .unwrap();
    assert_eq!(fs::read_to_string(place.target.root().join("in/a/b/same")).unwrap(), "1");
    copy(
        (&place.inside, Path::new("data/a/b/x")),
        (&place.target, Path::new("one")),
        OnEscape::Refuse,
    )
    .unwrap();
    assert_eq!(fs::read_to_string(place.target.root().join("one/x")).unwrap(), "1");
}

/// Incomplete files of an interrupted copy are skipped.
#[test]
fn parts_of_files_that_an_interrupted_copy_has_left_are_not_copied() {
    let place = place();
    let deep = place.inside.directory(Path::new("data/deep")).unwrap();
    for name in ["x", ".copying-", ".copying-a1b2c3", ".copying.txt"] {
        fs::write(deep.join(name), name).unwrap();
        fs::write(deep.parent().unwrap().join(name), name).unwrap();
    }
    let left_out = copy(
        (&place.inside, Path::new("data")),
        (&place.target, Path::new("in")),
        OnEscape::Refuse,
    );
    assert_eq!(left_out.unwrap(), [""; 0]);
    let target = place.target.root().join("in");
    let copied = WalkDir::new(&target).min_depth(1).sort_by_file_name();
    let copied: Vec<PathBuf> = copied
        .into_iter()
        .map(|entry| entry.unwrap().path().strip_prefix(&target).unwrap().into())
        .collect();
    let expected = [".copying.txt", "deep", "deep/.copying.txt", "deep/x", "x"];
    assert_eq!(copied, expected.map(PathBuf::from));
}

/// An unchanged file is not copied again; a file that may have changed is copied.
#[test]
fn only_changes_are_copied() {
    let place = place();
    let source = place.inside.root().join("x");
    let target = place.target.root().join("x");
    let copy_all = || {
        let root = Path::new("");
        copy((&place.inside, root), (&place.target, root), OnEscape::Refuse).unwrap();
    };
    let write = |content: &str, age: Duration| {
        fs::write(&source, content).unwrap();
        let file = fs::File::options().append(true).open(&source).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    // A new copy of a file has another inode.
    let inode = || fs::metadata(&target).unwrap().ino();
    write("one", Duration::from_secs(60));
    copy_all();
    let first = inode();
    copy_all();
    assert_eq!(inode(), first);
    write("two", Duration::from_secs(30));
    copy_all();
    assert_eq!(fs::read_to_string(&target).unwrap(), "two");
    // The target was changed by another writer.
    fs::write(&target, "six").unwrap();
    copy_all();
    assert_eq!(fs::read_to_string(&target).unwrap(), "two");
    // The file is so new that a later change may result in the same time.
    write("new", Duration::ZERO);
    copy_all();
    let changed = fs::metadata(&source).unwrap().modified().unwrap();
    fs::write(&source, "now").unwrap();
    let file = fs::File::options().append(true).open(&source).unwrap();
    file.set_modified(changed).unwrap();
    copy_all();
    assert_eq!(fs::read_to_string(&target).unwrap(), "now");
    let left: Vec<_> = fs::read_dir(place.target.root()).unwrap().collect();
    assert_eq!(left.len(), 1);
}

/// Copies a sparse file of 8 GB, and interrupts the copy.
#[test]
fn an_interrupted_copy_leaves_nothing() {
    let place = place();
    let root = Path::new("");
    let big = fs::File::create(place.inside.root().join("big")).unwrap();
    big.set_len(8 << 30).unwrap();
    let target = place.target.root();
    let entries = || fs::read_dir(target).unwrap().flatten();
    let interrupt = CancellationToken::new();
    let error = std::thread::scope(|scope| {
        let copying = scope.spawn(|| {
            let (from, to) = ((&place.inside, root), (&place.target, root));
            super::copy(from, to, OnEscape::Refuse, &interrupt)
        });
        let begun = |entry: fs::DirEntry| entry.metadata().is_ok_and(|there| there.len() > 0);
        while !entries().any(begun) {
            assert!(!copying.is_finished());
            std::thread::yield_now();
        }
        interrupt.cancel();
        refused(copying.join().unwrap())
    });
    assert_eq!(error, "the copy was interrupted");
    assert_eq!(entries().count(), 0);
    // The copy also stops at an interrupt between two files.
    fs::remove_file(place.inside.root().join("big")).unwrap();
    fs::write(place.inside.root().join("small"), "1").unwrap();
    let (from, to) = ((&place.inside, root), (&place.target, root));
    let stopped = super::copy(from, to, OnEscape::Refuse, &interrupt);
    assert_eq!(refused(stopped), "the copy was interrupted");
    assert_eq!(entries().count(), 0);
}

#[test]
fn deep_trees_are_copied_as_they_are() {
    let place = place();
    let deep: PathBuf = std::iter::repeat_n("d", 600).collect();
    for (below, content) in [("", "1"), ("side", "2"), ("side/side", "3")] {
        let directory = place.inside.directory(&deep.join(below)).unwrap();
        fs::write(directory.join("x"), content).unwrap();
    }
    // This file sorts after the deepest entry.
    fs::write(place.inside.root().join("z"), "4").unwrap();
    let root = Path::new("");
    for _ in 0..2 {
        let (from, to) = ((&place.inside, root), (&place.target, Path::new("in")));
        copy(from, to, OnEscape::Refuse).unwrap();
    }
    let copied = place.target.root().join("in");
    let read = |below: &str| fs::read_to_string(copied.join(&deep).join(below)).unwrap();
    assert_eq!([read("x"), read("side/x"), read("side/side/x")], ["1", "2", "3"]);
    assert_eq!(fs::read_to_string(copied.join("z")).unwrap(), "4");
    let all = WalkDir::new(&copied).min_depth(1).into_iter().count();
    assert_eq!(all, 600 + 2 + 4);
}

#[test]
fn a_copy_has_the_permissions_of_its_source() {
    use std::os::unix::fs::PermissionsExt;
    let place = place();
    let source = place.inside.root().join("x");
    fs::write(&source, "1").unwrap();
    for mode in [0o755, 0o444] {
        fs::set_permissions(&source, fs::Permissions::from_mode(mode)).unwrap();
        fs::remove_file(place.target.root().join("x")).ok();
        let root = Path::new("");
        copy((&place.inside, root), (&place.target, root), OnEscape::Refuse).unwrap();
        let copied = fs::metadata(place.target.root().join("x")).unwrap();
        assert_eq!(copied.permissions().mode() & 0o777, mode);
    }
}

#[test]
fn absolute_links_of_a_container_lead_into_the_directory() {
    let place = place();
    let output = place.inside.directory(Path::new("home/ma-user/out")).unwrap();
    fs::create_dir(output.join("step-3")).unwrap();
    fs::write(output.join("step-3/model.pt"), "weights").unwrap();
    for (link, target) in [
        ("best.pt", "/home/ma-user/out/step-3/model.pt"),
        ("latest", "/home/ma-user/out/step-3"),
        ("through", "latest/model.pt"),
        ("out", "/etc/passwd"),
        ("circle", "/home/ma-user/out"),
        ("self", "/home/ma-user/out/self"),
    ] {
        symlink(target, output.join(link)).unwrap();
    }
    let from = (&place.inside, Path::new("home/ma-user/out"));
    let left_out = copy(from, (&place.target, Path::new("o")), OnEscape::Skip).unwrap();
    let read = |name: &str| fs::read_to_string(place.target.root().join("o").join(name)).unwrap();
    for name in ["step-3/model.pt", "best.pt", "latest/model.pt", "through"] {
        assert_eq!(read(name), "weights", "{name}");
    }
    assert_eq!(left_out.len(), 3, "{left_out:?}");
    assert_eq!(left_out[0], "'circle' is a link to a directory that contains it");
    assert_eq!(left_out[1], "'out' is a link that leads out of its root directory");
}
