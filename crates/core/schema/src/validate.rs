//! Validation of values.

use serde_json::{Map, Value};

use crate::field_error::{FieldError, FieldErrorKind};
use crate::number;
use crate::schema::{AdditionalProperties, Schema};

/// Maximum number of reported errors, which bounds the size of the response.
pub const MAX_ERRORS: usize = 100;

/// Errors of a value.
#[derive(Default)]
pub(crate) struct ValidationErrors {
    pub(crate) errors: Vec<FieldError>,
    /// Number of matched schema nodes: if all alternatives fail, the errors of the best match are
    /// reported, as in go-openapi.
    matched: usize,
}

impl ValidationErrors {
    fn add(&mut self, error: FieldError) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    fn merge(&mut self, other: Self) {
        self.matched += other.matched;
        other.errors.into_iter().for_each(|error| self.add(error));
    }

    fn invalid(&mut self, path: &str, value: impl Into<Value>, should: &str) {
        self.add(FieldError::invalid(path, value, format!("{path} in body {should}")));
    }
}

/// Validates a value at a path.
pub(crate) fn value(value: &Value, schema: &Schema, path: &str) -> ValidationErrors {
    let mut found = ValidationErrors { matched: 1, ..ValidationErrors::default() };
    type_of(value, schema, path, &mut found);
    if value.is_null() {
        enum_values(value, schema, path, &mut found);
        return found;
    }
    check_combinations(value, schema, path, &mut found);
    match value {
        Value::String(content) => text(content, schema, path, &mut found),
        Value::Number(content) => number::check(content, &schema.limits, |should| {
            found.invalid(path, value.clone(), should);
        }),
        Value::Array(content) => list(content, schema, path, &mut found),
        _ => {}
    }
    enum_values(value, schema, path, &mut found);
    if let Value::Object(content) = value {
        object(content, schema, path, &mut found);
    }
    found
}

fn type_of(value: &Value, schema: &Schema, path: &str, found: &mut ValidationErrors) {
    if value.is_null() {
        if !schema.types.is_empty() && !schema.nullable {
            type_error(path, &schema.types.join(","), "null", found);
        }
        return;
    }
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(content) if number::is_integer(content) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let number_format = if actual == "integer" { "int64" } else { "float64" };
    let whole = matches!(value, Value::Number(content) if number::is_whole(content));
    let fits = |wanted: &String| match wanted.as_str() {
        "number" => matches!(value, Value::Number(_)),
        "integer" => whole,
        wanted => wanted == actual,
    };
    if schema.types.is_empty() || schema.types.iter().any(fits) {
        return;
    }
    match (&schema.format, value) {
        // The API server treats a list as bytes, and accepts bytes for any string with a format.
        (Some(_), Value::Array(_)) => {}
        (Some(format), Value::Number(_)) => type_error(path, &format.name, number_format, found),
        (Some(format), _) => type_error(path, &format.name, "", found),
        (None, _) => type_error(path, &schema.types.join(","), actual, found),
    }
}

fn type_error(path: &str, wanted: &str, actual: &str, found: &mut ValidationErrors) {
    let detail = format!("{path} in body must be of type {wanted}: {actual:?}");
    found.add(FieldError::of(FieldErrorKind::TypeInvalid, path, actual, detail));
}

fn enum_values(value: &Value, schema: &Schema, path: &str, found: &mut ValidationErrors) {
    let is_one_of_them = |choice: &Value| match (choice, value) {
        (Value::Null, _) => false,
        (Value::Number(choice), Value::Number(value)) => choice.as_f64() == value.as_f64(),
        (choice, value) => choice == value,
    };
    if !schema.enum_values.is_empty() && !schema.enum_values.iter().any(is_one_of_them) {
        found.add(FieldError::not_supported(path, value.clone(), &schema.enum_values));
    }
}

fn text(content: &str, schema: &Schema, path: &str, found: &mut ValidationErrors) {
    let length = content.chars().count();
    if let Some(limit) = schema.limits.max_length.filter(|&limit| exceeds(length, limit)) {
        found.add(FieldError::too_long(path, content, limit));
    }
    if let Some(limit) = schema.limits.min_length.filter(|&limit| is_below(length, limit)) {
        found.invalid(path, content, &format!("should be at least {limit} chars long"));
    }
    if let Some((text, pattern)) = &schema.pattern
        && !pattern.is_match(content)
    {
        found.invalid(path, content, &format!("should match '{text}'"));
    }
    if let Some(format) = &schema.format
        && !format.holds(content)
    {
        let detail = format!("{path} in body must be of type {}: {content:?}", format.name);
        found.add(FieldError::of(FieldErrorKind::TypeInvalid, path, content, detail));
    }
}

