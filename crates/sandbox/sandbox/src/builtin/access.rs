//! RBAC objects, access reviews and token requests.

use serde_json::Value;

use super::validation::{ErrorList, Errors, invalid, one_of, selector, strings_in_go, unsupported};
use super::value::{default, get, get_mut, items, items_mut, text};
use super::{DEFAULT_RULES, Rules};
use crate::field_error::{FieldError, FieldPath};
use crate::metadata::{NameRule, subdomain};

pub(super) const ROLE: Rules = Rules { validate: validate_role, ..DEFAULT_RULES };
pub(super) const CLUSTER_ROLE: Rules = Rules { validate: validate_cluster_role, ..DEFAULT_RULES };
pub(super) const ROLE_BINDING: Rules = Rules {
    default: default_binding,
    validate: validate_role_binding,
    validate_update: validate_binding_update,
    ..DEFAULT_RULES
};
pub(super) const CLUSTER_ROLE_BINDING: Rules =
    Rules { validate: validate_cluster_role_binding, ..ROLE_BINDING };

const GROUP: &str = "rbac.authorization.k8s.io";

fn default_binding(binding: &mut Value) {
    if let Some(role) = get_mut(binding, "roleRef")
        && text(role, "apiGroup").is_empty()
    {
        role["apiGroup"] = GROUP.into();
    }
    for subject in items_mut(binding, "subjects") {
        if matches!(text(subject, "kind"), "User" | "Group") {
            default(subject, "apiGroup", GROUP);
        }
    }
}

fn validate_role(role: &Value) -> Errors {
    let mut errors = Errors::new();
    rules(role, true, &mut errors);
    errors
}

fn validate_cluster_role(role: &Value) -> Errors {
    let mut errors = Errors::new();
    rules(role, false, &mut errors);
    if let Some(aggregation) = get(role, "aggregationRule") {
        let path = FieldPath::new("aggregationRule").field("clusterRoleSelectors");
        let selectors = items(aggregation, "clusterRoleSelectors");
        if selectors.is_empty() {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            errors.required_because(&path, why);
        }
        for (index, labels) in selectors.iter().enumerate() {
            selector(labels, &path.index(index), &mut errors);
        }
    }
    errors
}

fn rules(role: &Value, namespaced: bool, errors: &mut Errors) {
    for (index, rule) in items(role, "rules").iter().enumerate() {
        let at = FieldPath::new("rules").index(index);
        let mut require = |field: &str, why: &str| {
            if items(rule, field).is_empty() {
                errors.required_because(at.field(field), why);
            }
        };
        require("verbs", "verbs must contain at least one value");
        if items(rule, "nonResourceURLs").is_empty() {
            require("apiGroups", "resource rules must supply at least one api group");
            require("resources", "resource rules must supply at least one resource");
            continue;
        }
        let mixed = ["apiGroups", "resources", "resourceNames"];
        let why = if namespaced {
            "namespaced rules cannot apply to non-resource URLs"
        } else if mixed.iter().any(|field| !items(rule, field).is_empty()) {
            "rules cannot apply to both regular resources and non-resource URLs"
        } else {
            continue;
        };
        let shown = strings_in_go(&rule["nonResourceURLs"]);
        errors.invalid_as(at.field("nonResourceURLs"), shown, why);
    }
}

fn validate_role_binding(binding: &Value) -> Errors {
    validate_binding(binding, &["Role", "ClusterRole"], true)
}

fn validate_cluster_role_binding(binding: &Value) -> Errors {
    validate_binding(binding, &["ClusterRole"], false)
}

