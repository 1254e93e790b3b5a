//! Options of writes.

use serde_json::Value;

use super::status_error::go_parse_error;
use super::{
    ApiRequest, ApiResult, Propagation, QueryParams, RequestBody, StatusCause, StatusError, meta,
};
use crate::catalog::Resource;
use crate::field_error::{FieldError, FieldErrorKind};

/// Limit of the API server.
const MAX_MANAGER_BYTES: usize = 128;

/// Source location that the API server prints in its decoding errors.
const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

/// Options of create, update and patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WriteOptions {
    /// `dryRun=All`
    pub(super) dry_run: bool,
    /// The field manager.
    pub(super) manager: String,
    /// Treatment of unknown fields.
    pub(super) unknown_fields: UnknownFields,
}

/// Treatment of unknown fields (`fieldValidation`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnknownFields {
    /// Drop them.
    Ignored,
    /// Drop them and warn the client.
    Warned,
    /// Refuse the request.
    Refused,
}

impl WriteOptions {
    /// Parses the options. `kind` is their name in messages, such as `CreateOptions`.
    pub(super) fn parse(kind: &str, request: &ApiRequest) -> ApiResult<Self> {
        let mut causes = Vec::new();
        let dry_run = dry_run(request.query.all("dryRun"), &mut causes);
        let given = request.query.get("fieldManager").unwrap_or_default();
        causes.extend(manager_errors(given).iter().map(StatusCause::from));
        let unknown_fields = unknown_fields(&request.query, &mut causes);
        if !causes.is_empty() {
            return Err(StatusError::invalid_with_causes(kind, "meta.k8s.io", "", causes));
        }
        let manager = if given.is_empty() { from_agent(&request.user_agent) } else { given };
        Ok(Self { dry_run, manager: manager.to_owned(), unknown_fields })
    }
}

/// Whether it is a dry run. `All` is the only valid value.
pub(super) fn dry_run<'a>(
    words: impl Iterator<Item = &'a str>,
    causes: &mut Vec<StatusCause>,
) -> bool {
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    if words.iter().any(|word| *word != "All") {
        let shown: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
        let shown = shown.join(", ");
        causes.push(StatusCause {
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

fn unknown_fields(query: &QueryParams, causes: &mut Vec<StatusCause>) -> UnknownFields {
    match query.get("fieldValidation").unwrap_or_default() {
        "Ignore" => UnknownFields::Ignored,
        "Strict" => UnknownFields::Refused,
        "" | "Warn" => UnknownFields::Warned,
        other => {
            let supported = "supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"";
            let error =
                FieldError::of(FieldErrorKind::NotSupported, "fieldValidation", other, supported);
            causes.push(StatusCause::from(&error));
            UnknownFields::Warned
        }
    }
}

/// The program name in a user agent, which precedes the version.
fn from_agent(agent: &str) -> &str {
    let name = agent.split('/').next().unwrap_or_default();
    &name[..name.floor_char_boundary(MAX_MANAGER_BYTES)]
}

/// Parsed `DeleteOptions`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DeleteOptions {
    pub(super) dry_run: bool,
    pub(super) grace_period_seconds: Option<i64>,
    pub(super) orphan_dependents: Option<bool>,
    policy: Option<Propagation>,
    uid: Option<String>,
    resource_version: Option<String>,
}

/// `DeleteOptions` as received, before validation.
#[derive(Default)]
struct RawDeleteOptions {
    dry_run: Vec<String>,
    grace_period_seconds: Option<i64>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads the options from the body, or from the query if there is no body.
    pub(super) fn read(request: &ApiRequest) -> ApiResult<Self> {
        let raw = match &request.body {
            RequestBody::Object(options) => from_body(options)?,
            RequestBody::None | RequestBody::Patch(..) => from_query(&request.query)?,
        };
        raw.validate()
    }

    /// The propagation policy that the client requests.
    pub(super) fn propagation(&self) -> Option<Propagation> {
        let older = |orphan| if orphan { Propagation::Orphan } else { Propagation::Background };
        self.policy.or_else(|| self.orphan_dependents.map(older))
    }

    /// Checks UID and resource version of the object.
    pub(super) fn check_preconditions(&self, resource: &Resource, object: &Value) -> ApiResult<()> {
        for (expected, field, what, happened) in [
            (&self.uid, "uid", "UID", "deleted and then recreated"),
            (&self.resource_version, "resourceVersion", "ResourceVersion", "modified"),
        ] {
            let actual = meta::text(object, field);
            if let Some(expected) = expected.as_deref().filter(|expected| *expected != actual) {
                let why = format!(
                    "the {what} in the precondition ({expected}) does not match the {what} in \
                     record ({actual}). The object might have been {happened}"
                );
                return Err(StatusError::precondition(resource, meta::text(object, "name"), &why));
            }
        }
        Ok(())
    }
}

fn from_body(options: &Value) -> ApiResult<RawDeleteOptions> {
    let word = |field: &str| options.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (word("kind"), word("apiVersion"));
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(StatusError::new(
            500,
            "",
            format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}"),
        ));
    }
    // The API server reports it as 500 without a reason.
    let invalid_type =
        |field: &str| StatusError::new(500, "", format!("{field} has an invalid type"));
    let text = |value: &Value, field: &str| match value.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid_type(field)),
    };
    let grace = options.get("gracePeriodSeconds").filter(|value| !value.is_null());
    let grace = grace.map(|it| it.as_i64().ok_or_else(|| invalid_type("gracePeriodSeconds")));
    let orphan = options.get("orphanDependents").filter(|value| !value.is_null());
    let orphan = orphan.map(|it| it.as_bool().ok_or_else(|| invalid_type("orphanDependents")));
    let dry_run = options.get("dryRun").filter(|value| !value.is_null());
    let dry_run: Option<Vec<String>> = dry_run
        .map(|raw| serde_json::from_value(raw.clone()))
        .transpose()
        .map_err(|_| invalid_type("dryRun"))?;
    let nothing = Value::Null;
    let preconditions = options.get("preconditions").unwrap_or(&nothing);
    Ok(RawDeleteOptions {
        dry_run: dry_run.unwrap_or_default(),
        grace_period_seconds: grace.transpose()?,
        orphan_dependents: orphan.transpose()?,
        propagation_policy: text(options, "propagationPolicy")?,
        uid: text(preconditions, "uid")?,
        resource_version: text(preconditions, "resourceVersion")?,
    })
}

