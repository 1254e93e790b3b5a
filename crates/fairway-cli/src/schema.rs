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
    schema["title"] = kind.into();
    schema["properties"]["kind"] = json!({"const": kind});
    schema["properties"]["version"] = json!({
        "description": "Changes when a field changes its meaning or goes away.",
        "const": 1,
    });
    let mut required = vec![json!("kind"), json!("version")];
    if let Value::Array(of_report) = &mut schema["required"] {
        required.append(of_report);
    }
    schema["required"] = required.into();
    Shape { kind, schema }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

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
}
