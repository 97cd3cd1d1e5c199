//! Access to the browser of the user.

use std::{env, io, io::Write, path::Path};

use tempfile::{Builder, TempPath};

use crate::state::state_directory;

/// Returns `true` if a browser can open for the user: a display exists, and the user is not logged
/// in over SSH.
pub(super) fn has_desktop() -> bool {
    let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_display = cfg!(any(windows, target_os = "macos"))
        || is_set("DISPLAY")
        || is_set("WAYLAND_DISPLAY")
        || is_set("WSL_DISTRO_NAME");
    has_display && !is_set("SSH_CONNECTION")
}

/// Opens a login link through a private file, because other users can read program arguments.
/// Returns the file, which the browser reads later, or `None` after an error.
pub(super) fn open(link: &str) -> Option<TempPath> {
    let directory = state_directory().ok_or_else(|| io::Error::other("no home directory"));
    let opened = directory.and_then(|directory| {
        let file = write(link, &directory)?;
        open::that_detached(&file)?;
        Ok(file)
    });
    opened.inspect_err(|error| note!("no browser has opened: {error}")).ok()
}

/// Writes an HTML page that redirects to the link. Only this user can read the file.
fn write(link: &str, directory: &Path) -> io::Result<TempPath> {
    std::fs::create_dir_all(directory)?;
    let mut named = Builder::new();
    let named = named.prefix("console-").suffix(".html");
    let mut file = named.tempfile_in(directory)?;
    // The link needs no escapes: it consists of an address and hexadecimal digits.
    writeln!(
        file,
        "<!doctype html><meta charset=\"utf-8\"><title>ModelArts</title><meta \
         http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">Log in</a>"
    )?;
    Ok(file.into_temp_path())
}

#[cfg(all(test, unix))]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;

    #[test]
    fn only_this_user_can_read_the_link_which_exists_as_long_as_its_file() {
        let directory = tempfile::tempdir().unwrap();
        let state = directory.path().join("new/state");
        let link = "http://127.0.0.1:8900/login?token=0a";
        let file = write(link, &state).unwrap();
        assert_eq!(file.parent(), Some(&*state));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        let page = fs::read_to_string(&file).unwrap();
        assert!(page.contains(&format!("content=\"0; url={link}\"")), "{page}");
        assert!(page.contains(&format!("<a href=\"{link}\">")), "{page}");
        drop(file);
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }
}
