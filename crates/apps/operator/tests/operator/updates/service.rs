//! An update service that answers whatever a test wants.

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

/// A request that arrived.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

type Reply = Arc<dyn Fn(&Asked) -> Response + Send + Sync>;

struct Shared {
    reply: Mutex<Reply>,
    asked: Mutex<Vec<Asked>>,
}

/// Ends with this value.
pub(crate) struct Service {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Service {
    pub(crate) async fn start(reply: impl Fn(&Asked) -> Response + Send + Sync + 'static) -> Self {
        Self::start_at((Ipv4Addr::LOCALHOST, 0).into(), reply).await
    }

    pub(crate) async fn start_at(
        address: SocketAddr,
        reply: impl Fn(&Asked) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared =
            Arc::new(Shared { reply: Mutex::new(Arc::new(reply)), asked: Mutex::default() });
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

    /// From now on, it answers like this.
    pub(crate) fn answer(&self, reply: impl Fn(&Asked) -> Response + Send + Sync + 'static) {
        *self.shared.reply.lock().unwrap() = Arc::new(reply);
    }

    /// What it was asked so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let asked = Asked { uri: request.uri().clone(), headers: request.headers().clone() };
    shared.asked.lock().unwrap().push(asked.clone());
    let reply = Arc::clone(&shared.reply.lock().unwrap());
    reply(&asked)
}

/// Answers with a document.
pub(crate) fn document(document: impl Into<Body>) -> Response {
    Response::new(document.into())
}

/// Answers with a graph in which 5.1.0 leads to these.
pub(crate) fn leads_to(versions: &[&str]) -> Response {
    document(graph(versions).to_string())
}

/// Answers with a document that has a tag, or that nothing has changed.
pub(crate) fn tagged(asked: &Asked, tag: &'static str, text: String) -> Response {
    if asked.header("if-none-match") == Some(tag) {
        return StatusCode::NOT_MODIFIED.into_response();
    }
    ([(header::ETAG, tag)], text).into_response()
}

/// A graph in which 5.1.0 leads to these.
pub(crate) fn graph(versions: &[&str]) -> Value {
    let node = |version: &str| json!({"version": version, "payload": format!("example/{version}")});
    let nodes = std::iter::once("5.1.0").chain(versions.iter().copied()).map(node);
    let edges = (1..=versions.len()).map(|to| json!([0, to]));
    json!({"nodes": nodes.collect::<Value>(), "edges": edges.collect::<Value>()})
}
