//! Interpretation of the API server's responses to a dry run.

use std::collections::BTreeSet;

use fairway_apply::WriteError;
use fairway_release::{Manifest, ObjectId};
use kube::core::Status;
use serde_json::Value;

use crate::apply::{ApplyError, DryRunResult};
use crate::text;

/// Result of the dry run of one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ObjectVerdict {
    /// The API server accepts the object.
    Accepted,
    /// The update does not change the object.
    Unchanged,
    /// The object depends on another one that the release creates first.
    Deferred,
    /// A webhook or proxy does not support dry runs: its message.
    Untested(String),
    /// There is no usable response: why.
    NoResponse(String),
    /// The API server refuses the object: why.
    Refused(Refusal, String),
}

impl ObjectVerdict {
    pub(super) fn is_no_response(&self) -> bool {
        matches!(self, Self::NoResponse(_))
    }
}

/// Why the API server refuses an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    /// The object is invalid.
    Invalid,
    /// The object changes an immutable field.
    Immutable,
    /// The object is forbidden, for example by a quota.
    Forbidden,
    /// A policy or a webhook denies the object.
    Denied,
    /// The kind or namespace exists neither in the cluster nor in the release.
    Missing,
}

/// Kinds and namespaces that a release creates.
#[derive(Clone, Debug, Default)]
pub(super) struct ReleaseContents {
    /// Kinds of its CRDs, by group and name.
    kinds: BTreeSet<(String, String)>,
    namespaces: BTreeSet<String>,
}

impl ReleaseContents {
    pub(super) fn from_manifests<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> Self {
        let mut contents = Self::default();
        for manifest in manifests {
            match (manifest.id.group.as_str(), manifest.id.kind.as_str()) {
                ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                    contents.kinds.extend(defined_kind(manifest));
                }
                ("", "Namespace") => {
                    contents.namespaces.insert(manifest.id.name.clone());
                }
                _ => {}
            }
        }
        contents
    }

    fn defines(&self, ObjectId { group, kind, .. }: &ObjectId) -> bool {
        self.kinds.contains(&(group.clone(), kind.clone()))
    }

    /// Whether the kind of an object exists when the update writes it.
    fn may_provide(&self, id: &ObjectId) -> bool {
        // A new Kubernetes version, which the release contains, may serve more built-in kinds.
        let is_of_kubernetes = !id.group.contains('.') || id.group.ends_with(".k8s.io");
        is_of_kubernetes || self.defines(id)
    }

    /// Whether the namespace of an object exists neither in the cluster nor in the release.
    fn lacks_namespace(&self, id: &ObjectId, status: &Status) -> bool {
        let about = format!("namespaces \"{}\" not found", id.namespace);
        status.code == 404
            && status.message.contains(&about)
            && !self.namespaces.contains(&id.namespace)
    }
}

fn defined_kind(manifest: &Manifest) -> Option<(String, String)> {
    let object = manifest.object();
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
    Some((text("/spec/group")?, text("/spec/names/kind")?))
}

/// Verdict on an object of a release with these CRDs and namespaces.
pub(super) fn evaluate(
    manifest: &Manifest,
    answer: Result<DryRunResult, ApplyError>,
    contents: &ReleaseContents,
) -> ObjectVerdict {
    let id = &manifest.id;
    match answer {
        Ok(DryRunResult::Taken) => ObjectVerdict::Accepted,
        Ok(DryRunResult::Left) => ObjectVerdict::Unchanged,
        Ok(DryRunResult::UnknownKind) if contents.may_provide(id) => ObjectVerdict::Deferred,
        Ok(DryRunResult::UnknownKind) => {
            let why = format!("the API server does not serve {} in {}", id.kind, id.group);
            ObjectVerdict::Refused(Refusal::Missing, why)
        }
        Err(ApplyError::Manifest(error)) => {
            ObjectVerdict::Refused(Refusal::Invalid, error.to_string())
        }
        Err(ApplyError::Write(WriteError::Api(kube::Error::Api(status))))
            if contents.lacks_namespace(id, &status) =>
        {
            ObjectVerdict::Refused(
                Refusal::Missing,
                format!("namespace {} does not exist", id.namespace),
            )
        }
        Err(ApplyError::Write(WriteError::Api(kube::Error::Api(status)))) => {
            match evaluate_status(&status) {
                // The update changes the CRD before its objects.
                ObjectVerdict::Refused(Refusal::Invalid, _) if contents.defines(id) => {
                    ObjectVerdict::Deferred
                }
                verdict => verdict,
            }
        }
        Err(error) => ObjectVerdict::NoResponse(text::cause(&error)),
    }
}

/// Messages of admission about missing objects that the release may create.
const MISSING: [&str; 2] = ["not found", "no PriorityClass with name"];

