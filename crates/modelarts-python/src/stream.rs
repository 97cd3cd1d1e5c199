//! `Stream`: an iterator over jobs, events, lines, numbers, updates or rows.

use std::{pin::pin, sync::Arc};

use futures::{
    StreamExt,
    future::{Either, select},
    stream::BoxStream,
};
use modelarts_ext::Error;
use pyo3::{
    Bound, PyAny, PyRef, PyResult, Python, exceptions::PyStopAsyncIteration, pyclass, pymethods,
    types::PyAnyMethods,
};
use tokio::sync::{Mutex, watch};

use crate::{
    convert::records,
    runtime::{call, call_async, discard},
};

/// Item of a stream, as a function that makes a value of Python of it.
type Item = Box<dyn for<'py> FnOnce(Python<'py>) -> PyResult<Bound<'py, PyAny>> + Send>;

type Items = BoxStream<'static, Result<Item, Error>>;

/// Iterator that waits for each item. A call of another thread waits for its turn.
#[pyclass(frozen, generic, module = "modelarts_tools")]
pub(crate) struct Stream {
    state: Arc<State>,
}

struct State {
    /// `None` after the end.
    items: Mutex<Option<Items>>,
    is_closed: watch::Sender<bool>,
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
        let items = Mutex::new(Some(items.boxed()));
        Self { state: Arc::new(State { items, is_closed: watch::Sender::new(false) }) }
    }
}

impl State {
    /// Reads the next item. The stream ends after an error, and when it is closed.
    async fn next(&self) -> Result<Option<Item>, Error> {
        let mut is_closed = self.is_closed.subscribe();
        let read = async {
            let mut items = self.items.lock().await;
            let next = match items.as_mut() {
                Some(items) => items.next().await.transpose(),
                None => Ok(None),
            };
            if !matches!(next, Ok(Some(_))) {
                *items = None;
            }
            next
        };
        match select(pin!(is_closed.wait_for(|is_closed| *is_closed)), pin!(read)).await {
            Either::Left(_) => Ok(None),
            Either::Right((next, _)) => next,
        }
    }
}

impl Drop for State {
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
        call(py, self.state.next())?.map(|item| item(py)).transpose()
    }

    fn __aiter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let state = Arc::clone(&self.state);
        let next = async move { state.next().await };
        call_async(py, next, |py, item| match item {
            Some(item) => item(py),
            None => Err(PyStopAsyncIteration::new_err(())),
        })
    }

    fn __enter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyAny>) {
        self.close();
    }

    /// Ends the stream, also in the threads that wait for its next item.
    fn close(&self) {
        self.state.is_closed.send_replace(true);
    }

    /// Returns the remaining items as a `pandas.DataFrame`. Requires pandas.
    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        records(slf.py())?.getattr("to_pandas")?.call1((slf,))
    }
}
