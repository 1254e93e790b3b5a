//! What an answer of the API server means for the update.

use std::collections::BTreeSet;

use fairway_apply::WriteError;
use fairway_release::{Manifest, ObjectId};
use kube::core::Status;
use serde_json::Value;

use crate::apply::{ApplyError, Rehearsed};
use crate::text;

/// What an answer means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The update can write the object.
    Good,
    /// The update does not write it.
    Left,
    /// The release itself brings first what the object needs.
    NotYet,
    /// Somebody in between does not let it be tried: why.
    Untried(String),
    /// There is no answer: why.
    Unanswered(String),
    /// The update cannot write it: why.
    Refused(Refusal, String),
}

impl Verdict {
    pub(super) fn is_silence(&self) -> bool {
        matches!(self, Self::Unanswered(_))
    }
}

/// Why an object is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Refusal {
    /// It makes no sense to this API server.
    Invalid,
    /// It has a field that can only be chosen when it is created.
    Immutable,
    /// A quota or the like does not allow it.
    Forbidden,
    /// A policy or a webhook does not allow it.
    Denied,
    /// Its kind or its namespace is not there, and the release does not bring it.
    Missing,
}

/// What a release brings for its own objects.
#[derive(Clone, Debug, Default)]
pub(super) struct Brought {
    /// Kinds, by group and name.
    kinds: BTreeSet<(String, String)>,
    namespaces: BTreeSet<String>,
}

impl Brought {
    pub(super) fn by<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> Self {
        let mut brought = Self::default();
        for manifest in manifests {
            match (manifest.id.group.as_str(), manifest.id.kind.as_str()) {
                ("apiextensions.k8s.io", "CustomResourceDefinition") => {
                    brought.kinds.extend(defined_kind(manifest));
                }
                ("", "Namespace") => {
                    brought.namespaces.insert(manifest.id.name.clone());
                }
                _ => {}
            }
        }
        brought
    }

    fn defines(&self, ObjectId { group, kind, .. }: &ObjectId) -> bool {
        self.kinds.contains(&(group.clone(), kind.clone()))
    }

    /// Whether the kind of an object is there before the object is written.
    fn may_bring(&self, id: &ObjectId) -> bool {
        // With a release comes its Kubernetes, and that may have kinds that this one has not.
        let is_of_kubernetes = !id.group.contains('.') || id.group.ends_with(".k8s.io");
        is_of_kubernetes || self.defines(id)
    }

