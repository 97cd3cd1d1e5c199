//! The page on creating jobs has the tables of the code.

#[test]
fn the_page_has_the_tables_of_the_code() {
    let page = include_str!("../../../../CREATING.md");
    let mark = "<!-- The rest is written by `cargo run --example parameters -- --write`. -->\n\n";
    let (_, tables) = page.split_once(mark).unwrap();
    assert!(
        tables == modelarts_ext::parameters_as_markdown(),
        "CREATING.md is old: run `cargo run -p modelarts-ext --example parameters -- --write`"
    );
}
