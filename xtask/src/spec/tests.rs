//! Mutations of the description, each with the offences that it must cause.

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use super::{Document, offences};
use crate::{codegen, workspace};

/// JSON pointers of operations: `LIST` returns a list and takes its offset in the query.
const LIST: &str = "/paths/~1v2~1{project_id}~1algorithms/get";
const CREATE: &str = "/paths/~1v2~1{project_id}~1algorithms/post";
const DELETE: &str = "/paths/~1v2~1{project_id}~1algorithms~1{algorithm_id}/delete";
const SEARCH: &str = "/paths/~1v2~1{project_id}~1training-job-searches/post";
const JOB: &str = "/components/schemas/TrainingJob/properties";
const SCHEMAS: &str = "/components/schemas";

/// Value that removes a key.
const REMOVED: &str = "";

/// Mutation of the description.
///
/// 1. JSON pointer to a key; `+` is a new element of a list.
/// 2. New value, as JSON.
/// 3. Beginning of the offence. Its JSON pointer is that of the key, unless the text begins with
///    one: those to paths, components and tables are absolute, any other `/` is below the key, and
///    `..` is the object that contains the key. `=` begins a text without pointer.
struct Mutation(String, &'static str, String);

macro_rules! mutations {
    ($($holder:ident $($key:literal)?, $value:expr, $offence:expr;)*) => {
        vec![$(Mutation(
            format!("{}{}", $holder, concat!("", $($key)?)),
            $value,
            $offence.to_owned(),
        )),*]
    };
}

const ROW: &str = "/x-error-table/4";
const KIND: &str = "/x-events/kinds/1";
const PLACEHOLDER: &str = "/x-events/placeholders/0";
const WAITER: &str = "/x-waiters/0";
const ROOT: &str = "";

fn forms() -> Vec<Mutation> {
    mutations! {
        ROOT "/x-waiters", REMOVED, "(description): missing field `x-waiters`";
        ROOT "/x-tagGroups", "[]", "unknown field `x-tagGroups`, expected one of \
            `x-error-table`, `x-events`, `x-waiters`";
        LIST "/x-efect", r#""read""#, "unknown field `x-efect`, expected one of `x-effect`, \
            `x-clouds`, `x-sources`, `x-error-codes`, `x-pagination`";
        LIST "/x-effect", REMOVED, "..: missing field `x-effect`";
        LIST "/x-effect", r#""reads""#, "unknown variant `reads`, expected one of `read`, \
            `idempotent`, `create`";
        LIST "/x-clouds", r#"["aws"]"#, "/0: unknown variant `aws`, expected `huawei` or `otc`";
        LIST "/x-error-codes", r#""ModelArts.2751""#, "invalid type: string \"ModelArts.2751\", \
            expected a sequence";
        LIST "/x-pagination/offset", r#""rows""#, "unknown variant `rows`, expected one of \
            `page-index`, `record`, `line-cursor`, `single-page`";
        LIST "/x-pagination/max-limit", "-1", "invalid value: integer `-1`, expected u32";
        LIST "/x-pagination/cursor", r#""a""#, "unknown field `cursor`, expected one of `offset`, \
            `disputed`, `in`, `offset-name`, `limit-name`, `max-limit`, `limits`, `cursor-name`, \
            `order-name`, `first`, `last`, `items`, `total`";
        ROW "/advice", REMOVED, "..: missing field `advice`";
        ROW "/any_operation", "true", "unknown field `any_operation`, expected one of `code`, \
            `status`, `name`, `retry`, `meaning`, `advice`, `message`, `solution`, \
             `any-operation`, `retry-only-with`";
        ROW "/status", r#""400""#, "invalid type: string \"400\", expected u16";
        ROW "/retry/read", r#""once""#, "unknown variant `once`, expected one of `never`, \
            `backoff`, `poll`, `token`";
        KIND "/color", r#""red""#, "unknown field `color`, expected one of `kind`, `source`, \
            `level`, `when`, `final`, `texts`, `examples`";
        PLACEHOLDER "/pattern", REMOVED, "..: missing field `pattern`";
        WAITER "/delay", "5", "unknown field `delay`, expected one of `name`, `description`, \
            `operation`, `field`, `outcomes`";
        WAITER "/outcomes/0/outcome", r#""done""#, "unknown variant `done`, expected one of \
            `success`, `failure`, `terminated`, `gone`";
    }
}

fn rules() -> Vec<Mutation> {
    mutations! {
        ROOT "/info/version", r#""0.0.0""#, format!("must be {}, the version of the workspace \
            (version)", env!("CARGO_PKG_VERSION"));
        ROOT "/components/responses/TRAININGJOB", "{}", "/components/schemas/TrainingJob: must \
            have another name than /components/responses/TRAININGJOB (component-names)";
        JOB "/Kind", r#"{"type": "string", "description": "A."}"#, "/components/schemas/\
            TrainingJob/properties/kind: must differ from Kind in snake_case (property-names)";
        ROOT "/components/parameters/FlavorIdParameter/schema", r##"{"type": "array", "items":
            {"$ref": "#/components/schemas/TrainingJob"}}"##, "/items: must be a scalar (lists)";
        JOB "/kind/$ref", r##""#/components/schemas/Phase""##, "must be alone; wrap it: allOf: \
            [$ref] (references)";
        JOB "/kind/x-extensible-enum", "[]", "must be x-open-enum, x-unit, x-default, x-since or \
            x-until here (extensions)";
        SCHEMAS "/ApiError/properties/error_code/x-open-enum", r#""TrainingJob""#, "must be on a \
            string, with the name of an enumeration (extensions)";
        SCHEMAS "/ApiError/properties/error_code/type", r#""integer""#, "../x-open-enum: must be \
            on a string, with the name of an enumeration (extensions)";
        JOB "/kind/x-since", r#""3.2""#, "must be a version, such as 3.1.206 (extensions)";
        LIST "/x-until", r#""3.1""#, "must be a version, such as 3.1.206 (versions)";
        ROOT "/components/parameters/AlgorithmSortByParameter/description", r#""By `name`.""#,
            "must list the known values, each in backticks; `create_time` is missing \
            (known-values)";
        JOB "/start_time", r#"{"type": "integer", "description": "Start."}"#, "/x-unit: must be \
            one of epoch-milliseconds, epoch-seconds, ";
        JOB "/size", r##"{"description": "Size.", "allOf": [{"$ref":
            "#/components/schemas/IntegerOrText"}]}"##, "/x-unit: must be one of epoch-";
        ROOT "/components/parameters/EventEndTimeParameter/description",
            r#""In seconds since 1970.""#, "../x-unit: must be the unit of the description, \
            which lacks: milliseconds since 1970 (units)";
        SCHEMAS "/RunningRecord/properties/start_at/description",
            r#""Start, in milliseconds since 1970.""#, "../x-unit: must be the unit of the \
            description, which lacks: seconds since 1970 (units)";
        SCHEMAS "/RunningRecord/properties/start_at/x-unit", r#""seconds""#, "must be the unit of \
            the description, which lacks: seconds (units)";
        SCHEMAS "/RunningRecord/x-unit", r#""seconds""#, "must be on a property or a parameter \
            (extensions)";
        SCHEMAS "/AutoStop/properties/duration/x-unit", r#""days""#, "must be one of epoch-";
        ROOT "/components/parameters/EventLimitParameter/description",
            r#""Rows, 1 to 100. Defaults to 10.""#, "../x-default: must be 10, as the description \
            states (defaults)";
        SCHEMAS "/AutoStop/properties/duration/x-default", "1", "must be absent, because the \
            description states no such default (defaults)";
        SCHEMAS "/TaskOutput/properties/period/x-default", REMOVED, "must be \"30s\", as the \
            description states (defaults)";
        LIST "/externalDocs/url", r#""https://support.huaweicloud.com/api-modelarts/A.html""#,
            "must be https://support.huaweicloud.com/intl/en-us/api-modelarts/ListAlgorithms.html \
            or https://support.huaweicloud.com/api-modelarts/ListAlgorithms.html (external-docs)";
        LIST "/x-pagination/limits", "[20, 10, 50]", "must be in ascending order, and end with \
            max-limit (pagination)";
        LIST "/x-effect", r#""create""#, "must be read for a GET (effects)";
        DELETE "/x-effect", r#""read""#, "must not be read, which is a GET or a POST that \
            searches (effects)";
        LIST "/x-clouds", r#"["otc", "huawei"]"#, "must be [huawei], [otc] or [huawei, otc] \
            (clouds)";
        LIST "/x-clouds", r#"["huawei"]"#, "../description: must end with: Huawei Cloud only. \
            (clouds)";
        LIST "/description", r#""Lists. Open Telekom Cloud only.""#, "must not end with: Open \
            Telekom Cloud only. (clouds)";
        LIST "/x-sources", "[]", "must be sources of SOURCES.md (sources)";
        LIST "/x-sources", r#"["O", "Z"]"#, "must be sources of SOURCES.md (sources)";
        ROW "/meaning", r#""A timeout""#, "must be a sentence that begins with a capital letter \
            and its subject (error-table)";
        ROW "/advice", r#""When it ends.""#, "must be a sentence that begins with a capital letter \
            and its subject (error-table)";
        KIND "/when", r#""it fails.""#, "must be a sentence that begins with a capital letter and \
            its subject (events)";
        ROW "/code", r#""APIG.203""#, "must be ModelArts. or APIG. with at least four digits \
            (error-table)";
        ROW "/status", "204", "must be 400 to 599, or 204 where retry is poll (error-table)";
        ROW "/status", "302", "must be 400 to 599, or 204 where retry is poll (error-table)";
        ROW "/name", r#""Bad request""#, "must be a word of letters and digits (error-table)";
        ROW "/advice", r#""OBS must exist.""#, "must not begin with an abbreviation: clients \
            print it with a small first letter (error-table)";
        ROW "/retry-only-with", r#""""#, "must be text of the message, on a row with a retry and \
            a message (error-table)";
        ROOT "/x-error-table/0/retry-only-with", r#""a""#, "must be text of the message, on a row \
            with a retry and a message (error-table)";
        ROOT "/x-error-table/2/status", "400", "../code: must come after that of the row before, \
            by code, then status, and only once (error-table)";
        LIST "/x-error-codes/+", r#""ModelArts.1""#, "must be a code of x-error-table, and none of \
            any operation: ModelArts.1 (error-codes)";
        LIST "/x-error-codes/+", r#""ModelArts.0112""#, "must be a code of x-error-table, and none \
            of any operation: ModelArts.0112 (error-codes)";
        LIST "/x-error-codes/+", r#""ModelArts.0102""#, "must not occur twice: ModelArts.0102 \
            (error-codes)";
        SCHEMAS "/KnownErrorCode/enum/0", r#""APIG.0000""#, "/components/schemas/KnownErrorCode/\
            enum: must list the codes of x-error-table, in their order (known-error-codes)";
        LIST "/x-pagination", REMOVED, "must be given, because the operation lists by an offset \
            (pagination)";
        SEARCH "/x-pagination", REMOVED, "must be given, because the operation lists by an offset \
            (pagination)";
        LIST "/x-pagination/limit-name", REMOVED, "must be given beside this offset (pagination)";
        LIST "/x-pagination/first", r#""total""#, "must not be given beside this offset \
            (pagination)";
        LIST "/x-pagination/offset-name", r#""page""#, "must be a parameter of the query: page \
            (pagination)";
        SEARCH "/x-pagination/offset-name", r#""page""#, "must be a parameter of the body: page \
            (pagination)";
        LIST "/x-pagination/items", r#""jobs""#, "must be a field of the answer: jobs \
            (pagination)";
        SCHEMAS "/ListAlgorithmsResponse/properties/items/nullable", REMOVED, "/paths/~1v2~1\
            {project_id}~1algorithms/get/x-pagination/items: must be nullable in the answer: \
            items (pagination)";
        LIST "/x-pagination/max-limit", "49", "must be the maximum of the limit (pagination)";
        PLACEHOLDER "/pattern", r#""^[a-z0-9-]+""#, "must mean the same in every language: no ^, \
            $, \\d or numbered group (events)";
        PLACEHOLDER "/pattern", r#""[a-z]+-\\d""#, "must mean the same in every language: no ^, \
            $, \\d or numbered group (events)";
        PLACEHOLDER "/pattern", r#""(worker)-0""#, "must mean the same in every language: no ^, \
            $, \\d or numbered group (events)";
        PLACEHOLDER "/example", r#""worker:0""#, "must match the pattern as a whole (events)";
        KIND "/texts/guide/0", r#""Failed: {pod}""#, "must be text with only placeholders in \
            braces (events)";
        KIND "/texts/guide/0", r#""Failed: {cause""#, "must be text with only placeholders in \
            braces (events)";
        KIND "/texts/guide/0", r#""Training job created.""#, "must not occur twice: Training job \
            created. (events)";
        KIND "/texts/guide", "[]", "..: must have a text (events)";
        KIND "/kind", r#""Created""#, "must not occur twice: Created (events)";
        KIND "/kind", r#""failed""#, "must be in PascalCase (events)";
        KIND "/source", r#""K8s""#, "must be a value of KnownEventSource (events)";
        KIND "/level", r#""Debug""#, "must be a value of KnownEventLevel (events)";
        KIND "/examples", r#"[{"source": "Node", "text": "A."}]"#, "/0/source: must be a value of \
            KnownEventSource, in any case (events)";
        ROOT "/x-events/placeholders/+", r#"{"name": "a", "pattern": "a", "example": "a",
            "description": "A."}"#, "/name: must occur in a text (events)";
        WAITER "/name", r#""TrainingJobRunning""#, "/x-waiters/1/name: must not occur twice: \
            TrainingJobRunning (waiters)";
        WAITER "/description", r#""The job ends.""#, "must begin with: Waits until (waiters)";
        WAITER "/operation", r#""ShowJob""#, "must be an operation: ShowJob (waiters)";
        WAITER "/field", r#""status.state""#, "must be a field of the answer of \
            ShowTrainingJobDetails: status.state (waiters)";
        WAITER "/outcomes/0/value", r#""Runs""#, "..: must have a value of status.phase: Runs \
            (waiters)";
        WAITER "/outcomes/0/value", r#""Failed""#, "/x-waiters/0/outcomes/1: must not occur twice: \
            Failed (waiters)";
        WAITER "/outcomes/0/error", r#""ModelArts.2775""#, "..: must have either value or error \
            (waiters)";
        WAITER "/outcomes/4/error", r#""ModelArts.1""#, "..: must have a code of x-error-table: \
            ModelArts.1 (waiters)";
        WAITER "/outcomes/0/outcome", r#""failure""#, "/x-waiters/0/outcomes: must have a success \
            (waiters)";
    }
}

