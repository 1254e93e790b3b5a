//! The stage: sends requests when they are due, and publishes the result.

use std::sync::Arc;

use fairway_api::ClusterVersion;
use fairway_cincinnati::connection::{ConnectionSettings, ProxySettings};
use fairway_cincinnati::fetch::{self, FetchError, Fetched};
use fairway_cincinnati::query::{self, GraphQuery, QueryError, RunningRelease, UpdateServices};
use fairway_cincinnati::response;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::HeaderValue;
use k8s_openapi::api::core::v1::ConfigMap;
use reqwest::Client;
use tokio::sync::watch;
use tokio::time::Instant;

use super::graph_cache::{self, FetchResult, GraphCache};
use super::inherited::Inherited;
use super::schedule::RequestSchedule;
use super::{Settings, Updates};
use crate::cluster::{ClusterWatches, Objects, only};
use crate::sync::any_changed;
use crate::{metrics, text};

/// Retrieves the update graph and publishes updates, until the last receiver is dropped.
pub async fn run(
    mut inputs: Inputs,
    settings: Settings,
    metrics: metrics::Updates,
    out: watch::Sender<Option<Arc<Updates>>>,
) {
    let mut stage = Stage::new(settings, metrics, Arc::clone(&inputs.current), &out);
    loop {
        if let Some(task) = inputs.task(&stage.settings.services) {
            stage.set_request(task);
        }
        let due = stage.due();
        tokio::select! {
            open = inputs.changed() => if !open { return },
            outcome = response(&mut stage.in_flight) => stage.process(outcome),
            () = fairway_clock::sleep_until(due) => stage.ask(),
            () = out.closed() => return,
        }
    }
}

/// A request in flight.
struct InFlight {
    begun: Instant,
    outcome: BoxFuture<'static, Result<FetchResult, FetchError>>,
}

/// State of the stage.
struct Stage<'a> {
    settings: Settings,
    metrics: metrics::Updates,
    current: Arc<RunningRelease>,
    out: &'a watch::Sender<Option<Arc<Updates>>>,
    task: Option<GraphRequest>,
    client: Option<Client>,
    in_flight: Option<InFlight>,
    cache: GraphCache,
    schedule: RequestSchedule,
}

impl<'a> Stage<'a> {
    fn new(
        settings: Settings,
        metrics: metrics::Updates,
        current: Arc<RunningRelease>,
        out: &'a watch::Sender<Option<Arc<Updates>>>,
    ) -> Self {
        let schedule = RequestSchedule::new(settings.pace.clone());
        let (task, client, in_flight, cache) = (None, None, None, GraphCache::default());
        Self { settings, metrics, current, out, task, client, in_flight, cache, schedule }
    }

    /// Sets the current request. Drops the graph of another query; until there is a new one, the
    /// published updates stay those of the previous generation. The first request also reads the
    /// updates of the last status.
    fn set_request(&mut self, task: GraphRequest) {
        let before = self.task.as_ref();
        let same_query = before.is_some_and(|before| before.query == task.query);
        let same_connection = before.is_some_and(|before| before.connection == task.connection);
        if before.is_none() {
            let now = (Instant::now(), fairway_clock::now());
            let inherited = Inherited::from_status(&task.cluster_version, &self.current, now);
            self.cache = GraphCache::inheriting(inherited);
        } else if !same_query {
            self.cache = GraphCache::default();
        }
        if !same_query {
            self.metrics.query_changed(fairway_clock::now());
        }
        if !same_connection {
            self.client = None;
        }
        if !same_query || !same_connection {
            self.in_flight = None;
            self.schedule.changed(Instant::now());
        }
        self.task = Some(task);
        self.publish();
    }

    /// Time of the next request; `None` while one is in flight or there is nothing to request.
    fn due(&self) -> Option<Instant> {
        let can_ask = self.in_flight.is_none() && self.query().is_some();
        can_ask.then(|| self.schedule.due(Instant::now()))
    }

    fn query(&self) -> Option<&GraphQuery> {
        self.task.as_ref()?.query.as_ref().ok()
    }

    /// Sends the request.
    fn ask(&mut self) {
        let Some(GraphRequest { query: Ok(query), connection, .. }) = &self.task else { return };
        let begun = Instant::now();
        self.schedule.begun(begun);
        let client = match &self.client {
            Some(client) => Ok(client.clone()),
            None => fetch::client(connection, &self.settings.timeouts),
        };
        self.client = client.as_ref().ok().cloned();
        let known = CachedIdentity {
            tag: self.cache.tag().cloned(),
            digest: self.cache.digest().map(str::to_owned),
        };
        let query = query.clone();
        let outcome = async move { fetch_graph(&client?, query, known).await }.boxed();
        self.in_flight = Some(InFlight { begun, outcome });
    }

    /// Processes the response.
    fn process(&mut self, outcome: Result<FetchResult, FetchError>) {
        let Some(InFlight { begun, .. }) = self.in_flight.take() else { return };
        let (now, time) = (Instant::now(), fairway_clock::now());
        let took = now - begun;
        match &outcome {
            Ok(FetchResult::Graph { .. }) => self.metrics.answered(took, time),
            Ok(FetchResult::Unchanged) => self.metrics.unchanged(took, time),
            Err(failure) => self.metrics.failed(&failure.reason(), took),
        }
        self.schedule.ended(now, outcome.is_ok(), fairway_clock::random_unit());
        log(&outcome);
        self.cache.record(outcome, (now, time));
        self.publish();
    }

