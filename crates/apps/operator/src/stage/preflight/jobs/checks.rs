//! Checks of a verified release. The operator creates nothing else for its checks.

use std::collections::BTreeMap;

use fairway_findings::jobs::{JobRequest, JobState};
use fairway_findings::vet::{self, AccessPolicy};
use fairway_findings::{CheckKind, Document};
use fairway_release::Manifest;
use fairway_release::inclusion::ManifestFilter;
use serde_json::Value;

use crate::text;

/// Maximum bytes of a quoted name.
const MAX_QUOTED_BYTES: usize = 100;

/// Preflight manifests of a release that this cluster gets, and the permissions that they may have.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReleaseChecks {
    /// Manifests by component.
    manifests: BTreeMap<String, Vec<Value>>,
    policy: AccessPolicy,
}

impl FromIterator<(String, Value)> for ReleaseChecks {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(objects: I) -> Self {
        let mut checks: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for (operator, object) in objects {
            checks.entry(operator).or_default().push(object);
        }
        Self { manifests: checks, policy: AccessPolicy::default() }
    }
}

impl ReleaseChecks {
    /// Selects the preflight manifests that this cluster gets.
    pub fn of(manifests: &[Manifest], filter: &ManifestFilter) -> Self {
        let checks = filter.select(manifests).preflight_checks.into_iter();
        checks.map(|manifest| (manifest.operator().to_owned(), manifest.object())).collect()
    }

    /// Sets the permissions that checks may have. By default they have none of their own.
    #[must_use]
    pub fn with_policy(self, policy: AccessPolicy) -> Self {
        Self { policy, ..self }
    }

    /// Permissions that checks may have.
    pub fn policy(&self) -> &AccessPolicy {
        &self.policy
    }

    /// Whether the release has a check of this name.
    pub(super) fn has(&self, check: &str) -> bool {
        self.objects_of(check).is_some()
    }

    /// Verifies that the release contains all objects of a request, unchanged.
    pub fn verify(&self, request: &JobRequest) -> Result<(), (JobState, String)> {
        let Some(objects) = self.objects_of(&request.check) else {
            return Err((
                JobState::Refused,
                "the release contains no check for this component".to_owned(),
            ));
        };
        let known = |object: &Value| objects.contains(object);
        if !is_job(&request.manifest) || !known(&request.manifest) {
            let why = format!("{}: not a Job of the release", named(&request.manifest));
            return Err((JobState::Refused, why));
        }
        match request.access.iter().find(|object| !known(object)) {
            None => Ok(()),
            Some(other) => {
                let why = format!("{}: not part of the check in the release", named(other));
                Err((JobState::AccessRefused, why))
            }
        }
    }

    /// Sets the granted permissions of all checks that ran. Replaces what the target release
    /// reported about them, which is not trusted.
    pub fn set_granted(&self, document: &mut Document) {
        for check in &mut document.checks {
            let has_run = check.kind == CheckKind::Operator && check.status.has_run();
            check.granted = if has_run { self.granted(&check.name) } else { Vec::new() };
        }
    }

    fn granted(&self, check: &str) -> Vec<String> {
        let objects = self.objects_of(check).unwrap_or_default();
        let (jobs, access): (Vec<Value>, Vec<Value>) = objects.iter().cloned().partition(is_job);
        jobs.first()
            .map(|job| vet::granted(check, job, &access, Some(&self.policy)))
            .unwrap_or_default()
    }

    /// Objects of a check. Its name is the component, with the suffix `-operator` where a built-in
    /// check has the same name.
    fn objects_of(&self, check: &str) -> Option<&[Value]> {
        let operator =
            check.strip_suffix("-operator").and_then(|operator| self.manifests.get(operator));
        self.manifests.get(check).or(operator).map(Vec::as_slice)
    }
}

fn is_job(object: &Value) -> bool {
    object["kind"] == "Job"
}

/// Kind and name of an untrusted object.
fn named(object: &Value) -> String {
    let word = |value: &Value| {
        fairway_text::excerpt(&text::one_line(value.as_str().unwrap_or_default()), MAX_QUOTED_BYTES)
            .into_owned()
    };
    format!("{} {}", word(&object["kind"]), word(&object["metadata"]["name"]))
}

#[cfg(test)]
mod tests {
    use fairway_findings::{CheckReport, CheckStatus};
    use serde_json::json;

    use super::*;

