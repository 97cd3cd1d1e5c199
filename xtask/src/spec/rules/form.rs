//! Validation of an extension against its form, which is a JSON Schema.

use jsonschema::ValidationError;
use serde_json::Value;

use super::super::offence::Offence;

/// Returns an offence for each violation of `schema` by the extension at `place`.
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
