//! How an object is to be deleted.

use serde_json::Value;

use super::options::dry_run;
use super::refusal::Cause;
use super::refusals::no_number;
use super::{Body, Call, Query, Refusal, meta};
use crate::catalog::Resource;
use crate::field_error::{FieldError, FieldErrorKind};

/// Where the real server has the list of the types of options, which is in its messages.
const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DeleteOptions {
    pub(super) dry_run: bool,
    pub(super) grace_period_seconds: Option<i64>,
    pub(super) orphan_dependents: Option<bool>,
    policy: Option<Dependents>,
    uid: Option<String>,
    resource_version: Option<String>,
}

/// What becomes of the objects that an object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependents {
    /// They stay.
    Orphan,
    /// They go afterwards.
    Background,
    /// They go first.
    Foreground,
}

/// The same in the words of requests.
#[derive(Default)]
struct Words {
    dry_run: Vec<String>,
    grace_period_seconds: Option<i64>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
}

impl DeleteOptions {
    /// Reads the body, or where there is none the parameters.
    pub(super) fn read(call: &Call) -> Result<Self, Refusal> {
        let words = match &call.body {
            Body::Object(options) => of_body(options)?,
            Body::None | Body::Patch(..) => of_query(&call.query)?,
        };
        words.understood()
    }

    /// What becomes of the objects that the object owns, if the client says it.
    pub(super) fn dependents(&self) -> Option<Dependents> {
        let older = |orphan| if orphan { Dependents::Orphan } else { Dependents::Background };
        self.policy.or_else(|| self.orphan_dependents.map(older))
    }

    /// Whether it is the object that the client means.
    pub(super) fn check_preconditions(
        &self,
        resource: &Resource,
        object: &Value,
    ) -> Result<(), Refusal> {
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
                return Err(Refusal::precondition(resource, meta::text(object, "name"), &why));
            }
        }
        Ok(())
    }
}

fn of_body(options: &Value) -> Result<Words, Refusal> {
    let word = |field: &str| options.get(field).and_then(Value::as_str).unwrap_or_default();
    let (kind, version) = (word("kind"), word("apiVersion"));
    if !matches!(kind, "" | "DeleteOptions") {
        return Err(Refusal::new(
            500,
            "",
            format!("no kind {kind:?} is registered for version {version:?} in scheme {SCHEME:?}"),
        ));
    }
    // The real server makes no `Status` of its own of it, hence the 500 without a reason.
    let wrong = |field: &str| Refusal::new(500, "", format!("{field} has an invalid type"));
    let text = |place: &Value, field: &str| match place.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(wrong(field)),
    };
    let grace = options.get("gracePeriodSeconds").filter(|value| !value.is_null());
    let grace = grace.map(|it| it.as_i64().ok_or_else(|| wrong("gracePeriodSeconds")));
    let orphan = options.get("orphanDependents").filter(|value| !value.is_null());
    let orphan = orphan.map(|it| it.as_bool().ok_or_else(|| wrong("orphanDependents")));
    let dry_run = options.get("dryRun").filter(|value| !value.is_null());
    let dry_run: Option<Vec<String>> = dry_run
        .map(|words| serde_json::from_value(words.clone()))
        .transpose()
        .map_err(|_| wrong("dryRun"))?;
    let nothing = Value::Null;
    let preconditions = options.get("preconditions").unwrap_or(&nothing);
    Ok(Words {
        dry_run: dry_run.unwrap_or_default(),
        grace_period_seconds: grace.transpose()?,
        orphan_dependents: orphan.transpose()?,
        propagation_policy: text(options, "propagationPolicy")?,
        uid: text(preconditions, "uid")?,
        resource_version: text(preconditions, "resourceVersion")?,
    })
}

fn of_query(query: &Query) -> Result<Words, Refusal> {
    let given = |name: &str| query.get(name).filter(|value| !value.is_empty());
    let grace = given("gracePeriodSeconds")
        .map(|text| text.parse().map_err(|_| Refusal::bad_request(no_number("ParseInt", text))));
    Ok(Words {
        dry_run: query.all("dryRun").map(str::to_owned).collect(),
        grace_period_seconds: grace.transpose()?,
        orphan_dependents: given("orphanDependents").map(|it| !matches!(it, "false" | "0")),
        propagation_policy: given("propagationPolicy").map(str::to_owned),
        uid: None,
        resource_version: None,
    })
}

impl Words {
    fn understood(self) -> Result<DeleteOptions, Refusal> {
        let mut causes = Vec::new();
        let mut refuse = |kind, value: &str, detail: &str| {
            causes.push(Cause::from(&FieldError::of(kind, "propagationPolicy", value, detail)));
        };
        let policy = self.propagation_policy.as_deref();
        if let (Some(policy), Some(_)) = (policy, self.orphan_dependents) {
            let detail = "orphanDependents and deletionPropagation cannot be both set";
            refuse(FieldErrorKind::Invalid, policy, detail);
        }
        let policy = match policy {
            None => None,
            Some("Orphan") => Some(Dependents::Orphan),
            Some("Background") => Some(Dependents::Background),
            Some("Foreground") => Some(Dependents::Foreground),
            Some(other) => {
                let detail = r#"supported values: "Foreground", "Background", "Orphan", "nil""#;
                refuse(FieldErrorKind::NotSupported, other, detail);
                None
            }
        };
        let dry_run = dry_run(self.dry_run.iter().map(String::as_str), &mut causes);
        if !causes.is_empty() {
            return Err(Refusal::invalid_because("DeleteOptions", "meta.k8s.io", "", causes));
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