/// Mutations that only the code generator refuses. Its messages name schemas and operations.
fn generated() -> Vec<Mutation> {
    mutations! {
        SCHEMAS "/job_state", r#"{"type": "object"}"#, "=schema job_state: write the name as \
            JobState, which is what the type will be called";
        JOB "/kind/oneOf", "[]", "=schema TrainingJob: the keyword oneOf must not be used, because \
            types lack it";
        JOB "/kind/anyOf", "[]", "=schema TrainingJob: the keyword anyOf must not be used, because \
            types lack it";
        SCHEMAS "/EventLevel/anyOf/0/$ref", r##""#/components/schemas/KnownEventSource""##,
            "=schema EventLevel: anyOf is only for open enumerations, as [$ref to KnownEventLevel \
            with the known values, {type: string}]";
        JOB "/kind", r##"{"description": "Kind.", "allOf": [{"$ref":
            "#/components/schemas/SortOrder"}]}"##, "=schema SortOrder: an answer uses this closed";
        LIST "/responses/404", r#"{"description": "None."}"#, "=operation ListAlgorithms: response \
            404; errors are written as 4XX and 5XX";
        LIST "/responses/202", r#"{"description": "Later."}"#, "=operation ListAlgorithms: more \
            than one success, apart from 204 beside a body";
        DELETE "/responses/204", r#"{"description": "Gone."}"#, "=operation DeleteAlgorithm: more \
            than one success, apart from 204 beside a body";
        ROOT "/components/parameters/ExperimentNameParameter/in", r#""cookie""#, "=/paths/~1v2~1\
            {project_id}~1training-experiment-names/get/parameters/in: unknown variant `cookie`";
        ROOT "/servers/1/variables/region/enum", r#"["ap-southeast-1", "eu-de"]"#, "=/servers: \
            must have each region once: eu-de";
        ROOT "/servers/1/variables/region/enum", "[]", "=/servers/1: must have {region} in its \
            url, and a variable region whose enum has its default";
        CREATE "/operationId", REMOVED, "=post /v2/{project_id}/algorithms: no operationId";
    }
}

