//! Start of the console page, with a stable port and with sessions that survive a restart.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
};

use modelarts_console::{Console, ConsoleBuilder};
use modelarts_ext::Client;
use ring::rand::{SystemRandom, generate};

use crate::{
    failure::Failure,
    job_reference::project,
    state::{self, state_directory},
};

/// Ports that are tried in order. Fixed ports keep bookmarks and browser sessions valid.
const PORTS: std::ops::Range<u16> = 8900..8910;

/// File in the state directory with the session key. Only this user can read the file.
const FILE: &str = "console.key";
/// Length of the session key, in bytes.
const LENGTH: usize = 32;

/// Returns an error if the address is not a loopback address. `flag` is the flag of the address.
pub(crate) fn check_address(listen: Option<SocketAddr>, flag: &str) -> Result<(), Failure> {
    match listen.filter(|address| !address.ip().is_loopback()) {
        None => Ok(()),
        Some(address) => Err(Failure::usage(format_args!(
            "{flag} {address}: it must be a loopback address, such as 127.0.0.1:{}; `ssh -L` \
             forwards the port to another machine",
            address.port()
        ))),
    }
}

/// Starts the page at an address. `None` selects one of [`PORTS`], or else any free port. `flag` is
/// the flag of the address in error messages.
pub(crate) async fn start_page(
    client: &Client,
    listen: Option<SocketAddr>,
    flag: &str,
    settings: impl Fn(ConsoleBuilder) -> ConsoleBuilder,
) -> Result<Console, Failure> {
    // Sessions are valid for one project, because a browser may still show another project.
    let key = stored_key().map(|key| [&key, project(client).as_bytes()].concat());
    let start = |address| {
        let builder = settings(Console::builder(client.clone())).listen(address);
        let builder = builder.on_login_link(|link| note!("Next link for a browser: {link}"));
        match &key {
            Some(key) => builder.session_key(key.clone()),
            None => builder,
        }
        .start()
    };
    let local = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let addresses = match listen {
        Some(address) => vec![address],
        None => PORTS.chain([0]).map(local).collect(),
    };
    let mut failure = Failure::Closed;
    for address in addresses {
        match start(address).await {
            Ok(console) => return Ok(console),
            Err(error) => {
                failure = Failure::local(format_args!(
                    "{flag}: cannot listen on {address} for the page: {error}; port 0 selects a \
                     free port"
                ));
            }
        }
    }
    Err(failure)
}

/// Returns the session key of this user, or creates it, so that browsers stay logged in after a
/// restart. Returns `None` if the key cannot be stored; sessions then end with the page.
fn stored_key() -> Option<Vec<u8>> {
    let path = state_directory()?.join(FILE);
    let key = read_key(&path).map_or_else(|| create_key(&path), Ok);
    key.inspect_err(|error| tracing::debug!(%error, "sessions end with the page")).ok()
}

/// Returns the key in a file; `None` if the file has no key, or if other users can access it.
fn read_key(path: &Path) -> Option<Vec<u8>> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;

        let mode = fs::metadata(path).ok()?.permissions().mode();
        if mode & 0o077 != 0 {
            return None;
        }
    }
    fs::read(path).ok().filter(|key| key.len() == LENGTH)
}

fn create_key(path: &Path) -> io::Result<Vec<u8>> {
    let key: [u8; LENGTH] = generate(&SystemRandom::new())
        .map_err(|_| io::Error::other("the system has no random numbers"))?
        .expose();
    state::replace(path, &key)?;
    Ok(key.to_vec())
}
