//! The form of an extension, which is a JSON Schema.

use jsonschema::ValidationError;
use serde_json::Value;

use super::super::offence::Offence;

/// One offence for each way in which the extension at `place` does not fit.
pub fn offences(place: &str, schema: &Value, value: &Value) -> Vec<Offence> {
    let name = place.trim_start_matches('/');
    let validator = match jsonschema::draft4::new(schema) {
        Ok(validator) => validator,
        Err(error) => return vec![Offence::new(place, format!("its schema: {error}"))],
    };
    let offence = |error: ValidationError| {
        Offence::new(
            format!("{place}{}", error.instance_path()),
            format!("must fit the form of {}: {error}", name),
        )
    };
    validator.iter_errors(value).map(offence).collect()
}
