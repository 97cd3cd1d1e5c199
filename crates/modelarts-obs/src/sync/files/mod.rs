//! Selection of the files of a directory that are transferred.

mod rules;

pub(crate) use rules::{PART_SUFFIX, WRITE_TEST};

use std::{
    collections::BTreeMap,
    env,
    fs::{self, DirEntry},
    path::{Path, PathBuf},
};

use ignore::{
    Match,
    gitignore::{Gitignore, GitignoreBuilder},
};
use modelarts_ext::{Error, ErrorKind};

use crate::{
    address, error,
    sync::{
        digest::Stamp,
        files::rules::always_left_out,
        progress::{SkipReason, Skipped},
    },
};

/// Name of the ignore file of this crate. If the transferred directory itself has this file, its
/// `.gitignore` files are not applied.
const IGNORE_FILE: &str = ".modelartsignore";
/// Name of the ignore file of git.
const GIT_IGNORE_FILE: &str = ".gitignore";

/// Local file that is transferred.
#[derive(Clone, Debug)]
pub(crate) struct LocalFile {
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// Files of a directory by their relative paths, with slashes as separators.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listing {
    pub(crate) files: BTreeMap<String, LocalFile>,
    /// Files and directories that are left out.
    pub(crate) skipped: Vec<Skipped>,
}

impl Listing {
    /// Returns `true` if a path, or a directory that contains it, is left out.
    pub(crate) fn leaves_out(&self, path: &str) -> bool {
        let is_at_or_below = |directory: &str| {
            let rest = path.strip_prefix(directory);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.skipped.iter().any(|skipped| is_at_or_below(&skipped.path))
    }
}

/// Lists the code of a job: as [`list`] with `gitignore` does, without logs at the top. Blocks.
pub(crate) fn list_code(root: &Path, excluded: &[String]) -> Result<Listing, Error> {
    list_with(root, true, excluded, true)
}

/// Lists a directory, whose path must be canonical. With `gitignore`, the patterns of `.gitignore`
/// apply, including those in the directories above up to the root of the repository. `excluded` are
/// paths relative to the directory, with slashes. Blocks.
pub(crate) fn list(root: &Path, gitignore: bool, excluded: &[String]) -> Result<Listing, Error> {
    list_with(root, gitignore, excluded, false)
}

fn list_with(
    root: &Path,
    gitignore: bool,
    excluded: &[String],
    is_code: bool,
) -> Result<Listing, Error> {
    let gitignore = gitignore && !root.join(IGNORE_FILE).is_file();
    let mut walk = Walk::new(root);
    walk.excluded = excluded;
    walk.is_code = is_code;
    walk.gitignore = gitignore;
    if gitignore && let Some(repository) = root.ancestors().find(|dir| dir.join(".git").exists()) {
        let mut above: Vec<_> = root.ancestors().skip(1).collect();
        above.retain(|directory| directory.starts_with(repository));
        for directory in above.into_iter().rev() {
            walk.read_patterns(directory)?;
        }
    }
    walk.directory(root, root.to_owned(), "")?;
    Ok(walk.listing)
}

/// Lists a single file, whose path must be canonical. A file that is always left out is an error.
/// Blocks.
pub(crate) fn single(path: &Path) -> Result<Listing, Error> {
    let root = path.parent().unwrap_or(path);
    let mut walk = Walk::new(root);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    walk.file(path, name.into_owned())?;
    if let Some(skipped) = walk.listing.skipped.pop() {
        let message = format!("the file {} is not sent: {}", path.display(), skipped.reason);
        return Err(address::invalid(message));
    }
    Ok(walk.listing)
}

/// Lists the files of a directory that a synchronization may delete. The path must be canonical.
/// Links are left out. Blocks.
pub(crate) fn list_for_deletion(root: &Path) -> Result<Listing, Error> {
    let mut walk = Walk::new(root);
    walk.follow_links = false;
    walk.directory(root, root.to_owned(), "")?;
    Ok(walk.listing)
}

/// State of the recursive listing of a directory.
struct Walk<'a> {
    root: &'a Path,
    /// `true` if the root is the home directory of the user.
    is_home: bool,
    gitignore: bool,
    excluded: &'a [String],
    /// `true` for the code of a job, without logs at the top.
    is_code: bool,
    /// Files that are the standard output or error of this program.
    own_outputs: Vec<Identity>,
    follow_links: bool,
    /// Patterns of the current directory and of the directories above it. Later patterns take
    /// precedence.
    patterns: Vec<Gitignore>,
    /// Canonical paths of the current directory and of the directories that lead to it.
    ancestors: Vec<PathBuf>,
    listing: Listing,
}

impl<'a> Walk<'a> {
    fn new(root: &'a Path) -> Self {
        Self {
            root,
            is_home: env::home_dir().is_some_and(|home| is_same(&home, root)),
            gitignore: false,
            excluded: &[],
            is_code: false,
            own_outputs: own_outputs(),
            follow_links: true,
            patterns: Vec::new(),
            ancestors: Vec::new(),
            listing: Listing::default(),
        }
    }

