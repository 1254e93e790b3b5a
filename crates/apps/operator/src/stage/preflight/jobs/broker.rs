//! Exchange of Job requests and answers with a run, through files in its results directory.

use std::sync::Arc;

use fairway_findings::jobs::{ANSWERS, JobAnswers, JobRequests, REQUESTS};
use fairway_findings::labels::RunOwner;
use fairway_findings::vet::{self, Network};
use fairway_findings::{CheckStatus, Document};
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
        let jobs = Jobs::new(writer.clone(), job_parameters);
        let (release, checks) = watch::channel(None);
        let reconcile = jobs.follow(receiver, checks, out).boxed();
        let (run, filter) = (run.id.to_string(), None);
        Self { run, requests, answers, release, filter, network, reconcile, version }
    }

    /// Sets the checks of the release that this cluster gets; all other requests are refused.
    /// Returns whether they changed.
    pub(in crate::stage::preflight) fn set_release(
        &mut self,
        release: &Release,
        filter: &ManifestFilter,
    ) -> bool {
        let is_new = self.filter.as_ref() != Some(filter);
        if is_new {
            self.release
                .send_replace(Some(Arc::new(ReleaseChecks::of(&release.manifests, filter))));
            self.filter = Some(filter.clone());
        }
        is_new
    }

    /// Adds to the results what only the operator knows: granted permissions, and hints for refused
    /// Pods.
    pub(in crate::stage::preflight) fn add_results(&self, document: &mut Document) {
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

    /// Writes the answers. Until a run finds its answer, it requests nothing else.
    pub(in crate::stage::preflight) fn write_answers(&mut self, directory: &RunDirectory) {
        let answers = self.answers.borrow_and_update().clone();
        let written = serde_json::to_vec(&answers)
            .map_err(std::io::Error::from)
            .and_then(|bytes| directory.write(ANSWERS, &bytes));
        if let Err(error) = written {
            tracing::warn!(error = text::chain(&error), "cannot write preflight Job responses");
        }
    }
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
    use fairway_findings::CheckReport;

    use super::*;

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
