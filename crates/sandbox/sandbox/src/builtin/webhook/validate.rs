//! Which webhooks are valid.

use serde_json::Value;

use crate::builtin::check::{
    Errors, duplicates, invalid, one_of, selector, strings_in_go, unsupported,
};
use crate::builtin::value::{get, items, text};
use crate::field_error::{FieldError, Path};
use crate::metadata::subdomain;

const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

pub(super) fn mutating(configuration: &Value) -> Errors {
    let mut errors = validating(configuration);
    for (index, webhook) in items(configuration, "webhooks").iter().enumerate() {
        let at = Path::new("webhooks").index(index);
        one_of(webhook, "reinvocationPolicy", &["IfNeeded", "Never"], &at, &mut errors);
    }
    errors
}

pub(super) fn validating(configuration: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = Path::new("webhooks");
    let webhooks = items(configuration, "webhooks");
    for (index, webhook) in webhooks.iter().enumerate() {
        self::webhook(webhook, &path.index(index), &mut errors);
    }
    let names = webhooks.iter().enumerate();
    let names = names.map(|(index, it)| (text(it, "name"), path.index(index).field("name")));
    duplicates(names, &mut errors);
    errors
}

fn webhook(webhook: &Value, at: &Path, errors: &mut Errors) {
    name(text(webhook, "name"), &at.field("name"), errors);
    for (index, rule) in items(webhook, "rules").iter().enumerate() {
        self::rule(rule, &at.field("rules").index(index), errors);
    }
    one_of(webhook, "failurePolicy", &["Fail", "Ignore"], at, errors);
    one_of(webhook, "matchPolicy", &["Equivalent", "Exact"], at, errors);
    match get(webhook, "sideEffects").and_then(Value::as_str) {
        None => errors.push(FieldError::required(
            at.field("sideEffects"),
            "must specify one of None, NoneOnDryRun",
        )),
        Some(word) if !SIDE_EFFECTS.contains(&word) => {
            errors.push(unsupported(at.field("sideEffects"), word, &SIDE_EFFECTS));
        }
        Some(_) => {}
    }
    let seconds = webhook["timeoutSeconds"].as_i64().unwrap_or(1);
    if !(1..=30).contains(&seconds) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(at.field("timeoutSeconds"), seconds, why));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        selector(&webhook[field], &at.field(field), errors);
    }
    client(&webhook["clientConfig"], &at.field("clientConfig"), errors);
    review_versions(webhook, &at.field("admissionReviewVersions"), errors);
}

fn name(name: &str, path: &Path, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let problems = subdomain(name);
    if problems.is_empty() && name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, why));
    }
    invalid(path, name, problems, errors);
}

fn review_versions(webhook: &Value, path: &Path, errors: &mut Errors) {
    let versions = items(webhook, "admissionReviewVersions");
    if versions.is_empty() {
        errors.push(FieldError::required(path, "must specify one of v1, v1beta1"));
    } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let shown = strings_in_go(&webhook["admissionReviewVersions"]);
        let why = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid_as(path, shown, why));
    }
}

fn rule(rule: &Value, at: &Path, errors: &mut Errors) {
    let operations = items(rule, "operations");
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        if items(rule, field).is_empty() {
            errors.push(FieldError::required(at.field(field), ""));
        }
    }
    let path = at.field("operations");
    if operations.len() > 1 && operations.iter().any(|it| it == "*") {
        let shown: Vec<_> = operations.iter().map(Value::to_string).collect();
        let shown = format!("[]admissionregistration.OperationType{{{}}}", shown.join(", "));
        let why = "if '*' is present, must not specify other operations";
        errors.push(FieldError::invalid_as(&path, shown, why));
    }
    for (index, operation) in operations.iter().enumerate() {
        let operation = operation.as_str().unwrap_or_default();
        if !OPERATIONS.contains(&operation) {
            errors.push(unsupported(path.index(index), operation, &OPERATIONS));
        }
    }
    let resources = items(rule, "resources");
    let plain = |it: &&Value| it.as_str().is_some_and(|name| !name.contains('/'));
    if resources.iter().any(|it| it == "*") && resources.iter().filter(plain).count() > 1 {
        let shown = strings_in_go(&rule["resources"]);
        let why = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid_as(at.field("resources"), shown, why));
    }
    one_of(rule, "scope", &["*", "Cluster", "Namespaced"], at, errors);
}

fn client(config: &Value, at: &Path, errors: &mut Errors) {
    match (get(config, "url").and_then(Value::as_str), get(config, "service")) {
        (Some(url), None) => self::url(url, &at.field("url"), errors),
        (None, Some(service)) => self::service(service, &at.field("service"), errors),
        _ => errors.push(FieldError::required(at, "exactly one of url or service is required")),
    }
}

fn url(text: &str, path: &Path, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let Ok(url) = url::Url::parse(text) else {
        let why = format!("url must be a valid URL{FORM}");
        errors.push(FieldError::required(path, why));
        return;
    };
    let mut refuse = |wrong: bool, value: &str, why: &str| {
        if wrong {
            errors.push(FieldError::invalid(path, value, format!("{why}{FORM}")));
        }
    };
    let scheme = url.scheme();
    refuse(scheme != "https", scheme, "'https' is the only allowed URL scheme");
    refuse(!url.has_host(), "", "host must be provided");
    refuse(
        !url.username().is_empty(),
        url.username(),
        "user information is not permitted in the URL",
    );
    let fragment = url.fragment().unwrap_or_default();
    refuse(!fragment.is_empty(), fragment, "fragments are not permitted in the URL");
    let query = url.query().unwrap_or_default();
    refuse(!query.is_empty(), query, "query parameters are not permitted in the URL");
}

fn service(service: &Value, at: &Path, errors: &mut Errors) {
    for (field, why) in
        [("name", "service name is required"), ("namespace", "service namespace is required")]
    {
        if text(service, field).is_empty() {
            errors.push(FieldError::required(at.field(field), why));
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.push(FieldError::invalid(at.field("port"), port, why));
    }
    let Some(path) = get(service, "path").and_then(Value::as_str) else { return };
    let at = at.field("path");
    if path == "/" {
        return;
    }
    if !path.starts_with('/') {
        errors.push(FieldError::invalid(&at, path, "must start with a '/'"));
    }
    let segments = path.get(1..).unwrap_or_default().trim_end_matches('/').split('/');
    for (index, segment) in segments.enumerate() {
        if segment.is_empty() {
            let why = format!("segment[{index}] may not be empty");
            errors.push(FieldError::invalid(&at, path, why));
        } else {
            let problems = subdomain(segment);
            let problems = problems.into_iter().map(|it| format!("segment[{index}]: {it}"));
            invalid(&at, path, problems.collect(), errors);
        }
    }
}
