//! Who gets the nodes of a pool, and when.
//!
//! Strictly first come, first served within a priority: a job at the head that waits for many
//! nodes holds up those behind it that would need few (domain.md section 5). Jobs that run again
//! come before all others. A job of a higher priority takes the nodes of preemptible ones of lower
//! priority, if that helps it.

use std::cmp::Reverse;
use std::collections::HashMap;
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
    places: Vec<Entry>,
    numbers: u64,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    asked: Asked,
    standing: watch::Sender<Standing>,
}

/// What a job asks for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) job: String,
    /// Empty outside of pools.
    pub(crate) pool: String,
    pub(crate) nodes: u32,
    pub(crate) priority: i64,
    pub(crate) preemptible: bool,
    /// It ran before and runs again.
    pub(crate) again: bool,
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
pub(crate) struct Place {
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

    /// A place at the end of the queue.
    pub(crate) fn enqueue(self: &Arc<Self>, asked: Asked) -> Place {
        let mut state = self.state.lock();
        state.numbers += 1;
        let number = state.numbers;
        let pool = asked.pool.clone();
        let (sender, standing) = watch::channel(Standing::Waiting);
        state.places.push(Entry {
            number,
            asked,
            standing: sender,
        });
        self.settle(&mut state, &pool);
        Place {
            scheduler: Arc::clone(self),
            number,
            standing,
        }
    }

    /// Moves a waiting job to another priority.
    pub(crate) fn set_priority(&self, job: &str, priority: i64, preemptible: Option<bool>) {
        let mut state = self.state.lock();
        let entry = state.places.iter_mut().find(|entry| entry.asked.job == job);
        let Some(entry) = entry else { return };
        entry.asked.priority = priority;
        if let Some(preemptible) = preemptible {
            entry.asked.preemptible = preemptible;
        }
        let pool = entry.asked.pool.clone();
        self.settle(&mut state, &pool);
    }

    /// Gives nodes to whoever is first, as long as there are enough.
    fn settle(&self, state: &mut State, pool: &str) {
        let size = state.sizes.get(pool).copied().unwrap_or(self.public);
        loop {
            let here = || {
                let entries = state.places.iter();
                entries.filter(|entry| entry.asked.pool == pool)
            };
            let held: u32 = here()
                .filter(|entry| *entry.standing.borrow() != Standing::Waiting)
                .map(|entry| entry.asked.nodes)
                .sum();
            let first = here()
                .filter(|entry| *entry.standing.borrow() == Standing::Waiting)
                .max_by_key(|entry| {
                    (
                        entry.asked.again,
                        entry.asked.priority,
                        Reverse(entry.number),
                    )
                });
            let Some(first) = first else { return };
            let free = size.saturating_sub(held);
            if first.asked.nodes <= free {
                first.standing.send_replace(Standing::Holding);
                continue;
            }
            // The lowest priority goes first, among equals the youngest.
            let mut victims: Vec<&Entry> = here()
                .filter(|entry| {
                    *entry.standing.borrow() != Standing::Waiting
                        && entry.asked.preemptible
                        && entry.asked.priority < first.asked.priority
                })
                .collect();
            victims.sort_by_key(|entry| (entry.asked.priority, Reverse(entry.number)));
            let mut freed = free;
            let mut chosen = Vec::new();
            for victim in victims {
                if freed >= first.asked.nodes {
                    break;
                }
                freed += victim.asked.nodes;
                chosen.push(victim);
            }
            if freed >= first.asked.nodes {
                for victim in chosen {
                    victim.standing.send_replace(Standing::Preempted);
                }
            }
            return;
        }
    }
}

impl Place {
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

impl Drop for Place {
    fn drop(&mut self) {
        let mut state = self.scheduler.state.lock();
        let at = state
            .places
            .iter()
            .position(|entry| entry.number == self.number);
        if let Some(at) = at {
            let entry = state.places.remove(at);
            self.scheduler.settle(&mut state, &entry.asked.pool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(job: &str, nodes: u32, priority: i64) -> Asked {
        Asked {
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
        let again = scheduler.enqueue(Asked {
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
        let soft = scheduler.enqueue(Asked {
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