    /// Lists a directory. `real` is its canonical path, and `relative` is its path relative to the
    /// root.
    fn directory(&mut self, path: &Path, real: PathBuf, relative: &str) -> Result<(), Error> {
        let failed = |failure: &std::io::Error| {
            error::local("reading the directory", path, failure).with_advice(Some(format!(
                "admit reading it, or leave it out with a line in {IGNORE_FILE}"
            )))
        };
        let patterns = self.patterns.len();
        self.read_patterns(path)?;
        self.ancestors.push(real);
        for entry in fs::read_dir(path).map_err(|failure| failed(&failure))? {
            let entry = entry.map_err(|failure| failed(&failure))?;
            self.entry(&entry, relative)?;
        }
        self.ancestors.pop();
        self.patterns.truncate(patterns);
        Ok(())
    }

    fn entry(&mut self, entry: &DirEntry, directory: &str) -> Result<(), Error> {
        let path = entry.path();
        let failed = |failure: &std::io::Error| error::local("reading", &path, failure);
        let file_type = entry.file_type().map_err(|failure| failed(&failure))?;
        let is_dir = match file_type.is_symlink() {
            true => path.is_dir(),
            false => file_type.is_dir(),
        };
        let name = entry.file_name();
        let relative = match directory {
            "" => name.to_string_lossy().into_owned(),
            directory => format!("{directory}/{}", name.to_string_lossy()),
        };
        let is_brought_back = !is_dir && self.is_brought_back(&path);
        let is_own = || {
            let metadata = fs::metadata(&path).ok().filter(fs::Metadata::is_file);
            metadata.is_some_and(|metadata| self.own_outputs.contains(&identity(&metadata)))
        };
        if !is_brought_back && !self.own_outputs.is_empty() && is_own() {
            return self.skip(relative, SkipReason::OwnOutput);
        }
        if self.excluded.contains(&relative) && !is_brought_back {
            return self.skip(relative, SkipReason::Excluded);
        }
        let is_log = |name: &str| name == "nohup.out" || name.ends_with(".log");
        let is_log = self.is_code && directory.is_empty() && name.to_str().is_some_and(is_log);
        let left_out = always_left_out(&path, is_dir)
            .or_else(|| self.hidden_in_home(&relative))
            .or_else(|| self.ignored(&path, is_dir))
            .or_else(|| (is_log && !is_dir && !is_brought_back).then_some(SkipReason::Log));
        if let Some(reason) = left_out {
            return self.skip(relative, reason);
        }
        if name.to_str().is_none() {
            return Err(address::invalid(format!(
                "the name of the file {} must be valid UTF-8, because it becomes a key in OBS",
                path.display()
            ))
            .with_advice(Some(format!(
                "rename it, or leave it out with a line in {IGNORE_FILE}"
            ))));
        }
        let mut real = None;
        if file_type.is_symlink() && !self.follow_links {
            return self.skip(relative, SkipReason::Link);
        }
        if file_type.is_symlink() {
            let target = self.link_target(&path, &relative)?;
            let inside = target.ancestors().take_while(|path| *path != self.root);
            let reason = inside.filter_map(|path| always_left_out(path, path.is_dir())).next();
            if let Some(reason) = reason {
                return self.skip(relative, reason);
            }
            if self.ancestors.contains(&target) {
                return self.skip(relative, SkipReason::LinkLoop);
            }
            real = Some(target);
        }
        if is_dir {
            let real = real.or_else(|| Some(self.ancestors.last()?.join(&name)));
            return self.directory(&path, real.unwrap_or_default(), &relative);
        }
        self.file(&path, relative)
    }

    fn file(&mut self, path: &Path, relative: String) -> Result<(), Error> {
        if let Some(reason) = always_left_out(path, false) {
            return self.skip(relative, reason);
        }
        let metadata = fs::metadata(path);
        let metadata = metadata.map_err(|failure| error::local("reading", path, &failure))?;
        if !metadata.is_file() {
            return self.skip(relative, SkipReason::SpecialFile);
        }
        address::check_key(&relative)?;
        let (path, stamp) = (path.to_owned(), Stamp::new(&metadata));
        self.listing.files.insert(relative, LocalFile { path, stamp });
        Ok(())
    }

    fn skip(&mut self, path: String, reason: SkipReason) -> Result<(), Error> {
        self.listing.skipped.push(Skipped { path, reason });
        Ok(())
    }

    /// Returns the canonical target of a link, or an error if it is missing or outside the root.
    fn link_target(&self, path: &Path, relative: &str) -> Result<PathBuf, Error> {
        let target = fs::read_link(path).unwrap_or_default();
        let wrong = |rule: &str| {
            let target = target.display();
            Error::new(
                ErrorKind::Invalid,
                format!("the link {relative} leads to {target}, which {rule}"),
            )
            .with_advice(Some(format!(
                "replace the link by the file, or leave it out with a line in {IGNORE_FILE}"
            )))
        };
        let real = fs::canonicalize(path).map_err(|failure| {
            wrong(&format!("must exist and be readable: {failure}")).with_source(failure)
        })?;
        if !real.starts_with(self.root) {
            let root = self.root.display();
            return Err(wrong(&format!("must be inside of {root}")));
        }
        Ok(real)
    }

