//! Configuration of a client: the cloud, and the variables and files that settings come from.
//!
//! Two clouds serve this API, and they differ in operations, limits and rules; a job is checked by
//! those of the [`Cloud`] that the client is connected to. Tools of both clouds read different
//! variables and files, all of which
//! [`ClientBuilder::from_env`](crate::client::ClientBuilder::from_env) supports. An [`Environment`]
//! represents them, so that tests and servers with many users need not change the variables of
//! their process.
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
pub(crate) mod files;

pub use cloud::Cloud;
pub use environment::Environment;