fn validate_binding(binding: &Value, kinds: &[&str], namespaced: bool) -> Errors {
    let mut errors = Errors::new();
    let at = FieldPath::new("roleRef");
    let role = &binding["roleRef"];
    one_of(role, "apiGroup", &[GROUP], &at, &mut errors);
    one_of(role, "kind", kinds, &at, &mut errors);
    match text(role, "name") {
        "" => errors.required(at.field("name")),
        name => invalid(&at.field("name"), name, NameRule::PathSegment.problems(name), &mut errors),
    }
    for (index, subject) in items(binding, "subjects").iter().enumerate() {
        self::subject(subject, namespaced, &FieldPath::new("subjects").index(index), &mut errors);
    }
    errors
}

fn subject(subject: &Value, namespaced: bool, at: &FieldPath, errors: &mut Errors) {
    let name = text(subject, "name");
    if name.is_empty() {
        errors.required(at.field("name"));
    }
    match text(subject, "kind") {
        "ServiceAccount" => {
            if !name.is_empty() {
                invalid(&at.field("name"), name, subdomain(name), errors);
            }
            one_of(subject, "apiGroup", &[""], at, errors);
            if !namespaced && text(subject, "namespace").is_empty() {
                errors.required(at.field("namespace"));
            }
        }
        "User" | "Group" => one_of(subject, "apiGroup", &[GROUP], at, errors),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            errors.push(unsupported(at.field("kind"), other, &kinds));
        }
    }
}

fn validate_binding_update(new: &Value, old: &Value) -> Errors {
    let role = &new["roleRef"];
    if *role == old["roleRef"] {
        return Errors::new();
    }
    let shown = format!(
        "rbac.RoleRef{{APIGroup:{}, Kind:{}, Name:{}}}",
        role["apiGroup"], role["kind"], role["name"]
    );
    vec![FieldError::invalid_as("roleRef", shown, "cannot change roleRef")]
}

pub(super) const SELF_SUBJECT_ACCESS_REVIEW: Rules =
    Rules { validate: validate_self, ..DEFAULT_RULES };
pub(super) const SUBJECT_ACCESS_REVIEW: Rules =
    Rules { validate: validate_subject, ..DEFAULT_RULES };
pub(super) const LOCAL_SUBJECT_ACCESS_REVIEW: Rules =
    Rules { validate: validate_local, ..DEFAULT_RULES };

fn validate_self(review: &Value) -> Errors {
    let path = FieldPath::new("spec");
    let spec = &review["spec"];
    let why = "cannot be specified in combination with resourceAttributes";
    match (get(spec, "resourceAttributes"), get(spec, "nonResourceAttributes")) {
        (Some(_), Some(other)) => {
            let shown = format!(
                "authorization.NonResourceAttributes{{Path:{:?}, Verb:{:?}}}",
                text(other, "path"),
                text(other, "verb")
            );
            vec![FieldError::invalid_as(path.field("nonResourceAttributes"), shown, why)]
        }
        (None, None) => {
            let why =
                "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            vec![FieldError::invalid(path.field("resourceAttributes"), Value::Null, why)]
        }
        _ => Errors::new(),
    }
}

fn validate_subject(review: &Value) -> Errors {
    let mut errors = validate_self(review);
    let spec = &review["spec"];
    if text(spec, "user").is_empty() && items(spec, "groups").is_empty() {
        errors.invalid("spec.user", "", "at least one of user or group must be specified");
    }
    errors
}

fn validate_local(review: &Value) -> Errors {
    let mut errors = validate_subject(review);
    let spec = &review["spec"];
    let asked = text(&spec["resourceAttributes"], "namespace");
    if asked != text(&review["metadata"], "namespace") {
        errors.invalid("spec.resourceAttributes.namespace", asked, "must match metadata.namespace");
    }
    if get(spec, "nonResourceAttributes").is_some() {
        errors.invalid("spec.nonResourceAttributes", "", "disallowed on this kind of request");
    }
    errors
}

pub(super) const TOKEN_REQUEST: Rules = Rules { default: set_defaults, ..DEFAULT_RULES };

fn set_defaults(request: &mut Value) {
    if let Some(spec) = get_mut(request, "spec") {
        default(spec, "expirationSeconds", 3600);
    }
}
