//! Pruning, defaulting and validation of objects with a schema.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::Value;

use crate::field_error::FieldError;
use crate::schema::Schema;
use crate::{lists, shape, validate};

impl Schema {
    /// Removes unknown fields.
    pub fn prune(&self, object: &mut Value) {
        shape::prune(object, self);
    }

    /// Sets defaults. A `null` in a field that is not nullable counts as missing.
    pub fn set_defaults(&self, object: &mut Value) {
        shape::default(object, self);
    }

    /// All errors of an object, which must be pruned and defaulted before.
    ///
    /// `old` is the stored object of an update: duplicates in lists are not errors if it already
    /// has some.
    pub fn violations(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = validate::value(object, self, "").errors;
        errors.extend(lists::untyped_resources(object, self, ""));
        if old.is_none_or(|old| lists::duplicates(old, self).is_empty()) {
            errors.extend(lists::duplicates(object, self));
        }
        errors
    }
}

/// All errors of the default of a schema at a path: it must survive pruning and validation.
pub fn violations_of_default(
    props: &JSONSchemaProps,
    is_root: bool,
    path: &str,
) -> Vec<FieldError> {
    let Some(default) = &props.default else { return Vec::new() };
    let mut schema = Schema::new(props);
    schema.embedded |= is_root;
    let mut errors = Vec::new();
    let mut pruned = default.0.clone();
    shape::prune_below(&mut pruned, &schema);
    if pruned != default.0 {
        let why = "must not have unknown fields";
        errors.push(FieldError::invalid(path, default.0.clone(), why));
    }
    errors.extend(validate::value(&pruned, &schema, path).errors);
    errors.extend(lists::untyped_resources(&pruned, &schema, path));
    errors
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        let spec = json!({
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "names": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            },
        });
        let props = json!({"type": "object", "properties": {"spec": spec}});
        Schema::new(&serde_json::from_value(props).unwrap())
    }

    fn errors_of(object: &Value, old: Option<&Value>) -> String {
        let errors_of = schema().violations(object, old).into_iter().map(|error| error.to_string());
        errors_of.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn valid_object_is_pruned_and_defaulted() {
        let mut object =
            json!({"kind": "Thing", "spec": {"size": 1, "colour": "red", "mode": null}});
        schema().prune(&mut object);
        schema().set_defaults(&mut object);
        assert_eq!(object, json!({"kind": "Thing", "spec": {"size": 1, "mode": "a"}}));
        assert_eq!(errors_of(&object, None), "");
    }

    #[test]
    fn errors_match_api_server() {
        let object = json!({"spec": {"size": 0, "mode": "c", "names": ["x", "x"]}});
        insta::assert_snapshot!(errors_of(&object, None), @r#"
        spec.mode: Unsupported value: "c": supported values: "a", "b"
        spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1
        spec.names[1]: Duplicate value: "x"
        "#);
        insta::assert_snapshot!(errors_of(&json!({"spec": {}}), None), @"spec.size: Required value");
        insta::assert_snapshot!(errors_of(&json!({"spec": 7}), None), @r#"spec: Invalid value: "integer": spec in body must be of type object: "integer""#);
    }

    #[test]
    fn existing_duplicates_are_accepted() {
        let object = json!({"spec": {"size": 1, "names": ["x", "x"]}});
        assert_eq!(errors_of(&object, Some(&object)), "");
        assert_ne!(errors_of(&object, Some(&json!({"spec": {"size": 1}}))), "");
    }

    #[test]
    fn default_must_be_valid() {
        let invalid = |props: Value| {
            let props = serde_json::from_value(props).unwrap();
            violations_of_default(&props, false, "here.default").len()
        };
        assert_eq!(invalid(json!({"type": "string"})), 0);
        assert_eq!(invalid(json!({"type": "string", "default": "x"})), 0);
        assert_eq!(invalid(json!({"type": "string", "default": 1})), 1);
        assert_eq!(invalid(json!({"type": "object", "default": {"unknown": 1}})), 1);
    }
}
