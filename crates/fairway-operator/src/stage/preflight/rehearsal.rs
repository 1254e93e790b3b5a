//! The one check that the release that runs makes itself: whether the API server would take the
//! objects of the target release. To ask that takes the right to write them.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_findings::{CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding};
use fairway_release::Release;
use fairway_release::inclusion::Filter;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::{Client, ResourceExt as _};

use super::dry_run::{self, Trial, dry_run};
use super::inputs::Surroundings;
use super::run_id::RunId;
use crate::apply::{Context, Owner};
use crate::settings::SelectionSettings;
use crate::stage::target::selection;

/// The dry-run that belongs to a run.
pub(super) struct Rehearsal {
    run: RunId,
    state: State,
}

enum State {
    Running(BoxFuture<'static, (CheckReport, Vec<Finding>)>),
    Done(CheckReport, Vec<Finding>),
}

impl Rehearsal {
    /// Begins it: once for each run.
    pub(super) fn begin(
        client: Client,
        run: RunId,
        target: Arc<Release>,
        filter: Filter,
        context: Context,
    ) -> Self {
        let work = async move {
            let version = target.metadata.version.to_string();
            let trial = Trial {
                version: &version,
                manifests: &target.manifests,
                filter: &filter,
                context: &context,
            };
            dry_run(client, &trial, dry_run::Settings::default(), |_, _| {}).await
        };
        Self { run, state: State::Running(work.boxed()) }
    }

    pub(super) fn is_of(&self, run: &RunId) -> bool {
        self.run == *run
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Done(..))
    }

    /// Goes on until it is over.
    pub(super) async fn step(&mut self) {
        match &mut self.state {
            State::Done(..) => std::future::pending().await,
            State::Running(work) => {
                let (report, findings) = work.await;
                self.state = State::Done(report, findings);
            }
        }
    }

    /// Adds what it found to what the target release says, which cannot say it in its place. The
    /// first pass is not over before it is, even if it has not begun: what it found for an operator
    /// before this one stands until then.
    pub(super) fn add_to(document: &mut Document, rehearsal: Option<&Self>) {
        document.checks.retain(|check| check.name != dry_run::NAME);
        document.risks.retain(|found| found.check != dry_run::NAME);
        match rehearsal.map(|rehearsal| &rehearsal.state) {
            Some(State::Done(report, findings)) => {
                document.checks.push(report.clone());
                document.risks.extend(findings.iter().cloned());
            }
            Some(State::Running(_)) | None => {
                document.checks.push(under_way());
                if document.execution_status == ExecutionStatus::Completed {
                    document.execution_status = ExecutionStatus::Running;
                }
            }
        }
        document.checks.sort_by(|one, other| one.name.cmp(&other.name));
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
    Context { owner: Owner { uid }, updating: true, surroundings }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rehearsal(state: State) -> Rehearsal {
        Rehearsal { run: RunId::random().unwrap(), state }
    }

    fn said() -> Document {
        let execution_status = ExecutionStatus::Completed;
        let check = CheckReport { name: "nodes".to_owned(), ..CheckReport::default() };
        Document { execution_status, checks: vec![check], ..Document::default() }
    }

    #[test]
    fn the_pass_is_not_over_before_the_dry_run_is() {
        let running = rehearsal(State::Running(futures::future::pending().boxed()));
        for rehearsal in [Some(&running), None] {
            let mut document = said();
            Rehearsal::add_to(&mut document, rehearsal);
            assert_eq!(document.execution_status, ExecutionStatus::Running);
            assert_eq!(document.checks[0].status, CheckStatus::Running);
        }
    }

    #[test]
    fn nobody_else_speaks_for_the_dry_run() {
        let mut document = said();
        document.checks.push(CheckReport { status: CheckStatus::Passed, ..under_way() });
        let check = dry_run::NAME.to_owned();
        document.risks.push(Finding { check, ..Finding::default() });
        Rehearsal::add_to(&mut document, None);
        let checks: Vec<_> = document.checks.iter().map(|it| (&*it.name, it.status)).collect();
        assert_eq!(checks[0], ("dry-run", CheckStatus::Running), "{checks:?}");
        assert_eq!((checks.len(), document.risks.len()), (2, 0));
    }

    #[test]
    fn what_the_dry_run_finds_is_found() {
        let mut document = said();
        let report = CheckReport { status: CheckStatus::Found, ..under_way() };
        let finding = Finding { name: "ManifestDenied".to_owned(), ..Finding::default() };
        let done = rehearsal(State::Done(report, vec![finding]));
        Rehearsal::add_to(&mut document, Some(&done));
        assert_eq!(document.execution_status, ExecutionStatus::Completed);
        let names: Vec<&str> = document.checks.iter().map(|check| check.name.as_str()).collect();
        assert_eq!((names, document.risks.len()), (vec!["dry-run", "nodes"], 1));
    }
}
