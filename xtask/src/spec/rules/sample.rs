//! Small description for the tests of rules. It complies with all rules and contains one instance
//! of each admitted form. Each test changes one part of it.

use serde_json::{Value, json};

use super::super::{document::Document, offence::Offence};

/// JSON pointer to the schema that most tests change.
pub const JOB: &str = "/components/schemas/Job";
/// JSON pointer to the operation that returns a list.
pub const LIST: &str = "/paths/~1v2~1{project_id}~1jobs/get";
/// JSON pointer to the operation that creates a job.
pub const CREATE: &str = "/paths/~1v2~1{project_id}~1jobs/post";

pub fn description() -> Value {
    json!({
        "openapi": "3.0.3",
        "info": { "title": "Sample", "version": env!("CARGO_PKG_VERSION"), "description": "A sample." },
        "tags": [{ "name": "Jobs", "x-displayName": "Jobs", "description": "Jobs." }],
        "x-error-table": [
            {
                "code": "APIG.0308", "status": 429, "name": "Throttled",
                "retry": { "read": "backoff", "idempotent": "backoff", "create": "backoff" },
                "meaning": "Too many calls.", "advice": "Call less often.",
            },
            {
                "code": "ModelArts.0203", "status": 401, "name": "TokenInvalid",
                "retry": { "read": "token", "idempotent": "token", "create": "token" },
                "meaning": "The token is wrong.", "advice": "Get a new token.", "any-operation": true,
            },
            {
                "code": "ModelArts.2751", "status": 400, "name": "DuplicateJobName",
                "retry": { "read": "never", "idempotent": "never", "create": "never" },
                "meaning": "The name is taken.", "advice": "Choose another name.",
            },
            {
                "code": "ModelArts.2775", "status": 400, "name": "JobNotFound",
                "retry": { "read": "never", "idempotent": "never", "create": "never" },
                "meaning": "There is no such job.", "advice": "Check the id.",
            },
            {
                "code": "ModelArts.50004000", "status": 400, "name": "BadRequest",
                "retry": { "read": "never", "idempotent": "never", "create": "never" },
                "meaning": "The query is wrong.", "advice": "Check the query.",
            },
        ],
        "x-events": {
            "placeholders": [{
                "name": "task", "pattern": "[^\\[\\]]+", "example": "worker-0", "description": "A task.",
            }],
            "kinds": [
                {
                    "kind": "Started", "source": "Task", "level": "Info", "when": "A task starts.",
                    "final": true, "texts": { "guide": ["[{task}] started."], "api": [] },
                },
                {
                    "kind": "Cluster", "source": "K8S", "level": "Info", "when": "A pod starts.",
                    "texts": { "guide": [], "api": ["Pulled."] },
                    "examples": [{ "source": "K8s", "text": "Pulled." }],
                },
            ],
        },
        "x-waiters": [{
            "name": "JobRunning", "description": "Waits until the first job runs.",
            "operation": "ListJobs", "field": "first.phase",
            "outcomes": [
                { "value": "Running", "outcome": "success" },
                { "error": "ModelArts.2775", "outcome": "gone" },
            ],
        }],
        "paths": { "/v2/{project_id}/jobs": {
            "parameters": [{ "$ref": "#/components/parameters/ProjectIdParameter" }],
            "get": {
                "operationId": "ListJobs",
                "externalDocs": {
                    "url": "https://support.huaweicloud.com/api-modelarts/ListJobs.html",
                    "description": "Reference of the vendor.",
                },
                "summary": "List the jobs",
                "description": "Lists the jobs, newest first.",
                "x-effect": "read",
                "x-clouds": ["huawei", "otc"],
                "x-sources": ["O", "S"],
                "x-error-codes": ["ModelArts.50004000"],
                "x-pagination": {
                    "offset": "record", "in": "query", "offset-name": "offset",
                    "limit-name": "limit", "max-limit": 50, "items": "page.jobs", "total": "total",
                },
                "parameters": [
                    { "$ref": "#/components/parameters/OffsetParameter" },
                    { "name": "limit", "in": "query", "description": "Size of a page.", "schema": { "type": "integer", "format": "int32", "minimum": 1 } },
                    { "name": "phase", "in": "query", "description": "Only these: `Running` or `Waiting`.", "schema": { "type": "array", "items": { "type": "string" } } },
                ],
                "responses": {
                    "200": {
                        "description": "A page.",
                        "content": { "application/json": {
                            "schema": { "$ref": "#/components/schemas/ListJobsResponse" },
                            "example": { "page": { "jobs": [] }, "total": 0 },
                        } },
                    },
                    "204": { "description": "Not ready yet." },
                    "4XX": { "$ref": "#/components/responses/ErrorResponse" },
                    "5XX": { "$ref": "#/components/responses/ErrorResponse" },
                },
            },
            "post": {
                "operationId": "CreateJob",
                "externalDocs": {
                    "url": "https://support.huaweicloud.com/api-modelarts/CreateJob.html",
                    "description": "Reference of the vendor.",
                },
                "summary": "Create a job",
                "description": "Creates a job. Open Telekom Cloud only.",
                "x-effect": "create",
                "x-clouds": ["otc"],
                "x-sources": ["O"],
                "x-error-codes": ["ModelArts.2751"],
                "requestBody": {
                    "description": "The job.",
                    "content": { "application/json": {
                        "schema": { "$ref": "#/components/schemas/JobRequest" },
                        "examples": { "small": { "value": { "name": "a" } } },
                    } },
                },
                "responses": {
                    "202": { "description": "It will be made." },
                    "4XX": { "$ref": "#/components/responses/ErrorResponse" },
                    "5XX": { "$ref": "#/components/responses/ErrorResponse" },
                },
            },
        } },
        "components": {
            "parameters": {
                "ProjectIdParameter": { "name": "project_id", "in": "path", "required": true, "description": "The project.", "schema": { "$ref": "#/components/schemas/ProjectId" } },
                "OffsetParameter": { "name": "offset", "in": "query", "description": "Number of jobs to skip.", "schema": { "type": "integer", "format": "int32" } },
            },
            "responses": { "ErrorResponse": {
                "description": "It was refused.",
                "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/ApiError" },
                    "example": { "error_code": "ModelArts.2751" },
                } },
            } },
            "schemas": {
                "ProjectId": { "type": "string", "description": "Id of a project.", "pattern": "^[a-z0-9]+$" },
                "ApiError": {
                    "type": "object", "description": "Reason of a refusal.",
                    "properties": { "error_code": { "type": "string", "x-open-enum": "KnownErrorCode", "description": "The code." } },
                },
                "KnownErrorCode": {
                    "type": "string", "description": "Known error codes.",
                    "enum": ["APIG.0308", "ModelArts.0203", "ModelArts.2751", "ModelArts.2775", "ModelArts.50004000"],
                },
                "ListJobsResponse": {
                    "type": "object", "description": "A page of jobs.",
                    "properties": {
                        "page": { "description": "The page.", "allOf": [{ "$ref": "#/components/schemas/JobPage" }] },
                        "total": { "type": "integer", "format": "int32", "description": "All of them." },
                        "first": { "description": "The first job.", "allOf": [{ "$ref": "#/components/schemas/Job" }] },
                    },
                },
                "JobPage": {
                    "type": "object", "description": "The jobs of a page.", "nullable": true,
                    "properties": {
                        "jobs": { "type": "array", "description": "The jobs.", "nullable": true, "items": { "$ref": "#/components/schemas/Job" } },
                    },
                },
                "Job": {
                    "type": "object", "description": "A job.",
                    "properties": {
                        "name": { "type": "string", "description": "Its name, such as `a[0]` or `<b>`; see `https://example.com`." },
                        "phase": { "description": "Its phase.", "allOf": [{ "$ref": "#/components/schemas/Phase" }] },
                        "labels": { "type": "object", "description": "Its labels.", "additionalProperties": { "type": "string" } },
                        "token": { "type": "string", "format": "password", "description": "Its token." },
                        "extra": { "description": "Any JSON." },
                        // This property has the name of a keyword.
                        "title": { "type": "string", "description": "Its title." },
                    },
                },
                "JobRequest": {
                    "type": "object", "description": "A job to create.",
                    "required": ["name"],
                    "properties": {
                        "name": { "type": "string", "description": "Its name.", "maxLength": 64 },
                        "order": { "description": "Position in the queue.", "allOf": [{ "$ref": "#/components/schemas/Order" }] },
                    },
                },
                "Phase": {
                    "description": "Phase of a job.",
                    "anyOf": [{ "$ref": "#/components/schemas/KnownPhase" }, { "type": "string" }],
                },
                "KnownPhase": { "type": "string", "description": "The phases that are known.", "enum": ["Running", "Waiting"] },
                "KnownEventLevel": { "type": "string", "description": "The levels.", "enum": ["Info", "Error"] },
                "KnownEventSource": { "type": "string", "description": "The sources.", "enum": ["K8S", "Task"] },
                "Order": { "type": "string", "description": "First or last.", "enum": ["first", "last"] },
            },
        },
    })
}

/// Returns the offences in the sample after `edit` has changed it.
pub fn after(check: fn(&Document) -> Vec<Offence>, edit: impl FnOnce(&mut Value)) -> Vec<String> {
    let mut description = description();
    edit(&mut description);
    let offences = check(&Document::new(&description));
    offences.iter().map(ToString::to_string).collect()
}

/// Returns the offences after a key is set to another value. Null removes the key.
pub fn with(
    check: fn(&Document) -> Vec<Offence>,
    place: &str,
    key: &str,
    value: Value,
) -> Vec<String> {
    after(check, |description| {
        let holder = description
            .pointer_mut(place)
            .and_then(Value::as_object_mut)
            .expect(place);
        if value.is_null() {
            holder.remove(key).expect(key);
        } else {
            holder.insert(key.to_owned(), value);
        }
    })
}

/// Returns the prefix of all messages about the new property `x` of a job.
pub fn property_x() -> String {
    format!("{JOB}/properties/x")
}

/// Returns the offences after a property `x` with this schema is added to the job.
pub fn with_property(check: fn(&Document) -> Vec<Offence>, schema: Value) -> Vec<String> {
    with(check, &format!("{JOB}/properties"), "x", schema)
}
