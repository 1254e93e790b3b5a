//! Repetition of checks that the operator runs itself while a preflight run exists: the dry run and
//! the availability of images.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use fairway_api::ClusterVersion;
use fairway_backoff::jittered;
use fairway_findings::{CheckKind, CheckReport, CheckStatus, Document, ExecutionStatus, Finding};
use fairway_release::Release;
use fairway_release::inclusion::ManifestFilter;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::{Client, ResourceExt as _};
use tokio::time::Instant;

use super::{DryRunSettings, DryRunTarget, dry_run};
use crate::apply::{ApplyContext, Owner};
use crate::settings::SelectionSettings;
use crate::stage::preflight::deployment::RunId;
use crate::stage::preflight::inputs::ManifestContext;
use crate::stage::target::selection;

/// Interval between executions, plus jitter of up to 10 %. Objects, quotas, policies and registries
/// change without an event to the operator.
const INTERVAL: Duration = Duration::from_hours(1);

/// Delay after an execution without a result. A restarting API server is back by then.
const RETRY_INTERVAL: Duration = Duration::from_mins(5);

/// Minimum time between executions, however often the input changes.
const MIN_INTERVAL: Duration = Duration::from_mins(1);

/// Input of a dry run. A change starts another one.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::stage::preflight) struct DryRunInput {
    /// Selects the manifests of the release that this cluster gets.
    pub(in crate::stage::preflight) filter: ManifestFilter,
    /// Parameters with which the operator renders manifests.
    pub(in crate::stage::preflight) context: ApplyContext,
}

/// Report and findings of a check.
type CheckResult = (CheckReport, Vec<Finding>);

/// Starts a check. Tests replace it.
pub(in crate::stage::preflight) type CheckFn<I> =
    Box<dyn Fn(Arc<I>) -> BoxFuture<'static, CheckResult> + Send>;

/// Dry runs that belong to one preflight run.
pub(in crate::stage::preflight) type PeriodicDryRun = PeriodicCheck<DryRunInput>;

/// A check of the operator that belongs to one preflight run: executed at its start, then
/// periodically.
pub(in crate::stage::preflight) struct PeriodicCheck<I> {
    run: RunId,
    run_once: CheckFn<I>,
    /// Input of the next execution.
    input: Arc<I>,
    running: Option<(Arc<I>, BoxFuture<'static, CheckResult>)>,
    /// Input and result of the last execution.
    last: Option<(Arc<I>, CheckResult)>,
    /// Start of the last execution.
    last_start: Instant,
    /// Start of the next execution.
    next_start: Instant,
}

impl PeriodicDryRun {
    /// Starts the first dry run.
    pub(in crate::stage::preflight) fn begin(
        client: Client,
        run: RunId,
        target: Arc<Release>,
        input: DryRunInput,
    ) -> Self {
        let run_once =
            move |input| dry_run_once(client.clone(), Arc::clone(&target), input).boxed();
        Self::on(Box::new(run_once), run, input)
    }
}

impl<I: PartialEq> PeriodicCheck<I> {
    /// Starts the first execution.
    pub(in crate::stage::preflight) fn on(run_once: CheckFn<I>, run: RunId, input: I) -> Self {
        let (input, now) = (Arc::new(input), Instant::now());
        let running = Some((Arc::clone(&input), run_once(Arc::clone(&input))));
        Self { run, run_once, input, running, last: None, last_start: now, next_start: now }
    }

    pub(in crate::stage::preflight) fn belongs_to(&self, run: &RunId) -> bool {
        self.run == *run
    }

    /// Whether an execution has completed.
    pub(in crate::stage::preflight) fn has_result(&self) -> bool {
        self.last.is_some()
    }

    /// Sets the input. Returns whether it changed.
    pub(in crate::stage::preflight) fn set_input(&mut self, input: I) -> bool {
        if *self.input == input {
            return false;
        }
        self.input = Arc::new(input);
        self.next_start = self.next_start.min(self.last_start + MIN_INTERVAL);
        true
    }

    /// Runs until the next result.
    pub(in crate::stage::preflight) async fn step(&mut self) {
        if self.running.is_none() {
            fairway_clock::sleep_until(Some(self.next_start)).await;
            self.last_start = Instant::now();
            self.running =
                Some((Arc::clone(&self.input), (self.run_once)(Arc::clone(&self.input))));
        }
        if let Some((input, work)) = &mut self.running {
            let (input, review) = (Arc::clone(input), work.await);
            self.running = None;
            self.next_start =
                self.last_start.max(Instant::now()) + delay(&review.0, *input == *self.input);
            self.last = Some((input, review));
        }
    }

