//! Stub services of the operator: an update service with one graph, and a slow Prometheus.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use fairway_testkit::testbed::wait::Stopwatch;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// The duration of a query on a busy Prometheus.
const QUERY_DURATION: Duration = Duration::from_millis(10);

/// One sample that matches: a risk that applies has the largest status.
const APPLIES: &str = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"1"]}]}}"#;
const NO_ALERTS: &str = r#"{"status":"success","data":{"alerts":[]}}"#;

/// The `ETag` of the graph, which never changes.
const TAG: HeaderValue = HeaderValue::from_static("\"graph\"");

/// Both services on one address. Dropping it ends them.
pub(crate) struct StubServices {
    address: SocketAddr,
    state: Arc<Recorder>,
    task: JoinHandle<()>,
}

/// The graph, and the requests so far.
struct Recorder {
    graph: String,
    requests: Mutex<Recorded>,
}

#[derive(Default)]
struct Recorded {
    /// Time since the first response with the graph.
    graph: Option<Stopwatch>,
    /// Number of requests for each query.
    queries: BTreeMap<String, usize>,
}

impl Recorder {
    fn requests(&self) -> MutexGuard<'_, Recorded> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StubServices {
    pub(crate) async fn start(graph: String) -> Result<Self> {
        let state = Arc::new(Recorder { graph, requests: Mutex::default() });
        let router = Router::new()
            .route("/graph", get(send_graph))
            .route("/api/v1/query", get(query))
            .route("/api/v1/alerts", get(async || json(NO_ALERTS.to_owned())))
            .with_state(Arc::clone(&state));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // It ends when the task is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, state, task })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Time since the first response with the graph.
    pub(crate) fn since_graph(&self) -> Option<Duration> {
        self.state.requests().graph.map(Stopwatch::elapsed)
    }

    /// The distinct queries so far.
    pub(crate) fn queries(&self) -> Vec<String> {
        self.state.requests().queries.keys().cloned().collect()
    }

    /// Number of requests with a query.
    pub(crate) fn query_count(&self) -> usize {
        self.state.requests().queries.values().sum()
    }
}

impl Drop for StubServices {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn send_graph(State(state): State<Arc<Recorder>>, headers: HeaderMap) -> Response {
    state.requests().graph.get_or_insert_with(Stopwatch::start);
    if headers.get(IF_NONE_MATCH) == Some(&TAG) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(ETAG, TAG)], json(state.graph.clone())).into_response()
}

async fn query(State(state): State<Arc<Recorder>>, uri: Uri) -> Response {
    let query = uri.query().unwrap_or_default().to_owned();
    *state.requests().queries.entry(query).or_default() += 1;
    sleep_until(Instant::now() + QUERY_DURATION).await;
    json(APPLIES.to_owned())
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
