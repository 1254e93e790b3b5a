//! Extensions of the API: CRDs and validating webhooks. `crd` compiles the schemas of CRDs.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::{Value, json};

use super::validation::{
    ErrorList, Errors, duplicates, immutable, invalid, one_of, selector, strings_in_go, unsupported,
};
use super::value::{default, get, get_mut, items, items_mut, text};
use super::{DEFAULT_RULES, Generation, Rules};
use crate::catalog::Subresource;
use crate::crd::Crd;
use crate::field_error::{FieldError, FieldPath};
use crate::metadata::subdomain;

pub(super) const CRD: Rules = Rules {
    default: default_crd,
    create: record_storage_version,
    update,
    generation: Generation::Of(&["spec"]),
    validate: validate_crd,
    validate_update,
    metadata_immutable_in_status: &["labels", "annotations", "ownerReferences"],
    ..DEFAULT_RULES
};

fn default_crd(definition: &mut Value) {
    let Some(spec) = get_mut(definition, "spec") else { return };
    if let Some(names) = get_mut(spec, "names") {
        let kind = text(names, "kind").to_owned();
        if !kind.is_empty() {
            default(names, "singular", kind.to_lowercase());
            default(names, "listKind", format!("{kind}List"));
        }
    }
    default(spec, "conversion", json!({ "strategy": "None" }));
    if let Some(service) = spec["conversion"].pointer_mut("/webhook/clientConfig/service") {
        default(service, "port", SERVICE_PORT);
    }
}

fn update(definition: &mut Value, _: &Value, subresource: Option<Subresource>) {
    if subresource.is_none() {
        record_storage_version(definition);
    }
}

/// Adds the storage version to `status.storedVersions`: etcd may contain objects of every version
/// that once was the storage version.
fn record_storage_version(definition: &mut Value) {
    let versions = items(&definition["spec"], "versions").iter();
    let stored: Vec<&Value> = versions.filter(|version| version["storage"] == true).collect();
    let [stored] = *stored else { return };
    let name = stored["name"].clone();
    let versions = &mut definition["status"]["storedVersions"];
    match versions.as_array_mut() {
        Some(versions) if versions.contains(&name) => {}
        Some(versions) => versions.push(name),
        None => *versions = json!([name]),
    }
}

fn validate_crd(definition: &Value) -> Vec<FieldError> {
    let mut errors = match CustomResourceDefinition::deserialize(definition) {
        Ok(definition) => Crd::new(&definition).err().unwrap_or_default(),
        Err(error) => vec![FieldError::invalid("spec", Value::Null, error.to_string())],
    };
    if items(&definition["status"], "storedVersions").is_empty() {
        errors.invalid("status.storedVersions", json!([]), "must have at least one stored version");
    }
    errors
}

/// Refuses changes that would make stored objects unreadable.
fn validate_update(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let path = FieldPath::new("spec");
    for field in ["scope", "group"] {
        immutable(&new["spec"], &old["spec"], field, &path, &mut errors);
    }
    let names = path.field("names");
    for field in ["kind", "plural"] {
        immutable(&new["spec"]["names"], &old["spec"]["names"], field, &names, &mut errors);
    }
    let versions = items(&new["spec"], "versions");
    for (index, stored) in items(&old["status"], "storedVersions").iter().enumerate() {
        if !versions.iter().any(|version| version["name"] == *stored) {
            let path = FieldPath::new("status").field("storedVersions").index(index);
            errors.invalid(path, stored.clone(), "must appear in spec.versions");
        }
    }
    errors
}

pub(super) const VALIDATING: Rules = Rules {
    default: default_validating,
    generation: Generation::Of(&["webhooks"]),
    validate: validate_validating,
    ..DEFAULT_RULES
};

/// Default port of a webhook service.
pub(super) const SERVICE_PORT: i32 = 443;

fn default_validating(configuration: &mut Value) {
    for webhook in items_mut(configuration, "webhooks") {
        default(webhook, "failurePolicy", "Fail");
        default(webhook, "matchPolicy", "Equivalent");
        default(webhook, "namespaceSelector", json!({}));
        default(webhook, "objectSelector", json!({}));
        default(webhook, "timeoutSeconds", 10);
        if let Some(service) = get_mut(&mut webhook["clientConfig"], "service") {
            default(service, "port", SERVICE_PORT);
        }
        items_mut(webhook, "rules").for_each(|rule| default(rule, "scope", "*"));
    }
}

const SIDE_EFFECTS: [&str; 2] = ["None", "NoneOnDryRun"];
const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

fn validate_validating(configuration: &Value) -> Errors {
    let mut errors = Errors::new();
    let path = FieldPath::new("webhooks");
    let webhooks = items(configuration, "webhooks");
    for (index, webhook) in webhooks.iter().enumerate() {
        self::webhook(webhook, &path.index(index), &mut errors);
    }
    let names = webhooks.iter().enumerate();
    let names = names.map(|(index, it)| (text(it, "name"), path.index(index).field("name")));
    duplicates(names, &mut errors);
    errors
}

