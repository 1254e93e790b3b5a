//! Who owns an object.

use serde_json::Value;

use crate::field_error::{FieldError, Path};

/// What is wrong with the owners of an object.
pub(super) fn check(owners: &Value, path: &Path, errors: &mut Vec<FieldError>) {
    let owners = owners.as_array().map_or(&[][..], Vec::as_slice);
    for owner in owners {
        for (field, what) in
            [("apiVersion", "version"), ("kind", "kind"), ("name", "name"), ("uid", "uid")]
        {
            if text(owner, field).is_empty() {
                let detail = format!("{what} must not be empty");
                errors.push(FieldError::invalid(path.field(field), "", detail));
            }
        }
        if text(owner, "apiVersion") == "v1" && text(owner, "kind") == "Event" {
            let detail = "/v1, Kind=Event is disallowed from being an owner";
            errors.push(FieldError::invalid(path, owner.clone(), detail));
        }
    }
    let mut controllers = owners.iter().filter(|owner| owner["controller"] == true);
    if let (Some(first), Some(second)) = (controllers.next(), controllers.next()) {
        let detail = format!(
            "Only one reference can have Controller set to true. Found \"true\" in references for \
             {} and {}",
            text(first, "name"),
            text(second, "name")
        );
        errors.push(FieldError::invalid(path, owners, detail));
    }
}

fn text<'a>(owner: &'a Value, field: &str) -> &'a str {
    owner[field].as_str().unwrap_or_default()
}
