//! Rust program that creates a job.

use crate::snippets::description::Description;

/// Returns the program, with calls for the settings, or with the body if calls cannot describe it.
pub(super) fn render(description: Option<&Description>, json: &str) -> String {
    let calls = description.map(calls);
    let used = |text: &str| calls.as_ref().is_some_and(|calls| calls.contains(text));
    let channels: Vec<&str> = [("Input", "Input::"), ("Output", "Output::")]
        .into_iter()
        .filter(|(_, text)| used(text))
        .map(|(name, _)| name)
        .collect();
    let import = match channels.as_slice() {
        [] => "use modelarts_ext::Client;\n".to_owned(),
        [one] => format!("use modelarts_ext::{{Client, jobs::create::{one}}};\n"),
        all => format!(
            "use modelarts_ext::{{\n    Client,\n    jobs::create::{{{}}},\n}};\n",
            all.join(", ")
        ),
    };
    let duration = match used("Duration::") {
        true => "use std::time::Duration;\n\n",
        false => "",
    };
    let job = match &calls {
        Some(calls) => format!("client\n        .training_jobs()\n{calls}"),
        None => {
            let hashes = "#".repeat(longest_end(json) + 1);
            format!(
                "client\n        .training_jobs()\n        .from_json(BODY)?\n        \
                 .submit()\n        .await?;\n    println!(\"{{job}}\");\n    Ok(())\n}}\n\n\
                 const BODY: &str = r{hashes}\"{json}\"{hashes};\n"
            )
        }
    };
    let end = match calls {
        Some(_) => "        .submit()\n        .await?;\n    println!(\"{job}\");\n    Ok(())\n}\n",
        None => "",
    };
    format!(
        "{duration}{import}\n#[tokio::main]\nasync fn main() -> Result<(), modelarts_ext::Error> \
         {{\n    let client = Client::from_env()?;\n    let job = {job}{end}"
    )
}

fn calls(description: &Description) -> String {
    let create = format!("        .create({:?})\n", description.name);
    let calls = description.pieces.iter().filter_map(|piece| piece.call.as_ref());
    let calls = calls.map(|call| format!("        {call}\n"));
    create + &calls.collect::<String>()
}

/// Returns the maximum number of `#` after a quotation mark, to delimit a raw string.
fn longest_end(text: &str) -> usize {
    let ends = text.split('"').skip(1);
    let lengths = ends.map(|rest| rest.len() - rest.trim_start_matches('#').len());
    lengths.max().unwrap_or(0)
}
