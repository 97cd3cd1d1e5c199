//! Who gets the nodes of a pool, and when.
//!
//! Strictly first come, first served within a priority: a job at the head that waits for many
//! nodes holds up those behind it that would need few (domain.md section 5). Jobs that run again
//! come before all others. A job of a higher priority takes the nodes of preemptible ones of lower
//! priority, if that helps it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::watch;

/// The nodes of all pools.
#[derive(Debug)]
pub(crate) struct Scheduler {
    /// How many nodes there are outside of pools.
    public: u32,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    sizes: HashMap<String, u32>,
    /// By number.
    entries: HashMap<u64, Entry>,
    pools: HashMap<String, Queue>,
    numbers: u64,
}

/// The jobs of one pool, by number.
#[derive(Debug, Default)]
struct Queue {
    waiting: BTreeSet<Rank>,
    holding: BTreeSet<u64>,
    held: u32,
}

/// Who comes first: those that run again, then the higher priority, then the older.
type Rank = (Reverse<bool>, Reverse<i64>, u64);

#[derive(Debug)]
struct Entry {
    asked: NodeRequest,
    standing: watch::Sender<Standing>,
}

/// What a job asks for.
#[derive(Clone, Debug)]
pub(crate) struct NodeRequest {
    pub(crate) job: String,
    /// Empty outside of pools.
    pub(crate) pool: String,
    pub(crate) nodes: u32,
    pub(crate) priority: i64,
    pub(crate) preemptible: bool,
    /// It ran before and runs again.
    pub(crate) again: bool,
}

impl NodeRequest {
    fn rank(&self, number: u64) -> Rank {
        (Reverse(self.again), Reverse(self.priority), number)
    }
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Waiting,
    Holding,
    /// Its nodes are wanted by another.
    Preempted,
}

/// A place in the queue, then the nodes. Dropped, it is given up.
#[derive(Debug)]
pub(crate) struct QueueSlot {
    scheduler: Arc<Scheduler>,
    number: u64,
    standing: watch::Receiver<Standing>,
}

impl Scheduler {
    /// `sizes` are the nodes by the id of the pool.
    pub(crate) fn new(public: u32, sizes: HashMap<String, u32>) -> Arc<Self> {
        Arc::new(Self {
            public,
            state: Mutex::new(State {
                sizes,
                ..State::default()
            }),
        })
    }

    /// Whether there is such a pool. One that a job was in may have gone since an earlier start.
    pub(crate) fn has(&self, pool: &str) -> bool {
        pool.is_empty() || self.state.lock().sizes.contains_key(pool)
    }

    /// A place at the end of the queue.
    pub(crate) fn enqueue(self: &Arc<Self>, asked: NodeRequest) -> QueueSlot {
        let mut state = self.state.lock();
        state.numbers += 1;
        let number = state.numbers;
        let pool = asked.pool.clone();
        let (sender, standing) = watch::channel(Standing::Waiting);
        let queue = state.pools.entry(pool.clone()).or_default();
        queue.waiting.insert(asked.rank(number));
        let entry = Entry {
            asked,
            standing: sender,
        };
        state.entries.insert(number, entry);
        self.settle(&mut state, &pool);
        QueueSlot {
            scheduler: Arc::clone(self),
            number,
            standing,
        }
    }

    /// Moves a waiting job to another priority.
    pub(crate) fn set_priority(&self, job: &str, priority: i64, preemptible: Option<bool>) {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let mut entries = state.entries.iter_mut();
        let Some((number, entry)) = entries.find(|(_, entry)| entry.asked.job == job) else {
            return;
        };
        let before = entry.asked.rank(*number);
        entry.asked.priority = priority;
        if let Some(preemptible) = preemptible {
            entry.asked.preemptible = preemptible;
        }
        let pool = entry.asked.pool.clone();
        if let Some(queue) = state.pools.get_mut(&pool)
            && queue.waiting.remove(&before)
        {
            queue.waiting.insert(entry.asked.rank(*number));
        }
        self.settle(state, &pool);
    }