fn webhook(webhook: &Value, at: &FieldPath, errors: &mut Errors) {
    name(text(webhook, "name"), &at.field("name"), errors);
    for (index, rule) in items(webhook, "rules").iter().enumerate() {
        self::rule(rule, &at.field("rules").index(index), errors);
    }
    one_of(webhook, "failurePolicy", &["Fail", "Ignore"], at, errors);
    one_of(webhook, "matchPolicy", &["Equivalent", "Exact"], at, errors);
    match get(webhook, "sideEffects").and_then(Value::as_str) {
        None => errors
            .required_because(at.field("sideEffects"), "must specify one of None, NoneOnDryRun"),
        Some(value) if !SIDE_EFFECTS.contains(&value) => {
            errors.push(unsupported(at.field("sideEffects"), value, &SIDE_EFFECTS));
        }
        Some(_) => {}
    }
    let seconds = webhook["timeoutSeconds"].as_i64().unwrap_or(1);
    if !(1..=30).contains(&seconds) {
        let why = "the timeout value must be between 1 and 30 seconds";
        errors.invalid(at.field("timeoutSeconds"), seconds, why);
    }
    for field in ["namespaceSelector", "objectSelector"] {
        selector(&webhook[field], &at.field(field), errors);
    }
    client(&webhook["clientConfig"], &at.field("clientConfig"), errors);
    review_versions(webhook, &at.field("admissionReviewVersions"), errors);
}

fn name(name: &str, path: &FieldPath, errors: &mut Errors) {
    if name.is_empty() {
        errors.required(path);
        return;
    }
    let problems = subdomain(name);
    if problems.is_empty() && name.split('.').count() < 3 {
        let why = "should be a domain with at least three segments separated by dots";
        errors.invalid(path, name, why);
    }
    invalid(path, name, problems, errors);
}

fn review_versions(webhook: &Value, path: &FieldPath, errors: &mut Errors) {
    let versions = items(webhook, "admissionReviewVersions");
    if versions.is_empty() {
        errors.required_because(path, "must specify one of v1, v1beta1");
    } else if !versions.iter().any(|version| version == "v1" || version == "v1beta1") {
        let shown = strings_in_go(&webhook["admissionReviewVersions"]);
        errors.invalid_as(path, shown, "must include at least one of v1, v1beta1");
    }
}

fn rule(rule: &Value, at: &FieldPath, errors: &mut Errors) {
    let operations = items(rule, "operations");
    for field in ["operations", "apiGroups", "apiVersions", "resources"] {
        if items(rule, field).is_empty() {
            errors.required(at.field(field));
        }
    }
    let path = at.field("operations");
    if operations.len() > 1 && operations.iter().any(|it| it == "*") {
        let shown: Vec<_> = operations.iter().map(Value::to_string).collect();
        let shown = format!("[]admissionregistration.OperationType{{{}}}", shown.join(", "));
        errors.invalid_as(&path, shown, "if '*' is present, must not specify other operations");
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
        errors.invalid_as(at.field("resources"), shown, why);
    }
    one_of(rule, "scope", &["*", "Cluster", "Namespaced"], at, errors);
}

fn client(config: &Value, at: &FieldPath, errors: &mut Errors) {
    match (get(config, "url").and_then(Value::as_str), get(config, "service")) {
        (Some(url), None) => self::url(url, &at.field("url"), errors),
        (None, Some(service)) => self::service(service, &at.field("service"), errors),
        _ => errors.required_because(at, "exactly one of url or service is required"),
    }
}

fn url(text: &str, path: &FieldPath, errors: &mut Errors) {
    const FORM: &str = "; desired format: https://host[/path]";
    let Ok(url) = url::Url::parse(text) else {
        errors.required_because(path, format!("url must be a valid URL{FORM}"));
        return;
    };
    let mut refuse = |wrong: bool, value: &str, why: &str| {
        if wrong {
            errors.invalid(path, value, format!("{why}{FORM}"));
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

fn service(service: &Value, at: &FieldPath, errors: &mut Errors) {
    for (field, why) in
        [("name", "service name is required"), ("namespace", "service namespace is required")]
    {
        if text(service, field).is_empty() {
            errors.required_because(at.field(field), why);
        }
    }
    let port = service["port"].as_i64().unwrap_or_default();
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        errors.invalid(at.field("port"), port, why);
    }
    let Some(path) = get(service, "path").and_then(Value::as_str) else { return };
    let at = at.field("path");
    if path == "/" {
        return;
    }
    if !path.starts_with('/') {
        errors.invalid(&at, path, "must start with a '/'");
    }
    let segments = path.get(1..).unwrap_or_default().trim_end_matches('/').split('/');
    for (index, segment) in segments.enumerate() {
        if segment.is_empty() {
            errors.invalid(&at, path, format!("segment[{index}] may not be empty"));
        } else {
            let problems = subdomain(segment);
            let problems = problems.into_iter().map(|it| format!("segment[{index}]: {it}"));
            invalid(&at, path, problems.collect(), errors);
        }
    }
}
