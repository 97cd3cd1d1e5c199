//! Arrays and vectors as arguments for fields that are lists or maps.

use std::collections::BTreeMap;

use crate::argument::Argument;

impl<V: Argument<T>, T, const N: usize> Argument<Vec<T>> for [V; N] {
    fn convert(self) -> Result<Vec<T>, String> {
        self.into_iter().map(V::convert).collect()
    }
}

impl Argument<Vec<String>> for Vec<&str> {
    fn convert(self) -> Result<Vec<String>, String> {
        Ok(self.into_iter().map(str::to_owned).collect())
    }
}

/// Implements [`Argument`] of a map field for a collection of key-value pairs.
macro_rules! pairs {
    ($pairs:ty $(, $length:ident)?) => {
        impl<K: Into<String>, V: Into<String> $(, const $length: usize)?>
            Argument<BTreeMap<String, String>> for $pairs
        {
            fn convert(self) -> Result<BTreeMap<String, String>, String> {
                let pairs = self.into_iter();
                Ok(pairs.map(|(key, value)| (key.into(), value.into())).collect())
            }
        }
    };
}

pairs! { [(K, V); N], N }
pairs! { Vec<(K, V)> }
