//! Links from tracebacks in logs to the files of the user.

use std::{
    borrow::Cow,
    path::{Component, Path, PathBuf},
};

use modelarts_ext::Job;
use url::Url;

use crate::terminal::Terminal;

/// Directory of the code in a container, unless the job sets another one.
const LOCAL_CODE_DIR: &str = "/home/ma-user/modelarts/user-job-dir";

/// The local directory of the code of a job.
#[derive(Debug)]
pub(crate) struct SourceLinks {
    /// The same directory in the container, with a slash at its end.
    container: String,
    directory: PathBuf,
    /// Name of this machine: a terminal may show the output of another one.
    host: String,
}

impl SourceLinks {
    /// Creates the links of a job whose code was sent from this directory. `None` if stdout shows
    /// no links.
    pub(crate) fn new(terminal: Terminal, job: &Job, directory: PathBuf) -> Option<Self> {
        let algorithm = job.details().algorithm.as_deref()?;
        let code = algorithm.code_dir.as_deref()?.trim_end_matches('/');
        let (_, name) = code.rsplit_once('/')?;
        let parent = algorithm.local_code_dir.as_deref();
        let parent = parent.filter(|parent| !parent.is_empty());
        let parent = parent.unwrap_or(LOCAL_CODE_DIR).trim_end_matches('/');
        terminal.shows_links().then(|| Self {
            container: format!("{parent}/{name}/"),
            directory,
            host: gethostname::gethostname().to_string_lossy().into_owned(),
        })
    }

    /// Returns a line of a log in which the path of a frame, `File "PATH", line 3`, is a link (OSC
    /// 8), if the user has the file.
    pub(crate) fn linked<'a>(&self, line: &'a str) -> Cow<'a, str> {
        let link = || {
            let (before, rest) = line.split_once("File \"")?;
            let (path, after) = rest.split_once('"')?;
            // The emulator may run the code below another directory.
            let (_, relative) = path.split_once(&self.container)?;
            let url = self.url(Path::new(relative))?;
            after.starts_with(", line ").then(|| {
                format!("{before}File \"\u{1b}]8;;{url}\u{1b}\\{path}\u{1b}]8;;\u{1b}\\\"{after}")
            })
        };
        link().map_or(Cow::Borrowed(line), Cow::Owned)
    }

    /// Returns the address of a file of the code; `None` for other files.
    fn url(&self, relative: &Path) -> Option<Url> {
        let is_inside = |part: Component<'_>| matches!(part, Component::Normal(_));
        let file = self.directory.join(relative);
        if !relative.components().all(is_inside) || !file.is_file() {
            return None;
        }
        let mut url = Url::from_file_path(file).ok()?;
        // Without the name, terminals open the file on their own machine.
        let _ = url.set_host(Some(&self.host));
        Some(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_files_that_the_user_has_are_links() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("a b.py"), "").unwrap();
        let place = directory.path().to_str().unwrap();
        let links = SourceLinks {
            container: "/home/ma-user/modelarts/user-job-dir/code/".to_owned(),
            directory: directory.path().to_owned(),
            host: "desk".to_owned(),
        };
        let path = "/home/ma-user/modelarts/user-job-dir/code/a b.py";
        for before in ["  ", "[rank0]:   "] {
            assert_eq!(
                links.linked(&format!("{before}File \"{path}\", line 3, in <module>")),
                format!(
                    "{before}File \"\u{1b}]8;;file://desk{place}/a%20b.py\u{1b}\\{path}\u{1b}]8;;\
                     \u{1b}\\\", line 3, in <module>"
                )
            );
        }
        for line in [
            "",
            "a \u{1b}[1mb",
            "File \"",
            "File \"/home/ma-user/modelarts/user-job-dir/code/a b.py\" is read",
            "File \"/home/ma-user/modelarts/user-job-dir/code/c.py\", line 3",
            "File \"/home/ma-user/modelarts/user-job-dir/code/../a b.py\", line 3",
            "File \"/home/ma-user/modelarts/user-job-dir/code//etc/passwd\", line 3",
            "File \"/usr/lib/python3/a b.py\", line 3",
        ] {
            assert!(matches!(links.linked(line), Cow::Borrowed(same) if same == line), "{line}");
        }
    }
}
