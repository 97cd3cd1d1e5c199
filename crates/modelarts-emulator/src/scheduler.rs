//! Scheduler of the nodes of the pools. In a queue, restarted jobs come first, then jobs of higher
//! priority, then older jobs. The first job of a queue blocks all others, and preempts preemptible
//! jobs of lower priority if this frees enough nodes.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    iter,
    sync::Arc,
};

use parking_lot::Mutex;
use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct Scheduler {
    /// Maximum number of nodes in use. A job that requests more waits until no other job has nodes.
    capacity: u32,
    /// Number of nodes outside of pools.
    public: u32,
    state: Mutex<Pools>,
}

#[derive(Debug, Default)]
struct Pools {
    sizes: HashMap<String, u32>,
    entries: HashMap<u64, Entry>,
    pools: HashMap<String, Queue>,
    last_number: u64,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeSet<Rank>,
    holding: BTreeSet<u64>,
    held: u32,
}

/// Position in the queue: restarted jobs first, then by priority, then by age.
type Rank = (Reverse<bool>, Reverse<i64>, u64);

#[derive(Debug)]
struct Entry {
    request: NodeRequest,
    slot_state: watch::Sender<SlotState>,
}

#[derive(Clone, Debug)]
pub(crate) struct NodeRequest {
    pub(crate) job: String,
    /// Id of the pool. Empty for nodes outside of pools.
    pub(crate) pool: String,
    pub(crate) nodes: u32,
    pub(crate) priority: i64,
    pub(crate) preemptible: bool,
    /// `true` if the job has run before and is restarted.
    pub(crate) requeued: bool,
}

impl NodeRequest {
    fn rank(&self, number: u64) -> Rank {
        (Reverse(self.requeued), Reverse(self.priority), number)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotState {
    Waiting,
    Holding,
    /// The job must release its nodes for another job.
    Preempted,
}

/// Position of a job in the queue, and later its nodes. Dropping the slot releases both.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    scheduler: Arc<Scheduler>,
    number: u64,
    slot_state: watch::Receiver<SlotState>,
}

impl Scheduler {
    /// Creates a scheduler for `public` nodes outside of pools, and `sizes` nodes by pool id.
    pub(crate) fn new(capacity: u32, public: u32, sizes: HashMap<String, u32>) -> Arc<Self> {
        Arc::new(Self { capacity, public, state: Mutex::new(Pools { sizes, ..Pools::default() }) })
    }

    /// Returns `true` if the pool exists, which a restart of the emulator can change.
    pub(crate) fn has_pool(&self, pool: &str) -> bool {
        pool.is_empty() || self.state.lock().sizes.contains_key(pool)
    }

    pub(crate) fn enqueue(self: &Arc<Self>, request: NodeRequest) -> QueueSlot {
        let mut state = self.state.lock();
        state.last_number += 1;
        let number = state.last_number;
        let pool = request.pool.clone();
        let (sender, slot_state) = watch::channel(SlotState::Waiting);
        let queue = state.pools.entry(pool.clone()).or_default();
        queue.waiting.insert(request.rank(number));
        let entry = Entry { request, slot_state: sender };
        state.entries.insert(number, entry);
        self.grant_nodes(&mut state, &pool);
        QueueSlot { scheduler: Arc::clone(self), number, slot_state }
    }

    pub(crate) fn set_priority(&self, job: &str, priority: i64, preemptible: Option<bool>) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let mut entries = state.entries.iter_mut();
        let Some((number, entry)) = entries.find(|(_, entry)| entry.request.job == job) else {
            return;
        };
        let before = entry.request.rank(*number);
        entry.request.priority = priority;
        if let Some(preemptible) = preemptible {
            entry.request.preemptible = preemptible;
        }
        let pool = entry.request.pool.clone();
        if let Some(queue) = state.pools.get_mut(&pool)
            && queue.waiting.remove(&before)
        {
            queue.waiting.insert(entry.request.rank(*number));
        }
        self.grant_nodes(state, &pool);
    }

    /// Assigns nodes to the first jobs of the queue, and preempts jobs if too few nodes are free.
    fn grant_nodes(&self, state: &mut Pools, pool: &str) {
        let size = match pool {
            "" => self.public,
            pool => state.sizes.get(pool).copied().unwrap_or(0),
        };
        let mut held: u32 = state.pools.values().map(|queue| queue.held).sum();
        let Some(queue) = state.pools.get_mut(pool) else {
            return;
        };
        while let Some(rank) = queue.waiting.first().copied() {
            let Some(first) = state.entries.get(&rank.2) else {
                return;
            };
            let wanted = first.request.nodes;
            let capacity = if held == 0 { u32::MAX } else { self.capacity };
            let free = size.saturating_sub(queue.held);
            let free = free.min(capacity.saturating_sub(held));
            if wanted <= free {
                held += wanted;
                queue.waiting.remove(&rank);
                queue.holding.insert(rank.2);
                queue.held += wanted;
                first.slot_state.send_replace(SlotState::Holding);
                continue;
            }
            // Lower priorities are preempted first, then younger jobs.
            let holders = queue.holding.iter().rev();
            let holders = holders.filter_map(|number| state.entries.get(number));
            let lower = |entry: &&Entry| entry.request.priority < first.request.priority;
            let preemptible = holders.filter(|entry| entry.request.preemptible);
            let mut victims: Vec<&Entry> = preemptible.filter(lower).collect();
            victims.sort_by_key(|victim| victim.request.priority);
            let mut freed = free;
            victims.retain(|victim| {
                let is_needed = freed < wanted;
                freed += if is_needed { victim.request.nodes } else { 0 };
                is_needed
            });
            if freed >= wanted {
                for victim in victims {
                    victim.slot_state.send_replace(SlotState::Preempted);
                }
            }
            return;
        }
    }
}

