//! Exchange of Job requests and answers with a run, through files in its results directory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fairway_findings::jobs::{ANSWERS, JobAnswers, JobRequest, JobRequests, JobState, REQUESTS};
use fairway_findings::labels::RunOwner;
use fairway_findings::vet::{self, AccessPolicy, Network};
use fairway_findings::{CheckKind, CheckReport, CheckStatus, Document};
use fairway_release::Release;
use fairway_release::inclusion::ManifestFilter;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use super::{Jobs, ReleaseChecks};
use crate::settings::{CheckNetwork, PreflightSettings};
use crate::stage::preflight::deployment::PreflightRun;
use crate::stage::preflight::run_directory::{FileVersion, RunDirectory};
use crate::stage::preflight::writer::PreflightWriter;
use crate::text;

/// Reads a run's Job requests, reconciles the Jobs and writes the answers.
pub(in crate::stage::preflight) struct JobBroker {
    run: String,
    requests: watch::Sender<JobRequests>,
    answers: watch::Receiver<JobAnswers>,
    /// Checks of the target release that this cluster gets, once the release is retrieved.
    release: watch::Sender<Option<Arc<ReleaseChecks>>>,
    filter: Option<ManifestFilter>,
    network: Network,
    /// Secrets that checks may read; `None` if the operator grants none.
    secrets: Option<BTreeSet<String>>,
    /// Refused checks of the release, with the reason.
    refusals: BTreeMap<String, (CheckStatus, String)>,
    reconcile: BoxFuture<'static, ()>,
    /// Version of the requests file that was read last.
    version: Option<FileVersion>,
}

impl JobBroker {
    /// Starts to process requests. Reads existing requests first, so that a resumed run keeps its
    /// Jobs.
    pub(in crate::stage::preflight) fn open(
        run: &PreflightRun,
        settings: &PreflightSettings,
        writer: &PreflightWriter,
        directory: &RunDirectory,
    ) -> Self {
        let version = directory.version(REQUESTS);
        let (requests, receiver) =
            watch::channel(read_requests(directory, run.id.as_str()).unwrap_or_default());
        let (out, answers) = watch::channel(JobAnswers::default());
        let job_parameters = job_parameters(run, settings);
        let network = job_parameters.network;
        let jobs = Jobs::new(writer.clone(), job_parameters).with_egress(settings.egress.clone());
        let (release, checks) = watch::channel(None);
        let reconcile = jobs.follow(receiver, checks, out).boxed();
        let secrets = settings.grant_secrets.then(|| run.secrets.clone());
        Self {
            run: run.id.to_string(),
            requests,
            answers,
            release,
            filter: None,
            network,
            secrets,
            refusals: BTreeMap::new(),
            reconcile,
            version,
        }
    }

    /// Sets the checks of the release that this cluster gets; all other requests are refused.
    /// Returns whether they changed.
    pub(in crate::stage::preflight) fn set_release(
        &mut self,
        release: &Release,
        is_verified: bool,
        filter: &ManifestFilter,
    ) -> bool {
        let policy = AccessPolicy { is_verified, secrets: self.secrets.clone() };
        let is_known = self.filter.as_ref() == Some(filter)
            && self.release.borrow().as_ref().is_some_and(|known| *known.policy() == policy);
        if !is_known {
            let checks = ReleaseChecks::of(&release.manifests, filter).with_policy(policy);
            self.release.send_replace(Some(Arc::new(checks)));
            self.filter = Some(filter.clone());
        }
        !is_known
    }

    /// Adds to the results what only the operator knows: refused checks, granted permissions, and
    /// hints for refused Pods.
    pub(in crate::stage::preflight) fn add_results(&self, document: &mut Document) {
        add_refusals(document, &self.refusals);
        let release = self.release.borrow().clone();
        release.unwrap_or_default().set_granted(document);
        add_admission_hints(document, self.network);
    }

    /// Reads the requests if the file changed.
    pub(in crate::stage::preflight) fn poll(&mut self, directory: &RunDirectory) {
        let version = directory.version(REQUESTS);
        if version == self.version {
            return;
        }
        self.version = version;
        if let Some(requests) = read_requests(directory, &self.run) {
            self.requests.send_replace(requests);
        }
    }

