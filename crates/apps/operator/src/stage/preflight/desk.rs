//! Where a run asks for the Jobs of its checks: what it writes is read, done, and answered.

use std::sync::Arc;

use fairway_findings::Document;
use fairway_findings::jobs::{ANSWERS, JobAnswers, JobRequests, REQUESTS};
use fairway_findings::labels::By;
use fairway_findings::vet::{self, Network};
use fairway_release::Release;
use fairway_release::inclusion::Filter;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value;
use tokio::sync::watch;

use super::deployment::Run;
use super::hands::Hands;
use super::jobs::{self, Checks, Jobs};
use super::results::{RunDirectory, Stamp};
use crate::settings::{CheckNetwork, PreflightSettings};
use crate::text;

/// Where a run asks for Jobs.
pub(super) struct Desk {
    run: String,
    asked: watch::Sender<JobRequests>,
    answers: watch::Receiver<JobAnswers>,
    /// What the release has for a preflight of a cluster with such features, once it was read.
    release: watch::Sender<Option<Arc<Checks>>>,
    filter: Option<Filter>,
    network: Network,
    work: BoxFuture<'static, ()>,
    /// Which content of the file was read last.
    read: Option<Stamp>,
}

impl Desk {
    /// Opens it. What a run has asked for before is known from the first moment on: an operator that
    /// goes on with it removes no Job that is still wanted.
    pub(super) fn open(
        run: &Run,
        settings: &PreflightSettings,
        hands: &Hands,
        directory: &RunDirectory,
    ) -> Self {
        let read = directory.stamp(REQUESTS);
        let (asked, requests) =
            watch::channel(asked(directory, run.id.as_str()).unwrap_or_default());
        let (out, answers) = watch::channel(JobAnswers::default());
        let Hands { client, leadership } = hands.clone();
        let common = common(run, settings);
        let network = common.network;
        let jobs = Jobs::new(client, leadership, common);
        let (release, checks) = watch::channel(None);
        let work = jobs.follow(requests, checks, out).boxed();
        let (run, filter) = (run.id.to_string(), None);
        Self { run, asked, answers, release, filter, network, work, read }
    }

    /// Says what of the release this cluster would get: nothing else can be asked for. Whether that
    /// is new.
    pub(super) fn vouch(&mut self, release: &Release, filter: &Filter) -> bool {
        let is_new = self.filter.as_ref() != Some(filter);
        if is_new {
            self.release.send_replace(Some(Arc::new(Checks::of(&release.manifests, filter))));
            self.filter = Some(filter.clone());
        }
        is_new
    }

    /// Adds to what the run says what it cannot know: what its checks were granted, and what keeps
    /// their Pods out.
    pub(super) fn add_to(&self, document: &mut Document) {
        let release = self.release.borrow().clone();
        release.unwrap_or_default().tell(document);
        jobs::explain(document, self.network);
    }

    /// Looks whether something else is asked for.
    pub(super) fn look(&mut self, directory: &RunDirectory) {
        let stamp = directory.stamp(REQUESTS);
        if stamp == self.read {
            return;
        }
        self.read = stamp;
        if let Some(requests) = asked(directory, &self.run) {
            self.asked.send_replace(requests);
        }
    }

    /// Does what is asked for, until there is something to answer.
    pub(super) async fn work(&mut self) {
        tokio::select! {
            // It goes on for as long as somebody can ask.
            () = &mut self.work => std::future::pending().await,
            changed = self.answers.changed() => if changed.is_err() {
                std::future::pending::<()>().await;
            },
        }
    }

    /// Answers. A run that does not find an answer asks for nothing else meanwhile.
    pub(super) fn answer(&mut self, directory: &RunDirectory) {
        let answers = self.answers.borrow_and_update().clone();
        let written = serde_json::to_vec(&answers)
            .map_err(std::io::Error::from)
            .and_then(|bytes| directory.write(ANSWERS, &bytes));
        if let Err(error) = written {
            tracing::warn!(error = text::chain(&error), "cannot write preflight Job answers");
        }
    }
}

/// What the run asks for; nothing where that cannot be understood. The run sees that nobody answers.
fn asked(directory: &RunDirectory, run: &str) -> Option<JobRequests> {
    let complain = |error: String| tracing::warn!(error, "cannot read preflight Job requests");
    let bytes = directory.read(REQUESTS).inspect_err(|error| complain(text::chain(error)));
    let requests = JobRequests::read(&bytes.ok()??, run);
    requests.inspect_err(|error| complain(text::chain(error))).ok()
}

/// What all Jobs of a run have in common.
fn common(run: &Run, settings: &PreflightSettings) -> vet::Run {
    let tolerations = settings.pod.tolerations.iter().flatten();
    let selector = &settings.pod.node_selector;
    let selector = if selector.is_empty() { None } else { serde_json::to_value(selector).ok() };
    vet::Run {
        id: run.id.to_string(),
        by: By::Operator,
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