fn description() -> Value {
    codegen::read(&workspace::description()).unwrap()
}

impl Mutation {
    /// Makes the change.
    fn mutate(&self, description: &mut Value) {
        let (holder, key) = self.0.rsplit_once('/').unwrap();
        match (description.pointer_mut(holder).unwrap(), self.1) {
            (Value::Object(object), REMOVED) => drop(object.remove(key).unwrap()),
            (Value::Array(list), json) if key == "+" => {
                list.push(serde_json::from_str(json).unwrap());
            }
            (holder, json) => match (holder, serde_json::from_str(json).unwrap()) {
                (Value::Array(list), value) => list[key.parse::<usize>().unwrap()] = value,
                (holder, value) => holder[key.replace("~1", "/")] = value,
            },
        }
    }

    /// Returns the beginning of the offence, whose pointer may be relative to that of the key.
    fn offence(&self, description: &Value) -> String {
        let (holder, key) = self.0.rsplit_once('/').unwrap();
        let place = match (key, description.pointer(holder)) {
            ("+", Some(Value::Array(list))) => format!("{holder}/{}", list.len()),
            _ => self.0.clone(),
        };
        let absolute = ["/paths", "/components", "/x-events", "/x-waiters", "/x-error-table", "("];
        match self.2.strip_prefix('=') {
            Some(message) => message.to_owned(),
            None if absolute.iter().any(|start| self.2.starts_with(start)) => self.2.clone(),
            None if self.2.starts_with("..") => self.2.replacen("..", holder, 1),
            None if self.2.starts_with('/') => place + &self.2,
            None => format!("{place}: {}", self.2),
        }
    }
}

