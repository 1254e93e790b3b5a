//! Validation helpers shared by the built-in kinds. Messages are those of the Kubernetes API
//! server.

use std::collections::BTreeSet;
use std::net::IpAddr;

use serde_json::Value;

use super::value::{items, text};
use crate::field_error::{FieldError, FieldPath};
use crate::metadata;
use crate::selector::validate::key_problems;

pub(super) type Errors = Vec<FieldError>;

/// Adds errors to a list, in the notation of `field.Error` in Kubernetes.
pub(super) trait ErrorList {
    /// Adds an error.
    fn add(&mut self, error: FieldError);

    /// Adds an `Invalid` error.
    fn invalid(
        &mut self,
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) {
        self.add(FieldError::invalid(path, value, detail));
    }

    /// Adds an `Invalid` error with the value in Go syntax.
    fn invalid_as(&mut self, path: impl Into<String>, shown: String, detail: impl Into<String>) {
        self.add(FieldError::invalid_as(path, shown, detail));
    }

    /// Adds a `Required` error.
    fn required(&mut self, path: impl Into<String>) {
        self.add(FieldError::required(path, ""));
    }

    /// Adds a `Required` error with an explanation.
    fn required_because(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        self.add(FieldError::required(path, detail));
    }

    /// Adds a `Forbidden` error.
    fn forbidden(&mut self, path: impl Into<String>, detail: impl Into<String>) {
        self.add(FieldError::forbidden(path, detail));
    }

    /// Adds a `Duplicate` error.
    fn duplicate(&mut self, path: impl Into<String>, value: impl Into<Value>) {
        self.add(FieldError::duplicate(path, value));
    }
}

impl ErrorList for Errors {
    fn add(&mut self, error: FieldError) {
        self.push(error);
    }
}

pub(super) const IMMUTABLE: &str = "field is immutable";
const NON_NEGATIVE: &str = "must be greater than or equal to 0";
const PERCENT: &str = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
const CONFIG_KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const PORTS: std::ops::RangeInclusive<i64> = 1..=65535;
const NOT_A_PORT: &str = "must be between 1 and 65535, inclusive";
const MAX_PORT_NAME: usize = 15;
const MAX_CONFIG_KEY: usize = 253;

/// Adds an `Invalid` error for each problem of a value.
pub(super) fn invalid(path: &FieldPath, value: &str, problems: Vec<String>, errors: &mut Errors) {
    errors.extend(problems.into_iter().map(|problem| FieldError::invalid(path, value, problem)));
}

/// Requires a non-empty string.
pub(super) fn required(object: &Value, field: &str, at: &FieldPath, errors: &mut Errors) {
    if text(object, field).is_empty() {
        errors.required(at.field(field));
    }
}

/// Requires a string field to have one of the given values.
pub(super) fn one_of(
    object: &Value,
    field: &str,
    supported: &[&str],
    at: &FieldPath,
    errors: &mut Errors,
) {
    let value = text(object, field);
    if !supported.contains(&value) {
        errors.push(unsupported(at.field(field), value, supported));
    }
}

pub(super) fn unsupported(path: impl Into<String>, value: &str, supported: &[&str]) -> FieldError {
    let supported: Vec<_> = supported.iter().map(|&value| Value::from(value)).collect();
    FieldError::not_supported(path, value, &supported)
}

/// Requires integer fields, if set, to be at least zero.
pub(super) fn non_negative(object: &Value, fields: &[&str], at: &FieldPath, errors: &mut Errors) {
    for field in fields {
        if let Some(number) = object[*field].as_i64().filter(|&number| number < 0) {
            errors.invalid(at.field(field), number, NON_NEGATIVE);
        }
    }
}

/// Requires an integer or percentage, if set, to be at least zero.
pub(super) fn amount(object: &Value, field: &str, at: &FieldPath, errors: &mut Errors) {
    non_negative(object, &[field], at, errors);
    if let Some(text) = object[field].as_str()
        && percent(&object[field]).is_none()
    {
        errors.invalid_as(at.field(field), int_or_string(&text.into()), PERCENT);
    }
}

