//! What becomes of an object by its schema.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::JSONSchemaProps;
use serde_json::Value;

use crate::field_error::FieldError;
use crate::schema::Schema;
use crate::{embedded, lists, shape, validate};

impl Schema {
    /// Removes the fields that the schema does not know.
    pub fn prune(&self, object: &mut Value) {
        shape::prune(object, self);
    }

    /// Fills in the defaults; a null where none may be stands for nothing.
    pub fn fill_in(&self, object: &mut Value) {
        shape::default(object, self);
    }

    /// Everything that is wrong with an object, which was pruned and filled in before.
    ///
    /// `old` is the stored object that it replaces: a list whose items were not unique before need
    /// not be better now.
    pub fn violations(&self, object: &Value, old: Option<&Value>) -> Vec<FieldError> {
        let mut errors = validate::value(object, self, "").errors;
        errors.extend(embedded::anonymous(object, self));
        if old.is_none_or(|old| lists::duplicates(old, self).is_empty()) {
            errors.extend(lists::duplicates(object, self));
        }
        errors
    }
}

/// Everything that is wrong with the default of a schema at a path: it has to survive what happens
/// to every value.
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
    errors.extend(embedded::anonymous_below(&pruned, &schema, path));
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

    fn told(object: &Value, old: Option<&Value>) -> String {
        let told = schema().violations(object, old).into_iter().map(|error| error.to_string());
        told.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn an_object_is_pruned_filled_in_and_accepted() {
        let mut object =
            json!({"kind": "Thing", "spec": {"size": 1, "colour": "red", "mode": null}});
        schema().prune(&mut object);
        schema().fill_in(&mut object);
        assert_eq!(object, json!({"kind": "Thing", "spec": {"size": 1, "mode": "a"}}));
        assert_eq!(told(&object, None), "");
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_the_api_server() {
        let object = json!({"spec": {"size": 0, "mode": "c", "names": ["x", "x"]}});
        insta::assert_snapshot!(told(&object, None), @r#"
        spec.mode: Unsupported value: "c": supported values: "a", "b"
        spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1
        spec.names[1]: Duplicate value: "x"
        "#);
        insta::assert_snapshot!(told(&json!({"spec": {}}), None), @"spec.size: Required value");
        insta::assert_snapshot!(told(&json!({"spec": 7}), None), @r#"spec: Invalid value: "integer": spec in body must be of type object: "integer""#);
    }

    #[test]
    fn a_list_that_was_not_unique_need_not_become_so() {
        let object = json!({"spec": {"size": 1, "names": ["x", "x"]}});
        assert_eq!(told(&object, Some(&object)), "");
        assert_ne!(told(&object, Some(&json!({"spec": {"size": 1}}))), "");
    }

    #[test]
    fn a_default_has_to_be_valid() {
        let wrong = |props: Value| {
            let props = serde_json::from_value(props).unwrap();
            violations_of_default(&props, false, "here.default").len()
        };
        assert_eq!(wrong(json!({"type": "string"})), 0);
        assert_eq!(wrong(json!({"type": "string", "default": "x"})), 0);
        assert_eq!(wrong(json!({"type": "string", "default": 1})), 1);
        assert_eq!(wrong(json!({"type": "object", "default": {"unknown": 1}})), 1);
    }
}
