//! Dedicated resource pools.

/// Hardware of the nodes of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolKind {
    /// Nodes without accelerator cards. Jobs in the pool specify no flavor.
    Cpu,
    /// Nodes with accelerator cards. Jobs specify a flavor `modelarts.pool.visual.*`.
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
    /// Creates a running pool for training with the given id and number of nodes.
    #[must_use]
    pub fn new(id: impl Into<String>, kind: PoolKind, nodes: u32) -> Self {
        Self { id: id.into(), kind, nodes, running: true, trains: true, supernode: false }
    }

    /// Parses `ID:NODES` or `ID:NODES:KIND`. `KIND` is `cpu` (the default) or `gpu`.
    ///
    /// # Errors
    /// Returns an error message that names the invalid part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split(':');
        let id = parts.next().unwrap_or_default();
        if id.is_empty() {
            return Err(format!("`{text}` has no id; a pool is ID:NODES or ID:NODES:KIND"));
        }
        let nodes = parts.next().and_then(|nodes| nodes.parse().ok());
        let nodes = nodes
            .filter(|nodes| *nodes > 0)
            .ok_or_else(|| format!("`{text}` has no number of nodes, 1 or more, behind the id"))?;
        let kind = match parts.next() {
            None | Some("cpu") => PoolKind::Cpu,
            Some("gpu") => PoolKind::Gpu,
            Some(kind) => {
                return Err(format!("`{kind}` must be a kind of pool, cpu or gpu"));
            }
        };
        if parts.next().is_some() {
            return Err(format!("`{text}` has too many parts"));
        }
        Ok(Self::new(id, kind, nodes))
    }

    /// Marks the pool as not running, so that the emulator rejects jobs in it.
    #[must_use]
    pub fn stopped(mut self) -> Self {
        self.running = false;
        self
    }

    /// Marks the pool as not intended for training, so that the emulator rejects jobs in it.
    #[must_use]
    pub fn not_for_training(mut self) -> Self {
        self.trains = false;
        self
    }

    /// Marks the nodes as supernodes: `affinity_group_size` of jobs in the pool is then optional.
    #[must_use]
    pub fn supernode(mut self) -> Self {
        self.supernode = true;
        self
    }

    pub(crate) fn defaults() -> Vec<Self> {
        vec![Self::new("pool-cpu", PoolKind::Cpu, 16), Self::new("pool-gpu", PoolKind::Gpu, 16)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pools_are_read_from_their_parts() {
        assert_eq!(Pool::parse("a:4"), Ok(Pool::new("a", PoolKind::Cpu, 4)));
        assert_eq!(Pool::parse("a:4:gpu"), Ok(Pool::new("a", PoolKind::Gpu, 4)));
        for (text, sentence) in [
            ("", "has no id"),
            ("a", "has no number of nodes"),
            ("a:0", "has no number of nodes"),
            ("a:4:tpu", "`tpu` must be a kind of pool"),
            ("a:4:cpu:x", "too many parts"),
        ] {
            assert!(Pool::parse(text).unwrap_err().contains(sentence), "{text}");
        }
    }
}
