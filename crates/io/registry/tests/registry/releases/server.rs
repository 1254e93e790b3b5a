//! A registry of a few images in memory, which says what it was asked and can be told to misbehave.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::releases::images::Content;

/// Decides what to answer instead, if anything.
type Misbehaviour = dyn Fn(&Method, &str, &HeaderMap) -> Option<Response> + Send + Sync;

/// Ends with this value.
pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    content: Mutex<BTreeMap<String, (String, Vec<u8>)>>,
    tags: Mutex<BTreeSet<String>>,
    asked: Mutex<Vec<String>>,
    misbehaviour: Box<Misbehaviour>,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::misbehaving(|_, _, _| None).await
    }

    pub(crate) async fn misbehaving(
        misbehaviour: impl Fn(&Method, &str, &HeaderMap) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            content: Mutex::default(),
            tags: Mutex::default(),
            asked: Mutex::default(),
            misbehaviour: Box::new(misbehaviour),
        });
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { address, shared, task }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn repository(&self) -> String {
        format!("{}/releases", self.address)
    }

    /// Has an image under its digest, and under a tag.
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

    /// Forgets what it has under a path, but not that there is a tag.
    pub(crate) fn forget(&self, path: &str) {
        self.shared.content.lock().unwrap().remove(&format!("/v2/releases/{path}"));
    }

    /// Has something else under a path.
    pub(crate) fn replace(&self, path: &str, bytes: &[u8]) {
        let mut all = self.shared.content.lock().unwrap();
        all.get_mut(&format!("/v2/releases/{path}")).unwrap().1 = bytes.to_vec();
    }

    /// What it was asked since the last time, without the repository.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.asked.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (method, path) = (request.method(), request.uri().path());
    let asked = path.strip_prefix("/v2/releases/").unwrap_or(path);
    shared.asked.lock().unwrap().push(format!("{method} {asked}"));
    if let Some(answer) = (shared.misbehaviour)(method, asked, request.headers()) {
        return answer;
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
