//! Lists in the format `csv`.

use ::csv::Writer;
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::Value;

use crate::failure::Failure;

/// Field with the values of a row.
const VALUES: &str = "values";

/// Returns the fields of rows as lines, after a header unless there is one already. The values of
/// rows are columns of their own, after the fields.
pub(super) fn records<R: Serialize>(
    rows: &[R],
    values: impl Fn(&R) -> &[(String, Value)],
    has_header: bool,
) -> Result<String, Failure> {
    let mut records = Vec::new();
    for row in rows {
        // The text keeps the order of the fields.
        let text = serde_json::to_string(row).map_err(Failure::local)?;
        let mut fields: IndexMap<String, Value> =
            serde_json::from_str(&text).map_err(Failure::local)?;
        if fields.contains_key(VALUES) {
            fields.shift_remove(VALUES);
            for (name, value) in values(row) {
                let name = match fields.contains_key(name) {
                    // A hyper-parameter may have the name of a field.
                    true => format!("param:{name}"),
                    false => name.clone(),
                };
                fields.insert(name, value.clone());
            }
        }
        if records.is_empty() && !has_header {
            records.push(fields.keys().cloned().collect());
        }
        records.push(fields.into_values().map(cell).collect());
    }
    lines(records)
}

/// Returns records as lines.
pub(super) fn lines(records: impl IntoIterator<Item = Vec<String>>) -> Result<String, Failure> {
    let mut writer = Writer::from_writer(Vec::new());
    for record in records {
        writer.write_record(record).map_err(Failure::local)?;
    }
    let bytes = writer.into_inner().map_err(Failure::local)?;
    String::from_utf8(bytes).map_err(Failure::local)
}

/// Returns a value as text. Lists and objects are JSON.
pub(super) fn cell(value: Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text,
        value => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Serialize)]
    struct Trial {
        name: &'static str,
        end: Option<u64>,
        also: Value,
        values: Vec<(String, Value)>,
    }

    #[test]
    fn rows_have_a_header_and_their_fields_in_order() {
        let lr = |value: f64| vec![("lr".to_owned(), json!(value))];
        let rows = [
            Trial { name: "a,\"b\"", end: None, also: json!({"x": 1}), values: lr(0.1) },
            Trial { name: "c", end: Some(2), also: json!(true), values: lr(2.0) },
        ];
        let text = "name,end,also,lr\n\"a,\"\"b\"\"\",,\"{\"\"x\"\":1}\",0.1\nc,2,true,2.0\n";
        fn values(row: &Trial) -> &[(String, Value)] {
            &row.values
        }
        assert_eq!(records(&rows, values, false).unwrap(), text);
        assert_eq!(records(&rows[1..], values, true).unwrap(), "c,2,true,2.0\n");
        let values = vec![("name".to_owned(), json!("x"))];
        let row = Trial { name: "c", end: None, also: json!(1), values };
        let text = "name,end,also,param:name\nc,,1,x\n";
        assert_eq!(records(&[row], |row| &row.values, false).unwrap(), text);
    }
}
