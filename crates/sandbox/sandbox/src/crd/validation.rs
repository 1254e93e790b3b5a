//! Validation of CRDs.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec, CustomResourceDefinitionVersion,
    JSONSchemaProps, ValidationRule,
};
use kube_cel::{CompilationError, compile_schema};
use serde_json::{Value, json};

use fairway_schema::{children, items, violations_of_default};

use super::rules::rewrite_rule;
use super::{expression, structural, with_default_names};
use crate::field_error::FieldError;
use crate::metadata::{LETTER_FIRST_LABEL, label, letter_first_label};

const INVALID_SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character";

/// Returns all errors of a CRD.
pub(super) fn check_crd(crd: &CustomResourceDefinition) -> Vec<FieldError> {
    let spec = &crd.spec;
    let mut errors = Vec::new();
    check_names(crd, &mut errors);
    check_versions(spec, &mut errors);
    if spec.preserve_unknown_fields == Some(true) {
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, "must be false"));
    }
    check_conversion(spec, &mut errors);
    let has_status = |version: &CustomResourceDefinitionVersion| {
        version.subresources.as_ref().is_some_and(|those| those.status.is_some())
    };
    for (props, path) in schemas(spec, &mut errors) {
        if spec.versions.iter().any(has_status) {
            check_root_with_status(props, &path, &mut errors);
        }
        let before = errors.len();
        structural::check_schema(props, &path, &mut errors);
        // Defaults can be validated only against a structural schema.
        if errors.len() == before {
            check_defaults(props, true, &path, &mut errors);
        }
        check_rules(props, &path, &mut errors);
    }
    errors
}

/// With a status subresource, the root schema may use few fields.
fn check_root_with_status(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    let allowed = JSONSchemaProps {
        additional_properties: None,
        all_of: None,
        any_of: None,
        default: None,
        enum_: None,
        nullable: props.nullable.filter(|nullable| !nullable),
        not: None,
        one_of: None,
        ..props.clone()
    };
    if *props != allowed {
        let why = "only [\"description\" \"type\" \"format\" \"title\" \"required\" \"items\" \
            \"properties\" \"x-kubernetes-preserve-unknown-fields\" \"x-kubernetes-validations\"] \
            fields are allowed at the root of the schema if the status subresource is enabled";
        errors.push(FieldError::invalid(path, "object", why));
    }
}

fn check_names(crd: &CustomResourceDefinition, errors: &mut Vec<FieldError>) {
    let spec = &crd.spec;
    let name = crd.metadata.name.as_deref().unwrap_or_default();
    if name != format!("{}.{}", spec.names.plural, spec.group) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    match spec.group.as_str() {
        "" => errors.push(FieldError::required("spec.group", "")),
        group if !group.split('.').all(|part| label(part).is_empty()) => {
            errors.push(FieldError::invalid("spec.group", group, INVALID_SUBDOMAIN));
        }
        group if !group.contains('.') => {
            let why = "should be a domain with at least one dot";
            errors.push(FieldError::invalid("spec.group", group, why));
        }
        _ => {}
    }
    match spec.scope.as_str() {
        "Cluster" | "Namespaced" => {}
        "" => errors.push(FieldError::required("spec.scope", "")),
        other => {
            let supported = ["Cluster", "Namespaced"].map(Value::from);
            errors.push(FieldError::not_supported("spec.scope", other, &supported));
        }
    }
    let names = with_default_names(&spec.names);
    for (field, name) in [
        ("plural", Some(&names.plural)),
        ("singular", names.singular.as_ref()),
        ("kind", Some(&names.kind)),
        ("listKind", names.list_kind.as_ref()),
    ] {
        let path = format!("spec.names.{field}");
        match name.map(String::as_str).unwrap_or_default() {
            "" => errors.push(FieldError::required(path, "")),
            name if !is_name(name, field.to_lowercase().ends_with("kind")) => {
                errors.push(FieldError::invalid(path, name, LETTER_FIRST_LABEL));
            }
            _ => {}
        }
    }
    for (field, words) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        for (index, word) in words.iter().flatten().enumerate() {
            if !is_name(word, false) {
                let path = format!("spec.names.{field}[{index}]");
                errors.push(FieldError::invalid(path, word.as_str(), LETTER_FIRST_LABEL));
            }
        }
    }
    if names.list_kind.as_ref() == Some(&names.kind) {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", names.kind, why));
    }
}

fn is_name(text: &str, any_case: bool) -> bool {
    let text = if any_case { text.to_ascii_lowercase() } else { text.to_owned() };
    letter_first_label(&text).is_empty()
}

