//! A reverse proxy that records requests and denies some of them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

/// The server stops when this is dropped.
pub(crate) struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: tokio::task::JoinHandle<()>,
}

struct Shared {
    registry: String,
    client: reqwest::Client,
    requests: Mutex<Vec<String>>,
    forbidden: Mutex<BTreeSet<String>>,
}

impl Proxy {
    pub(crate) async fn start(registry: &str) -> Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            registry: registry.to_owned(),
            client: reqwest::Client::new(),
            requests: Mutex::default(),
            forbidden: Mutex::default(),
        });
        let router = Router::new().fallback(forward).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Ok(Self { address, shared, task })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn forbid(&self, path: &str) {
        self.shared.forbidden.lock().unwrap().insert(path.to_owned());
    }

    /// Returns and clears the recorded requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.requests.lock().unwrap())
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    shared.requests.lock().unwrap().push(format!("{method} {path}"));
    if shared.forbidden.lock().unwrap().contains(&path) {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let query = request.uri().query().map(|query| format!("?{query}")).unwrap_or_default();
    let url = format!("http://{}{path}{query}", shared.registry);
    let mut forwarded = shared.client.request(method, url);
    if let Some(accept) = request.headers().get(header::ACCEPT) {
        forwarded = forwarded.header(header::ACCEPT, accept);
    }
    match forwarded.send().await {
        Ok(answer) => {
            let (status, headers) = (answer.status(), answer.headers().clone());
            let body = answer.bytes().await.unwrap_or_default();
            let mut response = Response::new(Body::from(body));
            *response.status_mut() = status;
            for name in ["docker-content-digest", "content-type", "link"] {
                if let Some(value) = headers.get(name) {
                    response.headers_mut().insert(name, value.clone());
                }
            }
            response
        }
        Err(_) => StatusCode::BAD_GATEWAY.into_response(),
    }
}