    /// Publishes the updates. A change of the response time alone does not wake receivers.
    fn publish(&self) {
        let Some(task) = &self.task else { return };
        let updates = match &task.query {
            Ok(query) => self.cache.updates(query, task.generation()),
            Err(refusal) => Some(graph_cache::refused(refusal, task.generation())),
        };
        let Some(updates) = updates else { return };
        self.out.send_if_modified(|published| {
            let same = published.as_ref().is_some_and(|before| before.is_same_as(&updates));
            *published = Some(Arc::new(updates));
            !same
        });
    }
}

/// Identity of the cached graph.
struct CachedIdentity {
    tag: Option<HeaderValue>,
    digest: Option<String>,
}

/// Sends the request and compares the graph with the cached one.
async fn fetch_graph(
    client: &Client,
    query: GraphQuery,
    known: CachedIdentity,
) -> Result<FetchResult, FetchError> {
    let Fetched::Body { bytes, tag } = fetch::fetch(client, &query, known.tag).await? else {
        return Ok(FetchResult::Unchanged);
    };
    // Parsing a large graph takes long and would block other tasks of this thread.
    let read = tokio::task::spawn_blocking(move || {
        if known.digest.is_some_and(|digest| digest == response::digest(&bytes)) {
            return Ok(None);
        }
        response::read(&query, &bytes).map(Some)
    });
    match read.await {
        Ok(Ok(None)) => Ok(FetchResult::Unchanged),
        Ok(Ok(Some(answer))) => Ok(FetchResult::Graph { answer, tag }),
        Ok(Err(error)) => Err(FetchError::unreadable(error)),
        Err(error) => Err(FetchError::Invalid { why: text::cause(&error) }),
    }
}

async fn response(in_flight: &mut Option<InFlight>) -> Result<FetchResult, FetchError> {
    match in_flight {
        Some(in_flight) => (&mut in_flight.outcome).await,
        None => std::future::pending().await,
    }
}

fn log(outcome: &Result<FetchResult, FetchError>) {
    match outcome {
        Ok(FetchResult::Unchanged) => tracing::debug!("update graph unchanged"),
        Ok(FetchResult::Graph { answer, .. }) => {
            let (releases, problems) = (answer.graph.nodes().len(), answer.problem_count);
            let updates = answer.candidates.as_ref().map_or(0, |candidates| candidates.len());
            tracing::info!(releases, updates, problems, "update graph retrieved");
            for problem in &answer.problems {
                tracing::warn!(error = problem, "invalid data in update graph ignored");
            }
        }
        Err(failure) => {
            let reason = failure.reason().code;
            tracing::warn!(reason, error = %failure, "cannot retrieve update graph; retrying");
        }
    }
}

/// Key of the CA bundle in its ConfigMap.
const BUNDLE: &str = "ca-bundle.crt";

/// Inputs of the stage.
pub struct Inputs {
    /// The running release.
    pub current: Arc<RunningRelease>,
    /// ClusterVersion, with channel and upstream.
    pub cluster_version: watch::Receiver<Option<Objects<ClusterVersion>>>,
    /// Proxy settings.
    pub proxy: watch::Receiver<Option<ProxySettings>>,
    /// CA bundle of the platform.
    pub trusted_ca: watch::Receiver<Option<Objects<ConfigMap>>>,
}

/// Query to the update service and its connection settings, from one state of the inputs.
#[derive(Clone, Debug)]
pub(super) struct GraphRequest {
    pub(super) cluster_version: Arc<ClusterVersion>,
    pub(super) query: Result<GraphQuery, QueryError>,
    pub(super) connection: ConnectionSettings,
}

impl GraphRequest {
    pub(super) fn generation(&self) -> i64 {
        self.cluster_version.metadata.generation.unwrap_or_default()
    }
}

impl Inputs {
    /// Takes the receivers from the watches.
    pub fn new(watches: &ClusterWatches, current: Arc<RunningRelease>) -> Self {
        Self {
            current,
            cluster_version: watches.cluster_version.clone(),
            proxy: watches.proxy.clone(),
            trusted_ca: watches.trusted_ca.clone(),
        }
    }

    /// The current request; `None` until all inputs are known. A request without the proxy or the CA
    /// bundle of a cluster would only fail.
    pub(super) fn task(&mut self, services: &UpdateServices) -> Option<GraphRequest> {
        let seen = self.cluster_version.borrow_and_update().clone();
        let proxy = self.proxy.borrow_and_update().clone()?;
        let trusted = self.trusted_ca.borrow_and_update().clone()?;
        let cluster_version = only(seen.as_ref())?;
        Some(GraphRequest {
            cluster_version: Arc::clone(cluster_version),
            query: query::build_query(&cluster_version.spec, &self.current, services),
            connection: ConnectionSettings { proxy, ca_bundle: bundle(&trusted) },
        })
    }

    /// Waits for a change; `false` if a sender is gone.
    pub(super) async fn changed(&mut self) -> bool {
        any_changed!(self.cluster_version, self.proxy, self.trusted_ca)
    }
}

/// The CA bundle in PEM; empty if the platform has none.
pub(crate) fn bundle(trusted: &Objects<ConfigMap>) -> String {
    let data = only(Some(trusted)).and_then(|map| map.data.as_ref());
    data.and_then(|data| data.get(BUNDLE)).cloned().unwrap_or_default()
}
