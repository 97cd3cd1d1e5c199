//! `modelarts flavors` and `modelarts engines`.

use crate::support::{Fixture, json_of, lines_of};

#[tokio::test(flavor = "multi_thread")]
async fn flavors_have_cores_memory_and_cards() {
    let fixture = Fixture::start().await;
    let output = fixture.run("flavors --name vm.").await.code(0);
    output.stderr_eq("").stdout_eq(
        "\
ID                           KIND  CORES  MEMORY  CARDS            MAX-NODES
modelarts.vm.cpu.2u          CPU   2      8 GB    -                1
modelarts.vm.cpu.8u          CPU   8      32 GB   -                16
modelarts.vm.pnt1.large.eco  GPU   8      64 GB   1 x GP-Pnt1      16
modelarts.vm.p100.large.eco  GPU   8      64 GB   1 x nvidia-p100  16
",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn flavors_are_filtered() {
    let fixture = Fixture::start().await;
    for (arguments, expected) in [
        ("--kind cpu", "modelarts.vm.cpu.2u modelarts.vm.cpu.8u"),
        ("--kind CPU --nodes 2", "modelarts.vm.cpu.8u"),
        ("--min-cores 8 --name cpu", "modelarts.vm.cpu.8u"),
        ("--min-cards 1 --name p100", "modelarts.vm.p100.large.eco"),
        ("--min-cards 2", ""),
        ("--kind npu", ""),
    ] {
        let output = fixture.run(&format!("flavors -o id {arguments}")).await;
        let output = output.code(0);
        let ids = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        assert_eq!(ids.split_whitespace().collect::<Vec<_>>().join(" "), expected);
    }
    let output = fixture.run("flavors --min-cards 2").await.code(0);
    output.stdout_eq("").stderr_eq("no flavors\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_kind_is_refused_with_the_right_ones() {
    let fixture = Fixture::start().await;
    let output = fixture.run("flavors --kind gp").await.code(2);
    output.stderr_eq(
        "\
error: invalid value 'gp' for '--kind <KIND>'
  [possible values: cpu, gpu, npu]

  tip: a similar value exists: 'gpu'

For more information, try '--help'.
",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_format_of_lists_has_its_schema() {
    let fixture = Fixture::start().await;
    for list in ["flavors", "engines", "algorithms"] {
        let json = json_of(&fixture.run(&format!("{list} -o json")).await.code(0), list);
        let rows = json[list].as_array().unwrap();
        let lines = fixture.run(&format!("{list} -o ndjson")).await.code(0);
        let lines = lines_of(&lines, &format!("{list}.line"));
        assert_eq!(lines.len(), rows.len());
        for (line, row) in lines.iter().zip(rows) {
            assert_eq!(line["id"], row["id"]);
        }
        let yaml = fixture.run(&format!("{list} -o yaml")).await.code(0);
        let yaml: serde_json::Value = yaml_serde::from_slice(&yaml.get_output().stdout).unwrap();
        assert_eq!(yaml, json);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn engines_are_filtered_by_name_and_kind() {
    let fixture = Fixture::start().await;
    let output = fixture.run("engines --name xgboost").await.code(0);
    output.stdout_eq(
        "\
NAME             KINDS  VERSION                                ID
XGBoost-Sklearn  cpu    XGBoost-0.80-Sklearn-0.18.1-python3.6  xgboost-sklearn-python3.6
",
    );
    let output = fixture.run("engines --name xgboost --kind gpu").await.code(0);
    output.stdout_eq("").stderr_eq("no engines\n");
    let output = fixture.run("engines -o json --jq .engines[0].kinds").await;
    output.code(0).stdout_eq("[\n  \"cpu\",\n  \"gpu\"\n]\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_numbers_name_the_rule() {
    let fixture = Fixture::start().await;
    for (argument, value, rule) in [
        ("--min-cards <CARDS>", "x", "it must be a whole number, 0 or more"),
        ("--min-cards <CARDS>", "-1", "it must be a whole number, 0 or more"),
        ("--min-cores <CORES>", "1.5", "it must be a whole number, 0 or more"),
        ("--nodes <NODES>", "0", "it must be a whole number, 1 or more"),
        ("--nodes <NODES>", "99999999999", "the number is too large"),
    ] {
        let flag = argument.split(' ').next().unwrap();
        let output = fixture.run(&format!("flavors {flag} {value}")).await;
        output.code(2).stdout_eq("").stderr_eq(format!(
            "error: invalid value '{value}' for '{argument}': {rule}\n\nFor more information, try \
             '--help'.\n"
        ));
    }
    assert!(fixture.received().is_empty());
}
