//! Summary of a dry run: the check report and its findings.

use std::collections::BTreeMap;

use fairway_findings::{CheckKind, CheckReport, CheckStatus, Finding, Reason};
use fairway_release::ObjectId;

use super::verdict::{ObjectVerdict, Refusal};

/// Name of the check.
pub(in crate::stage::preflight) const NAME: &str = "dry-run";

/// Maximum number of objects that a message names.
const MAX_NAMED: usize = 5;

/// An object and the message about it.
type ObjectMessage = (ObjectId, String);

/// Results of the objects of a release.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    accepted: usize,
    unchanged: usize,
    deferred: usize,
    untested: Vec<ObjectMessage>,
    no_response: Vec<ObjectMessage>,
    refused: BTreeMap<Refusal, Vec<ObjectMessage>>,
}

impl Tally {
    pub(super) fn add(&mut self, id: &ObjectId, verdict: ObjectVerdict) {
        let messages = |why| (id.clone(), why);
        match verdict {
            ObjectVerdict::Accepted => self.accepted += 1,
            ObjectVerdict::Unchanged => self.unchanged += 1,
            ObjectVerdict::Deferred => self.deferred += 1,
            ObjectVerdict::Untested(why) => self.untested.push(messages(why)),
            ObjectVerdict::NoResponse(why) => self.no_response.push(messages(why)),
            ObjectVerdict::Refused(refusal, why) => {
                self.refused.entry(refusal).or_default().push(messages(why));
            }
        }
    }

    /// Number of objects with a verdict.
    pub(super) fn done(&self) -> usize {
        let messages = self.untested.len() + self.no_response.len() + self.answered();
        messages + self.unchanged + self.deferred
    }

    /// Number of objects that the API server accepted or refused.
    fn answered(&self) -> usize {
        self.accepted + self.refused.values().map(Vec::len).sum::<usize>()
    }

    /// Report of the check. It has no result if an object got no response and none was refused.
    pub(super) fn report(&self) -> CheckReport {
        let status = match (self.refused.is_empty(), self.no_response.is_empty()) {
            (false, _) => CheckStatus::Found,
            (true, true) => CheckStatus::Passed,
            (true, false) => CheckStatus::CannotTell,
        };
        CheckReport {
            name: NAME.to_owned(),
            kind: CheckKind::BuiltIn,
            status,
            message: self.message(),
            looked_at: vec!["manifests".to_owned()],
            ..CheckReport::default()
        }
    }

    /// Number of tested objects, and why others were not tested.
    fn message(&self) -> String {
        let mut parts = vec![format!("objects tested: {} of {}", self.answered(), self.done())];
        if self.unchanged > 0 {
            parts.push(format!("not changed by the update: {}", self.unchanged));
        }
        if self.deferred > 0 {
            parts.push(format!(
                "dependent on objects that the release creates first: {}",
                self.deferred
            ));
        }
        for (messages, what) in
            [(&self.untested, "without dry-run support"), (&self.no_response, "without a result")]
        {
            if let Some((id, why)) = messages.first() {
                parts.push(format!("{what}: {}, such as {id} ({why})", messages.len()));
            }
        }
        parts.join("; ")
    }

    /// Findings, by name.
    pub(super) fn findings(&self, version: &str) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .refused
            .iter()
            .filter_map(|(kind, messages)| finding(*kind, messages, version))
            .collect();
        findings.sort_by(|a, b| a.name.cmp(&b.name));
        findings
    }
}

fn finding(refusal: Refusal, messages: &[ObjectMessage], version: &str) -> Option<Finding> {
    let (first, _) = messages.first()?;
    let (name, because) = match refusal {
        Refusal::Invalid => ("ManifestInvalid", "as invalid"),
        Refusal::Immutable => ("ManifestImmutable", "because of changes to immutable fields"),
        Refusal::Forbidden => ("ManifestForbidden", "as forbidden"),
        Refusal::Denied => ("ManifestDenied", "because of a policy or a webhook"),
        Refusal::Missing => {
            ("ManifestPrerequisiteMissing", "because a required kind or namespace does not exist")
        }
    };
    let objects = if messages.len() == 1 { "object" } else { "objects" };
    let message = format!(
        "The API server would refuse {} {objects} of {version} {because}: {}.",
        messages.len(),
        listed(messages),
    );
    let found = match refusal {
        // A component of the release may create it at run time.
        Refusal::Missing => Finding::warning(name, message),
        _ => Finding::critical(name, message),
    };
    Some(Finding {
        target_version: version.to_owned(),
        check: NAME.to_owned(),
        reason: Reason::PreflightValidation,
        ..found.remediation(remediation(refusal, first))
    })
}