    /// Replaces reports about the check with its own result; the target release cannot report it.
    /// The first pass includes the check: without a result the pass is still in progress, and
    /// earlier findings remain.
    pub(in crate::stage::preflight) fn add_results(
        name: &str,
        document: &mut Document,
        check: Option<&Self>,
    ) {
        document.checks.retain(|check| check.name != name);
        document.risks.retain(|found| found.check != name);
        let last = check.and_then(|it| Some((&it.input, it.last.as_ref()?)));
        if let Some((input, (tried, (report, findings)))) = last {
            document.checks.push(CheckReport { stale: tried != input, ..report.clone() });
            document.risks.extend(findings.iter().cloned());
        } else {
            document.checks.push(running(name));
            if document.execution_status == ExecutionStatus::Completed {
                document.execution_status = ExecutionStatus::Running;
            }
        }
        document.checks.sort_by(|one, other| one.name.cmp(&other.name));
    }
}

async fn dry_run_once(
    client: Client,
    target: Arc<Release>,
    input: Arc<DryRunInput>,
) -> CheckResult {
    let version = target.metadata.version.to_string();
    let DryRunInput { filter, context } = &*input;
    let trial = DryRunTarget { version: &version, manifests: &target.manifests, filter, context };
    dry_run(client, &trial, DryRunSettings::default(), |_, _| {}).await
}

/// Delay until the next execution.
fn delay(report: &CheckReport, is_current: bool) -> Duration {
    match report.status.has_result() {
        _ if !is_current => MIN_INTERVAL,
        true => jittered(INTERVAL, 0.1, fairway_clock::random_unit()),
        false => RETRY_INTERVAL,
    }
}

fn running(name: &str) -> CheckReport {
    CheckReport {
        name: name.to_owned(),
        kind: CheckKind::BuiltIn,
        status: CheckStatus::Running,
        ..CheckReport::default()
    }
}

/// Selects the manifests of a release that this cluster gets.
pub(in crate::stage::preflight) fn filter(
    cluster_version: &ClusterVersion,
    settings: &SelectionSettings,
    surroundings: &ManifestContext,
    (own, version): (&str, &str),
) -> ManifestFilter {
    let gates = surroundings.features.gates(&[version, own]);
    let spec = &cluster_version.spec;
    let noted = cluster_version.status.as_ref().and_then(|status| status.capabilities.as_ref());
    let noted = noted.map_or(&[][..], |noted| &noted.enabled_capabilities);
    let staying: BTreeSet<String> = noted.iter().chain(&settings.always_enabled).cloned().collect();
    let capabilities = selection::capabilities(spec.capabilities.as_ref(), &staying, &gates);
    let loaded = selection::when_loaded(settings, &surroundings.features, &gates, version);
    let applied = selection::when_applied(spec, gates, &capabilities);
    ManifestFilter { capabilities: applied.capabilities, overrides: applied.overrides, ..loaded }
}

/// Parameters with which the operator renders manifests.
pub(in crate::stage::preflight) fn context(
    cluster_version: &ClusterVersion,
    surroundings: &ManifestContext,
) -> ApplyContext {
    let uid = cluster_version.uid().unwrap_or_default();
    let surroundings = surroundings.cluster.clone();
    ApplyContext { owner: Owner { uid }, updating: true, surroundings, ..ApplyContext::default() }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::NAME;
    use super::*;

    fn document() -> Document {
        let execution_status = ExecutionStatus::Completed;
        let check = CheckReport { name: "nodes".to_owned(), ..CheckReport::default() };
        Document { execution_status, checks: vec![check], ..Document::default() }
    }

    /// Dry runs that complete immediately, and their count.
    fn counted(status: CheckStatus) -> (PeriodicDryRun, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&count);
        let run_once = move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            let finding = Finding { name: "ManifestDenied".to_owned(), ..Finding::default() };
            let report = CheckReport { status, ..running(NAME) };
            futures::future::ready((report, vec![finding])).boxed()
        };
        let run = RunId::random().unwrap();
        (PeriodicDryRun::on(Box::new(run_once), run, DryRunInput::default()), count)
    }

    /// An input with another filter.
    fn other(profile: &str) -> DryRunInput {
        let filter =
            ManifestFilter { exclude: Some(profile.to_owned()), ..ManifestFilter::default() };
        DryRunInput { filter, ..DryRunInput::default() }
    }

    /// Whether the report is stale.
    fn is_stale(dry_runs: &PeriodicDryRun) -> bool {
        let mut document = document();
        PeriodicDryRun::add_results(NAME, &mut document, Some(dry_runs));
        document.checks[0].stale
    }

    #[tokio::test]
    async fn add_results_without_dry_run_keeps_pass_running() {
        let run_once: CheckFn<DryRunInput> = Box::new(|_| futures::future::pending().boxed());
        let run = RunId::random().unwrap();
        let running = PeriodicDryRun::on(run_once, run, DryRunInput::default());
        for dry_runs in [Some(&running), None] {
            let mut document = document();
            PeriodicDryRun::add_results(NAME, &mut document, dry_runs);
            assert_eq!(document.execution_status, ExecutionStatus::Running);
            assert_eq!(document.checks[0].status, CheckStatus::Running);
        }
    }

    #[test]
    fn add_results_replaces_reports_of_target_release() {
        let mut document = document();
        document.checks.push(CheckReport { status: CheckStatus::Passed, ..running(NAME) });
        let check = NAME.to_owned();
        document.risks.push(Finding { check, ..Finding::default() });
        PeriodicDryRun::add_results(NAME, &mut document, None);
        let checks: Vec<_> = document.checks.iter().map(|it| (&*it.name, it.status)).collect();
        assert_eq!(checks[0], ("dry-run", CheckStatus::Running), "{checks:?}");
        assert_eq!((checks.len(), document.risks.len()), (2, 0));
    }

    #[tokio::test]
    async fn add_results_includes_findings() {
        let (mut dry_runs, _) = counted(CheckStatus::Found);
        dry_runs.step().await;
        let mut document = document();
        PeriodicDryRun::add_results(NAME, &mut document, Some(&dry_runs));
        assert_eq!(document.execution_status, ExecutionStatus::Completed);
        let names: Vec<&str> = document.checks.iter().map(|check| check.name.as_str()).collect();
        assert_eq!((names, document.risks.len()), (vec!["dry-run", "nodes"], 1));
    }

    #[tokio::test(start_paused = true)]
    async fn step_repeats_dry_run_periodically() {
        use CheckStatus::{CannotTell, Found, Passed};
        let hour = (INTERVAL, INTERVAL + INTERVAL / 10);
        for (status, (least, most)) in [
            (Passed, hour),
            (Found, hour),
            (CannotTell, (RETRY_INTERVAL, RETRY_INTERVAL + Duration::from_secs(1))),
        ] {
            let (mut dry_runs, count) = counted(status);
            dry_runs.step().await;
            for round in 2..5 {
                let last_start = Instant::now();
                dry_runs.step().await;
                let after = last_start.elapsed();
                assert!(least <= after && after <= most, "{status:?} {after:?}");
                assert_eq!(count.load(Ordering::SeqCst), round);
                assert!(!is_stale(&dry_runs), "input unchanged");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn step_after_input_change_runs_after_minimum_interval() {
        let (mut dry_runs, count) = counted(CheckStatus::Passed);
        let last_start = Instant::now();
        dry_runs.step().await;
        assert!(!dry_runs.set_input(DryRunInput::default()), "unchanged");
        for profile in ["one", "two"] {
            assert!(dry_runs.set_input(other(profile)));
            assert!(is_stale(&dry_runs));
        }
        dry_runs.step().await;
        assert!(!is_stale(&dry_runs));
        assert_eq!(
            (count.load(Ordering::SeqCst), last_start.elapsed().as_secs()),
            (2, MIN_INTERVAL.as_secs())
        );
    }

    #[tokio::test(start_paused = true)]
    async fn step_after_input_change_during_dry_run_repeats_it() {
        let (mut dry_runs, count) = counted(CheckStatus::Passed);
        assert!(dry_runs.set_input(other("one")));
        dry_runs.step().await;
        assert!(is_stale(&dry_runs));
        dry_runs.step().await;
        assert_eq!((is_stale(&dry_runs), count.load(Ordering::SeqCst)), (false, 2));
    }
}
