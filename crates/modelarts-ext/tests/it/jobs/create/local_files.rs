//! Tests of the validation of local code and data before an upload.

use std::{
    fs::{self, File},
    path::Path,
};

use modelarts_ext::{ErrorKind, jobs::create::CodeDir, validation::Report};

use crate::support::{create_job::job, rule_cases::plain};

fn make(root: &Path, name: &str, bytes: u64) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    // A sparse file takes no disk space.
    File::create(path).unwrap().set_len(bytes).unwrap();
}

#[test]
fn a_code_directory_is_looked_through() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    make(root, "train.py", 10);
    make(root, "src/model.py", 20);
    let code = CodeDir::scan(root).unwrap();
    assert_eq!((code.bytes(), code.files(), code.directories(), code.levels()), (30, 2, 1, 1));
    assert_eq!(code.check(Some("train.py")), Report::default());
    assert_eq!(code.check(Some("src/model.py")), Report::default());
    assert_eq!(
        code.check(Some("train.sh")).to_string(),
        "error: algorithm.boot_file = \"train.sh\": must exist in the code directory \
         (ModelArts.2758); did you mean train.py? Otherwise correct its name, or put it into the \
         directory\n\
         error: algorithm.boot_file = \"train.sh\": must end in .py (ModelArts.2758); \
         start a Python file; other programs need an image and a command\n"
    );
    assert_eq!(
        code.check(Some("../train.py")).to_string(),
        "error: algorithm.boot_file = \"../train.py\": must lie in the code directory \
         (ModelArts.2792); move the boot file into the directory\n"
    );

    // The job specifies the path of the boot file in the code directory.
    assert_eq!(job(&plain()).check_code_dir(root).unwrap(), Report::default());
    let other = job(&plain()).boot_file("obs://bucket/code/main.py");
    assert_eq!(
        other.check_code_dir(root).unwrap().to_string(),
        "error: algorithm.boot_file = \"main.py\": must exist in the code directory \
         (ModelArts.2758); did you mean train.py? Otherwise correct its name, or put it into the \
         directory\n"
    );

    let nowhere = root.join("nowhere");
    let error = CodeDir::scan(&nowhere).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().starts_with("the code directory cannot be read: "), "{error}");
    let error = CodeDir::scan(root.join("train.py")).unwrap_err();
    assert!(error.to_string().ends_with("is a file"), "{error}");
}

#[test]
fn a_missing_boot_file_is_compared_with_the_files_of_the_directory() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for name in ["model.py", "src/train.py", "src/trains.py", "zero/data.csv"] {
        make(root, name, 1);
    }
    let code = CodeDir::scan(root).unwrap();
    let report = |boot_file: &str| code.check(Some(boot_file)).to_string();
    let otherwise = "correct its name, or put it into the directory";
    for (boot_file, near) in [
        ("train.py", Some("src/train.py")),
        ("src/Train.py", Some("src/train.py")),
        ("lib/model.py", Some("model.py")),
        ("src/trian.py", Some("src/train.py")),
        ("modle.py", Some("model.py")),
        ("xyz/quux.py", None),
    ] {
        let advice = match near {
            Some(near) => format!("did you mean {near}? Otherwise {otherwise}"),
            None => otherwise.to_owned(),
        };
        assert_eq!(
            report(boot_file),
            format!(
                "error: algorithm.boot_file = {boot_file:?}: must exist in the code directory \
                 (ModelArts.2758); {advice}\n"
            )
        );
    }
    assert_eq!(report("src/train.py"), "");
}

#[test]
fn a_code_directory_has_limits() {
    const MB: u64 = 1 << 20;
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let check = || CodeDir::scan(root).unwrap().check(None).to_string();

    make(root, "big", 50 * MB);
    assert_eq!(check(), "");
    make(root, "big", 50 * MB + 1);
    assert_eq!(
        check(),
        "warning: algorithm.code_dir = 50.0 MiB (52428801 bytes): should have at most 50 MB, \
         because every task downloads it\n"
    );
    make(root, "big", 5 << 30);
    assert!(check().starts_with("warning"));
    make(root, "big", (5 << 30) + 1);
    assert_eq!(
        check(),
        "error: algorithm.code_dir = 5.0 GiB (5368709121 bytes): must have at most 5 GB \
         (ModelArts.2761); move data to an input\n"
    );
    make(root, "big", 0);

    let deep = |levels: usize| root.join(vec!["d"; levels].join("/"));
    fs::create_dir_all(deep(32)).unwrap();
    assert_eq!(check(), "");
    fs::create_dir_all(deep(33)).unwrap();
    assert_eq!(
        check(),
        "error: algorithm.code_dir = 33 levels: must be at most 32 directories deep \
         (ModelArts.2760); make the tree flatter\n"
    );
    fs::remove_dir_all(root.join("d")).unwrap();

    // One file already exists; directories do not count.
    (1..=999).for_each(|n| make(root, &format!("many/{n}"), 0));
    assert_eq!(check(), "");
    make(root, "many/1000", 0);
    assert_eq!(
        check(),
        "error: algorithm.code_dir = 1001 files: must have at most 1,000 files \
         (ModelArts.2759); leave out what the script does not need, or pack it\n"
    );
}

#[test]
fn the_files_of_an_upload_are_checked_like_a_directory() {
    let code = CodeDir::from_files([("train.py", 10), ("a/b/c.py", 20), ("a/d.py", 0)]);
    assert_eq!((code.bytes(), code.files(), code.directories(), code.levels()), (30, 3, 2, 2));
    assert_eq!(code.check(Some("a/b/c.py")), Report::default());
    // A directory, and a file that is not part of the upload.
    for missing in ["a/b", "main.py"] {
        let report = code.check(Some(missing));
        assert_eq!(report.violations[0].code(), Some("ModelArts.2758"));
    }
    let empty = CodeDir::from_files([("", 0); 0]);
    assert_eq!((empty.files(), empty.levels()), (0, 0));

    let deep = format!("{}f.py", "d/".repeat(33));
    let report = CodeDir::from_files([(deep, 0)]).check(None);
    assert_eq!(
        report.to_string(),
        "error: algorithm.code_dir = 33 levels: must be at most 32 directories deep \
         (ModelArts.2760); make the tree flatter\n"
    );
    let many = (0..=1000).map(|n| (format!("{n}.py"), 6 << 20));
    let error = CodeDir::from_files(many).check(None).into_result("the code");
    assert_eq!(
        error.unwrap_err().to_string(),
        "the code breaks 2 rules, so nothing was sent:\n  \
         algorithm.code_dir = 5.8 GiB (6297747456 bytes): must have at most 5 GB \
         (ModelArts.2761); move data to an input\n  \
         algorithm.code_dir = 1001 files: must have at most 1,000 files \
         (ModelArts.2759); leave out what the script does not need, or pack it"
    );
}
