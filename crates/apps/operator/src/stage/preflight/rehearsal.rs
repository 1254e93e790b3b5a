//! The one check that the release that runs makes itself: whether the API server would take the
//! objects of the target release. To ask that takes the right to write them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_backoff::jittered;
use fairway_findings::{CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding};
use fairway_release::Release;
use fairway_release::inclusion::Filter;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use super::dry_run::{self, Trial, dry_run};
use super::inputs::Surroundings;
use super::run_id::RunId;
use crate::apply::{Context, Owner};
use crate::settings::SelectionSettings;
use crate::stage::target::selection;

/// The time until it is made again, and up to a tenth more: objects, quotas and policies change
/// without anybody being told, and clusters should not all ask at once.
const EVERY: Duration = Duration::from_hours(1);

/// The time after one without an answer: an API server that restarts is back by then.
const RETRY: Duration = Duration::from_mins(5);

/// The time between two, however often what is tried changes.
const BETWEEN: Duration = Duration::from_mins(1);

/// What is tried: it is tried again when that changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Play {
    /// Which manifests of the release this cluster would get.
    pub(super) filter: Filter,
    /// What they would become in this cluster.
    pub(super) context: Context,
}

/// What came of it.
type Review = (CheckReport, Vec<Finding>);

/// Tries something.
type Stage = Box<dyn Fn(Arc<Play>) -> BoxFuture<'static, Review> + Send>;

/// The dry-run that belongs to a run: made when that begins, and again from time to time.
pub(super) struct Rehearsal {
    run: RunId,
    stage: Stage,
    /// What is to be tried now.
    play: Arc<Play>,
    under_way: Option<(Arc<Play>, BoxFuture<'static, Review>)>,
    /// What came of what was tried last.
    done: Option<(Arc<Play>, Review)>,
    /// When it began last.
    began: Instant,
    /// When it begins again.
    due: Instant,
}

impl Rehearsal {
    /// Begins it.
    pub(super) fn begin(client: Client, run: RunId, target: Arc<Release>, play: Play) -> Self {
        let stage = move |play| perform(client.clone(), Arc::clone(&target), play).boxed();
        Self::on(Box::new(stage), run, play, Instant::now())
    }

    fn on(stage: Stage, run: RunId, play: Play, now: Instant) -> Self {
        let play = Arc::new(play);
        let under_way = Some((Arc::clone(&play), stage(Arc::clone(&play))));
        Self { run, stage, play, under_way, done: None, began: now, due: now }
    }

    pub(super) fn is_of(&self, run: &RunId) -> bool {
        self.run == *run
    }

    /// Whether there is an answer.
    pub(super) fn is_over(&self) -> bool {
        self.done.is_some()
    }

    /// That is to be tried from now on. Whether it is something else.
    pub(super) fn consider(&mut self, play: Play) -> bool {
        if *self.play == play {
            return false;
        }
        self.play = Arc::new(play);
        self.due = self.due.min(self.began + BETWEEN);
        true
    }

    /// Goes on until there is an answer, or another one.
    pub(super) async fn step(&mut self) {
        if self.under_way.is_none() {
            fairway_clock::sleep_until(Some(self.due)).await;
            self.began = Instant::now();
            self.under_way = Some((Arc::clone(&self.play), (self.stage)(Arc::clone(&self.play))));
        }
        if let Some((play, work)) = &mut self.under_way {
            let (play, review) = (Arc::clone(play), work.await);
            self.under_way = None;
            self.due = self.began.max(Instant::now()) + pause(&review.0, *play == *self.play);
            self.done = Some((play, review));
        }
    }

    /// Adds what it found to what the target release says, which cannot say it in its place. The
    /// first pass is not over before it is, even if it has not begun: what it found for an operator
    /// before this one stands until then.
    pub(super) fn add_to(document: &mut Document, rehearsal: Option<&Self>) {
        document.checks.retain(|check| check.name != dry_run::NAME);
        document.risks.retain(|found| found.check != dry_run::NAME);
        let done = rehearsal.and_then(|it| Some((&it.play, it.done.as_ref()?)));
        if let Some((play, (tried, (report, findings)))) = done {
            document.checks.push(CheckReport { stale: tried != play, ..report.clone() });
            document.risks.extend(findings.iter().cloned());
        } else {
            document.checks.push(under_way());
            if document.execution_status == ExecutionStatus::Completed {
                document.execution_status = ExecutionStatus::Running;
            }
        }
        document.checks.sort_by(|one, other| one.name.cmp(&other.name));
    }
}

async fn perform(client: Client, target: Arc<Release>, play: Arc<Play>) -> Review {
    let version = target.metadata.version.to_string();
    let Play { filter, context } = &*play;
    let trial = Trial { version: &version, manifests: &target.manifests, filter, context };
    dry_run(client, &trial, dry_run::Settings::default(), |_, _| {}).await
}

/// The time until it is made again.
fn pause(report: &CheckReport, is_current: bool) -> Duration {
    match report.status.is_answer() {
        _ if !is_current => BETWEEN,
        true => jittered(EVERY, 0.1, fairway_clock::random_unit()),
        false => RETRY,
    }
}

fn under_way() -> CheckReport {
    CheckReport {
        name: dry_run::NAME.to_owned(),
        kind: CheckKind::BuiltIn,
        status: CheckStatus::Running,
        ..CheckReport::default()
    }
}

/// Which manifests of a release this cluster would get.
pub(super) fn filter(
    cluster_version: &ClusterVersion,
    settings: &SelectionSettings,
    surroundings: &Surroundings,
    (own, version): (&str, &str),
) -> Filter {
    let gates = surroundings.features.gates(&[version, own]);
    let spec = &cluster_version.spec;
    let noted = cluster_version.status.as_ref().and_then(|status| status.capabilities.as_ref());
    let noted = noted.map_or(&[][..], |noted| &noted.enabled_capabilities);
    let staying: BTreeSet<String> = noted.iter().chain(&settings.always_enabled).cloned().collect();
    let capabilities = selection::capabilities(spec.capabilities.as_ref(), &staying, &gates);
    let loaded = selection::when_loaded(settings, &surroundings.features, &gates, version);
    let applied = selection::when_applied(spec, gates, &capabilities);
    Filter { capabilities: applied.capabilities, overrides: applied.overrides, ..loaded }
}

/// What manifests would become in this cluster.
pub(super) fn context(cluster_version: &ClusterVersion, surroundings: &Surroundings) -> Context {
    let uid = cluster_version.uid().unwrap_or_default();
    let surroundings = surroundings.cluster.clone();
    Context { owner: Owner { uid }, updating: true, surroundings, ..Context::default() }
}

#[cfg(test)]
mod tests;
