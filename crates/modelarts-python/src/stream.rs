//! `Stream`: an iterator over jobs, events, lines, numbers, updates or rows.

use futures::{StreamExt, stream::BoxStream};
use modelarts_ext::Error;
use pyo3::{Bound, PyAny, PyRef, PyResult, Python, pyclass, pymethods, types::PyAnyMethods};
use tokio::sync::Mutex;

use crate::{
    convert::records,
    errors::to_exception,
    runtime::{discard, wait},
};

/// Item of a stream, as a function that makes a value of Python of it.
type Item = Box<dyn for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send>;

type Items = BoxStream<'static, Result<Item, Error>>;

/// Iterator that waits for each item. A call of another thread waits for its turn.
#[pyclass(frozen, module = "modelarts_tools")]
pub(crate) struct Stream {
    /// `None` after the end.
    items: Mutex<Option<Items>>,
}

impl Stream {
    pub(crate) fn new<T: Send + 'static>(
        items: BoxStream<'static, Result<T, Error>>,
        convert: impl for<'py> Fn(Python<'py>, T) -> PyResult<Bound<'py, PyAny>>
        + Clone
        + Send
        + 'static,
    ) -> Self {
        let items = items.map(move |next| {
            let convert = convert.clone();
            next.map(|value| -> Item { Box::new(move |py| convert(py, value)) })
        });
        Self { items: Mutex::new(Some(items.boxed())) }
    }

    /// Reads the next item. The stream ends after an error.
    async fn next(&self) -> Option<Result<Item, Error>> {
        let mut items = self.items.lock().await;
        let next = items.as_mut()?.next().await;
        if !matches!(next, Some(Ok(_))) {
            *items = None;
        }
        next
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        discard(self.items.get_mut().take());
    }
}

#[pymethods]
impl Stream {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match wait(py, self.next())? {
            None => Ok(None),
            Some(Err(error)) => Err(to_exception(py, &error)),
            Some(Ok(item)) => item(py).map(Some),
        }
    }

    /// Returns the remaining items as a `pandas.DataFrame`. Requires pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        records(slf.py())?.getattr("to_pandas")?.call1((slf,))
    }
}