    /// Reconciles Jobs until there is an answer.
    pub(in crate::stage::preflight) async fn reconcile(&mut self) {
        tokio::select! {
            // `follow` returns only after its channels are closed, and `self` holds them.
            () = &mut self.reconcile => std::future::pending().await,
            changed = self.answers.changed() => if changed.is_err() {
                std::future::pending::<()>().await;
            },
        }
    }

    /// Writes the answers. Until a run finds its answer, it requests nothing else. Returns whether
    /// the refused checks changed.
    pub(in crate::stage::preflight) fn write_answers(&mut self, directory: &RunDirectory) -> bool {
        let answers = self.answers.borrow_and_update().clone();
        let is_news = self.record_refusals(&answers);
        let written = serde_json::to_vec(&answers)
            .map_err(std::io::Error::from)
            .and_then(|bytes| directory.write(ANSWERS, &bytes));
        if let Err(error) = written {
            tracing::warn!(error = text::chain(&error), "cannot write preflight Job responses");
        }
        is_news
    }

    /// Records which checks are refused. The target release may report something else about them,
    /// or withdraw the request, so a refusal stays until the check is created.
    fn record_refusals(&mut self, answers: &JobAnswers) -> bool {
        let before = self.refusals.clone();
        let requests = self.requests.borrow();
        let release = self.release.borrow();
        for answer in &answers.jobs {
            let request = requests.jobs.iter().find(|request| request.name == answer.name);
            let Some(JobRequest { check, .. }) = request else { continue };
            let status = match answer.state {
                JobState::Created => {
                    self.refusals.remove(check);
                    continue;
                }
                JobState::Refused => CheckStatus::Refused,
                JobState::AccessRefused => CheckStatus::AccessRefused,
                JobState::NotCreated => continue,
            };
            // Names that the release does not contain are untrusted, and only logged.
            if release.as_ref().is_some_and(|release| release.has(check)) {
                self.refusals.insert(check.clone(), (status, answer.message.clone()));
            }
        }
        self.refusals != before
    }
}

/// Sets the reports of refused checks.
fn add_refusals(document: &mut Document, refusals: &BTreeMap<String, (CheckStatus, String)>) {
    for (name, (status, message)) in refusals {
        let is_it =
            |check: &&mut CheckReport| check.name == *name && check.kind == CheckKind::Operator;
        match document.checks.iter_mut().find(is_it) {
            Some(check) => (check.status, check.message) = (*status, message.clone()),
            None => document.checks.push(CheckReport {
                name: name.clone(),
                status: *status,
                message: message.clone(),
                ..CheckReport::default()
            }),
        }
        document.risks.retain(|finding| finding.check != *name);
    }
    document.checks.sort_by(|one, other| one.name.cmp(&other.name));
}

/// Requests of the run; `None` if they are missing or invalid. The run then gets no answer and
/// times out.
fn read_requests(directory: &RunDirectory, run: &str) -> Option<JobRequests> {
    let complain = |error: String| tracing::warn!(error, "cannot read preflight Job requests");
    let bytes = directory.read(REQUESTS).inspect_err(|error| complain(text::chain(error)));
    let requests = JobRequests::read(&bytes.ok()??, run);
    requests.inspect_err(|error| complain(text::chain(error))).ok()
}

/// Parameters that all Jobs of a run share.
fn job_parameters(run: &PreflightRun, settings: &PreflightSettings) -> vet::RunParameters {
    let tolerations = settings.pod.tolerations.iter().flatten();
    let selector = &settings.pod.node_selector;
    let selector = if selector.is_empty() { None } else { serde_json::to_value(selector).ok() };
    vet::RunParameters {
        id: run.id.to_string(),
        by: RunOwner::Operator,
        source_version: run.source.clone(),
        target_version: run.version.clone(),
        target_image: run.image.clone(),
        network: match settings.check_network {
            CheckNetwork::Pod => Network::Pod,
            CheckNetwork::Host => Network::Host,
        },
        tolerations: tolerations.filter_map(|it| serde_json::to_value(it).ok()).collect(),
        node_selector: selector.unwrap_or(Value::Null),
        pull_secret: None,
    }
}

