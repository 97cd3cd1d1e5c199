//! Statements of changes as text, from which the changes can be executed again.

use std::cell::RefCell;

use rusqlite::{
    Connection,
    trace::{TraceEvent, TraceEventCodes},
};

thread_local! {
    /// Statements that this thread has executed since the start of a recording.
    static STATEMENTS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Makes the statements of a connection available to [`record`].
pub(super) fn enable(connection: &mut Connection) -> rusqlite::Result<()> {
    connection.trace_v2(TraceEventCodes::SQLITE_TRACE_STMT, Some(add))
}

/// Executes `change`, and returns its result and the executed statements with their values.
pub(super) fn record<R>(change: impl FnOnce() -> R) -> (R, String) {
    STATEMENTS.replace(Some(String::new()));
    let result = change();
    (result, STATEMENTS.take().unwrap_or_default())
}

fn add(event: TraceEvent<'_>) {
    let TraceEvent::Stmt(statement, text) = event else {
        return;
    };
    // SQLite reports a nested statement, such as one of a text index, as a comment.
    if ["--", "SELECT", "BEGIN"].iter().any(|skipped| text.starts_with(skipped)) {
        return;
    }
    STATEMENTS.with_borrow_mut(|statements| {
        if let Some(statements) = statements
            && let Some(text) = statement.expanded_sql()
        {
            statements.push_str(&text);
            statements.push_str(";\n");
        }
    });
}
