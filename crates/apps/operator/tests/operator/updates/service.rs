//! A programmable update service.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// A received request.
#[derive(Clone, Debug)]
pub(crate) struct ReceivedRequest {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

type Reply = Arc<dyn Fn(&ReceivedRequest) -> Response + Send + Sync>;

struct Shared {
    reply: Mutex<Reply>,
    requests: Mutex<Vec<ReceivedRequest>>,
}

/// The service; it stops when it is dropped.
pub(crate) struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Service {
    pub(crate) async fn start(
        reply: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), reply).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        reply: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Arc::new(Shared { reply: Mutex::new(Arc::new(reply)), requests: Mutex::default() });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/graph", self.address)
    }

    /// Replaces the response.
    pub(crate) fn answer(
        &self,
        reply: impl Fn(&ReceivedRequest) -> Response + Send + Sync + 'static,
    ) {
        *self.shared.reply.lock().unwrap() = Arc::new(reply);
    }

    /// The requests so far.
    pub(crate) fn requests(&self) -> Vec<ReceivedRequest> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let received =
        ReceivedRequest { uri: request.uri().clone(), headers: request.headers().clone() };
    shared.requests.lock().unwrap().push(received.clone());
    let reply = Arc::clone(&shared.reply.lock().unwrap());
    reply(&received)
}

/// A response with a document.
pub(crate) fn document(document: impl Into<Body>) -> Response {
    Response::new(document.into())
}

/// A response with updates from 5.1.0 to these versions.
pub(crate) fn leads_to(versions: &[&str]) -> Response {
    document(graph(versions).to_string())
}

/// A response with an entity tag, or 304.
pub(crate) fn tagged(request: &ReceivedRequest, tag: &'static str, text: String) -> Response {
    if request.header("if-none-match") == Some(tag) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(header::ETAG, tag)], text).into_response()
}

/// A graph with updates from 5.1.0 to these versions.
pub(crate) fn graph(versions: &[&str]) -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("example/{version}")});
    let nodes = std::iter::once("5.1.0").chain(versions.iter().copied()).map(node);
    let edges = (1..=versions.len()).map(|to| json!([0, to]));
    json!({"nodes": nodes.collect::<Value>(), "edges": edges.collect::<Value>()})
}
