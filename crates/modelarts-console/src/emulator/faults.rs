//! Fault rules: their kinds, the form for a new rule, and the active rules.

use serde_json::{Map, Value, json};

use crate::access::visitor::Fields;

/// Number of responses to which a rule without a limit applies.
const NO_LIMIT: u64 = u32::MAX as u64;

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Description of the effect on the response.
    pub(crate) label: &'static str,
    /// Names of the members of [`MEMBERS`] that rules of this kind have.
    members: &'static [&'static str],
}

/// Kinds of faults. The emulator executes the operation unless the label states otherwise.
pub(crate) const KINDS: [Kind; 13] = [
    kind(
        "status",
        "Error response, not executed",
        &["status", "retry_after", "error_code", "error_msg"],
    ),
    kind("status-until", "Error response until a time, not executed", &["status", "seconds"]),
    kind("html", "HTML page of a load balancer, not executed", &["status"]),
    kind("reset", "Connection reset, not executed", &[]),
    kind("lost-answer", "Connection reset after the execution", &[]),
    kind("reset-mid-body", "Body cut off", &[]),
    kind("delay", "Delayed response", &["ms"]),
    kind("unknown-phase", "Unknown phase", &["phase"]),
    kind("unknown-secondary-phase", "Unknown secondary phase", &["phase"]),
    kind("shifted-page", "Rows shifted by one", &[]),
    kind("duplicate-rows", "Rows repeated", &[]),
    kind("null-lists", "Lists that are null", &[]),
    kind("totals-as-text", "Totals as text", &[]),
];

const fn kind(name: &'static str, label: &'static str, members: &'static [&'static str]) -> Kind {
    Kind { name, label, members }
}

/// A member of fault rules that only some kinds have.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) is_number: bool,
    /// `true` if all kinds with this member require it. `status` is required by one kind only.
    is_required: bool,
}

/// Members of fault rules, in the order of the form.
pub(crate) const MEMBERS: [Member; 7] = [
    Member::number("status", "Status, 200 to 599", false),
    Member::number("retry_after", "Retry-After, seconds", false),
    Member::number("seconds", "Seconds until the end", true),
    Member::number("ms", "Delay, milliseconds", true),
    Member::text("phase", "Phase", true),
    Member::text("error_code", "Error code", false),
    Member::text("error_msg", "Error message", false),
];

impl Member {
    const fn number(name: &'static str, label: &'static str, is_required: bool) -> Self {
        Self { name, label, is_number: true, is_required }
    }

    const fn text(name: &'static str, label: &'static str, is_required: bool) -> Self {
        Self { is_number: false, ..Self::number(name, label, is_required) }
    }

    /// Returns the names of the kinds with this member, separated by spaces.
    pub(crate) fn kinds(&self) -> String {
        let kinds = KINDS.iter().filter(|kind| kind.members.contains(&self.name));
        kinds.map(|kind| kind.name).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the fault rule of a form as JSON. An error contains the label of the wrong field.
pub(crate) fn parse(fields: &Fields) -> Result<Value, String> {
    let name = fields.get("fault").unwrap_or_default();
    let kind = KINDS.iter().find(|kind| kind.name == name);
    let kind = kind.ok_or_else(|| format!("Fault: it must be one of the list, and is {name:?}"))?;
    let times = match fields.get("always") {
        Some(_) => json!(NO_LIMIT),
        None => number("Responses", fields.get("times").unwrap_or("1"))?,
    };
    if times == json!(0) {
        return Err("Responses: it must be a number above 0".to_owned());
    }
    let mut rule = Map::new();
    rule.insert("fault".to_owned(), json!(kind.name));
    let operation = fields.get("operation").unwrap_or("*").trim();
    rule.insert("operation".to_owned(), json!(operation));
    rule.insert("times".to_owned(), times);
    for member in &MEMBERS {
        if !kind.members.contains(&member.name) {
            continue;
        }
        let value = match fields.get(member.name) {
            Some(text) if member.is_number => number(member.label, text)?,
            Some(text) => json!(text),
            None if member.is_required || (member.name, kind.name) == ("status", "status") => {
                let label = member.label;
                return Err(format!("{label}: the fault {:?} needs a value", kind.label));
            }
            None => continue,
        };
        rule.insert(member.name.to_owned(), value);
    }
    Ok(Value::Object(rule))
}

fn number(label: &str, text: &str) -> Result<Value, String> {
    let number = text.trim().parse::<u64>().ok();
    let number = number.filter(|number| *number <= NO_LIMIT);
    number.map(|number| json!(number)).ok_or_else(|| {
        format!("{label}: it must be a whole number up to {NO_LIMIT}, and is {text:?}")
    })
}

/// View of an active fault rule.
pub(crate) struct RuleRow {
    pub(crate) operation: String,
    pub(crate) fault: String,
    /// Values of the members that the kind has.
    pub(crate) settings: String,
    pub(crate) times: String,
}

impl RuleRow {
    pub(crate) fn new(rule: &Value) -> Self {
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let name = text(&rule["fault"]);
        let kind = KINDS.iter().find(|kind| kind.name == name);
        let settings = MEMBERS.iter().filter_map(|member| {
            let value = rule.get(member.name).filter(|value| !value.is_null())?;
            Some(format!("{} {}", member.name, text(value)))
        });
        Self {
            operation: text(&rule["operation"]),
            settings: settings.collect::<Vec<_>>().join(", "),
            times: match rule["times"].as_u64() {
                Some(NO_LIMIT) => "all".to_owned(),
                _ => text(&rule["times"]),
            },
            fault: kind.map_or(name, |kind| kind.label.to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(form: &str) -> Result<Value, String> {
        parse(&Fields::parse(form.as_bytes()))
    }

    #[test]
    fn a_rule_has_the_members_of_its_kind_only() {
        assert_eq!(
            rule("fault=status&operation=CreateTrainingJob&times=2&status=503&ms=7&error_code="),
            Ok(json!({
                "fault": "status", "operation": "CreateTrainingJob", "times": 2, "status": 503,
            }))
        );
        assert_eq!(
            rule("fault=reset&operation=&always=on&times=3&status=503"),
            Ok(json!({ "fault": "reset", "operation": "*", "times": 4_294_967_295_u32 }))
        );
    }

    #[test]
    fn a_wrong_field_is_named_with_its_rule() {
        let cases = [
            ("fault=oops", "Fault: it must be one of the list, and is \"oops\""),
            (
                "fault=status",
                "Status, 200 to 599: the fault \"Error response, not executed\" needs a value",
            ),
            (
                "fault=delay&ms=soon",
                "Delay, milliseconds: it must be a whole number up to 4294967295, and is \"soon\"",
            ),
            ("fault=reset&times=0", "Responses: it must be a number above 0"),
            (
                "fault=reset&times=-1",
                "Responses: it must be a whole number up to 4294967295, and is \"-1\"",
            ),
        ];
        for (form, expected) in cases {
            assert_eq!(rule(form), Err(expected.to_owned()), "{form}");
        }
    }

    #[test]
    fn a_member_names_the_kinds_that_have_it() {
        let status = MEMBERS.iter().find(|member| member.name == "status");
        assert_eq!(status.unwrap().kinds(), "status status-until html");
        for kind in &KINDS {
            for name in kind.members {
                assert!(MEMBERS.iter().any(|member| member.name == *name), "{name}");
            }
        }
    }
}
