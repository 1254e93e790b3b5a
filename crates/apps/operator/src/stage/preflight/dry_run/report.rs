//! What is said about all objects together.

use std::collections::BTreeMap;

use fairway_findings::{CheckKind, CheckReport, CheckStatus, Finding, Reason};
use fairway_release::ObjectId;

use super::verdict::{Refusal, Verdict};

/// What the check is called.
pub(in crate::stage::preflight) const NAME: &str = "dry-run";

/// Objects that a message names: as many as people read; the rest is counted.
const NAMED: usize = 5;

/// An object, and what was said about it.
type Told = (ObjectId, String);

/// What came of the objects of a release so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    good: usize,
    left: usize,
    not_yet: usize,
    untried: Vec<Told>,
    unanswered: Vec<Told>,
    refused: BTreeMap<Refusal, Vec<Told>>,
}

impl Tally {
    pub(super) fn add(&mut self, id: &ObjectId, verdict: Verdict) {
        let told = |why| (id.clone(), why);
        match verdict {
            Verdict::Good => self.good += 1,
            Verdict::Left => self.left += 1,
            Verdict::NotYet => self.not_yet += 1,
            Verdict::Untried(why) => self.untried.push(told(why)),
            Verdict::Unanswered(why) => self.unanswered.push(told(why)),
            Verdict::Refused(refusal, why) => {
                self.refused.entry(refusal).or_default().push(told(why));
            }
        }
    }

    /// Objects of which something is known.
    pub(super) fn done(&self) -> usize {
        let told = self.untried.len() + self.unanswered.len() + self.answered();
        told + self.left + self.not_yet
    }

    /// Objects about which the API server has decided.
    fn answered(&self) -> usize {
        self.good + self.refused.values().map(Vec::len).sum::<usize>()
    }

    /// What became of the check. Only an API server that gives no answer leaves it without one.
    pub(super) fn report(&self) -> CheckReport {
        let status = match (self.refused.is_empty(), self.unanswered.is_empty()) {
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

    /// How many objects were tried, and why the others were not.
    fn message(&self) -> String {
        let mut parts = vec![format!("objects tested: {} of {}", self.answered(), self.done())];
        if self.left > 0 {
            parts.push(format!("not changed by the update: {}", self.left));
        }
        if self.not_yet > 0 {
            parts.push(format!(
                "dependent on objects that the release creates first: {}",
                self.not_yet
            ));
        }
        for (told, what) in
            [(&self.untried, "without dry-run support"), (&self.unanswered, "without a result")]
        {
            if let Some((id, why)) = told.first() {
                parts.push(format!("{what}: {}, such as {id} ({why})", told.len()));
            }
        }
        parts.join("; ")
    }

    /// What was found, in the order of names.
    pub(super) fn findings(&self, version: &str) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            self.refused.iter().filter_map(|(kind, told)| finding(*kind, told, version)).collect();
        findings.sort_by(|a, b| a.name.cmp(&b.name));
        findings
    }
}

fn finding(refusal: Refusal, told: &[Told], version: &str) -> Option<Finding> {
    let (first, _) = told.first()?;
    let (name, because) = match refusal {
        Refusal::Invalid => ("ManifestInvalid", "as invalid"),
        Refusal::Immutable => ("ManifestImmutable", "as changes of immutable fields"),
        Refusal::Forbidden => ("ManifestForbidden", "as forbidden"),
        Refusal::Denied => ("ManifestDenied", "as denied by a policy or a webhook"),
        Refusal::Missing => {
            ("ManifestPrerequisiteMissing", "because a required kind or namespace does not exist")
        }
    };
    let objects = if told.len() == 1 { "object" } else { "objects" };
    let message = format!(
        "The API server would refuse {} {objects} of {version} {because}: {}.",
        told.len(),
        listed(told),
    );
    let found = match refusal {
        // A component of the release may still make it when it runs.
        Refusal::Missing => Finding::warning(name, message),
        _ => Finding::critical(name, message),
    };
    Some(Finding {
        target_version: version.to_owned(),
        check: NAME.to_owned(),
        reason: Reason::PreflightValidation,
        ..found.remediation(remedy(refusal, first))
    })
}

fn listed(told: &[Told]) -> String {
    let named: Vec<String> =
        told.iter().take(NAMED).map(|(id, why)| format!("{id} ({why})")).collect();
    let more = told.len().saturating_sub(NAMED);
    let more = if more == 0 { String::new() } else { format!("; and {more} more") };
    format!("{}{more}", named.join("; "))
}

fn remedy(refusal: Refusal, first: &ObjectId) -> String {
    let (in_namespace, object) = addressed(first);
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
        Refusal::Missing => "Install the component that provides it before the update, or ask the \
                             publisher of the release. List what the cluster has: `kubectl get \
                             customresourcedefinitions,apiservices,namespaces`."
            .to_owned(),
    }
}

