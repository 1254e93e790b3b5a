//! Those whom the operator asks: an update service with one graph, and a Prometheus that takes its
//! time.

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

/// What a query of a busy Prometheus takes.
const ANSWER_TAKES: Duration = Duration::from_millis(10);

/// One sample that says that the risk applies: the longest status.
const APPLIES: &str = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[0,"1"]}]}}"#;
const NO_ALERTS: &str = r#"{"status":"success","data":{"alerts":[]}}"#;

/// The graph is always the same one.
const TAG: HeaderValue = HeaderValue::from_static("\"graph\"");

/// Both, on one address. They end with this value.
pub(crate) struct Neighbours {
    address: SocketAddr,
    noted: Arc<Noted>,
    task: JoinHandle<()>,
}

/// What was asked.
struct Noted {
    graph: String,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    /// Since the graph was first sent.
    graph: Option<Stopwatch>,
    /// How often each query was asked.
    queries: BTreeMap<String, usize>,
}

impl Noted {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Neighbours {
    pub(crate) async fn start(graph: String) -> Result<Self> {
        let noted = Arc::new(Noted { graph, asked: Mutex::default() });
        let router = Router::new()
            .route("/graph", get(send_graph))
            .route("/api/v1/query", get(answer))
            .route("/api/v1/alerts", get(async || json(NO_ALERTS.to_owned())))
            .with_state(Arc::clone(&noted));
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            // It never fails by itself, and ends when it is aborted.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { address, noted, task })
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How long ago the graph was first sent.
    pub(crate) fn since_graph(&self) -> Option<Duration> {
        self.noted.asked().graph.map(Stopwatch::elapsed)
    }

    /// Every query that was asked.
    pub(crate) fn queries(&self) -> Vec<String> {
        self.noted.asked().queries.keys().cloned().collect()
    }

    /// How many times one was asked.
    pub(crate) fn answers(&self) -> usize {
        self.noted.asked().queries.values().sum()
    }
}

impl Drop for Neighbours {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn send_graph(State(noted): State<Arc<Noted>>, headers: HeaderMap) -> Response {
    noted.asked().graph.get_or_insert_with(Stopwatch::start);
    if headers.get(IF_NONE_MATCH) == Some(&TAG) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(ETAG, TAG)], json(noted.graph.clone())).into_response()
}

async fn answer(State(noted): State<Arc<Noted>>, query: Uri) -> Response {
    let query = query.query().unwrap_or_default().to_owned();
    *noted.asked().queries.entry(query).or_default() += 1;
    sleep_until(Instant::now() + ANSWER_TAKES).await;
    json(APPLIES.to_owned())
}

fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json")], text).into_response()
}