    fn object(kind: &str, name: &str) -> Value {
        let annotations = json!({vet::ANNOTATION: "true"});
        let version = match kind {
            "Job" => "batch/v1",
            "ServiceAccount" => "v1",
            _ => "rbac.authorization.k8s.io/v1",
        };
        let metadata =
            json!({"name": name, "namespace": "openshift-dns", "annotations": annotations});
        json!({"apiVersion": version, "kind": kind, "metadata": metadata})
    }

    fn checks() -> ReleaseChecks {
        let mut job = object("Job", "dns");
        job["spec"]["template"]["spec"]["serviceAccountName"] = json!("reader");
        let mut role = object("Role", "reader");
        role["rules"] = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"], "resourceNames": ["key"]}]);
        let mut binding = object("RoleBinding", "reader");
        binding["roleRef"] = json!({"kind": "Role", "name": "reader"});
        binding["subjects"] =
            json!([{"kind": "ServiceAccount", "name": "reader", "namespace": "openshift-dns"}]);
        let dns = [job, object("ServiceAccount", "reader"), role, binding];
        let etcd = [object("Job", "etcd"), object("ServiceAccount", "etcd")];
        let of = |operator: &'static str| move |object: Value| (operator.to_owned(), object);
        dns.into_iter().map(of("dns")).chain(etcd.into_iter().map(of("etcd"))).collect()
    }

    fn request(check: &str, manifest: &Value, access: &[Value]) -> JobRequest {
        let (check, manifest, access) = (check.to_owned(), manifest.clone(), access.to_vec());
        JobRequest { name: "a-x1y2z".to_owned(), check, manifest, access }
    }

    #[test]
    fn verify_accepts_only_objects_of_release() {
        let checks = checks();
        let [dns, etcd] = ["dns", "etcd"].map(|operator| checks.manifests[operator].clone());
        let mut other_image = dns[0].clone();
        other_image["spec"]["template"]["spec"]["containers"] = json!([{"image": "evil@sha256:1"}]);
        let mut other_rules = dns[2].clone();
        other_rules["rules"][0]["resourceNames"] = json!(["crown-jewels"]);
        let mut other_namespace = dns[2].clone();
        other_namespace["metadata"]["namespace"] = json!("kube-system");
        let rendered: Vec<_> = [
            request("dns", &dns[0], &dns[1..]),
            request("etcd-operator", &etcd[0], &[]),
            request("shiny", &dns[0], &[]),
            request("dns", &other_image, &[]),
            request("dns", &etcd[0], &[]),
            request("dns", &dns[2], &[]),
            request("dns", &dns[0], &[other_rules]),
            request("dns", &dns[0], &[other_namespace]),
            request("dns", &dns[0], &etcd[1..]),
            request("dns", &json!({"kind": "Job"}), &[]),
        ]
        .iter()
        .map(|request| match checks.verify(request) {
            Ok(()) => "it has it".to_owned(),
            Err((state, why)) => format!("{state}: {why}"),
        })
        .collect();
        insta::assert_snapshot!(rendered.join("\n"), @r"
        it has it
        it has it
        refused: the release contains no check for this component
        refused: Job dns: not a Job of the release
        refused: Job etcd: not a Job of the release
        refused: Role reader: not a Job of the release
        accessRefused: Role reader: not part of the check in the release
        accessRefused: Role reader: not part of the check in the release
        accessRefused: ServiceAccount etcd: not part of the check in the release
        refused: Job : not a Job of the release
        ");
    }

    #[test]
    fn set_granted_replaces_reported_permissions() {
        let check = |name: &str, status| CheckReport {
            name: name.to_owned(),
            status,
            granted: vec!["nothing at all".to_owned()],
            ..CheckReport::default()
        };
        let mut document = Document {
            checks: vec![
                check("dns", CheckStatus::Passed),
                check("dns", CheckStatus::AccessRefused),
                check("etcd-operator", CheckStatus::Passed),
                CheckReport { kind: CheckKind::BuiltIn, ..check("dns", CheckStatus::Passed) },
            ],
            ..Document::default()
        };
        let secrets = Some(["openshift-dns/key".to_owned()].into());
        let policy = AccessPolicy { is_verified: true, secrets };
        checks().with_policy(policy).set_granted(&mut document);
        let rendered: Vec<_> =
            document.checks.iter().map(|check| check.granted.join("; ")).collect();
        let granted = "own ServiceAccount reader; get secrets (key) in openshift-dns";
        assert_eq!(rendered, [granted, "", "", ""]);
        // Without consent, the operator has not granted what the target release claims.
        checks().with_policy(AccessPolicy::verified()).set_granted(&mut document);
        assert!(document.checks.iter().all(|check| check.granted.is_empty()), "{document:?}");
    }
}
