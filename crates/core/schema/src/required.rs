//! Zero values of required fields, which typed Go clients write for unset fields.

use serde_json::{Map, Value, json};

use crate::schema::Schema;
use crate::validate;

/// A missing required field and the zero value that the schema accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZeroValue {
    /// JSON pointer of the field.
    pub pointer: String,
    /// Zero value: `null` if the field is nullable, otherwise the empty value of its type.
    pub value: Value,
}

impl Schema {
    /// The missing required fields with a zero value, parents first. Fields with a default are left
    /// to the API server.
    pub fn zero_values(&self, object: &Value) -> Vec<ZeroValue> {
        let mut missing = Vec::new();
        collect(object, self, "", &mut missing);
        missing
    }
}

fn collect(value: &Value, schema: &Schema, pointer: &str, missing: &mut Vec<ZeroValue>) {
    match value {
        Value::Object(fields) => {
            for name in &schema.required {
                let Some(field) = schema.properties.get(name) else { continue };
                // Go decodes `null` into the zero value, and API servers drop it from a field that
                // is not nullable.
                let is_missing = match fields.get(name) {
                    None => true,
                    Some(value) => value.is_null() && !field.nullable,
                };
                if let Some(value) = zero(field).filter(|_| is_missing) {
                    missing.push(ZeroValue { pointer: below(pointer, name), value });
                }
            }
            for (name, value) in fields {
                if let Some(field) = schema.field(name) {
                    collect(value, field, &below(pointer, name), missing);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for (index, item) in items.iter().enumerate() {
                collect(item, schema, &below(pointer, &index.to_string()), missing);
            }
        }
        _ => {}
    }
}

/// The zero value of a field, unless the schema rejects it or has a default.
fn zero(schema: &Schema) -> Option<Value> {
    if schema.default.is_some() {
        return None;
    }
    let value = match schema.types.as_slice() {
        _ if schema.nullable => Value::Null,
        [only] => match only.as_str() {
            "object" => Value::Object(zero_object(schema)?),
            "array" => json!([]),
            "string" => json!(""),
            "boolean" => json!(false),
            "integer" | "number" => json!(0),
            _ => return None,
        },
        _ => return None,
    };
    validate::value(&value, schema, "").errors.is_empty().then_some(value)
}

/// An object with the zero values of its required fields, if all of them have one.
fn zero_object(schema: &Schema) -> Option<Map<String, Value>> {
    let required = schema.required.iter();
    required
        .filter(|name| schema.properties.get(*name).is_none_or(|field| field.default.is_none()))
        .map(|name| Some((name.clone(), zero(schema.properties.get(name)?)?)))
        .collect()
}

fn below(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zero_values(schema: Value, object: &Value) -> Vec<(String, Value)> {
        let schema = Schema::new(&serde_json::from_value(schema).unwrap());
        let missing = schema.zero_values(object).into_iter();
        missing.map(|ZeroValue { pointer, value }| (pointer, value)).collect()
    }

    fn field(schema: &Value) -> Vec<(String, Value)> {
        let schema = json!({"type": "object", "required": ["a"], "properties": {"a": schema}});
        zero_values(schema, &json!({}))
    }

    #[test]
    fn missing_required_field_gets_the_zero_value_of_its_type() {
        for (schema, value) in [
            (json!({"type": "object"}), json!({})),
            (json!({"type": "array"}), json!([])),
            (json!({"type": "string"}), json!("")),
            (json!({"type": "boolean"}), json!(false)),
            (json!({"type": "integer"}), json!(0)),
            (json!({"type": "array", "nullable": true}), Value::Null),
        ] {
            assert_eq!(field(&schema), [("/a".to_owned(), value)], "{schema}");
        }
    }

    #[test]
    fn zero_value_that_the_schema_refuses_is_left_out() {
        for schema in [
            json!({"type": "string", "minLength": 1}),
            json!({"type": "string", "enum": ["b"]}),
            json!({"type": "string", "pattern": "^b"}),
            json!({"type": "integer", "minimum": 1}),
            json!({"type": "array", "minItems": 1}),
            json!({"type": "object", "minProperties": 1}),
            json!({"type": "string", "default": "b"}),
            json!({"x-kubernetes-int-or-string": true}),
            json!({
                "type": "object", "required": ["b"],
                "properties": {"b": {"type": "string", "minLength": 1}},
            }),
        ] {
            assert_eq!(field(&schema), [], "{schema}");
        }
    }

    #[test]
    fn zero_values_are_found_in_lists_and_maps() {
        let named = json!({
            "type": "object", "required": ["name"], "properties": {"name": {"type": "string"}},
        });
        let schema = json!({
            "type": "object", "required": ["spec"],
            "properties": {
                "spec": {"type": "object", "required": ["size"], "properties": {"size": {"type": "integer"}}},
                "related": {"type": "array", "items": named},
                "by/name": {"type": "object", "additionalProperties": named},
            },
        });
        let object = json!({
            "related": [{"name": "set"}, {"resource": "pods"}], "by/name": {"x~": {}},
        });
        assert_eq!(
            zero_values(schema, &object),
            [
                ("/spec".to_owned(), json!({"size": 0})),
                ("/by~1name/x~0/name".to_owned(), json!("")),
                ("/related/1/name".to_owned(), json!("")),
            ]
        );
    }

    #[test]
    fn present_and_optional_fields_are_left_alone() {
        let schema = json!({
            "type": "object", "required": ["a"],
            "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        });
        assert_eq!(zero_values(schema, &json!({"a": "set"})), []);
    }

    #[test]
    fn null_counts_as_missing_unless_the_field_is_nullable() {
        for (nullable, expected) in
            [(false, vec![("/a".to_owned(), json!(""))]), (true, Vec::new())]
        {
            let schema = json!({
                "type": "object", "required": ["a"],
                "properties": {"a": {"type": "string", "nullable": nullable}},
            });
            assert_eq!(zero_values(schema, &json!({"a": null})), expected);
        }
    }
}