/// Refuses percentages over 100.
pub(super) fn max_100_percent(object: &Value, field: &str, at: &FieldPath, errors: &mut Errors) {
    if percent(&object[field]).is_some_and(|percent| percent > 100) {
        let shown = int_or_string(&object[field]);
        errors.invalid_as(at.field(field), shown, "must not be greater than 100%");
    }
}

/// The number before a percent sign.
pub(super) fn percent(value: &Value) -> Option<u64> {
    let digits = value.as_str()?.strip_suffix('%')?;
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// An `IntOrString` in Go syntax, as in the API server's messages.
pub(super) fn int_or_string(value: &Value) -> String {
    match value {
        Value::String(text) => {
            format!("intstr.IntOrString{{Type:1, IntVal:0, StrVal:{text:?}}}")
        }
        number => format!("intstr.IntOrString{{Type:0, IntVal:{number}, StrVal:\"\"}}"),
    }
}

/// Requires a valid port number.
pub(super) fn port_number(number: &Value, path: &FieldPath, errors: &mut Errors) {
    let number = number.as_i64().unwrap_or_default();
    if !PORTS.contains(&number) {
        errors.invalid(path, number, NOT_A_PORT);
    }
}

/// Requires a valid port number or port name.
pub(super) fn port(port: &Value, path: &FieldPath, errors: &mut Errors) {
    match port.as_str() {
        Some(name) => invalid(path, name, port_name(name), errors),
        None => port_number(port, path, errors),
    }
}

/// Problems of a port name.
pub(super) fn port_name(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut problem = |wrong: bool, what: &str| {
        if wrong {
            problems.push(what.to_owned());
        }
    };
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    problem(name.len() > MAX_PORT_NAME, "must be no more than 15 characters");
    problem(
        !name.bytes().all(|byte| lower(byte) || byte == b'-'),
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
    );
    problem(
        !name.bytes().any(|byte| byte.is_ascii_lowercase()),
        "must contain at least one letter or number (a-z, 0-9)",
    );
    problem(name.contains("--"), "must not contain consecutive hyphens");
    problem(name.starts_with('-') || name.ends_with('-'), "must not begin or end with a hyphen");
    problems
}

/// Problems of a key of a ConfigMap or a Secret.
pub(super) fn config_key(key: &str) -> Vec<String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let mut problems = Vec::new();
    if key.len() > MAX_CONFIG_KEY {
        problems.push(format!("must be no more than {MAX_CONFIG_KEY} characters"));
    }
    if key.is_empty() || !key.bytes().all(allowed) {
        problems.push(CONFIG_KEY.to_owned());
    }
    match key {
        "." | ".." => problems.push(format!("must not be '{key}'")),
        _ if key.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// Requires a qualified name: a name with an optional DNS prefix.
pub(super) fn qualified(name: &str, path: &FieldPath, errors: &mut Errors) {
    for problem in key_problems(name) {
        errors.invalid(path, name, problem);
    }
}

/// Validates `metadata.finalizers`; only the finalizers of Kubernetes have no domain.
pub(super) fn finalizers(object: &Value, errors: &mut Errors) {
    let path = FieldPath::new("metadata").field("finalizers");
    for (index, name) in items(&object["metadata"], "finalizers").iter().enumerate() {
        finalizer(name.as_str().unwrap_or_default(), &path.index(index), errors);
    }
}

/// Validates one finalizer.
pub(super) fn finalizer(name: &str, path: &FieldPath, errors: &mut Errors) {
    const OWN: [&str; 3] = ["kubernetes", "orphan", "foregroundDeletion"];
    if !name.contains('/') && !OWN.contains(&name) {
        let problem = "name is neither a standard finalizer name nor is it fully qualified";
        errors.invalid(path, name, problem);
    }
}

/// Validates a label selector.
pub(super) fn selector(selector: &Value, path: &FieldPath, errors: &mut Errors) {
    metadata::labels(&selector["matchLabels"], &path.field("matchLabels"), errors);
    for (index, expression) in items(selector, "matchExpressions").iter().enumerate() {
        let at = path.field("matchExpressions").index(index);
        self::expression(expression, &["In", "NotIn", "Exists", "DoesNotExist"], &at, errors);
    }
}

/// Validates a selector requirement against the supported operators.
pub(super) fn expression(expression: &Value, known: &[&str], at: &FieldPath, errors: &mut Errors) {
    let values = items(expression, "values");
    match text(expression, "operator") {
        "In" | "NotIn" if values.is_empty() => errors.required_because(
            at.field("values"),
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
        "Exists" | "DoesNotExist" if !values.is_empty() => errors.forbidden(
            at.field("values"),
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        "Gt" | "Lt" if known.contains(&"Gt") && values.len() != 1 => {
            errors.required_because(
                at.field("values"),
                "must be specified single value when `operator` is 'Lt' or 'Gt'",
            );
        }
        operator if !known.contains(&operator) => {
            errors.invalid(at.field("operator"), operator, "not a valid selector operator");
        }
        _ => {}
    }
    qualified(text(expression, "key"), &at.field("key"), errors);
}

/// A label selector in Go syntax, as in the API server's messages.
pub(super) fn selector_in_go(selector: &Value) -> String {
    let expressions = items(selector, "matchExpressions");
    let expressions = match expressions {
        [] => "[]v1.LabelSelectorRequirement(nil)".to_owned(),
        all => {
            let each = all.iter().map(|it| {
                let values = strings_in_go(&it["values"]);
                let (key, operator) = (text(it, "key"), text(it, "operator"));
                format!(
                    "v1.LabelSelectorRequirement{{Key:{key:?}, Operator:{operator:?}, \
                     Values:{values}}}"
                )
            });
            format!("[]v1.LabelSelectorRequirement{{{}}}", each.collect::<Vec<_>>().join(", "))
        }
    };
    let labels = labels_in_go(&selector["matchLabels"]);
    format!("v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{expressions}}}")
}

/// Labels in Go syntax, as in the API server's messages.
pub(super) fn labels_in_go(labels: &Value) -> String {
    match labels.as_object().filter(|labels| !labels.is_empty()) {
        None => "map[string]string(nil)".to_owned(),
        Some(labels) => {
            let pairs = labels.iter().map(|(key, value)| format!("{key:?}:{value}"));
            format!("map[string]string{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

/// A list of strings in Go syntax, as in the API server's messages.
pub(super) fn strings_in_go(texts: &Value) -> String {
    match texts.as_array().filter(|texts| !texts.is_empty()) {
        None => "[]string(nil)".to_owned(),
        Some(texts) => metadata::go_list(texts.iter().filter_map(Value::as_str)),
    }
}

/// Refuses a change of an immutable field.
pub(super) fn immutable(
    new: &Value,
    old: &Value,
    field: &str,
    at: &FieldPath,
    errors: &mut Errors,
) {
    if new[field] != old[field] {
        errors.invalid(at.field(field), new[field].clone(), IMMUTABLE);
    }
}

/// Adds a `Duplicate` error for each value that occurs again.
pub(super) fn duplicates<'a>(
    values: impl Iterator<Item = (&'a str, FieldPath)>,
    errors: &mut Errors,
) {
    let mut seen = BTreeSet::new();
    for (value, path) in values.filter(|(value, _)| !value.is_empty()) {
        if !seen.insert(value) {
            errors.duplicate(path, value);
        }
    }
}

/// Requires an IP address.
pub(super) fn ip_address(address: &str, path: &FieldPath, errors: &mut Errors) {
    if address.parse::<IpAddr>().is_err() {
        let why = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
        errors.invalid(path, address, why);
    }
}

/// Refuses unspecified, loopback and link-local addresses, which endpoints cannot have.
pub(super) fn special_address(address: &str, path: &FieldPath, errors: &mut Errors) {
    let problem = match address.parse::<IpAddr>() {
        Err(_) => "must be a valid IP address",
        Ok(ip) if ip.is_unspecified() => "may not be unspecified (0.0.0.0)",
        Ok(ip) if ip.is_loopback() => "may not be in the loopback range (127.0.0.0/8)",
        Ok(IpAddr::V4(ip)) if ip.is_link_local() => {
            "may not be in the link-local range (169.254.0.0/16)"
        }
        Ok(IpAddr::V4(ip)) if ip.octets()[..3] == [224, 0, 0] => {
            "may not be in the link-local multicast range (224.0.0.0/24)"
        }
        Ok(_) => return,
    };
    errors.invalid(path, address, problem);
}
