//! The stage `risks`: what is recommended for this cluster, and why not.
//!
//! Everything that speaks against an update is entered into the ledger; queries that the ledger
//! depends on are asked at the scheduler's pace; and whenever something of it changes, the ledger
//! is evaluated again. What came of queries is noted in a ConfigMap, for people who ask why.

mod book;
mod concerns;
mod inputs;
mod judge;
mod looked_at;
mod notes;
mod questions;
mod telemetry;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use fairway_risk::Evaluated;
use fairway_risk::schedule;
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use inputs::Inputs;
pub use judge::Judge;
pub use telemetry::reply;

use crate::election::Leadership;
use crate::metrics;
use crate::records::{self, Store};
use crate::settings::RiskSettings;
use crate::stage::preflight::Outcome;
use crate::stage::updates::same_content;
use book::Book;
use questions::{Alerts, Questions};
use telemetry::Telemetry;

/// What is recommended, as of one look at everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Risks {
    /// The generation of ClusterVersion that it is about.
    pub generation: i64,
    /// The version from which the updates would begin.
    pub current: String,
    /// Whether the update service has said which updates there are from that version.
    pub is_answered: bool,
    /// Identifies the answer of the update service that it is about.
    pub graph_digest: String,
    /// What the ledger says of the updates that are offered.
    pub evaluated: Evaluated,
    /// What it says of any other.
    pub judge: Judge,
    /// What preflights said of releases, by image: all that they found is in the ledger.
    pub looked_at: BTreeMap<String, Outcome>,
}

impl Risks {
    /// What a preflight of that image said, whatever it was called.
    pub fn looked_at(&self, image: &str) -> Option<&Outcome> {
        let mut all = self.looked_at.iter();
        all.find(|(looked_at, _)| same_content(looked_at, image)).map(|(_, outcome)| outcome)
    }
}

/// How long answers that come in one after the other are collected before the status is written.
/// Shorter than the pause after a failure: what failed is not waited for.
const COLLECT: Duration = Duration::from_secs(3);

/// How long it is waited for what has to be seen of the cluster. Lists are answered in a second.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long the first look at the alerts is waited for. Who does not know them recommends too much;
/// but whoever is as slow as that may never answer, and then those in the status count.
const FIRST_ALERTS: Duration = Duration::from_secs(5);

/// The longest sleep until an acceptance ends: somebody may set the clock meanwhile.
const DOZE: Duration = Duration::from_mins(1);

/// How it reaches the cluster.
pub(crate) struct Hands {
    pub(crate) client: kube::Client,
    pub(crate) leadership: Leadership,
    /// Where it notes what came of queries.
    pub(crate) namespace: String,
}

/// Keeps the evaluation right.
pub(crate) async fn run(
    inputs: Inputs,
    settings: RiskSettings,
    hands: Hands,
    metrics: metrics::Queries,
    out: watch::Sender<Option<Arc<Risks>>>,
) {
    let Hands { client, leadership, namespace } = hands;
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
    let pace = schedule::Settings { min_interval, burst, ..schedule::Settings::default() };
    let mut book = Book::new(policy, metrics.clone());
    let mut questions =
        Questions::new(Telemetry::new(source, kube, metrics.clone()), pace, metrics);
    let began = Instant::now();
    let impatient = began + PATIENCE;
    // Since when there is something new that was not published.
    let mut unpublished: Option<Instant> = None;
    let mut view = None;
    let mut look_again = true;
    loop {
        let now = fairway_clock::now();
        if std::mem::take(&mut look_again) || view.is_none() {
            view = inputs.look(questions.alerts(), impatient <= Instant::now());
            if let Some(view) = &view {
                book.enter(view);
            }
        }
        let risks = view.as_ref().map(|view| book.evaluate(view, questions.outcomes(now), now));
        questions.want(risks.as_ref().map_or(&[], |risks| &risks.evaluated.wanted_queries));
        questions.ask();
        if let Some(record) = questions.news(COLLECT).and_then(|news| notes::record(&news).ok()) {
            store.want(record);
        }
        let awaiting_alerts =
            *questions.alerts() == Alerts::Asked && began.elapsed() < FIRST_ALERTS;
        let news = risks.filter(|risks| out.borrow().as_deref() != Some(risks));
        unpublished = news.is_some().then(|| unpublished.unwrap_or_else(Instant::now));
        if let (Some(risks), Some(since)) = (news, unpublished)
            && !awaiting_alerts
            && (questions.are_settled(COLLECT) || since.elapsed() >= COLLECT)
        {
            unpublished = None;
            book.remember(&risks.evaluated);
            out.send_replace(Some(Arc::new(risks)));
        }
        let accepted_until = view.as_ref().and_then(|view| view.acceptance.next_end(now));
        let wake = [
            questions.due(),
            questions.news_due(),
            unpublished.map(|since| since + COLLECT).filter(|due| *due > Instant::now()),
            awaiting_alerts.then_some(began + FIRST_ALERTS),
            view.is_none().then_some(impatient).filter(|due| *due > Instant::now()),
            accepted_until.map(|end| fairway_clock::instant_of(end).min(Instant::now() + DOZE)),
        ];
        tokio::select! {
            goes_on = inputs.changed() => {
                if !goes_on {
                    return;
                }
                look_again = true;
            }
            alerts_changed = questions.answered() => look_again = alerts_changed,
            () = store.changed() => warn_of(store.problem()),
            () = fairway_clock::sleep_until(wake.into_iter().flatten().min()) => {}
        }
    }
}

fn warn_of(problem: Option<String>) {
    if let Some(problem) = problem {
        tracing::warn!(error = problem, "cannot store query results");
    }
}
