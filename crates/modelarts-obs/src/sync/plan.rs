//! Comparison of the lists of source and target, without reading contents.

use std::collections::BTreeMap;

/// Properties of a listed file or object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) size: u64,
    /// SHA-256 of the contents, if it is in the cache.
    pub(crate) sha256: Option<String>,
}

/// Action for a file of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// The target has the same contents.
    Unchanged,
    /// The sizes are equal, and at least one checksum is not in the cache.
    Compare,
    /// The target does not have the file, or has other contents.
    Transfer,
}

/// Returns the action for each file of the source, and the files that only the target has.
pub(crate) fn plan<N: AsRef<str> + Ord>(
    source: &BTreeMap<N, Listed>,
    target: &BTreeMap<N, Listed>,
) -> (Vec<(String, Action)>, Vec<String>) {
    let action = |(name, source): (&N, &Listed)| {
        let action = match target.get(name) {
            Some(target) if target.size == source.size => match (&source.sha256, &target.sha256) {
                (Some(source), Some(target)) if source == target => Action::Unchanged,
                (Some(_), Some(_)) => Action::Transfer,
                _ => Action::Compare,
            },
            _ => Action::Transfer,
        };
        (name.as_ref().to_owned(), action)
    };
    let surplus = target.keys().filter(|name| !source.contains_key(*name));
    let surplus = surplus.map(|name| name.as_ref().to_owned());
    (source.iter().map(action).collect(), surplus.collect())
}

/// Removes the objects that stand for directories, and returns their names. Such an object is
/// empty, and other objects are below it. The crate `object_store` removes the slash at the end of
/// its key.
pub(crate) fn remove_markers<V>(
    objects: &mut BTreeMap<String, V>,
    size: impl Fn(&V) -> u64,
) -> Vec<String> {
    let is_marker = |(name, object): &(&String, &V)| size(object) == 0 && below(objects, name);
    let markers = objects.iter().filter(is_marker);
    let markers: Vec<_> = markers.map(|(name, _)| name.clone()).collect();
    objects.retain(|name, _| markers.binary_search(name).is_err());
    markers
}

/// Returns the first name that is also a directory of other names.
pub(crate) fn find_conflict<V>(objects: &BTreeMap<String, V>) -> Option<&str> {
    let mut names = objects.keys().map(String::as_str);
    names.find(|name| below(objects, name))
}

/// Returns `true` if other names are below this name.
fn below<V>(objects: &BTreeMap<String, V>, name: &str) -> bool {
    let directory = format!("{name}/");
    let next = objects.range(directory.clone()..).next();
    next.is_some_and(|(next, _)| next.starts_with(&directory))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::btree_map, option, prelude::*};

    use super::*;

    fn files() -> impl Strategy<Value = BTreeMap<String, Listed>> {
        let sha256 = option::of("[ab]");
        let listed = (0..3_u64, sha256).prop_map(|(size, sha256)| Listed { size, sha256 });
        btree_map("[ab](/[ab]){0,2}", listed, 0..8)
    }

    proptest! {
        #[test]
        fn every_file_has_one_action_and_only_equal_ones_stay(
            source in files(),
            target in files(),
        ) {
            let (actions, surplus) = plan(&source, &target);
            let names: Vec<_> = actions.iter().map(|(name, _)| name).collect();
            prop_assert_eq!(names, source.keys().collect::<Vec<_>>());
            for (name, action) in &actions {
                let (from, to) = (&source[name], target.get(name));
                let same_size = to.is_some_and(|to| to.size == from.size);
                let sums = (from.sha256.as_ref(), to.and_then(|to| to.sha256.as_ref()));
                let expected = match sums {
                    _ if !same_size => Action::Transfer,
                    (Some(a), Some(b)) if a == b => Action::Unchanged,
                    (Some(_), Some(_)) => Action::Transfer,
                    _ => Action::Compare,
                };
                prop_assert_eq!(*action, expected);
            }
            let all: BTreeSet<_> = source.keys().chain(&surplus).collect();
            prop_assert!(surplus.iter().all(|name| !source.contains_key(name)));
            prop_assert!(target.keys().all(|name| all.contains(name)));
        }

        #[test]
        fn without_markers_only_names_with_contents_conflict(mut objects in files()) {
            let before = objects.clone();
            let markers = remove_markers(&mut objects, |listed| listed.size);
            for marker in &markers {
                prop_assert_eq!(before[marker].size, 0);
            }
            prop_assert_eq!(objects.len() + markers.len(), before.len());
            if let Some(name) = find_conflict(&objects) {
                prop_assert!(objects[name].size > 0);
            }
        }
    }

    #[test]
    fn a_name_with_names_below_is_a_marker_or_a_conflict() {
        let objects = |size| {
            BTreeMap::from([("a".to_owned(), size), ("a-b".to_owned(), 1), ("a/b".to_owned(), 1)])
        };
        let mut markers = objects(0);
        assert_eq!(remove_markers(&mut markers, |size| *size), ["a"]);
        assert_eq!((markers.len(), find_conflict(&markers)), (2, None));
        let mut conflict = objects(1);
        assert!(remove_markers(&mut conflict, |size| *size).is_empty());
        assert_eq!(find_conflict(&conflict), Some("a"));
    }
}