/// How `kubectl` is told which object is meant.
fn addressed(id: &ObjectId) -> (String, String) {
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

    fn tally(verdicts: Vec<Verdict>) -> Tally {
        let mut tally = Tally::default();
        for (number, verdict) in verdicts.into_iter().enumerate() {
            tally.add(&id(number), verdict);
        }
        tally
    }

    fn told(tally: &Tally) -> String {
        let CheckReport { name, status, message, .. } = tally.report();
        let findings = tally.findings("5.1.0").into_iter().map(|finding| {
            let Finding { name, severity, message, remediation, .. } = finding;
            format!("{name} ({severity}): {message}\n  {remediation}")
        });
        let report = format!("{name} {status:?}: {message}");
        std::iter::once(report).chain(findings).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_cannot_be_tried_is_counted_and_no_finding() {
        let why = || "x".to_owned();
        let good = tally(vec![Verdict::Good, Verdict::Good, Verdict::NotYet, Verdict::Left]);
        let untried = tally(vec![Verdict::Good, Verdict::Untried(why()), Verdict::Untried(why())]);
        let unanswered = tally(vec![Verdict::Good, Verdict::Unanswered(why())]);
        insta::assert_snapshot!([good, untried, unanswered].map(|it| told(&it)).join("\n"), @r#"
        dry-run Passed: objects tested: 2 of 4; not changed by the update: 1; dependent on objects that the release creates first: 1
        dry-run Passed: objects tested: 1 of 3; without dry-run support: 2, such as deployment "shop/web-1" (x)
        dry-run CannotTell: objects tested: 1 of 2; without a result: 1, such as deployment "shop/web-1" (x)
        "#);
    }

    #[test]
    fn what_is_refused_is_named_with_what_to_do() {
        let refused = |refusal| Verdict::Refused(refusal, format!("{refusal:?} it is"));
        let mut verdicts = vec![Verdict::Good; 2];
        verdicts.extend([Refusal::Denied, Refusal::Immutable, Refusal::Forbidden].map(refused));
        verdicts.push(refused(Refusal::Missing));
        verdicts.extend(vec![refused(Refusal::Invalid); 7]);
        verdicts.push(Verdict::Unanswered("x".to_owned()));
        insta::assert_snapshot!(told(&tally(verdicts)), @r#"
        dry-run Found: objects tested: 13 of 14; without a result: 1, such as deployment "shop/web-13" (x)
        ManifestDenied (critical): The API server would refuse 1 object of 5.1.0 as denied by a policy or a webhook: deployment "shop/web-2" (Denied it is).
          Change the policy or the webhook that the message names, so that it allows the objects of the release: `kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`.
        ManifestForbidden (critical): The API server would refuse 1 object of 5.1.0 as forbidden: deployment "shop/web-4" (Forbidden it is).
          Raise the quota, or change the policy that forbids the object: `kubectl -n shop describe resourcequotas`.
        ManifestImmutable (critical): The API server would refuse 1 object of 5.1.0 as changes of immutable fields: deployment "shop/web-3" (Immutable it is).
          Delete the object at a time when the cluster can do without it; the update creates it again: `kubectl -n shop delete deployment.apps web-3`.
        ManifestInvalid (critical): The API server would refuse 7 objects of 5.1.0 as invalid: deployment "shop/web-6" (Invalid it is); deployment "shop/web-7" (Invalid it is); deployment "shop/web-8" (Invalid it is); deployment "shop/web-9" (Invalid it is); deployment "shop/web-10" (Invalid it is); and 2 more.
          Compare the object with the error: `kubectl -n shop get deployment.apps web-6 -o yaml`. To manage the object yourself, list it as unmanaged in spec.overrides: `kubectl edit clusterversion version`.
        ManifestPrerequisiteMissing (warning): The API server would refuse 1 object of 5.1.0 because a required kind or namespace does not exist: deployment "shop/web-5" (Missing it is).
          Install the component that provides it before the update, or ask the publisher of the release. List what the cluster has: `kubectl get customresourcedefinitions,apiservices,namespaces`.
        "#);
    }
}
