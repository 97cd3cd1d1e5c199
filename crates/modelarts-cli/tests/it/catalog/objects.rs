//! `modelarts ls obs://…` and `modelarts cp`.

use serde_json::json;

use crate::support::{Fixture, json_of};

async fn with_objects() -> Fixture {
    let fixture = Fixture::start().await;
    for (key, contents) in [("data/a/1.csv", "1,2\n"), ("data/a/2.csv", "3\n"), ("data/b.txt", "b")]
    {
        fixture.emulator.put(&format!("obs://my-bucket/{key}"), contents).unwrap();
    }
    fixture
}

#[tokio::test(flavor = "multi_thread")]
async fn directories_have_the_sizes_of_their_objects() {
    let fixture = with_objects().await;
    let columns = "--columns name,size,files";
    let output = fixture.run(&format!("ls obs://my-bucket/data {columns}")).await.code(0);
    output.stdout_eq("NAME   SIZE  FILES\na/     6 B   2\nb.txt  1 B   1\n");
    let output = fixture.run(&format!("ls -R obs://my-bucket/data/ {columns}")).await.code(0);
    output
        .stdout_eq("NAME     SIZE  FILES\na/1.csv  4 B   1\na/2.csv  2 B   1\nb.txt    1 B   1\n");
    let output = fixture.run("ls obs://my-bucket/data/b.txt -o json").await.code(0);
    let objects = json_of(&output, "objects");
    assert_eq!(objects["objects"][0]["address"], "obs://my-bucket/data/b.txt");
    assert_eq!(objects["objects"][0]["bytes"], 1);
    fixture.run("ls obs://my-bucket/none").await.code(0).stderr_eq("no objects\n");
    fixture.run("ls data").await.code(2).stderr_eq(
        "error: ls data: it must be an address such as obs://my-bucket/data/; --name data selects \
         jobs by their names\n",
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_copied_under_its_name_or_another() {
    let fixture = with_objects().await;
    fixture.write("model.pt", "weights");
    let read = |key: &str| fixture.emulator.get(&format!("obs://my-bucket/{key}")).unwrap();
    fixture.run("cp model.pt obs://my-bucket/m/").await.code(0);
    fixture.run("cp model.pt obs://my-bucket/m/best.pt").await.code(0);
    fixture.run("cp obs://my-bucket/m/best.pt obs://my-bucket/n/other.pt").await.code(0);
    fixture.run("cp obs://my-bucket/m/best.pt obs://my-bucket/n/").await.code(0);
    for key in ["m/model.pt", "m/best.pt", "n/other.pt", "n/best.pt"] {
        assert_eq!(read(key), b"weights", "{key}");
    }
    let output = fixture.run("cp obs://my-bucket/data/b.txt new/here.txt -o json").await.code(0);
    assert_eq!(json_of(&output, "sync")["transferred"], json!({"files": 1, "bytes": 1}));
    fixture.run("cp obs://my-bucket/data/b.txt .").await.code(0);
    fixture.run("cp obs://my-bucket/data/b.txt new/b.txt").await.code(0);
    for path in ["new/here.txt", "b.txt", "new/b.txt"] {
        assert_eq!(std::fs::read(fixture.path().join(path)).unwrap(), b"b", "{path}");
    }
    fixture.run("cp obs://my-bucket/data/a/1.csv -").await.code(0).stdout_eq("1,2\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_file_is_refused() {
    let fixture = with_objects().await;
    fixture.write("data/a.csv", "1");
    fixture
        .run("cp data obs://my-bucket/x/")
        .await
        .code(2)
        .stderr_eq("error: SOURCE data: it must be a file; `modelarts sync` copies directories\n");
    fixture.run("cp obs://my-bucket/data .").await.code(4).stderr_eq(
        "error: SOURCE obs://my-bucket/data: no object has this key; `modelarts ls` lists the \
         objects below an address, and `modelarts sync` copies directories\n",
    );
    fixture.run("cp data/a.csv b.csv").await.code(2).stderr_eq(
        "error: SOURCE and TARGET are paths of this machine; at least one must be an address such \
         as obs://my-bucket/model.pt\n",
    );
}