impl QueueSlot {
    pub(crate) fn has_nodes(&self) -> bool {
        *self.slot_state.borrow() != SlotState::Waiting
    }

    pub(crate) async fn wait_for_nodes(&mut self) {
        // The wait does not fail, because the sender lives as long as the slot.
        let granted = |state: &SlotState| *state != SlotState::Waiting;
        let _ = self.slot_state.wait_for(granted).await;
    }

    pub(crate) fn preemption(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut slot_state = self.slot_state.clone();
        async move {
            let preempted = slot_state.wait_for(|state| *state == SlotState::Preempted);
            if preempted.await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut guard = self.scheduler.state.lock();
        let state = &mut *guard;
        let Some(Entry { request, .. }) = state.entries.remove(&self.number) else {
            return;
        };
        if let Some(queue) = state.pools.get_mut(&request.pool) {
            if queue.holding.remove(&self.number) {
                queue.held -= request.nodes;
            } else {
                queue.waiting.remove(&request.rank(self.number));
            }
        }
        // The nodes count toward the capacity of all pools. The pool of the job comes first.
        let others: Vec<_> = state.pools.keys().cloned().collect();
        for pool in iter::once(&request.pool).chain(&others) {
            self.scheduler.grant_nodes(state, pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(job: &str, nodes: u32, priority: i64) -> NodeRequest {
        NodeRequest {
            job: job.into(),
            pool: "pool".into(),
            nodes,
            priority,
            preemptible: false,
            requeued: false,
        }
    }

    fn pool(nodes: u32) -> Arc<Scheduler> {
        Scheduler::new(u32::MAX, u32::MAX, HashMap::from([("pool".to_owned(), nodes)]))
    }

    #[test]
    fn the_head_of_the_queue_blocks_those_behind_it() {
        let scheduler = pool(4);
        let first = scheduler.enqueue(ask("first", 3, 1));
        let large = scheduler.enqueue(ask("large", 2, 1));
        let small = scheduler.enqueue(ask("small", 1, 1));
        assert!(first.has_nodes() && !large.has_nodes() && !small.has_nodes());
        drop(first);
        assert!(large.has_nodes() && small.has_nodes());
    }

    #[test]
    fn the_capacity_holds_for_all_pools_together() {
        let sizes = ["a", "b"].map(|pool| (pool.to_owned(), 4));
        let scheduler = Scheduler::new(3, u32::MAX, HashMap::from(sizes));
        let slot = |pool: &str, nodes: u32| {
            let pool = pool.to_owned();
            scheduler.enqueue(NodeRequest { pool, ..ask("job", nodes, 1) })
        };
        let first = slot("a", 2);
        let (large, small) = (slot("b", 4), slot("", 1));
        assert!(first.has_nodes() && !large.has_nodes() && small.has_nodes());
        drop(small);
        assert!(!large.has_nodes());
        drop(first);
        assert!(large.has_nodes());
        let last = slot("a", 1);
        assert!(!last.has_nodes());
    }

    #[test]
    fn priority_goes_before_age_and_running_again_before_priority() {
        let scheduler = pool(1);
        let first = scheduler.enqueue(ask("first", 1, 1));
        let low = scheduler.enqueue(ask("low", 1, 1));
        let high = scheduler.enqueue(ask("high", 1, 3));
        let again = scheduler.enqueue(NodeRequest { requeued: true, ..ask("again", 1, 1) });
        drop(first);
        assert!(again.has_nodes() && !high.has_nodes());
        drop(again);
        assert!(high.has_nodes() && !low.has_nodes());
        scheduler.set_priority("low", 2, None);
        drop(high);
        assert!(low.has_nodes());
    }

    #[tokio::test]
    async fn preemptible_jobs_give_way_only_if_it_helps() {
        let scheduler = pool(2);
        let firm = scheduler.enqueue(ask("firm", 1, 1));
        let soft = scheduler.enqueue(NodeRequest { preemptible: true, ..ask("soft", 1, 1) });
        let two = scheduler.enqueue(ask("two", 2, 3));
        assert_eq!(*soft.slot_state.borrow(), SlotState::Holding);
        drop(two);
        let one = scheduler.enqueue(ask("one", 1, 2));
        soft.preemption().await;
        assert!(!one.has_nodes() && *firm.slot_state.borrow() == SlotState::Holding);
        drop(soft);
        assert!(one.has_nodes());
    }
}