/// Uses the status code where possible, because proxies return nothing else. Admission plugins
/// choose codes freely, so their messages come first.
fn evaluate_status(status: &Status) -> ObjectVerdict {
    let contains = |words: &str| status.message.contains(words);
    let why = text::excerpt(&text::one_line(&status.message)).into_owned();
    if contains("does not support dry run") {
        return ObjectVerdict::Untested(why);
    }
    if contains("denied the request") || contains("denied request") {
        return ObjectVerdict::Refused(Refusal::Denied, why);
    }
    match status.code {
        404 => ObjectVerdict::Deferred,
        403 if MISSING.into_iter().any(contains) => ObjectVerdict::Deferred,
        403 => ObjectVerdict::Refused(Refusal::Forbidden, why),
        405 => ObjectVerdict::Untested(why),
        422 if contains("field is immutable") || contains("updates to statefulset spec") => {
            ObjectVerdict::Refused(Refusal::Immutable, why)
        }
        400 | 413 | 422 => ObjectVerdict::Refused(Refusal::Invalid, why),
        _ => ObjectVerdict::NoResponse(why),
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::releases;
    use serde_json::json;

    use super::*;

    fn refused(code: u16, message: &str) -> Result<DryRunResult, ApplyError> {
        let status = Status { code, message: message.to_owned(), ..Status::default() };
        Err(WriteError::Api(kube::Error::Api(Box::new(status))).into())
    }

    fn widget() -> Manifest {
        let widget =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
        releases::manifest(&widget).unwrap()
    }

    /// Name of the verdict, without its message.
    fn kind(verdict: &ObjectVerdict) -> String {
        let rendered = format!("{verdict:?}");
        rendered
            .split_once(", \"")
            .or_else(|| rendered.split_once("(\""))
            .map_or(&*rendered, |it| it.0)
            .to_owned()
    }

    #[test]
    fn verdict_of_status_codes() {
        for (code, message, expected) in [
            (422, r#"Widget "a" is invalid: spec.size: Required value"#, "Refused(Invalid"),
            (
                422,
                r#"Job.batch "a" is invalid: spec.template: Invalid value: {}: field is immutable"#,
                "Refused(Immutable",
            ),
            (
                422,
                "updates to statefulset spec for fields other than 'replicas' are forbidden",
                "Refused(Immutable",
            ),
            (400, "Widget in version \"v1\" cannot be handled as a Widget", "Refused(Invalid"),
            (413, "Request entity too large: limit is 3145728", "Refused(Invalid"),
            (403, r#"configmaps "a" is forbidden: exceeded quota: q"#, "Refused(Forbidden"),
            (
                403,
                r#"pods "a" is forbidden: error looking up service account b/c: serviceaccount "c" not found"#,
                "Deferred",
            ),
            (
                403,
                r#"pods "a" is forbidden: no PriorityClass with name high was found"#,
                "Deferred",
            ),
            (403, r#"admission webhook "w.example.com" denied the request: no"#, "Refused(Denied"),
            (400, r#"admission webhook "w.example.com" denied the request: no"#, "Refused(Denied"),
            (
                422,
                "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                "Refused(Denied",
            ),
            (400, r#"admission webhook "w.example.com" does not support dry run"#, "Untested"),
            (405, "the server does not allow this method on the requested resource", "Untested"),
            (404, r#"namespaces "b" not found"#, "Deferred"),
            (409, "the object has been modified", "NoResponse"),
            (429, "too many requests", "NoResponse"),
            (
                500,
                r#"Internal error occurred: failed calling webhook "w.example.com""#,
                "NoResponse",
            ),
            (503, "", "NoResponse"),
            (401, "Unauthorized", "NoResponse"),
        ] {
            let verdict = evaluate(&widget(), refused(code, message), &ReleaseContents::default());
            assert_eq!(kind(&verdict), expected, "{code} {message}");
        }
        let silence =
            evaluate(&widget(), Err(WriteError::NoAnswer.into()), &ReleaseContents::default());
        assert_eq!(kind(&silence), "NoResponse");
    }

    fn definition() -> Manifest {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "widgets.example.com"},
            "spec": {"group": "example.com", "names": {"kind": "Widget"}},
        });
        releases::manifest(&definition).unwrap()
    }

    #[test]
    fn verdict_of_invalid_object_with_changed_crd_is_not_yet() {
        let contents = ReleaseContents::from_manifests([&definition(), &widget()]);
        let invalid = evaluate(&widget(), refused(422, "spec.size: Unsupported value"), &contents);
        assert_eq!(invalid, ObjectVerdict::Deferred);
        let denied = evaluate(&widget(), refused(403, "exceeded quota: q"), &contents);
        assert_eq!(kind(&denied), "Refused(Forbidden", "independent of the CRD");
    }

    #[test]
    fn verdict_of_unknown_kind_depends_on_release() {
        let unknown = |manifest: &Manifest, contents: &ReleaseContents| {
            kind(&evaluate(manifest, Ok(DryRunResult::UnknownKind), contents))
        };
        assert_eq!(
            unknown(&widget(), &ReleaseContents::from_manifests([&definition()])),
            "Deferred"
        );
        assert_eq!(unknown(&widget(), &ReleaseContents::default()), "Refused(Missing");
        for api_version in ["policy/v3", "flowcontrol.apiserver.k8s.io/v9"] {
            let object =
                json!({"apiVersion": api_version, "kind": "New", "metadata": {"name": "a"}});
            let object = releases::manifest(&object).unwrap();
            assert_eq!(
                unknown(&object, &ReleaseContents::default()),
                "Deferred",
                "a newer Kubernetes may serve it"
            );
        }
    }

    #[test]
    fn verdict_of_missing_namespace_depends_on_release() {
        let object = |kind: &str, metadata| {
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            releases::manifest(&object).unwrap()
        };
        let map = object("ConfigMap", json!({"name": "a", "namespace": "b"}));
        let namespace = object("Namespace", json!({"name": "b"}));
        let verdict_of = |message: &str, contents: &ReleaseContents| {
            kind(&evaluate(&map, refused(404, message), contents))
        };
        let absent = r#"namespaces "b" not found"#;
        assert_eq!(verdict_of(absent, &ReleaseContents::from_manifests([&namespace])), "Deferred");
        assert_eq!(verdict_of(absent, &ReleaseContents::default()), "Refused(Missing");
        assert_eq!(verdict_of("page not found", &ReleaseContents::default()), "Deferred");
    }
}