    /// Returns the reason to leave out a hidden path directly in the home directory. Programs, such
    /// as this crate with its cache, write hidden files there during the transfer.
    fn hidden_in_home(&self, relative: &str) -> Option<SkipReason> {
        let is_kept = [IGNORE_FILE, GIT_IGNORE_FILE].contains(&relative);
        (self.is_home && relative.starts_with('.') && !is_kept).then_some(SkipReason::HiddenInHome)
    }

    /// Returns the pattern that excludes a file or a directory, or `None` if it is not excluded.
    fn ignored(&self, path: &Path, is_dir: bool) -> Option<SkipReason> {
        let found = self.patterns.iter().rev().map(|p| p.matched(path, is_dir));
        match found.into_iter().find(|found| !found.is_none())? {
            Match::Ignore(glob) => {
                let file = glob.from().unwrap_or(Path::new(IGNORE_FILE));
                let file = file.strip_prefix(self.root).unwrap_or(file);
                Some(SkipReason::Ignored {
                    pattern: glob.original().to_owned(),
                    file: file.display().to_string(),
                })
            }
            Match::None | Match::Whitelist(_) => None,
        }
    }

    /// Returns `true` if a line `!NAME` of a `.modelartsignore` applies to a file.
    fn is_brought_back(&self, path: &Path) -> bool {
        let found = self.patterns.iter().rev().map(|patterns| patterns.matched(path, false));
        let found = { found }.find(|found| !found.is_none());
        let Some(Match::Whitelist(glob)) = found else {
            return false;
        };
        glob.from().is_some_and(|file| file.ends_with(IGNORE_FILE))
    }

    /// Reads the ignore files of a directory.
    fn read_patterns(&mut self, directory: &Path) -> Result<(), Error> {
        let mut builder = GitignoreBuilder::new(directory);
        let mut is_empty = true;
        for (name, applies) in [(GIT_IGNORE_FILE, self.gitignore), (IGNORE_FILE, true)] {
            let path = directory.join(name);
            if !applies || !path.is_file() {
                continue;
            }
            is_empty = false;
            match builder.add(&path) {
                // Git skips invalid patterns.
                Some(failure) if name == GIT_IGNORE_FILE && !failure.is_io() => {
                    tracing::warn!(file = %path.display(), error = %failure, "invalid pattern");
                }
                Some(failure) => {
                    let message = format!("the ignore file {}: {failure}", path.display());
                    return Err(address::invalid(message).with_source(failure));
                }
                None => {}
            }
        }
        if !is_empty {
            let patterns = builder.build().map_err(|failure| {
                let message = format!("the ignore files of {}: {failure}", directory.display());
                address::invalid(message).with_source(failure)
            })?;
            self.patterns.push(patterns);
        }
        Ok(())
    }
}

/// Device and inode of a file.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(metadata: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt;
    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> Identity {
    (0, 0)
}

/// Returns the files to which the standard output and error of this program are redirected.
fn own_outputs() -> Vec<Identity> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let streams = [
            std::io::stdout().as_fd().try_clone_to_owned(),
            std::io::stderr().as_fd().try_clone_to_owned(),
        ];
        let files =
            streams.into_iter().filter_map(|stream| fs::File::from(stream.ok()?).metadata().ok());
        files.filter(fs::Metadata::is_file).map(|file| identity(&file)).collect()
    }
    #[cfg(not(unix))]
    Vec::new()
}

/// Returns `true` if the canonical form of `path` is `canonical`.
fn is_same(path: &Path, canonical: &Path) -> bool {
    fs::canonicalize(path).is_ok_and(|path| path == canonical)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_files_of_the_home_directory_are_left_out() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        fs::create_dir_all(root.join(".cache/modelarts")).unwrap();
        fs::create_dir_all(root.join("src/.hydra")).unwrap();
        for name in [".cache/modelarts/tables", ".gitignore", "src/.hydra/a.yaml", "train.py"] {
            fs::write(root.join(name), "").unwrap();
        }
        let list = |is_home| {
            let mut walk = Walk::new(&root);
            walk.is_home = is_home;
            walk.directory(&root, root.clone(), "").unwrap();
            walk.listing
        };
        let listing = list(true);
        let names: Vec<_> = listing.files.keys().map(String::as_str).collect();
        assert_eq!(names, [".gitignore", "src/.hydra/a.yaml", "train.py"]);
        let skipped: Vec<_> = listing.skipped.iter().map(|path| path.path.as_str()).collect();
        assert_eq!(skipped, [".cache"]);
        assert_eq!(listing.skipped[0].reason, SkipReason::HiddenInHome);
        assert_eq!(list(false).files.len(), 4);
    }

    #[test]
    fn a_link_to_the_home_directory_is_the_home_directory() {
        let directory = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(directory.path()).unwrap();
        assert!(is_same(&root.join("."), &root));
        assert!(!is_same(&root.join("missing"), &root));
    }
}
