//! Dedicated resource pools, and the number of their nodes.
//!
//! Queues, priorities and preemption show only where nodes are short. Without pools of a test there
//! are `pool-cpu` and `pool-gpu`, with 16 nodes each.
//!
//! ```
//! use modelarts_emulator::Emulator;
//! use modelarts_emulator::pools::{Pool, PoolKind};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//!
//! let emulator = Emulator::builder()
//!     .pool(Pool::new("team", PoolKind::Gpu, 2))
//!     .pool(Pool::parse("nightly:1:cpu")?)
//!     .start()
//!     .await?;
//! // ... of two jobs in the pool `nightly` the second one waits ...
//! emulator.shutdown().await;
//! # Ok(())
//! # }
//! ```

pub use crate::catalog::pools::{Pool, PoolKind};
