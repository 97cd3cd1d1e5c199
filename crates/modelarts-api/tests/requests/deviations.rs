//! Expected differences between the requests of the generated client and those of the SDK, each
//! with the reason. The cited rows are in `openapi/SOURCES.md`.

use serde_json::Value;

use crate::difference::Difference;

/// Operations that the SDK lacks, each with the request that replaces the SDK's request in the
/// comparison.
pub const NOT_IN_THE_SDK: &[(&str, &str)] = &[(
    "ShowObsUrlOfTrainingJobLogs",
    "D-52: the API reference of both clouds has it; its printed request is compared",
)];

/// Expected difference between two requests. Values are JSON; an empty string means that the value
/// is absent.
#[derive(Debug)]
pub struct Deviation {
    /// The operation; `*` stands for all operations.
    operation: &'static str,
    pub at: &'static str,
    theirs: &'static str,
    ours: &'static str,
    #[expect(dead_code, reason = "for the reader, and for the message of a failure")]
    why: &'static str,
}

impl Deviation {
    /// Returns whether the difference concerns a value in the request body of this operation.
    pub fn is_in_body_of(&self, operation: &str) -> bool {
        self.operation == operation && self.at.starts_with("/body")
    }

    pub fn covers(&self, operation: &str, difference: &Difference) -> bool {
        let json = |value: &Option<Value>| value.as_ref().map_or(String::new(), Value::to_string);
        [operation, "*"].contains(&self.operation)
            && difference.at == self.at
            && json(&difference.theirs) == self.theirs
            && json(&difference.ours) == self.ours
    }

    /// Replaces the SDK's value in a request body by the value of the generated client.
    pub fn apply(&self, operation: &str, body: &mut Value) {
        if self.operation == operation
            && let Some(pointer) = self.at.strip_prefix("/body")
            && let Some(value) = body.pointer_mut(pointer)
            && *value == serde_json::from_str::<Value>(self.theirs).unwrap()
        {
            *value = serde_json::from_str(self.ours).unwrap();
        }
    }
}

pub const DEVIATIONS: &[Deviation] = &[
    Deviation {
        operation: "*",
        at: "/headers/content-type",
        theirs: r#""application/json""#,
        ours: "",
        why: "the SDK sends it without a body, which it could describe",
    },
    Deviation {
        operation: "*",
        at: "/headers/content-type",
        theirs: r#""application/json;charset=utf-8""#,
        ours: r#""application/json""#,
        why: "JSON is always UTF-8 (RFC 8259); the documents print both forms",
    },
    Deviation {
        operation: "ChangeAlgorithm",
        at: "/body/metadata/id",
        theirs: "2",
        ours: r#""2""#,
        why: "D-02: the id of an algorithm is a UUID, which is no integer",
    },
    Deviation {
        operation: "CreateAlgorithm",
        at: "/body/metadata/id",
        theirs: "1",
        ours: r#""1""#,
        why: "D-02: the id of an algorithm is a UUID, which is no integer",
    },
    Deviation {
        operation: "ChangeAlgorithm",
        at: "/body/job_config/inputs/0/remote_constraints/0/attributes",
        theirs: r#"[{"key of attributes":"attributes & 21"}]"#,
        ours: r#"{"key of attributes":"attributes & 21"}"#,
        why: "a live test sends one object: the row on attributes of a constraint",
    },
    Deviation {
        operation: "CreateAlgorithm",
        at: "/body/job_config/inputs/0/remote_constraints/0/attributes",
        theirs: r#"[{"key of attributes":"attributes & 20"}]"#,
        ours: r#"{"key of attributes":"attributes & 20"}"#,
        why: "a live test sends one object: the row on attributes of a constraint",
    },
];
