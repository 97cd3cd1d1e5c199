//! Trials of a hyper-parameter search.

use std::sync::Arc;

use modelarts_api::types::ResultTable;
use serde::Serialize;
use serde_json::Value;

/// Trial of a hyper-parameter search: one row of the table of trials. The columns depend on the
/// search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    #[serde(skip)]
    columns: Arc<[String]>,
    cells: Vec<Value>,
}

impl Trial {
    /// Returns the value of a column, such as `trial_id`, `status`, `config`, or a metric. The
    /// service returns numbers and Booleans as text.
    ///
    /// ```no_run
    /// # async fn example(job: modelarts_ext::Job) -> Result<(), modelarts_ext::Error> {
    /// for trial in job.trials().collect(100).await? {
    ///     println!("{:?}: {:?}", trial.get("trial_id"), trial.get("accuracy"));
    /// }
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn get(&self, column: &str) -> Option<&Value> {
        let at = self.columns.iter().position(|name| name == column)?;
        self.cells.get(at)
    }

    /// Returns the names of the columns. The first name is empty if the first column contains the
    /// row number.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Returns the number of the row, if rows are numbered.
    pub(crate) fn number(&self) -> Option<&str> {
        self.get("")?.as_str()
    }
}

/// Converts a table of the service into trials.
pub(crate) fn trials(table: ResultTable) -> Vec<Trial> {
    let columns: Arc<[String]> = table.header.into();
    let row = |cells| Trial { columns: Arc::clone(&columns), cells };
    table.data.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn cells_are_found_by_their_columns() {
        let table = json!({
            "header": ["", "status", "accuracy", "config"],
            "data": [["0", "TERMINATED", "0.8125", {"learning_rate": 0.0021}], ["1", "RUNNING"]],
        });
        let trials = trials(serde_json::from_value(table).unwrap());
        assert_eq!(trials.len(), 2);
        assert_eq!(trials[0].columns()[1], "status");
        assert_eq!(trials[0].get("accuracy"), Some(&json!("0.8125")));
        assert_eq!(trials[0].get("config").unwrap()["learning_rate"], 0.0021);
        assert_eq!(trials[0].get("loss"), None);
        // A row may have fewer cells than the header.
        assert_eq!(trials[1].get("accuracy"), None);
        assert_eq!(trials[1].number(), Some("1"));
    }
}