    /// Gives nodes to whoever is first, as long as there are enough.
    fn settle(&self, state: &mut State, pool: &str) {
        let size = match pool {
            "" => self.public,
            pool => state.sizes.get(pool).copied().unwrap_or(0),
        };
        let Some(queue) = state.pools.get_mut(pool) else {
            return;
        };
        while let Some(rank) = queue.waiting.first().copied() {
            let Some(first) = state.entries.get(&rank.2) else {
                return;
            };
            let wanted = first.asked.nodes;
            let free = size.saturating_sub(queue.held);
            if wanted <= free {
                queue.waiting.remove(&rank);
                queue.holding.insert(rank.2);
                queue.held += wanted;
                first.standing.send_replace(Standing::Holding);
                continue;
            }
            // The lowest priority goes first, among equals the youngest.
            let holders = queue.holding.iter();
            let mut victims: Vec<(i64, Reverse<u64>, &Entry)> = holders
                .filter_map(|number| {
                    let entry = state.entries.get(number)?;
                    let gives_way =
                        entry.asked.preemptible && entry.asked.priority < first.asked.priority;
                    gives_way.then_some((entry.asked.priority, Reverse(*number), entry))
                })
                .collect();
            victims.sort_by_key(|(priority, number, _)| (*priority, *number));
            let mut freed = free;
            let mut chosen = Vec::new();
            for (.., victim) in victims {
                if freed >= wanted {
                    break;
                }
                freed += victim.asked.nodes;
                chosen.push(victim);
            }
            if freed >= wanted {
                for victim in chosen {
                    victim.standing.send_replace(Standing::Preempted);
                }
            }
            return;
        }
    }
}

impl QueueSlot {
    /// Whether the nodes are there already.
    pub(crate) fn holds(&self) -> bool {
        *self.standing.borrow() != Standing::Waiting
    }

    /// Waits for the nodes.
    pub(crate) async fn granted(&mut self) {
        // The sender lives as long as the place.
        let _ = self
            .standing
            .wait_for(|standing| *standing != Standing::Waiting)
            .await;
    }

    /// Waits until the nodes are wanted by another.
    pub(crate) fn preempted(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut standing = self.standing.clone();
        async move {
            if standing
                .wait_for(|standing| *standing == Standing::Preempted)
                .await
                .is_err()
            {
                std::future::pending::<()>().await;
            }
        }
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        let mut guard = self.scheduler.state.lock();
        let state = &mut *guard;
        let Some(Entry { asked, .. }) = state.entries.remove(&self.number) else {
            return;
        };
        if let Some(queue) = state.pools.get_mut(&asked.pool) {
            if queue.holding.remove(&self.number) {
                queue.held -= asked.nodes;
            } else {
                queue.waiting.remove(&asked.rank(self.number));
            }
        }
        self.scheduler.settle(state, &asked.pool);
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
            again: false,
        }
    }

    fn pool(nodes: u32) -> Arc<Scheduler> {
        Scheduler::new(u32::MAX, HashMap::from([("pool".to_owned(), nodes)]))
    }

    #[test]
    fn the_head_of_the_queue_blocks_those_behind_it() {
        let scheduler = pool(4);
        let first = scheduler.enqueue(ask("first", 3, 1));
        let large = scheduler.enqueue(ask("large", 2, 1));
        let small = scheduler.enqueue(ask("small", 1, 1));
        assert!(first.holds() && !large.holds() && !small.holds());
        drop(first);
        assert!(large.holds() && small.holds());
    }

    #[test]
    fn priority_goes_before_age_and_running_again_before_priority() {
        let scheduler = pool(1);
        let first = scheduler.enqueue(ask("first", 1, 1));
        let low = scheduler.enqueue(ask("low", 1, 1));
        let high = scheduler.enqueue(ask("high", 1, 3));
        let again = scheduler.enqueue(NodeRequest {
            again: true,
            ..ask("again", 1, 1)
        });
        drop(first);
        assert!(again.holds() && !high.holds());
        drop(again);
        assert!(high.holds() && !low.holds());
        scheduler.set_priority("low", 2, None);
        drop(high);
        assert!(low.holds());
    }

    #[tokio::test]
    async fn preemptible_jobs_give_way_only_if_it_helps() {
        let scheduler = pool(2);
        let firm = scheduler.enqueue(ask("firm", 1, 1));
        let soft = scheduler.enqueue(NodeRequest {
            preemptible: true,
            ..ask("soft", 1, 1)
        });
        let two = scheduler.enqueue(ask("two", 2, 3));
        assert_eq!(*soft.standing.borrow(), Standing::Holding);
        drop(two);
        let one = scheduler.enqueue(ask("one", 1, 2));
        soft.preempted().await;
        assert!(!one.holds() && *firm.standing.borrow() == Standing::Holding);
        drop(soft);
        assert!(one.holds());
    }
}
