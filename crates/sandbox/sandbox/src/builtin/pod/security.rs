//! Security contexts.

use serde_json::Value;

use crate::builtin::validation::{ErrorList, Errors, unsupported};
use crate::builtin::value::{get, items, text};
use crate::field_error::FieldPath;

/// Maximum of user and group IDs.
const MAX_ID: i64 = 2_147_483_647;
const SYSCTL: &str = r"must have at most 253 characters and match regex ([a-z0-9]([-_a-z0-9]*[a-z0-9])?\.)*[a-z0-9]([-_a-z0-9]*[a-z0-9])?";

pub(super) fn pod(spec: &Value, path: &FieldPath, errors: &mut Errors) {
    let path = path.field("securityContext");
    if spec["shareProcessNamespace"] == true && spec["hostPID"] == true {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.invalid(path.field("shareProcessNamespace"), true, why);
    }
    let Some(context) = get(spec, "securityContext") else { return };
    ids(context, &["fsGroup", "runAsUser", "runAsGroup"], &path, errors);
    for (index, group) in items(context, "supplementalGroups").iter().enumerate() {
        id(group, &path.field("supplementalGroups").index(index), errors);
    }
    for (index, sysctl) in items(context, "sysctls").iter().enumerate() {
        self::sysctl(
            text(sysctl, "name"),
            &path.field("sysctls").index(index).field("name"),
            errors,
        );
    }
    seccomp(context, &path, errors);
}

pub(super) fn container(container: &Value, path: &FieldPath, errors: &mut Errors) {
    let Some(context) = get(container, "securityContext") else { return };
    let path = path.field("securityContext");
    ids(context, &["runAsUser", "runAsGroup"], &path, errors);
    seccomp(context, &path, errors);
    if context["allowPrivilegeEscalation"] == false {
        let mut refuse = |when: bool, why: &str| {
            if when {
                errors.invalid(&path, context.clone(), why);
            }
        };
        let added = items(&context["capabilities"], "add");
        refuse(
            context["privileged"] == true,
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        );
        refuse(
            added.iter().any(|it| it == "CAP_SYS_ADMIN"),
            "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
        );
    }
}

fn ids(context: &Value, fields: &[&str], path: &FieldPath, errors: &mut Errors) {
    for field in fields {
        id(&context[*field], &path.field(field), errors);
    }
}

fn id(value: &Value, path: &FieldPath, errors: &mut Errors) {
    if let Some(id) = value.as_i64().filter(|id| !(0..=MAX_ID).contains(id)) {
        errors.invalid(path, id, format!("must be between 0 and {MAX_ID}, inclusive"));
    }
}

fn sysctl(name: &str, path: &FieldPath, errors: &mut Errors) {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let valid = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
            && bytes.iter().all(|byte| alphanumeric(byte) || b"-_".contains(byte))
    };
    if name.is_empty() {
        errors.required(path);
    } else if name.len() > 253 || !name.split(['.', '/']).all(valid) {
        errors.invalid(path, name, SYSCTL);
    }
}

fn seccomp(context: &Value, path: &FieldPath, errors: &mut Errors) {
    const TYPES: [&str; 3] = ["Localhost", "RuntimeDefault", "Unconfined"];
    let Some(profile) = get(context, "seccompProfile") else { return };
    let path = path.field("seccompProfile");
    let file = path.field("localhostProfile");
    match (text(profile, "type"), get(profile, "localhostProfile")) {
        ("", _) => errors
            .required_because(path.field("type"), "type is required when seccompProfile is set"),
        ("Localhost", None) => {
            errors.required_because(file, "must be set when seccomp type is Localhost");
        }
        ("Localhost", Some(_)) => {}
        (kind, Some(name)) if TYPES.contains(&kind) => {
            errors.invalid(file, name.clone(), "can only be set when seccomp type is Localhost");
        }
        (kind, _) if !TYPES.contains(&kind) => {
            errors.push(unsupported(path.field("type"), kind, &TYPES));
        }
        _ => {}
    }
}