fn from_query(query: &QueryParams) -> ApiResult<RawDeleteOptions> {
    let given = |name: &str| query.get(name).filter(|value| !value.is_empty());
    let grace = given("gracePeriodSeconds").map(|text| {
        text.parse().map_err(|_| StatusError::bad_request(go_parse_error("ParseInt", text)))
    });
    Ok(RawDeleteOptions {
        dry_run: query.all("dryRun").map(str::to_owned).collect(),
        grace_period_seconds: grace.transpose()?,
        orphan_dependents: given("orphanDependents").map(|it| !matches!(it, "false" | "0")),
        propagation_policy: given("propagationPolicy").map(str::to_owned),
        uid: None,
        resource_version: None,
    })
}

impl RawDeleteOptions {
    fn validate(self) -> ApiResult<DeleteOptions> {
        let mut causes = Vec::new();
        let mut report = |kind, value: &str, detail: &str| {
            causes.push(StatusCause::from(&FieldError::of(
                kind,
                "propagationPolicy",
                value,
                detail,
            )));
        };
        let policy = self.propagation_policy.as_deref();
        if let (Some(policy), Some(_)) = (policy, self.orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            report(FieldErrorKind::Invalid, policy, detail);
        }
        let policy = match policy {
            None => None,
            Some("Orphan") => Some(Propagation::Orphan),
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some(other) => {
                let detail = r#"supported values: "Foreground", "Background", "Orphan", "nil""#;
                report(FieldErrorKind::NotSupported, other, detail);
                None
            }
        };
        let dry_run = dry_run(self.dry_run.iter().map(String::as_str), &mut causes);
        if !causes.is_empty() {
            return Err(StatusError::invalid_with_causes(
                "DeleteOptions",
                "meta.k8s.io",
                "",
                causes,
            ));
        }
        Ok(DeleteOptions {
            dry_run,
            grace_period_seconds: self.grace_period_seconds,
            orphan_dependents: self.orphan_dependents,
            policy,
            uid: self.uid,
            resource_version: self.resource_version,
        })
    }
}