fn listed(messages: &[ObjectMessage]) -> String {
    let named: Vec<String> =
        messages.iter().take(MAX_NAMED).map(|(id, why)| format!("{id} ({why})")).collect();
    let more = messages.len().saturating_sub(MAX_NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{more}", named.join("; "))
}

fn remediation(refusal: Refusal, first: &ObjectId) -> String {
    let (in_namespace, object) = kubectl_arguments(first);
    match refusal {
        Refusal::Invalid => format!(
            "Compare the object with the error: `kubectl{in_namespace} get {object} -o yaml`. To \
             manage the object yourself, list it as unmanaged in spec.overrides: `kubectl edit \
             clusterversion version`."
        ),
        Refusal::Immutable => format!(
            "Delete the object at a time when the cluster can do without it; the update creates it \
             again: `kubectl{in_namespace} delete {object}`."
        ),
        Refusal::Forbidden => format!(
            "Raise the quota, or change the policy that forbids the object: \
             `kubectl{in_namespace} describe resourcequotas`."
        ),
        Refusal::Denied => "Change the policy or the webhook that the message names, so that it \
                            allows the objects of the release: `kubectl get \
                            validatingwebhookconfigurations,mutatingwebhookconfigurations`."
            .to_owned(),
        Refusal::Missing => "Before the update, install the component that provides the kind or \
                             namespace, or ask the publisher of the release. List the existing \
                             ones: `kubectl get customresourcedefinitions,apiservices,namespaces`."
            .to_owned(),
    }
}

/// Arguments of `kubectl` for an object: namespace, kind and name.
fn kubectl_arguments(id: &ObjectId) -> (String, String) {
    let ObjectId { group, kind, namespace, name } = id;
    let kind = kind.to_lowercase();
    let kind = if group.is_empty() { kind } else { format!("{kind}.{group}") };
    let in_namespace =
        if namespace.is_empty() { String::new() } else { format!(" -n {namespace}") };
    (in_namespace, format!("{kind} {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> ObjectId {
        ObjectId {
            group: "apps".to_owned(),
            kind: "Deployment".to_owned(),
            namespace: "shop".to_owned(),
            name: format!("web-{number}"),
        }
    }

    fn tally(verdicts: Vec<ObjectVerdict>) -> Tally {
        let mut tally = Tally::default();
        for (number, verdict) in verdicts.into_iter().enumerate() {
            tally.add(&id(number), verdict);
        }
        tally
    }

    fn messages(tally: &Tally) -> String {
        let CheckReport { name, status, message, .. } = tally.report();
        let findings = tally.findings("5.1.0").into_iter().map(|finding| {
            let Finding { name, severity, message, remediation, .. } = finding;
            format!("{name} ({severity}): {message}\n  {remediation}")
        });
        let report = format!("{name} {status:?}: {message}");
        std::iter::once(report).chain(findings).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn report_counts_untested_objects_without_findings() {
        let why = || "x".to_owned();
        let accepted = tally(vec![
            ObjectVerdict::Accepted,
            ObjectVerdict::Accepted,
            ObjectVerdict::Deferred,
            ObjectVerdict::Unchanged,
        ]);
        let untested = tally(vec![
            ObjectVerdict::Accepted,
            ObjectVerdict::Untested(why()),
            ObjectVerdict::Untested(why()),
        ]);
        let no_response = tally(vec![ObjectVerdict::Accepted, ObjectVerdict::NoResponse(why())]);
        insta::assert_snapshot!([accepted, untested, no_response].map(|it| messages(&it)).join("\n"), @r#"
        dry-run Passed: objects tested: 2 of 4; not changed by the update: 1; dependent on objects that the release creates first: 1
        dry-run Passed: objects tested: 1 of 3; without dry-run support: 2, such as deployment "shop/web-1" (x)
        dry-run CannotTell: objects tested: 1 of 2; without a result: 1, such as deployment "shop/web-1" (x)
        "#);
    }

    #[test]
    fn findings_of_refused_objects_have_remediation() {
        let refused = |refusal| ObjectVerdict::Refused(refusal, format!("{refusal:?} it is"));
        let mut verdicts = vec![ObjectVerdict::Accepted; 2];
        verdicts.extend([Refusal::Denied, Refusal::Immutable, Refusal::Forbidden].map(refused));
        verdicts.push(refused(Refusal::Missing));
        verdicts.extend(vec![refused(Refusal::Invalid); 7]);
        verdicts.push(ObjectVerdict::NoResponse("x".to_owned()));
        insta::assert_snapshot!(messages(&tally(verdicts)), @r#"
        dry-run Found: objects tested: 13 of 14; without a result: 1, such as deployment "shop/web-13" (x)
        ManifestDenied (critical): The API server would refuse 1 object of 5.1.0 because of a policy or a webhook: deployment "shop/web-2" (Denied it is).
          Change the policy or the webhook that the message names, so that it allows the objects of the release: `kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`.
        ManifestForbidden (critical): The API server would refuse 1 object of 5.1.0 as forbidden: deployment "shop/web-4" (Forbidden it is).
          Raise the quota, or change the policy that forbids the object: `kubectl -n shop describe resourcequotas`.
        ManifestImmutable (critical): The API server would refuse 1 object of 5.1.0 because of changes to immutable fields: deployment "shop/web-3" (Immutable it is).
          Delete the object at a time when the cluster can do without it; the update creates it again: `kubectl -n shop delete deployment.apps web-3`.
        ManifestInvalid (critical): The API server would refuse 7 objects of 5.1.0 as invalid: deployment "shop/web-6" (Invalid it is); deployment "shop/web-7" (Invalid it is); deployment "shop/web-8" (Invalid it is); deployment "shop/web-9" (Invalid it is); deployment "shop/web-10" (Invalid it is); and 2 more.
          Compare the object with the error: `kubectl -n shop get deployment.apps web-6 -o yaml`. To manage the object yourself, list it as unmanaged in spec.overrides: `kubectl edit clusterversion version`.
        ManifestPrerequisiteMissing (warning): The API server would refuse 1 object of 5.1.0 because a required kind or namespace does not exist: deployment "shop/web-5" (Missing it is).
          Before the update, install the component that provides the kind or namespace, or ask the publisher of the release. List the existing ones: `kubectl get customresourcedefinitions,apiservices,namespaces`.
        "#);
    }
}
