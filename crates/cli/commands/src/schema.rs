//! JSON Schemas of documents.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use crate::output::{API_VERSION, TypedReport};

/// The schema of the documents of a kind.
pub(crate) struct Shape {
    pub(crate) kind: &'static str,
    /// The JSON Schema.
    pub(crate) schema: Value,
}

/// The schema of the documents of a report.
pub(crate) fn of<R: TypedReport>() -> Shape {
    let kind = R::KIND;
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<R>().to_value();
    schema["title"] = kind.into();
    schema["properties"]["apiVersion"] = json!({
        "description": "Version of the document format.",
        "const": API_VERSION,
    });
    schema["properties"]["kind"] = json!({
        "description": "Kind of the document.",
        "const": kind,
    });
    let mut required = vec![json!("apiVersion"), json!("kind")];
    if let Value::Array(of_report) = &mut schema["required"] {
        // `AcceptedRisks` is read again, so its type has these fields itself.
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
    use serde_json::{Value, json};

    use super::{Shape, TypedReport};
    use crate::commands;

    /// Generated schemas, from the root of this crate.
    const SCHEMAS: &str = "../../../docs/reference/schemas";

    /// Names of fields and values in the documents of 0.1 that were clauses or slang.
    const OLD_NAMES: [&str; 15] = [
        "alreadyThere",
        "answeredBy",
        "circle",
        "fine",
        "goesOn",
        "knownFrom",
        "leftOut",
        "lookAt",
        "mayPass",
        "mend",
        "notKnown",
        "onItsWay",
        "passedOver",
        "stillWaits",
        "wayOut",
    ];

    /// Something to print.
    #[derive(JsonSchema, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Report {
        /// How many there are.
        how_many: u8,
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    }

    impl TypedReport for Report {
        const KIND: &'static str = "Report";
    }

    #[test]
    fn schema_requires_api_version_kind_and_fields_that_are_always_present() {
        let shape = super::of::<Report>().schema;
        assert_eq!(shape["required"], json!(["apiVersion", "kind", "howMany"]));
        assert_eq!(shape["properties"]["apiVersion"]["const"], "fairway.dev/v1alpha1");
        assert_eq!(shape["properties"]["kind"]["const"], "Report");
        let many = &shape["properties"]["howMany"];
        assert_eq!(
            (&many["type"], &many["description"]),
            (&json!("integer"), &json!("How many there are."))
        );
        assert_eq!(shape["properties"]["name"]["type"], json!(["string", "null"]));
    }

    #[test]
    fn every_kind_has_a_listed_schema() {
        let mut named = BTreeSet::new();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        for source in [sources(&root.join("commands")), vec![root.join("failure.rs")]].concat() {
            let text = fs::read_to_string(source).unwrap();
            let kinds = text.split("const KIND: &'static str = \"").skip(1);
            named.extend(kinds.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())));
        }
        let shapes = commands::shapes();
        let shown: BTreeSet<String> = shapes.iter().map(|shape| shape.kind.to_owned()).collect();
        assert_eq!((named, shapes.len()), (shown.clone(), shown.len()));

        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/admin/json.md");
        let page = fs::read_to_string(page).unwrap();
        let files = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(SCHEMAS)).unwrap();
        let files = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        let expected: BTreeSet<String> = shown.iter().map(|kind| format!("{kind}.json")).collect();
        assert_eq!(files.collect::<BTreeSet<_>>(), expected, "run `cargo xtask gen`");
        for kind in shown {
            let row = format!("\n| [`{kind}`](../reference/schemas/{kind}.json) | ");
            assert!(page.contains(&row), "docs/admin/json.md does not list {kind}");
        }
    }

    #[test]
    fn schema_field_names_are_lower_camel_case() {
        for Shape { kind, schema } in commands::shapes() {
            for name in Names::of(&schema).fields {
                let is_valid = name.starts_with(|first: char| first.is_ascii_lowercase())
                    && name.chars().all(|char| char.is_ascii_alphanumeric());
                assert!(is_valid, "{kind} has the field {name}");
            }
        }
    }

    #[test]
    fn schemas_have_no_names_of_0_1_that_are_clauses() {
        for Shape { kind, schema } in commands::shapes() {
            let Names { fields, values } = Names::of(&schema);
            let old = fields.union(&values).find(|name| OLD_NAMES.contains(name));
            assert_eq!(old, None, "in {kind}");
        }
    }

    /// A flattened field that its parent has, too, would be printed twice.
    #[test]
    fn schema_variants_have_no_fields_of_their_parent() {
        for Shape { kind, schema } in commands::shapes() {
            each_schema(&schema, &mut |part| {
                let Some(own) = part["properties"].as_object() else { return };
                let variants = ["oneOf", "anyOf", "allOf"].into_iter();
                for variant in variants.filter_map(|word| part[word].as_array()).flatten() {
                    let target = variant["$ref"].as_str().map(|to| to.trim_start_matches('#'));
                    let variant = target.and_then(|to| schema.pointer(to)).unwrap_or(variant);
                    let mut fields = variant["properties"].as_object().into_iter().flatten();
                    let twice = fields.find(|(name, _)| own.contains_key(*name));
                    assert_eq!(twice, None, "in {kind}");
                }
            });
        }
    }

    /// Names in a schema.
    #[derive(Default)]
    struct Names<'a> {
        fields: BTreeSet<&'a str>,
        values: BTreeSet<&'a str>,
    }

    impl<'a> Names<'a> {
        fn of(schema: &'a Value) -> Self {
            let mut names = Self::default();
            each_schema(schema, &mut |part| {
                let fields = part["properties"].as_object().into_iter().flatten();
                names.fields.extend(fields.map(|(name, _)| name.as_str()));
                names.values.extend(part["const"].as_str());
                let values = part["enum"].as_array().into_iter().flatten();
                names.values.extend(values.filter_map(Value::as_str));
            });
            names
        }
    }

    /// Visits a schema and all schemas in it.
    fn each_schema<'a>(part: &'a Value, visit: &mut impl FnMut(&'a Value)) {
        visit(part);
        for (word, value) in part.as_object().into_iter().flatten() {
            match (word.as_str(), value) {
                // The keys of these are names, not keywords.
                ("properties" | "$defs", Value::Object(schemas)) => {
                    schemas.values().for_each(|schema| each_schema(schema, visit));
                }
                (_, Value::Array(schemas)) => {
                    for schema in schemas {
                        each_schema(schema, visit);
                    }
                }
                (_, schema) => each_schema(schema, visit),
            }
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
