//! Whether a definition is one that can be served.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec, CustomResourceDefinitionVersion,
    JSONSchemaProps, ValidationRule,
};
use kube_cel::{CompilationError, compile_schema};
use serde_json::{Value, json};

use fairway_schema::{children, items, violations_of_default};

use super::rules::without_optionals;
use super::{expression, structural, with_default_names};
use crate::field_error::FieldError;

/// Finds everything that is wrong with a definition.
pub(super) fn check(definition: &CustomResourceDefinition) -> Vec<FieldError> {
    let spec = &definition.spec;
    let mut errors = Vec::new();
    names(definition, &mut errors);
    versions(spec, &mut errors);
    if spec.preserve_unknown_fields == Some(true) {
        errors.push(FieldError::invalid("spec.preserveUnknownFields", true, "must be false"));
    }
    conversion(spec, &mut errors);
    let has_status = |version: &CustomResourceDefinitionVersion| {
        version.subresources.as_ref().is_some_and(|those| those.status.is_some())
    };
    for (props, path) in schemas(spec, &mut errors) {
        if spec.versions.iter().any(has_status) {
            root_beside_a_status(props, &path, &mut errors);
        }
        let before = errors.len();
        structural::check(props, &path, &mut errors);
        // What is not structural has no meaning by which a default could be judged.
        if errors.len() == before {
            defaults(props, true, &path, &mut errors);
        }
        rules(props, &path, &mut errors);
    }
    errors
}

/// Where the status is a subresource, only what can be taken apart may stand at the root.
fn root_beside_a_status(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
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

fn names(definition: &CustomResourceDefinition, errors: &mut Vec<FieldError>) {
    let spec = &definition.spec;
    let name = definition.metadata.name.as_deref().unwrap_or_default();
    if name != format!("{}.{}", spec.names.plural, spec.group) {
        let why = "must be spec.names.plural+\".\"+spec.group";
        errors.push(FieldError::invalid("metadata.name", name, why));
    }
    match spec.group.as_str() {
        "" => errors.push(FieldError::required("spec.group", "")),
        group if !group.split('.').all(is_label) => {
            errors.push(FieldError::invalid("spec.group", group, NO_DOMAIN));
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
                errors.push(FieldError::invalid(path, name, NO_NAME));
            }
            _ => {}
        }
    }
    for (field, words) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        for (index, word) in words.iter().flatten().enumerate() {
            if !is_name(word, false) {
                let path = format!("spec.names.{field}[{index}]");
                errors.push(FieldError::invalid(path, word.as_str(), NO_NAME));
            }
        }
    }
    if names.list_kind.as_ref() == Some(&names.kind) {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid("spec.names.listKind", names.kind, why));
    }
}

const NO_DOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
    characters, '-' or '.', and must start and end with an alphanumeric character";

const NO_NAME: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or \
    '-', start with an alphabetic character, and end with an alphanumeric character (e.g. \
    'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";

fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(plain) && text.bytes().last().is_some_and(plain);
    ends && text.len() <= 63 && text.bytes().all(|byte| plain(byte) || byte == b'-')
}

fn is_name(text: &str, any_case: bool) -> bool {
    let text = if any_case { text.to_ascii_lowercase() } else { text.to_owned() };
    is_label(&text) && text.starts_with(|first: char| first.is_ascii_lowercase())
}

fn versions(spec: &CustomResourceDefinitionSpec, errors: &mut Vec<FieldError>) {
    let all: Value = spec.versions.iter().map(|version| version.name.as_str()).collect();
    for (index, version) in spec.versions.iter().enumerate() {
        if !is_name(&version.name, false) {
            let path = format!("spec.versions[{index}].name");
            errors.push(FieldError::invalid(path, version.name.as_str(), NO_NAME));
        }
    }
    // The first version also counts as the one version of older clients.
    if let Some(first) = spec.versions.first().map(|version| version.name.as_str())
        && !first.is_empty()
        && !is_name(first, false)
    {
        errors.push(FieldError::invalid("spec.version", first, NO_NAME));
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

/// Every schema with its path: one that all versions have in common stands above them.
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

/// A default has to survive what happens to every value.
///
/// The API server does not look at those of fields without a name.
fn defaults(props: &JSONSchemaProps, is_root: bool, path: &str, errors: &mut Vec<FieldError>) {
    errors.extend(violations_of_default(props, is_root, &format!("{path}.default")));
    for (name, props) in props.properties.iter().flatten() {
        defaults(props, false, &format!("{path}.properties[{name}]"), errors);
    }
    if let Some(items) = items(props) {
        defaults(items, false, &format!("{path}.items"), errors);
    }
}

/// A conversion webhook needs an address. It is not called: objects are converted as with `None`.
fn conversion(spec: &CustomResourceDefinitionSpec, errors: &mut Vec<FieldError>) {
    let Some(conversion) = spec.conversion.as_ref().filter(|it| it.strategy == "Webhook") else {
        return;
    };
    if conversion.webhook.as_ref().is_none_or(|webhook| webhook.client_config.is_none()) {
        let why = "required when strategy is set to Webhook";
        errors.push(FieldError::required("spec.conversion.webhookClientConfig", why));
    }
}

/// Rules have to compile.
fn rules(props: &JSONSchemaProps, path: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in props.x_kubernetes_validations.iter().flatten().enumerate() {
        rule_compiles(rule, &format!("{path}.x-kubernetes-validations[{index}]"), errors);
    }
    for (props, path) in children(props, path) {
        rules(props, &path, errors);
    }
}

fn rule_compiles(rule: &ValidationRule, path: &str, errors: &mut Vec<FieldError>) {
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
        without_optionals(&mut rule);
        let compiled = compile_schema(&json!({ "x-kubernetes-validations": [rule] }));
        compiled.compilation_errors().first().map(|error| {
            let of_message = matches!(error, CompilationError::MessageExpressionParse { .. });
            (of_message, error.to_string())
        })
    };
    let (of_message, why) = match expression::with_room(compile) {
        Some(None) => return,
        Some(Some(error)) => error,
        None => (false, "cannot parse the expression".to_owned()),
    };
    let (name, text) =
        if of_message { ("messageExpression", message) } else { ("rule", rule.rule.as_str()) };
    let why = format!("compilation failed: {why}");
    errors.push(FieldError::invalid(format!("{path}.{name}"), text, why));
}
