//! Location of the buckets, parsed from an address.

use std::{fmt, path::PathBuf};

use modelarts_ext::{Error, ErrorKind};
use url::{Host, Url};

/// Server or local directory that contains the buckets.
pub(crate) enum Location {
    /// Server with the API of OBS.
    Service {
        endpoint: Url,
        /// `true` if the bucket is part of the host name (virtual-hosted style), which OBS
        /// requires. For an IP address or `localhost`, the bucket is in the path (path style).
        virtual_hosts: bool,
    },
    /// Local directory, with a subdirectory for each bucket.
    Directory(PathBuf),
}

impl Location {
    pub(crate) fn parse(address: &str) -> Result<Self, Error> {
        let address = address.trim();
        let with_scheme = match address.contains("://") {
            true => address.to_owned(),
            false => format!("https://{address}"),
        };
        let wrong = |rule: &str| {
            let shown = without_user(address);
            Error::new(ErrorKind::Config, format!("the address of OBS {shown:?} {rule}"))
        };
        let url =
            Url::parse(&with_scheme).map_err(|error| wrong(&format!("is no URL: {error}")))?;
        if url.scheme() == "file" {
            let path = url.to_file_path();
            return path
                .map(Self::Directory)
                .map_err(|()| wrong("must name an absolute path, such as file:///data/obs"));
        }
        if !matches!(url.scheme(), "http" | "https") {
            return Err(wrong("must begin with https://, http:// or file://"));
        }
        let (is_ip, is_loopback) = match url.host() {
            Some(Host::Domain(name)) => {
                let is_local = name == "localhost" || name.ends_with(".localhost");
                (name == "localhost", is_local)
            }
            Some(Host::Ipv4(ip)) => (true, ip.is_loopback()),
            Some(Host::Ipv6(ip)) => (true, ip.is_loopback()),
            None => return Err(wrong("has no host")),
        };
        if url.scheme() == "http" && !is_loopback {
            return Err(wrong("must begin with https://, because it is not on this machine"));
        }
        let is_base = url.query().is_none() && url.fragment().is_none() && url.path() == "/";
        if !is_base || !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "must be only a scheme and a host, such as https://obs.eu-de.otc.t-systems.com",
            ));
        }
        Ok(Self::Service { endpoint: url, virtual_hosts: !is_ip })
    }
}

impl Location {
    /// Returns the URL of a bucket. Returns an error if the location is a local directory.
    pub(crate) fn bucket_url(&self, bucket: &str) -> Result<Url, Error> {
        let config = |message: String| Error::new(ErrorKind::Config, message);
        let Self::Service { endpoint, virtual_hosts } = self else {
            return Err(config(format!("{self} is not a server")));
        };
        let mut url = endpoint.clone();
        if !virtual_hosts {
            url.set_path(bucket);
            return Ok(url);
        }
        if bucket.contains('.') && url.scheme() == "https" {
            return Err(config(format!(
                "the bucket {bucket:?} must not contain dots, because the certificate of OBS does \
                 not cover its address"
            )));
        }
        let host = format!("{bucket}.{}", endpoint.host_str().unwrap_or_default());
        url.set_host(Some(&host))
            .map_err(|error| config(format!("the address {host:?} of the bucket: {error}")))?;
        Ok(url)
    }
}

/// Removes the query, the fragment, and everything before an `@`, all of which may contain secrets.
fn without_user(address: &str) -> &str {
    let end = address.find(['?', '#']).unwrap_or(address.len());
    let address = &address[..end];
    address.rsplit_once('@').map_or(address, |(_, host)| host)
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Service { endpoint, .. } => f.write_str(endpoint.as_str().trim_end_matches('/')),
            Self::Directory(path) => write!(f, "file://{}", path.display()),
        }
    }
}
