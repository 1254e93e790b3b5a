//! The parameters that all writes have.

use super::refusal::Cause;
use super::{Call, Query, Refusal};
use crate::field_error::{FieldError, FieldErrorKind};

/// The API server's limit.
const MAX_MANAGER_BYTES: usize = 128;

/// How a write is to be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WriteOptions {
    /// Whether nothing is to be stored.
    pub(super) dry_run: bool,
    /// Who writes.
    pub(super) manager: String,
    /// What becomes of fields that nobody knows.
    pub(super) unknown_fields: UnknownFields,
}

/// What becomes of fields that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownFields {
    /// They are dropped.
    Ignored,
    /// They are dropped, and the client is told.
    Warned,
    /// The request is refused.
    Refused,
}

impl WriteOptions {
    /// Reads them; `kind` is what messages call them, such as `CreateOptions`.
    pub(super) fn parse(kind: &str, call: &Call) -> Result<Self, Refusal> {
        let mut causes = Vec::new();
        let dry_run = dry_run(call.query.all("dryRun"), &mut causes);
        let given = call.query.get("fieldManager").unwrap_or_default();
        causes.extend(manager_errors(given).iter().map(Cause::from));
        let unknown_fields = unknown_fields(&call.query, &mut causes);
        if !causes.is_empty() {
            return Err(Refusal::invalid_because(kind, "meta.k8s.io", "", causes));
        }
        let manager = if given.is_empty() { from_agent(&call.user_agent) } else { given };
        Ok(Self { dry_run, manager: manager.to_owned(), unknown_fields })
    }
}

/// Whether it is a dry run; the one word that may be said is `All`.
pub(super) fn dry_run<'a>(words: impl Iterator<Item = &'a str>, causes: &mut Vec<Cause>) -> bool {
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| *word != "All") {
        let shown: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let shown = shown.join(", ");
        causes.push(Cause {
            reason: FieldErrorKind::NotSupported.reason().to_owned(),
            message: format!("Unsupported value: []string{{{shown}}}: supported values: \"All\""),
            field: "dryRun".to_owned(),
        });
    }
    !words.is_empty()
}

fn manager_errors(manager: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if manager.len() > MAX_MANAGER_BYTES {
        let detail = format!("must have at most {MAX_MANAGER_BYTES} bytes");
        errors.push(FieldError::of(FieldErrorKind::TooLong, "fieldManager", manager, detail));
    }
    if let Some((at, control)) = manager.char_indices().find(|(_, it)| it.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(control));
        errors.push(FieldError::of(FieldErrorKind::Invalid, "fieldManager", manager, detail));
    }
    errors
}

fn unknown_fields(query: &Query, causes: &mut Vec<Cause>) -> UnknownFields {
    match query.get("fieldValidation").unwrap_or_default() {
        "Ignore" => UnknownFields::Ignored,
        "Strict" => UnknownFields::Refused,
        "" | "Warn" => UnknownFields::Warned,
        other => {
            let supported = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
            let error =
                FieldError::of(FieldErrorKind::NotSupported, "fieldValidation", other, supported);
            causes.push(Cause::from(&error));
            UnknownFields::Warned
        }
    }
}

/// A program is named in front of its version.
fn from_agent(agent: &str) -> &str {
    let name = agent.split('/').next().unwrap_or_default();
    let mut end = name.len().min(MAX_MANAGER_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    &name[..end]
}
