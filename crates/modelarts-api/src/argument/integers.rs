//! Integers of types other than `i64` as arguments for integer fields.

use crate::argument::Argument;

/// Implements [`Argument`] of an integer field for the given integer types.
macro_rules! integer {
    ($($integer:ty),*) => {$(
        impl Argument<i64> for $integer {
            fn convert(self) -> Result<i64, String> {
                let rule = || format!("{self} must be at most {}", i64::MAX);
                i64::try_from(self).map_err(|_| rule())
            }
        }
        impl Argument<Option<i64>> for $integer {
            fn convert(self) -> Result<Option<i64>, String> {
                Argument::<i64>::convert(self).map(Some)
            }
        }
    )*};
}

integer! { i32, u32, u64, usize }