/// Hint for Pods with host networking that `PodSecurity` refuses.
const HOST_NETWORK_HINT: &str = "--preflight-check-network=host requires the label \
     pod-security.kubernetes.io/enforce=privileged on the namespace openshift-cluster-version-preflight";

/// Hint for Pods that OpenShift refuses.
const OPENSHIFT_HINT: &str =
    "apply the SecurityContextConstraints of deploy/operator/openshift.yaml";

/// Adds hints to the reports of checks whose Pods were refused. The target release does not know
/// the configuration of the operator.
fn add_admission_hints(document: &mut Document, network: Network) {
    for check in &mut document.checks {
        let hint = match check.status {
            CheckStatus::NotStarted => hint(&check.message, network),
            _ => None,
        };
        if let Some(hint) = hint {
            check.message = format!("{}; {hint}", check.message);
        }
    }
}

fn hint(refusal: &str, network: Network) -> Option<&'static str> {
    if refusal.contains("PodSecurity") && network == Network::Host {
        Some(HOST_NETWORK_HINT)
    } else if refusal.contains("security context constraint") {
        Some(OPENSHIFT_HINT)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use fairway_findings::Finding;

    use super::*;

    #[test]
    fn add_refusals_replaces_report_of_target_release() {
        let check = |name: &str, kind| CheckReport {
            name: name.to_owned(),
            kind,
            status: CheckStatus::Passed,
            ..CheckReport::default()
        };
        let finding = |check: &str| Finding { check: check.to_owned(), ..Finding::default() };
        let mut document = Document {
            checks: vec![check("dns", CheckKind::Operator), check("etcd", CheckKind::BuiltIn)],
            risks: vec![finding("dns"), finding("nodes")],
            ..Document::default()
        };
        let refusals = ["dns", "etcd"]
            .map(|name| (name.to_owned(), (CheckStatus::AccessRefused, "no consent".to_owned())));
        add_refusals(&mut document, &refusals.into());
        let rendered: Vec<_> = document
            .checks
            .iter()
            .map(|check| format!("{} {} {}", check.name, check.status, check.message))
            .collect();
        insta::assert_snapshot!(rendered.join("\n"), @"
        dns accessRefused no consent
        etcd passed 
        etcd accessRefused no consent
        ");
        assert_eq!(document.risks, [finding("nodes")]);
    }

    #[test]
    fn add_admission_hints_for_refused_pods() {
        let restricted = r#"cannot create its pod: violates PodSecurity "restricted:latest""#;
        let constraints = "unable to validate against any security context constraint: []";
        let rendered: Vec<String> = [
            (restricted, Network::Host, CheckStatus::NotStarted),
            (restricted, Network::Pod, CheckStatus::NotStarted),
            (constraints, Network::Pod, CheckStatus::NotStarted),
            (constraints, Network::Pod, CheckStatus::Failed),
            ("exceeded quota", Network::Host, CheckStatus::NotStarted),
        ]
        .into_iter()
        .map(|(message, network, status)| {
            let message = message.to_owned();
            let checks = vec![CheckReport { status, message, ..CheckReport::default() }];
            let mut document = Document { checks, ..Document::default() };
            add_admission_hints(&mut document, network);
            document.checks.remove(0).message
        })
        .collect();
        insta::assert_snapshot!(rendered.join("\n"), @r#"
        cannot create its pod: violates PodSecurity "restricted:latest"; --preflight-check-network=host requires the label pod-security.kubernetes.io/enforce=privileged on the namespace openshift-cluster-version-preflight
        cannot create its pod: violates PodSecurity "restricted:latest"
        unable to validate against any security context constraint: []; apply the SecurityContextConstraints of deploy/operator/openshift.yaml
        unable to validate against any security context constraint: []
        exceeded quota
        "#);
    }
}
