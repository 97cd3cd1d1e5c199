//! Constructors of faults.

use std::time::Duration;

use modelarts_emulator::{
    Emulator,
    faults::{Fault, FaultRule},
};
use serde_json::{Value, json};

#[tokio::test]
async fn constructors_create_the_same_rules_as_the_control_route() {
    let emulator = Emulator::start().await.unwrap();
    let http = crate::support::http();
    for (fault, members) in [
        (Fault::status(429), json!({"fault": "status", "status": 429})),
        (Fault::retry_after(503, 7), json!({"fault": "status", "status": 503, "retry_after": 7})),
        (
            Fault::error(400, "ModelArts.0104", "bad"),
            json!({"fault": "status", "status": 400, "error_code": "ModelArts.0104",
                "error_msg": "bad"}),
        ),
        (Fault::html(), json!({"fault": "html"})),
        (Fault::delay(Duration::from_millis(1500)), json!({"fault": "delay", "ms": 1500})),
        (
            Fault::unknown_phase("Hibernating"),
            json!({"fault": "unknown-phase", "phase": "Hibernating"}),
        ),
    ] {
        let mut rule: Value = members;
        rule["operation"] = json!("ListTrainingJobs");
        let url = format!("{}/_emulator/faults", emulator.url());
        let added = http.post(url).body(rule.to_string()).send().await.unwrap();
        assert_eq!(added.status(), 201, "{rule}");
        let expected = FaultRule::once("ListTrainingJobs", fault);
        assert_eq!(emulator.faults().list(), [expected]);
        emulator.faults().clear();
    }
    let rule = FaultRule::once("ListTrainingJobs", Fault::status(42));
    let error = emulator.faults().add(rule).unwrap_err();
    assert_eq!(error.to_string(), "status 42 is not between 200 and 599");
}
