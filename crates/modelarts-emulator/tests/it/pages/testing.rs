//! `CONTROL-ROUTES.md`: its session. `TESTING.md`: the commands of its suites.

use crate::pages::{
    block::blocks,
    session::{Session, Step, steps},
};

#[tokio::test]
async fn the_session_of_the_page_runs() {
    let console = |page| blocks(page).into_iter().flat_map(|block| steps(&block));
    // `examples/run` runs the two test suites.
    let suites: Vec<_> = console(include_str!("../../../TESTING.md")).collect();
    let last = ["examples/pytest", "npx vitest run"];
    for (suite, end) in
        suites.iter().filter(|step| step.command.starts_with("MODELARTS_EMULATOR=")).zip(last)
    {
        assert!(suite.command.ends_with(end), "{}", suite.command);
    }
    let mut steps = console(include_str!("../../../CONTROL-ROUTES.md"));
    let place = tempfile::tempdir().unwrap();
    let session = Session::start(place.path(), &steps.next().unwrap()).await;
    let steps: Vec<Step> = steps.collect();
    // The page prints the body of the job.
    assert_eq!(steps[1].command, "cat job.json");
    std::fs::write(place.path().join("job.json"), &steps[1].output).unwrap();
    assert_eq!(steps.last().unwrap().command, "curl -s $URL/_emulator/health");
    session.run(&steps).await;
}