    /// Whether an answer is about the namespace of an object, and the release does not bring that.
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

/// What an answer means for an object of a release that brings this.
pub(super) fn of(
    manifest: &Manifest,
    answer: Result<Rehearsed, ApplyError>,
    brought: &Brought,
) -> Verdict {
    let id = &manifest.id;
    match answer {
        Ok(Rehearsed::Taken) => Verdict::Good,
        Ok(Rehearsed::Left) => Verdict::Left,
        Ok(Rehearsed::UnknownKind) if brought.may_bring(id) => Verdict::NotYet,
        Ok(Rehearsed::UnknownKind) => {
            let why = format!("the API server does not serve {} in {}", id.kind, id.group);
            Verdict::Refused(Refusal::Missing, why)
        }
        Err(ApplyError::Manifest(error)) => Verdict::Refused(Refusal::Invalid, error.to_string()),
        Err(ApplyError::Write(WriteError::Api(kube::Error::Api(status))))
            if brought.lacks_namespace(id, &status) =>
        {
            Verdict::Refused(Refusal::Missing, format!("namespace {} does not exist", id.namespace))
        }
        Err(ApplyError::Write(WriteError::Api(kube::Error::Api(status)))) => {
            match of_status(&status) {
                // The definition changes before the object does.
                Verdict::Refused(Refusal::Invalid, _) if brought.defines(id) => Verdict::NotYet,
                verdict => verdict,
            }
        }
        Err(error) => Verdict::Unanswered(text::cause(&error)),
    }
}

/// What admission says when something is not there that the release may bring.
const MISSING: [&str; 2] = ["not found", "no PriorityClass with name"];

/// Proxies and some servers answer with a code alone, so that counts; admission chooses its own.
fn of_status(status: &Status) -> Verdict {
    let says = |words: &str| status.message.contains(words);
    let why = text::excerpt(&text::one_line(&status.message)).into_owned();
    if says("does not support dry run") {
        return Verdict::Untried(why);
    }
    if says("denied the request") || says("denied request") {
        return Verdict::Refused(Refusal::Denied, why);
    }
    match status.code {
        404 => Verdict::NotYet,
        403 if MISSING.into_iter().any(says) => Verdict::NotYet,
        403 => Verdict::Refused(Refusal::Forbidden, why),
        405 => Verdict::Untried(why),
        422 if says("field is immutable") || says("updates to statefulset spec") => {
            Verdict::Refused(Refusal::Immutable, why)
        }
        400 | 413 | 422 => Verdict::Refused(Refusal::Invalid, why),
        _ => Verdict::Unanswered(why),
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::releases;
    use serde_json::json;

    use super::*;

    fn refused(code: u16, message: &str) -> Result<Rehearsed, ApplyError> {
        let status = Status { code, message: message.to_owned(), ..Status::default() };
        Err(WriteError::Api(kube::Error::Api(Box::new(status))).into())
    }

    fn widget() -> Manifest {
        let widget =
            json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}});
        releases::manifest(&widget).unwrap()
    }

    /// The verdict without its words.
    fn kind(verdict: &Verdict) -> String {
        let told = format!("{verdict:?}");
        told.split_once(", \"")
            .or_else(|| told.split_once("(\""))
            .map_or(&*told, |it| it.0)
            .to_owned()
    }

    #[test]
    fn only_what_the_update_cannot_write_is_refused() {
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
                "NotYet",
            ),
            (403, r#"pods "a" is forbidden: no PriorityClass with name high was found"#, "NotYet"),
            (403, r#"admission webhook "w.example.com" denied the request: no"#, "Refused(Denied"),
            (400, r#"admission webhook "w.example.com" denied the request: no"#, "Refused(Denied"),
            (
                422,
                "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
                "Refused(Denied",
            ),
            (400, r#"admission webhook "w.example.com" does not support dry run"#, "Untried"),
            (405, "the server does not allow this method on the requested resource", "Untried"),
            (404, r#"namespaces "b" not found"#, "NotYet"),
            (409, "the object has been modified", "Unanswered"),
            (429, "too many requests", "Unanswered"),
            (
                500,
                r#"Internal error occurred: failed calling webhook "w.example.com""#,
                "Unanswered",
            ),
            (503, "", "Unanswered"),
            (401, "Unauthorized", "Unanswered"),
        ] {
            let verdict = of(&widget(), refused(code, message), &Brought::default());
            assert_eq!(kind(&verdict), expected, "{code} {message}");
        }
        let silence = of(&widget(), Err(WriteError::NoAnswer.into()), &Brought::default());
        assert_eq!(kind(&silence), "Unanswered");
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
    fn what_a_new_definition_says_is_not_known_yet() {
        let brought = Brought::by([&definition(), &widget()]);
        let invalid = of(&widget(), refused(422, "spec.size: Unsupported value"), &brought);
        assert_eq!(invalid, Verdict::NotYet);
        let denied = of(&widget(), refused(403, "exceeded quota: q"), &brought);
        assert_eq!(kind(&denied), "Refused(Forbidden", "that has nothing to do with it");
    }

    #[test]
    fn a_kind_that_nobody_brings_is_missing() {
        let unknown = |manifest: &Manifest, brought: &Brought| {
            kind(&of(manifest, Ok(Rehearsed::UnknownKind), brought))
        };
        assert_eq!(unknown(&widget(), &Brought::by([&definition()])), "NotYet");
        assert_eq!(unknown(&widget(), &Brought::default()), "Refused(Missing");
        for api_version in ["policy/v3", "flowcontrol.apiserver.k8s.io/v9"] {
            let object =
                json!({"apiVersion": api_version, "kind": "New", "metadata": {"name": "a"}});
            let object = releases::manifest(&object).unwrap();
            assert_eq!(unknown(&object, &Brought::default()), "NotYet", "Kubernetes may bring it");
        }
    }

    #[test]
    fn a_namespace_that_nobody_brings_is_missing() {
        let object = |kind: &str, metadata| {
            let object = json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
            releases::manifest(&object).unwrap()
        };
        let map = object("ConfigMap", json!({"name": "a", "namespace": "b"}));
        let namespace = object("Namespace", json!({"name": "b"}));
        let asked =
            |message: &str, brought: &Brought| kind(&of(&map, refused(404, message), brought));
        let absent = r#"namespaces "b" not found"#;
        assert_eq!(asked(absent, &Brought::by([&namespace])), "NotYet");
        assert_eq!(asked(absent, &Brought::default()), "Refused(Missing");
        assert_eq!(asked("page not found", &Brought::default()), "NotYet");
    }
}
