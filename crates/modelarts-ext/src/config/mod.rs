//! Configuration of a client: the cloud, and the variables and files that contain settings.
//!
//! A job is validated by the rules of the [`Cloud`] of its client.
//! [`ClientBuilder::from_env`](crate::client::ClientBuilder::from_env) lists the variables and
//! files of a client, which an [`Environment`] replaces, for tests and for servers with many users.
//! [`regions()`] returns the regions whose endpoints are known.
//!
//! ```
//! use modelarts_ext::{Client, config::{Cloud, Environment}};
//!
//! # fn main() -> Result<(), modelarts_ext::Error> {
//! let environment = Environment::new(|name| match name {
//!     "MODELARTS_REGION" => Some("eu-de".to_owned()),
//!     "HUAWEICLOUD_SDK_AK" => Some("AK".to_owned()),
//!     "HUAWEICLOUD_SDK_SK" => Some("SK".to_owned()),
//!     "HUAWEICLOUD_SDK_PROJECT_ID" => Some("0123456789abcdef0123456789abcdef".to_owned()),
//!     _ => None,
//! });
//! let client = Client::builder().environment(environment).build()?;
//! assert_eq!(client.cloud(), Cloud::Otc);
//! # Ok(()) }
//! ```

pub(crate) mod cloud;
pub(crate) mod endpoints;
pub(crate) mod environment;

pub use cloud::Cloud;
pub use endpoints::is_known_region;
pub use endpoints::regions;
pub use environment::Environment;
