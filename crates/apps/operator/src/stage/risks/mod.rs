//! The stage `risks`: evaluates the risk ledger, and publishes recommended and conditional updates.
//!
//! The stage adds all risks that the cluster and preflights report to the ledger, sends the PromQL
//! queries that the ledger needs at a limited rate, and evaluates the ledger again after every
//! change. It stores query results in a ConfigMap for `fairway upgrade explain`.
//!
//! | module | content |
//! | --- | --- |
//! | `inputs` | inputs of the stage |
//! | `concerns` | risks from the state of the cluster and from preflights |
//! | `ledger` | the risk ledger of this cluster, and verdicts on other releases |
//! | `queries` | PromQL queries and alerts, at a limited rate |
//! | `telemetry` | sources of metrics: Prometheus or a metrics snapshot |
//! | `evaluation_log` | query results in a ConfigMap |

mod concerns;
mod evaluation_log;
mod inputs;
mod ledger;
mod queries;
mod telemetry;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_risk::{LedgerEvaluation, schedule};
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use inputs::Inputs;
pub use ledger::VerdictContext;
pub use telemetry::reply;

use crate::election::Leadership;
use crate::metrics;
use crate::records::{self, Store};
use crate::settings::RiskSettings;
use crate::stage::preflight::PreflightOutcome;
use crate::stage::updates::same_content;
use ledger::LedgerCache;
use queries::{Alerts, QueryRunner};
use telemetry::Telemetry;

/// Evaluated risks of updates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risks {
    /// Generation of ClusterVersion.
    pub generation: i64,
    /// Version from which updates start.
    pub current: String,
    /// Whether the update graph has the updates from that version.
    pub is_answered: bool,
    /// Digest of the update graph.
    pub graph_digest: String,
    /// Evaluation of the offered updates.
    pub evaluated: LedgerEvaluation,
    /// Verdicts on other releases.
    pub verdicts: VerdictContext,
    /// Preflight results by image. Their findings are in the ledger.
    pub preflight_results: BTreeMap<String, PreflightOutcome>,
}

impl Risks {
    /// The preflight result of a release, by content.
    pub fn preflight_result(&self, image: &str) -> Option<&PreflightOutcome> {
        let mut all = self.preflight_results.iter();
        all.find(|(preflight_results, _)| same_content(preflight_results, image))
            .map(|(_, outcome)| outcome)
    }
}

/// Time for which query results are collected before the stage publishes. Shorter than the delay
/// after a failed query, so that the stage does not wait for its retry.
const COLLECT_INTERVAL: Duration = Duration::from_secs(3);

/// Grace period for the initial watches. API servers answer lists in a second.
const INPUTS_GRACE_PERIOD: Duration = Duration::from_secs(30);

/// Maximum wait for the first list of alerts. Without alerts the stage would recommend too much; a
/// server that is slower may never answer, and then the alerts of the status apply.
const FIRST_ALERTS_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum sleep until an acceptance expires: the system clock may be changed meanwhile.
const MAX_SLEEP: Duration = Duration::from_mins(1);

/// Cluster access of the stage: client, leadership, and the namespace of its ConfigMap.
pub(crate) struct ClusterAccess {
    pub(crate) client: kube::Client,
    pub(crate) leadership: Leadership,
    /// Namespace of the ConfigMap with query results.
    pub(crate) namespace: String,
}

/// Evaluates the risks until the inputs end.
pub(crate) async fn run(
    inputs: Inputs,
    settings: RiskSettings,
    access: ClusterAccess,
    metrics: metrics::Queries,
    out: watch::Sender<Option<Arc<Risks>>>,
) {
    let ClusterAccess { client, leadership, namespace } = access;
    let (store, writes) = records::store(client.clone(), &namespace, leadership, &[]);
    tokio::select! {
        () = work(inputs, settings, client, metrics, store, out) => {}
        () = writes => {}
    }
}

async fn work(
    mut inputs: Inputs,
    settings: RiskSettings,
    kube: kube::Client,
    metrics: metrics::Queries,
    mut store: Store,
    out: watch::Sender<Option<Arc<Risks>>>,
) {
    let RiskSettings { metrics: source, min_interval, burst, policy } = settings;
    let pace = schedule::SchedulerSettings {
        min_interval,
        burst,
        ..schedule::SchedulerSettings::default()
    };
    let mut ledger_cache = LedgerCache::new(policy, metrics.clone());
    let mut queries =
        QueryRunner::new(Telemetry::new(source, kube, metrics.clone()), pace, metrics);
    let began = Instant::now();
    let inputs_deadline = began + INPUTS_GRACE_PERIOD;
    // Since when there is an unpublished change.
    let mut unpublished: Option<Instant> = None;
    let mut view = None;
    let mut inputs_changed = true;
    loop {
        let now = fairway_clock::now();
        if std::mem::take(&mut inputs_changed) || view.is_none() {
            view = inputs.read(queries.alerts(), inputs_deadline <= Instant::now());
            if let Some(view) = &view {
                ledger_cache.update(view);
            }
        }
        let risks =
            view.as_ref().map(|view| ledger_cache.evaluate(view, queries.outcomes(now), now));
        queries.set_queries(risks.as_ref().map_or(&[], |risks| &risks.evaluated.wanted_queries));
        queries.send_due();
        let results = queries.take_unpublished(COLLECT_INTERVAL);
        if let Some(record) = results.and_then(|results| evaluation_log::record(&results).ok()) {
            store.want(record);
        }
        let awaiting_alerts =
            *queries.alerts() == Alerts::Pending && began.elapsed() < FIRST_ALERTS_TIMEOUT;
        let change = risks.filter(|risks| out.borrow().as_deref() != Some(risks));
        unpublished = change.is_some().then(|| unpublished.unwrap_or_else(Instant::now));
        if let (Some(risks), Some(since)) = (change, unpublished)
            && !awaiting_alerts
            && (queries.is_idle_for(COLLECT_INTERVAL) || since.elapsed() >= COLLECT_INTERVAL)
        {
            unpublished = None;
            ledger_cache.set_published(&risks.evaluated);
            out.send_replace(Some(Arc::new(risks)));
        }
        let accepted_until = view.as_ref().and_then(|view| view.acceptance.next_end(now));
        let wake = [
            queries.due(),
            queries.publication_due(),
            unpublished.map(|since| since + COLLECT_INTERVAL).filter(|due| *due > Instant::now()),
            awaiting_alerts.then_some(began + FIRST_ALERTS_TIMEOUT),
            view.is_none().then_some(inputs_deadline).filter(|due| *due > Instant::now()),
            accepted_until
                .map(|end| fairway_clock::instant_of(end).min(Instant::now() + MAX_SLEEP)),
        ];
        // Queries in flight are kept in `questions`, so dropping a branch loses no result.
        tokio::select! {
                    open = inputs.changed() => {
                        if !open {
                    return;
                }
                inputs_changed = true;
            }
            alerts_changed = queries.next_result() => inputs_changed = alerts_changed,
            () = store.changed() => log_store_error(store.problem()),
            () = fairway_clock::sleep_until(wake.into_iter().flatten().min()) => {}
        }
    }
}

fn log_store_error(problem: Option<String>) {
    if let Some(problem) = problem {
        tracing::warn!(error = problem, "cannot store query results");
    }
}