fn list(content: &[Value], schema: &Schema, path: &str, found: &mut ValidationErrors) {
    if let Some(items) = &schema.items {
        for (index, item) in content.iter().enumerate() {
            found.merge(value(item, items, &format!("{path}[{index}]")));
        }
    }
    if let Some(limit) = schema.limits.min_items.filter(|&limit| is_below(content.len(), limit)) {
        found.invalid(path, content.len(), &format!("should have at least {limit} items"));
    }
    if let Some(limit) = schema.limits.max_items.filter(|&limit| exceeds(content.len(), limit)) {
        found.add(FieldError::too_many(path, content.len(), limit));
    }
}

fn object(content: &Map<String, Value>, schema: &Schema, path: &str, found: &mut ValidationErrors) {
    let count = content.len();
    if let Some(limit) = schema.limits.min_properties.filter(|&limit| is_below(count, limit)) {
        found.invalid(path, limit, &format!("should have at least {limit} properties"));
    }
    if let Some(limit) = schema.limits.max_properties.filter(|&limit| exceeds(count, limit)) {
        found.add(FieldError::too_many(path, count, limit));
    }
    for name in schema.required.iter().filter(|name| !content.contains_key(*name)) {
        found.add(FieldError::required(child(path, name), ""));
    }
    for (name, field) in content {
        let known = match (schema.properties.get(name), &schema.others) {
            (Some(schema), _) => schema,
            (None, Some(AdditionalProperties::Like(like))) => like,
            (None, Some(AdditionalProperties::Forbidden)) => {
                let detail = format!("{path}.{name} in body is a forbidden property");
                found.add(FieldError::invalid(path, name.as_str(), detail));
                continue;
            }
            (None, Some(AdditionalProperties::Any) | None) => continue,
        };
        found.merge(value(field, known, &child(path, name)));
    }
}

/// `allOf`, `anyOf`, `oneOf` and `not`.
///
/// The API server names no field in errors of the combination, and the field in errors of its
/// parts.
fn check_combinations(content: &Value, schema: &Schema, path: &str, found: &mut ValidationErrors) {
    let invalid = |found: &mut ValidationErrors, what: &str| {
        found.add(FieldError::invalid("", "", format!("{path:?} must {what}")));
    };
    if !schema.any_of.is_empty() {
        let (valid, best) = alternatives(content, &schema.any_of, path);
        if valid == 0 {
            invalid(found, "validate at least one schema (anyOf)");
            found.merge(best);
        }
    }
    if !schema.one_of.is_empty() {
        let (valid, best) = alternatives(content, &schema.one_of, path);
        if valid == 0 {
            invalid(found, "validate one and only one schema (oneOf). Found none valid");
            found.merge(best);
        } else if valid > 1 {
            let some = format!("Found {valid} valid alternatives");
            invalid(found, &format!("validate one and only one schema (oneOf). {some}"));
        }
    }
    let mut valid = 0;
    for schema in &schema.all_of {
        let part = value(content, schema, path);
        valid += usize::from(part.errors.is_empty());
        found.merge(part);
    }
    if valid < schema.all_of.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        invalid(found, &format!("validate all the schemas (allOf){none}"));
    }
    if let Some(not) = &schema.not
        && value(content, not, path).errors.is_empty()
    {
        invalid(found, "not validate the schema (not)");
    }
}

/// Number of schemas that match, and the errors of the best one that does not.
fn alternatives(content: &Value, schemas: &[Schema], path: &str) -> (usize, ValidationErrors) {
    let mut valid = 0;
    let mut best: Option<ValidationErrors> = None;
    for schema in schemas {
        let found = value(content, schema, path);
        if found.errors.is_empty() {
            valid += 1;
        } else if best.as_ref().is_none_or(|best| found.matched > best.matched) {
            best = Some(found);
        }
    }
    (valid, best.unwrap_or_default())
}

/// Path of a field.
pub fn child(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn exceeds(count: usize, limit: i64) -> bool {
    i64::try_from(count).map_or(true, |count| count > limit)
}

fn is_below(count: usize, limit: i64) -> bool {
    i64::try_from(count).is_ok_and(|count| count < limit)
}
