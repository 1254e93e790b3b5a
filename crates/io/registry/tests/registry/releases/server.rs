//! An in-memory registry that records requests and can misbehave.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::releases::images::Content;

/// Returns another response, if any.
type ResponseOverride = dyn Fn(&Method, &str, &HeaderMap) -> Option<Response> + Send + Sync;

/// The server stops when this is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    content: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    tags: Mutex<BTreeSet<String>>,
    requests: Mutex<Vec<String>>,
    override_response: Box<ResponseOverride>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with_override(|_, _, _| None).await
    }

    pub(crate) async fn with_override(
        override_response: impl Fn(&Method, &str, &HeaderMap) -> Option<Response>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            content: Mutex::default(),
            tags: Mutex::default(),
            requests: Mutex::default(),
            override_response: Box::new(override_response),
        });
        let router = Router::new().fallback(respond).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn repository(&self) -> String {
        format!("{}/releases", self.address)
    }

    /// Adds an image with a tag.
    pub(crate) fn add(&self, tag: &str, content: &Content) {
        self.add_untagged(content);
        let mut all = self.shared.content.lock().unwrap();
        let manifest = (content.media_type.to_owned(), content.manifest.clone());
        all.insert(format!("/v2/releases/manifests/{tag}"), manifest);
        self.shared.tags.lock().unwrap().insert(tag.to_owned());
    }

    pub(crate) fn add_untagged(&self, content: &Content) {
        let mut all = self.shared.content.lock().unwrap();
        let digest = content.digest();
        let manifest = (content.media_type.to_owned(), content.manifest.clone());
        all.insert(format!("/v2/releases/manifests/{digest}"), manifest);
        for blob in &content.blobs {
            let digest = fairway_registry::Digest::of(blob);
            let blob = ("application/octet-stream".to_owned(), blob.clone());
            all.insert(format!("/v2/releases/blobs/{digest}"), blob);
        }
    }

    /// Removes the content of a path; a tag stays listed.
    pub(crate) fn remove(&self, path: &str) {
        self.shared.content.lock().unwrap().remove(&format!("/v2/releases/{path}"));
    }

    /// Replaces the content of a path.
    pub(crate) fn replace(&self, path: &str, bytes: &[u8]) {
        let mut all = self.shared.content.lock().unwrap();
        all.get_mut(&format!("/v2/releases/{path}")).unwrap().1 = bytes.to_vec();
    }

    /// Returns and clears the recorded requests, without the repository.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.requests.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn respond(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let relative = path.strip_prefix("/v2/releases/").unwrap_or(path);
    shared.requests.lock().unwrap().push(format!("{method} {relative}"));
    if let Some(response) = (shared.override_response)(method, relative, request.headers()) {
        return response;
    }
    if path == "/v2/releases/tags/list" {
        let tags: Vec<String> = shared.tags.lock().unwrap().iter().cloned().collect();
        return serde_json::json!({ "name": "releases", "tags": tags }).to_string().into_response();
    }
    let content = shared.content.lock().unwrap().get(path).cloned();
    let Some((media_type, bytes)) = content else {
        return StatusCode::NOT_FOUND.into_response();
    };
    let digest = fairway_registry::Digest::of(&bytes).to_string();
    let headers = [(header::CONTENT_TYPE.as_str(), media_type), ("docker-content-digest", digest)];
    let body = if *method == Method::HEAD { Body::empty() } else { bytes.into() };
    (headers, body).into_response()
}
