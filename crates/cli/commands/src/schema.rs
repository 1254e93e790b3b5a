//! The shapes of documents, for programs that read them.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

/// The shape of the documents of a kind.
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    /// As JSON Schema.
    pub(crate) schema: Value,
}

/// The shape of a report that is printed as a document of that kind.
pub(crate) fn of<R: JsonSchema>(kind: &'static str) -> Shape {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<R>().to_value();
    // One of the two would get lost.
    debug_assert!(schema["properties"]["version"]["type"] != "string", "{kind} has a version too");
    schema["title"] = kind.into();
    schema["properties"]["kind"] = json!({"const": kind});
    schema["properties"]["version"] = json!({
        "description": "Incremented when a field changes its meaning or is removed.",
        "const": 1,
    });
    let mut required = vec![json!("kind"), json!("version")];
    if let Value::Array(of_report) = &mut schema["required"] {
        // What is read again says itself what it is.
        of_report.retain(|name| !required.contains(name));
        required.append(of_report);
    }
    schema["required"] = required.into();
    Shape { kind, schema }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use crate::commands;

    /// Something to print.
    #[derive(JsonSchema, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        /// How many there are.
        how_many: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    }

    #[test]
    fn a_document_says_what_it_is_and_has_what_is_always_there() {
        let shape = super::of::<Report>("Report").schema;
        assert_eq!(shape["required"], json!(["kind", "version", "howMany"]));
        assert_eq!(shape["properties"]["kind"], json!({"const": "Report"}));
        let many = &shape["properties"]["howMany"];
        assert_eq!(
            (&many["type"], &many["description"]),
            (&json!("integer"), &json!("How many there are."))
        );
        assert_eq!(shape["properties"]["name"]["type"], json!(["string", "null"]));
    }

    #[test]
    fn every_kind_has_a_shape_and_is_listed() {
        let mut named = BTreeSet::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for source in [sources(&root.join("commands")), vec![root.join("refusal.rs")]].concat() {
            let text = fs::read_to_string(source).unwrap();
            let kinds = text.split("const KIND: &str = \"").skip(1);
            named.extend(kinds.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
            let calls = ["output::report(", "output::document("].map(|call| text.split(call));
            for call in calls.into_iter().flat_map(|parts| parts.skip(1)) {
                let call = call.split(';').next().unwrap_or(call);
                assert!(call.contains("KIND"), "a kind that has no name: {call}");
            }
        }
        let shapes = commands::shapes();
        let shown: BTreeSet<String> = shapes.iter().map(|shape| shape.kind.to_owned()).collect();
        assert_eq!((named, shapes.len()), (shown.clone(), shown.len()));

        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/json.md");
        let page = fs::read_to_string(page).unwrap();
        for kind in shown {
            let row = format!("\n| [`{kind}`](reference/schemas/{kind}.json) | ");
            assert!(page.contains(&row), "docs/json.md does not list {kind}");
        }
    }

    fn sources(directory: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found.extend(sources(&path));
            } else {
                found.push(path);
            }
        }
        found
    }
}