#[test]
fn the_description_has_no_offence() {
    assert_eq!(offences(&description()), [""; 0]);
}

#[test]
fn each_mutation_of_the_description_is_its_offence() {
    let original = description();
    let mut others = String::new();
    for mutation in forms().into_iter().chain(rules()).chain(generated()) {
        let mut description = original.clone();
        mutation.mutate(&mut description);
        let (found, expected) = (offences(&description), mutation.offence(&original));
        if !found.first().is_some_and(|offence| offence.starts_with(&expected)) {
            others += &format!("{} = {}: {found:#?}, not {expected}\n", mutation.0, mutation.1);
        }
    }
    assert!(others.is_empty(), "{others}");
}

/// The columns of the table of operations in SOURCES.md must be those of the description.
#[test]
fn the_sources_of_the_description_are_those_of_the_table() {
    let file = workspace::description().with_file_name("SOURCES.md");
    let table = fs::read_to_string(file).unwrap();
    let description = description();
    for operation in &Document::read(&description).unwrap().operations {
        let tags = operation.inner.definition["x-sources"].as_array().unwrap();
        let tags: Vec<_> = tags.iter().filter_map(Value::as_str).collect();
        let row = format!("\n| {} | {} |", operation.inner.id, tags.join(" "));
        assert!(table.contains(&row), "SOURCES.md must have the row {row}");
    }
}

/// Each row of a contradiction must contain the statements of the documents, the decision and its
/// reason, and its own id.
#[test]
fn every_contradiction_has_an_id_a_decision_and_a_reason() {
    let file = workspace::description().with_file_name("SOURCES.md");
    let sources = fs::read_to_string(file).unwrap();
    let (_, contradictions) = sources.split_once("\n## Contradictions\n").unwrap();
    let (contradictions, _) = contradictions.split_once("\n## ").unwrap();
    let mut ids = BTreeSet::new();
    for row in contradictions.lines().filter(|line| line.starts_with("| D-")) {
        let cells: Vec<_> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(cells.len() == 4 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
        assert!(ids.insert(cells[0].to_owned()), "{} must not occur twice", cells[0]);
    }
    assert!(!ids.is_empty());
}
