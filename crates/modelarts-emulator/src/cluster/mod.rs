//! Jobs on the nodes of a Slurm cluster, which outlive the emulator.
//!
//! The emulator submits a job by `sbatch`. On the first of its nodes, this program ([`batch`]) drives
//! the job as an emulator of one machine drives its jobs, with a [`worker`] on each node, and writes
//! what happens to a [`journal`] in a directory that all nodes share. The emulator follows
//! ([`follow`]) the queue of Slurm and the journal. It can end at any time, and continue later.

#[cfg(feature = "cli")]
mod batch;
mod commands;
pub(crate) mod config;
mod follow;
mod journal;
mod layout;
#[cfg(feature = "cli")]
pub(crate) mod program;
#[cfg(feature = "cli")]
mod recorder;
pub(crate) mod system;
#[cfg(feature = "cli")]
mod worker;
#[cfg(feature = "cli")]
mod workers;
