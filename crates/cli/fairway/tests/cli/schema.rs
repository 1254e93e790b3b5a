//! Whether documents have the shape that is written down for programs.
//!
//! This reads as much of JSON Schema as our schemas have in them, and fails for everything else.

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

/// What may be in a schema without saying anything about a document.
const WORDS: [&str; 9] = [
    "$schema",
    "$defs",
    "title",
    "description",
    "format",
    "default",
    "minimum",
    "maximum",
    "uniqueItems",
];

/// Checks what was printed, if it is a document. Objects of Kubernetes have a kind, too, but no
/// version, and files of a release have kinds in lower case.
pub(crate) fn check_printed(text: &str) {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return };
    let Value::String(kind) = &document["kind"] else { return };
    if kind.starts_with(char::is_uppercase) && !document["version"].is_null() {
        check(kind, &document).unwrap_or_else(|error| panic!("{error:#}"));
    }
}

/// Checks a document against the schema of its kind.
fn check(kind: &str, document: &Value) -> Result<()> {
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/schemas");
    let file = schemas.join(format!("{kind}.json"));
    let text = std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let root: Value = serde_json::from_str(&text)?;
    fits(&root, &root, document).with_context(|| format!("{kind}: {document:#}"))
}

fn fits(root: &Value, schema: &Value, value: &Value) -> Result<()> {
    let Value::Object(rules) = schema else {
        ensure!(*schema == Value::Bool(true), "nothing fits {schema}");
        return Ok(());
    };
    for (rule, meaning) in rules {
        match (rule.as_str(), meaning) {
            ("$ref", Value::String(to)) => {
                let to = root.pointer(to.trim_start_matches('#')).context("no such definition")?;
                fits(root, to, value)?;
            }
            ("type", Value::String(name)) => ensure!(is_a(value, name), "{value} is no {name}"),
            ("type", Value::Array(names)) => ensure!(
                names.iter().filter_map(Value::as_str).any(|name| is_a(value, name)),
                "{value} is none of {names:?}"
            ),
            ("const", constant) => ensure!(value == constant, "{value} is not {constant}"),
            ("enum", Value::Array(all)) => ensure!(all.contains(value), "{value} not in {all:?}"),
            ("required", Value::Array(names)) => {
                let missing = names.iter().find(|name| value.get(name.as_str().unwrap()).is_none());
                ensure!(missing.is_none() || !value.is_object(), "{} is missing", missing.unwrap());
            }
            ("properties", Value::Object(all)) => {
                for (name, schema) in all {
                    let Some(part) = value.get(name) else { continue };
                    fits(root, schema, part).context(name.clone())?;
                }
            }
            ("additionalProperties", schema) => {
                let properties = rules.get("properties");
                let known = |name: &String| properties.is_some_and(|all| all.get(name).is_some());
                let others = value.as_object().into_iter().flatten();
                for (name, part) in others.filter(|(name, _)| !known(name)) {
                    fits(root, schema, part).context(name.clone())?;
                }
            }
            ("items", schema) => {
                for item in value.as_array().into_iter().flatten() {
                    fits(root, schema, item)?;
                }
            }
            ("allOf", Value::Array(all)) => {
                for schema in all {
                    fits(root, schema, value)?;
                }
            }
            ("anyOf", Value::Array(all)) => {
                let fit = all.iter().filter(|schema| fits(root, schema, value).is_ok()).count();
                ensure!(fit > 0, "{value} fits none of {meaning}");
            }
            ("oneOf", Value::Array(all)) => {
                let fit = all.iter().filter(|schema| fits(root, schema, value).is_ok()).count();
                ensure!(fit == 1, "{value} fits {fit} of {meaning}");
            }
            (word, _) if WORDS.contains(&word) => {}
            (word, _) => bail!("a schema says {word}, which nobody checks"),
        }
    }
    Ok(())
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }
}
