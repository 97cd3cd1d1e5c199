//! Tests of the bucket, the prefix and the connection of a staging.

use modelarts_ext::ErrorKind;
use modelarts_obs::Staging;

use super::offline;

#[test]
fn bucket_and_prefix_come_from_calls_and_variables() {
    let unset = offline(&[]);
    let set = offline(&[
        ("MODELARTS_OBS_BUCKET", "from-variable"),
        ("MODELARTS_OBS_PREFIX", "/teams/vision/"),
    ]);
    let root = |staging: Staging| staging.root().unwrap().to_string();
    let named = Staging::new(&unset).bucket("named");
    assert_eq!(root(named.clone()), "obs://named/modelarts");
    assert_eq!(root(named.clone().prefix("a/b")), "obs://named/a/b");
    assert_eq!(root(named.prefix("")), "obs://named/");
    let staging = Staging::new(&set);
    assert_eq!(root(staging.clone()), "obs://from-variable/teams/vision");
    assert_eq!(root(staging.bucket("named").prefix("p")), "obs://named/p");
}

#[tokio::test]
async fn a_missing_bucket_names_the_variable_and_the_call() {
    let staging = Staging::new(&offline(&[("MODELARTS_OBS_ENDPOINT", "file:///none")]));
    let error = staging.code("none").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config);
    assert_eq!(
        error.to_string(),
        "no bucket for code, data and outputs; set the variable MODELARTS_OBS_BUCKET, or call \
         Staging::bucket"
    );
    assert!(staging.data("none").await.is_err() && staging.output("model").is_err());

    let wrong = staging.bucket("My_Bucket").root().unwrap_err();
    assert!(wrong.to_string().contains("\"My_Bucket\""), "{wrong}");
    // The client has neither a region nor an address of OBS.
    let error = Staging::new(&offline(&[])).bucket("bucket").code("none").await;
    assert!(error.unwrap_err().to_string().contains("MODELARTS_OBS_ENDPOINT"));
}

#[test]
fn every_output_has_another_address() {
    let staging = Staging::new(&offline(&[])).bucket("bucket");
    let addresses = [(); 2].map(|()| staging.output("model").unwrap().to_string());
    assert_ne!(addresses[0], addresses[1]);
    for address in addresses {
        let rest = address.strip_prefix("obs://bucket/modelarts/out/").unwrap();
        let (run, name) = rest.split_once('/').unwrap();
        let (date, random) = run.split_at("2026-11-23-".len());
        assert!(date.starts_with("20") && date.matches('-').count() == 3, "{date}");
        assert!(random.len() == 8 && u32::from_str_radix(random, 16).is_ok(), "{random}");
        assert_eq!(name, "model");
    }
    assert!(staging.output("a//b").is_err());
}
