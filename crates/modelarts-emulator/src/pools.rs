//! Dedicated resource pools.

/// What the nodes of a pool have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// No cards: jobs name no flavor.
    Cpu,
    /// Cards: jobs name a flavor `modelarts.pool.visual.*`, by the number of cards.
    Gpu,
}

/// A dedicated resource pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    pub(crate) id: String,
    pub(crate) kind: PoolKind,
    pub(crate) nodes: u32,
    pub(crate) running: bool,
    pub(crate) trains: bool,
    pub(crate) supernode: bool,
}

impl Pool {
    /// A running pool for training with this id and this many nodes.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: PoolKind, nodes: u32) -> Self {
        Self {
            id: id.into(),
            kind,
            nodes,
            running: true,
            trains: true,
            supernode: false,
        }
    }

    /// Jobs are refused: the pool is not running.
    #[must_use]
    pub fn stopped(mut self) -> Self {
        self.running = false;
        self
    }

    /// Jobs are refused: the pool serves other purposes than training.
    #[must_use]
    pub fn not_for_training(mut self) -> Self {
        self.trains = false;
        self
    }

    /// A pool of supernodes: `affinity_group_size` is 1 where a job leaves it out.
    #[must_use]
    pub fn supernode(mut self) -> Self {
        self.supernode = true;
        self
    }

    /// The pools of an emulator for which no other were given.
    pub(crate) fn defaults() -> Vec<Self> {
        vec![
            Self::new("pool-cpu", PoolKind::Cpu, 16),
            Self::new("pool-gpu", PoolKind::Gpu, 16),
        ]
    }
}
