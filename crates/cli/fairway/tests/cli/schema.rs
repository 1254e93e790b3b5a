//! Checks printed documents against the schemas in `docs/reference/schemas`.
//!
//! This supports the keywords of JSON Schema that these schemas have, and fails for all others.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Deserializer, Value};

use crate::unique_keys::UniqueKeys;

/// Keywords of JSON Schema that this test does not check.
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

/// `apiVersion` of all documents.
const API_VERSION: &str = "fairway.dev/v1alpha1";

/// Checks the standard output of a command. JSON output has to be documents, except for commands
/// that print formats of other projects.
pub(crate) fn check_printed(command: &Command, text: &str) {
    let arguments: Vec<&str> = command.get_args().filter_map(OsStr::to_str).collect();
    check_output(&arguments, text).unwrap_or_else(|error| panic!("{arguments:?}: {error:#}"));
}

fn check_output(arguments: &[&str], text: &str) -> Result<()> {
    if wants_json(arguments) && !prints_other_format(arguments) {
        for document in Deserializer::from_str(text).into_iter() {
            let UniqueKeys(document) = document?;
            check(&document)?;
        }
    } else if let Ok(document) = serde_json::from_str::<Value>(text)
        && document["apiVersion"] == API_VERSION
    {
        check(&document)?;
    }
    Ok(())
}

fn wants_json(arguments: &[&str]) -> bool {
    arguments.contains(&"--output=json")
        || arguments.contains(&"-o=json")
        || arguments.windows(2).any(|pair| matches!(pair, ["-o" | "--output", "json"]))
}

/// Whether a command prints Kubernetes objects or a Cincinnati graph.
fn prints_other_format(arguments: &[&str]) -> bool {
    match arguments {
        ["crds", ..] | ["graph", "build" | "show", ..] => true,
        ["release", "sign", options @ ..] => options.contains(&"--config-map"),
        _ => false,
    }
}

/// Checks a document against the schema of its kind.
fn check(document: &Value) -> Result<()> {
    let Value::String(kind) = &document["kind"] else { bail!("no kind in {document:#}") };
    ensure!(document["apiVersion"] == API_VERSION, "no apiVersion in {document:#}");
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
            (word, _) => bail!("a schema has the unsupported keyword {word}"),
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

#[test]
fn check_output_without_api_version_or_kind_fails() {
    let status = ["upgrade", "channel", "-o", "json"];
    let checked = |text: &str| check_output(&status, text).map_err(|error| format!("{error:#}"));
    let fields = r#""dryRun": false, "channel": null, "previousChannel": null, "changed": false,
        "channels": [], "warnings": []"#;
    let typed = format!(r#"{{"apiVersion": "{API_VERSION}", "kind": "UpgradeChannel", {fields}}}"#);
    assert_eq!(checked(&typed), Ok(()));
    assert_eq!(checked(""), Ok(()), "a command may print nothing");
    for without in [
        format!("{{{fields}}}"),
        format!(r#"{{"kind": "UpgradeChannel", "version": 1, {fields}}}"#),
        format!(r#"{{"apiVersion": "{API_VERSION}", {fields}}}"#),
        "[]".to_owned(),
        format!("{typed} {{}}"),
        format!("{typed} done"),
        typed.replace("\"dryRun\"", "\"changed\""),
        typed.replace("\"dryRun\"", "\"dry\""),
    ] {
        assert!(checked(&without).is_err(), "{without}");
    }
    assert!(check_output(&["upgrade", "channel", "--output=json"], "{}").is_err());
    assert!(check_output(&["crds", "-o", "json"], "{}").is_ok());
    assert!(check_output(&["release", "extract", "a", "b.json"], "{}").is_ok());
}