fn check_versions(spec: &CustomResourceDefinitionSpec, errors: &mut Vec<FieldError>) {
    let all: Value = spec.versions.iter().map(|version| version.name.as_str()).collect();
    for (index, version) in spec.versions.iter().enumerate() {
        if !is_name(&version.name, false) {
            let path = format!("spec.versions[{index}].name");
            errors.push(FieldError::invalid(path, version.name.as_str(), LETTER_FIRST_LABEL));
        }
    }
    // The first version is also validated as the deprecated `spec.version`.
    if let Some(first) = spec.versions.first().map(|version| version.name.as_str())
        && !first.is_empty()
        && !is_name(first, false)
    {
        errors.push(FieldError::invalid("spec.version", first, LETTER_FIRST_LABEL));
    }
    let storage = spec.versions.iter().filter(|version| version.storage).count();
    if storage != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", all.clone(), why));
    }
    let mut names: Vec<_> = spec.versions.iter().map(|version| &version.name).collect();
    names.sort();
    names.dedup();
    if names.len() < spec.versions.len() {
        errors.push(FieldError::invalid("spec.versions", all, "must contain unique version names"));
    }
}

/// All schemas with their paths. A schema that all versions share is reported once.
fn schemas<'a>(
    spec: &'a CustomResourceDefinitionSpec,
    errors: &mut Vec<FieldError>,
) -> Vec<(&'a JSONSchemaProps, String)> {
    let mut found = Vec::new();
    for (index, version) in spec.versions.iter().enumerate() {
        let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
        let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
        match schema {
            Some(schema) => found.push((schema, path)),
            None => errors.push(FieldError::required(path, "schemas are required")),
        }
    }
    let common = found.len() == spec.versions.len()
        && found.windows(2).all(|neighbours| neighbours[0].0 == neighbours[1].0);
    match found.first() {
        Some(&(schema, _)) if common => {
            vec![(schema, "spec.validation.openAPIV3Schema".to_owned())]
        }
        _ => found,
    }
}

/// Validates the defaults of named fields. As in the API server, defaults in `additionalProperties`
/// are not checked.
fn check_defaults(
    props: &JSONSchemaProps,
    is_root: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    errors.extend(violations_of_default(props, is_root, &format!("{path}.default")));
    for (name, props) in props.properties.iter().flatten() {
        check_defaults(props, false, &format!("{path}.properties[{name}]"), errors);
    }
    if let Some(items) = items(props) {
        check_defaults(items, false, &format!("{path}.items"), errors);
    }
}

/// Conversion webhooks need a client configuration. They are not called: conversion works as with
/// `None`.
fn check_conversion(spec: &CustomResourceDefinitionSpec, errors: &mut Vec<FieldError>) {
    let Some(conversion) = spec.conversion.as_ref().filter(|it| it.strategy == "Webhook") else {
        return;
    };
    if conversion.webhook.as_ref().is_none_or(|webhook| webhook.client_config.is_none()) {
        let why = "required when strategy is set to Webhook";
        errors.push(FieldError::required("spec.conversion.webhookClientConfig", why));
    }
}

/// Compiles all CEL rules.
fn check_rules(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in props.x_kubernetes_validations.iter().flatten().enumerate() {
        check_rule(rule, &format!("{path}.x-kubernetes-validations[{index}]"), errors);
    }
    for (props, path) in children(props, path) {
        check_rules(props, &path, errors);
    }
}

fn check_rule(rule: &ValidationRule, path: &str, errors: &mut Vec<FieldError>) {
    let message = rule.message_expression.as_deref().unwrap_or_default();
    if rule.rule.trim().is_empty() {
        errors.push(FieldError::required(format!("{path}.rule"), "rule is not specified"));
        return;
    }
    for (name, text) in [("rule", rule.rule.as_str()), ("messageExpression", message)] {
        if !expression::is_shallow(text) {
            let why = "compilation failed: the expression is nested too deeply";
            errors.push(FieldError::invalid(format!("{path}.{name}"), text, why));
            return;
        }
    }
    let compile = || {
        let mut rule = json!(rule);
        rewrite_rule(&mut rule);
        let compiled = compile_schema(&json!({ "x-kubernetes-validations": [rule] }));
        compiled.compilation_errors().first().map(|error| {
            let is_message = matches!(error, CompilationError::MessageExpressionParse { .. });
            (is_message, error.to_string())
        })
    };
    let (is_message, why) = match expression::on_large_stack(compile) {
        Some(None) => return,
        Some(Some(error)) => error,
        None => (false, "cannot parse the expression".to_owned()),
    };
    let (name, text) =
        if is_message { ("messageExpression", message) } else { ("rule", rule.rule.as_str()) };
    let why = format!("compilation failed: {why}");
    errors.push(FieldError::invalid(format!("{path}.{name}"), text, why));
}
