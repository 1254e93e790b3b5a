//! What is counted and measured. Names that the existing operator has are its own.
//!
//! What the cluster's objects say is computed from them whenever somebody asks (`cluster`), so
//! that no series outlives what it is about. Everything else is counted by stages, through the
//! handles here: [`Updates`], [`Queries`], [`Preflight`], [`Rollout`] and [`Status`].

mod cluster;
mod family;
mod handles;
mod preflight;
mod rollout;
mod transitions;

pub use cluster::Running;
pub use handles::{Queries, Status, Updates};
pub use preflight::{Ended, Preflight};
pub use rollout::Rollout;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::cluster::{Objects, Sight, only};
use cluster::View;
use family::{Family, Samples};
use handles::Retrieval;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::registry::Registry;
use transitions::Transitions;

/// All metrics.
pub struct Metrics {
    registry: Registry,
    updates: Updates,
    queries: Queries,
    rollout: Rollout,
    preflight: Preflight,
    status: Status,
    tls_errors: Counter,
    seen: Seen,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let updates = Updates::register(&mut registry);
        let queries = Queries::register(&mut registry);
        let rollout = Rollout::default();
        let preflight = Preflight::register(&mut registry);
        let status = Status::register(&mut registry);
        let tls_errors = Counter::default();
        registry.register(
            "fairway_operator_tls_reload_errors",
            "Failed certificate reloads; the previous certificate stays in use",
            tls_errors.clone(),
        );
        let seen = Seen::default();
        registry.register_collector(Box::new(Computed {
            seen: seen.clone(),
            retrieval: updates.retrieval(),
            rollout: rollout.clone(),
        }));
        Self { registry, updates, queries, rollout, preflight, status, tls_errors, seen }
    }
}

impl Metrics {
    /// For the stage that fetches the graph.
    pub fn updates(&self) -> Updates {
        self.updates.clone()
    }

    /// For whoever evaluates PromQL.
    pub fn queries(&self) -> Queries {
        self.queries.clone()
    }

    /// For the stage that rolls out releases.
    pub fn rollout(&self) -> Rollout {
        self.rollout.clone()
    }

    /// For the stage that asks other releases.
    pub fn preflight(&self) -> Preflight {
        self.preflight.clone()
    }

    /// For the stage that writes the status.
    pub fn status(&self) -> Status {
        self.status.clone()
    }

    pub(crate) fn tls_error(&self) {
        self.tls_errors.inc();
    }

    /// Tells what the cluster's objects say, for as long as this runs: only the leader does.
    pub async fn follow(&self, sight: Sight, running: Running) {
        let mut operators = sight.cluster_operators.clone();
        self.updates.retrieval().begin(fairway_clock::now());
        *self.seen.lock() = Some(Leading { sight, running, transitions: Transitions::default() });
        let _forget = Forget(&self.seen);
        loop {
            if let Some(operators) = operators.borrow_and_update().clone()
                && let Some(leading) = self.seen.lock().as_mut()
            {
                leading.transitions.observe(&operators);
            }
            if operators.changed().await.is_err() {
                return;
            }
        }
    }

    /// All of them, as Prometheus reads them.
    pub fn text(&self) -> String {
        let mut out = String::new();
        text::encode(&mut out, &self.registry).expect("writing to memory");
        out
    }
}

/// What the leader sees.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Option<Leading>>>);

struct Leading {
    sight: Sight,
    running: Running,
    transitions: Transitions,
}

impl Seen {
    /// No code of others runs under the lock, so a poisoned one guards whole values.
    fn lock(&self) -> MutexGuard<'_, Option<Leading>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A leader that leads no more says nothing about the cluster.
struct Forget<'a>(&'a Seen);

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// What is computed whenever somebody asks.
struct Computed {
    seen: Seen,
    retrieval: Arc<Retrieval>,
    rollout: Rollout,
}

impl Computed {
    fn families(&self) -> Vec<Family> {
        let now = fairway_clock::now();
        let mut families = vec![own(self.seen.lock().is_some())];
        families.extend(self.retrieval.graph_age(now));
        let Some(Leading { sight, running, transitions }) = &*self.seen.lock() else {
            return families;
        };
        let view = View {
            cluster_version: only(sight.cluster_version.borrow().as_ref()).cloned(),
            cluster_operators: sight.cluster_operators.borrow().clone().unwrap_or_default(),
            install: only(sight.install.borrow().as_ref()).cloned(),
            running: running.clone(),
        };
        families.extend(cluster::families(&view, now));
        families.push(transitions.family());
        families.extend(self.retrieval.timestamp());
        families.extend(self.rollout.families());
        families
    }
}

fn own(leads: bool) -> Family {
    Family::new(
        "fairway_operator_leader",
        "Whether this operator is the leader",
        Samples::default().with([], f64::from(u8::from(leads))),
    )
}

impl Collector for Computed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.families().iter().try_for_each(|family| family.encode(&mut encoder))
    }
}

impl fmt::Debug for Computed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Computed")
    }
}

/// ClusterOperators by name.
type Operators = Objects<fairway_api::ClusterOperator>;
