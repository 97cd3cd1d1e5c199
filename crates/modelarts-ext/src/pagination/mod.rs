//! Lists of the service, read page by page.

mod error;
mod history;
pub(crate) mod offset;
mod offset_meaning;
mod order_check;
#[cfg(test)]
mod order_tests;
pub(crate) mod page;
mod pager;
pub(crate) mod position;
mod relocate;
mod resume;
mod row_counts;
#[cfg(test)]
mod simulated_list;
#[cfg(test)]
pub(crate) mod tests;
mod window;
