//! `cargo xtask texts`: every text for users as one document, for a review.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::cargo::root;
use crate::prose::{files, is_test, user_strings};

/// A string literal with fewer words is a name, not a text.
const MIN_WORDS: usize = 3;

#[expect(clippy::print_stdout, reason = "tasks print to the terminal")]
pub(crate) fn run() -> Result<()> {
    println!("# Help\n\n{}", read("docs/reference/command-line.md")?);
    println!("# Schema descriptions\n");
    let schemas = files(root(), &["json"])?;
    for path in schemas.into_iter().filter(|it| it.starts_with("docs/reference/schemas/")) {
        let schema: Value = serde_json::from_str(&read(&path)?).context(path.clone())?;
        println!("## {path}\n");
        let mut found = BTreeSet::new();
        descriptions(&schema, &mut found);
        for description in found {
            println!("* {description}");
        }
        println!();
    }
    println!("# Alerts, gates and deployed objects\n\n{}", read("deploy/operator/alerts.yaml")?);
    println!("# Messages, errors and logs\n");
    let sources = files(root(), &["rs"])?.into_iter().filter(|it| it.starts_with("crates/"));
    for path in sources.filter(|path| !is_test(path)) {
        let strings = user_strings(&read(&path)?);
        let texts: Vec<_> = strings
            .into_iter()
            .filter(|(_, text)| text.split_whitespace().count() >= MIN_WORDS)
            .collect();
        if !texts.is_empty() {
            println!("## {path}\n");
            for (line, text) in texts {
                println!("{line:5}  {}", text.trim());
            }
            println!();
        }
    }
    Ok(())
}

fn read(path: &str) -> Result<String> {
    fs::read_to_string(root().join(path)).with_context(|| format!("cannot read {path}"))
}

/// Every `description` of a schema.
fn descriptions(schema: &Value, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_str().filter(|_| name == "description") {
                    Some(text) => drop(found.insert(text.replace('\n', " "))),
                    None => descriptions(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| descriptions(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_nested_schemas_are_found() {
        let schema = serde_json::json!({
            "description": "A.", "properties": {"description": {"description": "B."}},
            "oneOf": [{"description": "C\nd."}],
        });
        let mut found = BTreeSet::new();
        descriptions(&schema, &mut found);
        assert_eq!(found, ["A.", "B.", "C d."].map(str::to_owned).into());
    }
}
