//! What a preflight has asked the API server for, by the audit log.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use fairway_testkit::{AuditEvent, AuditLog, AuditMark};

/// The account of the release that is asked.
const RUN: &str = "system:serviceaccount:openshift-cluster-version:preflight-runner";

/// The accounts of its checks.
const CHECKS: &str = "system:serviceaccount:openshift-cluster-version-preflight:";

/// Requests of a preflight.
#[derive(Default)]
pub(crate) struct Asked {
    /// Those of the release itself and of its built-in checks, by what was done to what.
    run: BTreeMap<String, usize>,
    checks: BTreeMap<String, usize>,
}

impl Asked {
    /// What was asked since then.
    pub(crate) fn since(log: &AuditLog, mark: AuditMark) -> Result<Self> {
        let mut asked = Self::default();
        for event in log.since(mark)?.iter().filter(|event| !event.ends_watch()) {
            if event.user.username == RUN {
                *asked.run.entry(what(event)).or_default() += 1;
            } else if event.user.username.starts_with(CHECKS) {
                *asked.checks.entry(check(event)).or_default() += 1;
            }
        }
        Ok(asked)
    }

    pub(crate) fn of_the_run(&self) -> usize {
        self.run.values().sum()
    }

    /// How many requests each check has made.
    pub(crate) fn of_checks(&self) -> impl Iterator<Item = (&str, usize)> {
        self.checks.iter().map(|(check, count)| (check.as_str(), *count))
    }
}

/// The requests of the run, the most frequent first.
impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<(&String, &usize)> = self.run.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let told: Vec<String> =
            all.into_iter().map(|(what, count)| format!("{count} {what}")).collect();
        f.write_str(&told.join(", "))
    }
}

/// Such as `watch configmaps`, or the path of what is no object.
fn what(event: &AuditEvent) -> String {
    let path = event.request_uri.split('?').next().unwrap_or_default();
    let resource = event.object_ref.as_ref().map_or(path, |object| &object.resource);
    format!("{} {resource}", event.verb)
}

/// The operator whose check it is: pods are named after their Jobs, and Jobs after the check. Old API
/// servers do not tell the pod; checks look at the namespace of their operator.
fn check(event: &AuditEvent) -> String {
    let namespace = event.object_ref.as_ref().map(|object| object.namespace.as_str());
    let operator = namespace.and_then(|namespace| namespace.strip_prefix("openshift-"));
    let pod = event.user.pod().and_then(|pod| pod.split("-preflight").next());
    pod.or(operator).unwrap_or("that nobody knows").to_owned()
}
