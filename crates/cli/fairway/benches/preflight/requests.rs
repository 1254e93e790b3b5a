//! Requests of a preflight, by the audit log.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::Result;
use fairway_testkit::{AuditEvent, AuditLog, AuditMark};

/// The ServiceAccount of the runner.
const RUN: &str = "system:serviceaccount:openshift-cluster-version:preflight-runner";

/// Prefix of the ServiceAccounts of checks.
const CHECKS: &str = "system:serviceaccount:openshift-cluster-version-preflight:";

/// Numbers of requests of a preflight.
#[derive(Default)]
pub(crate) struct PreflightRequests {
    /// Of the runner and its built-in checks, by verb and resource.
    run: BTreeMap<String, usize>,
    /// Of each check.
    checks: BTreeMap<String, usize>,
}

impl PreflightRequests {
    /// Counts the requests after a position of the log.
    pub(crate) fn since(log: &AuditLog, mark: AuditMark) -> Result<Self> {
        let mut requests = Self::default();
        for event in log.since(mark)?.iter().filter(|event| !event.ends_watch()) {
            if event.user.username == RUN {
                *requests.run.entry(verb_and_resource(event)).or_default() += 1;
            } else if event.user.username.starts_with(CHECKS) {
                *requests.checks.entry(check(event)).or_default() += 1;
            }
        }
        Ok(requests)
    }

    pub(crate) fn of_run(&self) -> usize {
        self.run.values().sum()
    }

    /// The number of requests of each check.
    pub(crate) fn of_checks(&self) -> impl Iterator<Item = (&str, usize)> {
        self.checks.iter().map(|(check, count)| (check.as_str(), *count))
    }
}

/// The requests of the runner, most frequent first.
impl fmt::Display for PreflightRequests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<(&String, &usize)> = self.run.iter().collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        let counts: Vec<String> =
            all.into_iter().map(|(request, count)| format!("{count} {request}")).collect();
        f.write_str(&counts.join(", "))
    }
}

/// For example `watch configmaps`; the path for a request without a resource.
fn verb_and_resource(event: &AuditEvent) -> String {
    let path = event.request_uri.split('?').next().unwrap_or_default();
    let resource = event.object_ref.as_ref().map_or(path, |object| &object.resource);
    format!("{} {resource}", event.verb)
}

/// The component of a check: its pod is named after the Job, and the Job after the check. Old API
/// servers do not log the pod; then the namespace that the check reads names the component.
fn check(event: &AuditEvent) -> String {
    let namespace = event.object_ref.as_ref().map(|object| object.namespace.as_str());
    let operator = namespace.and_then(|namespace| namespace.strip_prefix("openshift-"));
    let pod = event.user.pod().and_then(|pod| pod.split("-preflight").next());
    pod.or(operator).unwrap_or("unknown").to_owned()
}
