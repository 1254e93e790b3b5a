//! A server in front of a dependency of the operator, which fails on demand.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Result;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::http;

/// How requests are answered.
#[derive(Clone, Debug)]
pub(crate) enum Behaviour {
    /// Forwarded.
    Forward,
    /// With an HTTP status.
    Status(u16),
    /// Never.
    Hang,
    /// With a text as JSON.
    Text(String),
    /// With samples, like an exporter.
    Metrics(String),
}

type Forward = Box<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;
type BehaviourSelector = Box<dyn Fn(&str) -> Behaviour + Send + Sync>;

struct Shared {
    forward: Forward,
    selector: Mutex<BehaviourSelector>,
}

/// The server; it stops when it is dropped.
pub(crate) struct FaultProxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a server that forwards all requests.
    pub(crate) async fn start(
        forward: impl Fn(Request) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) -> Result<Self> {
        let selector: Mutex<BehaviourSelector> = Mutex::new(Box::new(|_| Behaviour::Forward));
        let shared = Arc::new(Shared { forward: Box::new(forward), selector });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a running listener");
        });
        Ok(Self { address, shared, task })
    }

    /// Starts a proxy of another server.
    pub(crate) async fn before(url: String) -> Result<Self> {
        let http = http()?;
        Self::start(move |request| Box::pin(pass_on(http.clone(), url.clone(), request))).await
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sets the behaviour for all requests.
    pub(crate) fn behaves(&self, behaviour: Behaviour) {
        self.behaves_by(move |_| behaviour.clone());
    }

    /// Sets the behaviour by URL.
    pub(crate) fn behaves_by(&self, selector: impl Fn(&str) -> Behaviour + Send + Sync + 'static) {
        *lock(&self.shared.selector) = Box::new(selector);
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let behaviour = lock(&shared.selector)(&request.uri().to_string());
    match behaviour {
        Behaviour::Forward => (shared.forward)(request).await,
        Behaviour::Status(code) => {
            StatusCode::from_u16(code).unwrap_or(StatusCode::IM_A_TEAPOT).into_response()
        }
        Behaviour::Hang => std::future::pending().await,
        Behaviour::Metrics(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
        }
        Behaviour::Text(text) => {
            ([(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
    }
}

async fn pass_on(http: reqwest::Client, url: String, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let mut request_builder = http.get(format!("{url}?{query}"));
    for name in [header::ACCEPT, header::IF_NONE_MATCH] {
        if let Some(value) = request.headers().get(&name) {
            request_builder = request_builder.header(name, value);
        }
    }
    let Ok(answer) = request_builder.send().await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let mut response = Response::builder().status(answer.status());
    for name in [header::ETAG, header::CONTENT_TYPE] {
        if let Some(value) = answer.headers().get(&name) {
            response = response.header(name, value);
        }
    }
    let body = answer.bytes().await.unwrap_or_default();
    response.body(Body::from(body)).expect("a valid response")
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
