//! Configuration of a client: cloud, regions, and environment variables and files with settings.
//!
//! The [`Cloud`] of a client determines the rules by which jobs are validated.
//! [`ClientBuilder::from_env`](crate::client::ClientBuilder::from_env) lists the environment
//! variables and files. An [`Environment`] can replace them, for tests and for servers with many
//! users. [`regions()`] returns the built-in regions.
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
pub use endpoints::{is_known_region, regions};
pub use environment::Environment;
