//! Ids of new jobs, algorithms and experiments.

use parking_lot::Mutex;
use uuid::Uuid;

/// Generator of ids: random ids or, with a seed, the same sequence at each start.
#[derive(Debug)]
pub(crate) struct Ids(Option<Mutex<fastrand::Rng>>);

impl Ids {
    pub(crate) fn new(seed: Option<u64>) -> Self {
        Self(seed.map(|seed| Mutex::new(fastrand::Rng::with_seed(seed))))
    }

    pub(crate) fn next(&self) -> Uuid {
        match &self.0 {
            None => Uuid::new_v4(),
            Some(rng) => {
                let bytes = rng.lock().u128(..).to_ne_bytes();
                uuid::Builder::from_random_bytes(bytes).into_uuid()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_ids_again() {
        let three = |seed| {
            let ids = Ids::new(seed);
            [ids.next(), ids.next(), ids.next()]
        };
        assert_eq!(three(Some(7)), three(Some(7)));
        assert_ne!(three(Some(7)), three(Some(8)));
        assert_ne!(three(None), three(None));
        let [first, second, _] = three(Some(7));
        assert_ne!(first, second);
        assert_eq!(first.get_version_num(), 4);
    }
}
