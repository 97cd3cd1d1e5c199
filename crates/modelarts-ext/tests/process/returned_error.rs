//! Test of the text that a program prints if its `main` returns an error.

use modelarts_ext::Error;

use crate::{
    child::{is_child, output},
    support::site::Site,
};

/// The standard library prints the error of a test like that of `main`.
#[tokio::test]
async fn a_returned_error_is_printed_with_one_fact_a_line() -> Result<(), Error> {
    if is_child() {
        let site = Site::start().await;
        site.client.training_jobs().get("2f0e").await?;
        return Ok(());
    }
    let test = "returned_error::a_returned_error_is_printed_with_one_fact_a_line";
    let output = output(test, &[]);
    assert!(!output.status.success());
    let text = String::from_utf8(output.stderr).unwrap();
    let lines = text.lines().skip_while(|line| !line.starts_with("Error: "));
    let lines: Vec<&str> = lines.take(7).collect();
    assert_eq!(lines.len(), 7, "{text}");
    let id = lines[4].strip_prefix("  request id: ").unwrap();
    assert_eq!(id.len(), 32, "{id}");
    assert_eq!(
        [&lines[..4], &lines[5..]].concat(),
        [
            "Error: ShowTrainingJobDetails: Training job (ID: 2f0e) not found",
            "  kind: Service",
            "  status: 400",
            "  code: ModelArts.2775 (TrainingJobNotFound)",
            "  attempts: 1",
            "  advice: Check whether the training job information in the request is valid",
        ]
    );
    Ok(())
}
