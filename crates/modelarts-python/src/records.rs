//! Records of values that hold no job.

use modelarts_ext::{Event, LogItem, jobs::logs::LogValue};
use pyo3::{
    Bound, PyAny, PyResult, Python,
    types::{PyDict, PyDictMethods},
};

use crate::convert::{datetime, record, to_dict};

pub(crate) fn event_record<'py>(py: Python<'py>, event: &Event) -> PyResult<Bound<'py, PyAny>> {
    let details = to_dict(py, event)?;
    let fields = PyDict::new(py);
    for name in ["level", "source", "message", "kind"] {
        fields.set_item(name, details.get_item(name)?)?;
        details.del_item(name)?;
    }
    details.del_item("time")?;
    fields.set_item("time", datetime(py, event.time())?)?;
    fields.set_item("details", details)?;
    record(py, "Event", &fields)
}

pub(crate) fn line_record<'py>(py: Python<'py>, item: &LogItem) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    match item {
        LogItem::Line(text) => fields.set_item("text", text)?,
        LogItem::Gap { bytes } => {
            fields.set_item("is_gap", true)?;
            fields.set_item("missing_bytes", bytes)?;
        }
        _ => {}
    }
    // A time without a zone is not a point in time.
    let time = item.time().filter(|time| time.has_zone).map(|time| time.time);
    fields.set_item("time", datetime(py, time)?)?;
    record(py, "LogLine", &fields)
}

pub(crate) fn number_record<'py>(
    py: Python<'py>,
    number: &LogValue,
) -> PyResult<Bound<'py, PyAny>> {
    let fields = PyDict::new(py);
    fields.set_item("value", number.value)?;
    fields.set_item("line", &number.line)?;
    fields.set_item("time", datetime(py, number.time)?)?;
    record(py, "LogValue", &fields)
}
