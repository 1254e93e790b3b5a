//! Somebody whom the operator asks, and who can be made to answer badly.

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

/// How a question is answered.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// As it should be.
    Well,
    /// With this HTTP status.
    Status(u16),
    /// Never.
    Never,
    /// With this text, as JSON.
    Text(String),
    /// With these samples, as exporters do.
    Metrics(String),
}

type Honest = Box<dyn Fn(Request) -> BoxFuture<'static, Response> + Send + Sync>;
type Manners = Box<dyn Fn(&str) -> Manner + Send + Sync>;

struct Shared {
    honest: Honest,
    manners: Mutex<Manners>,
}

/// Ends with this value.
pub(crate) struct Front {
    address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

impl Front {
    /// Somebody who answers well, at first.
    pub(crate) async fn start(
        honest: impl Fn(Request) -> BoxFuture<'static, Response> + Send + Sync + 'static,
    ) -> Result<Self> {
        let manners: Mutex<Manners> = Mutex::new(Box::new(|_| Manner::Well));
        let shared = Arc::new(Shared { honest: Box::new(honest), manners });
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let router = Router::new().fallback(answer).with_state(Arc::clone(&shared));
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("a listener goes on");
        });
        Ok(Self { address, shared, task })
    }

    /// Stands before another server.
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

    /// From now on everything is answered like this.
    pub(crate) fn behaves(&self, manner: Manner) {
        self.behaves_by(move |_| manner.clone());
    }

    /// From now on it depends on what is asked for, as it stands in the URL.
    pub(crate) fn behaves_by(&self, manners: impl Fn(&str) -> Manner + Send + Sync + 'static) {
        *lock(&self.shared.manners) = Box::new(manners);
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn answer(State(shared): State<Arc<Shared>>, request: Request) -> Response {
    let manner = lock(&shared.manners)(&request.uri().to_string());
    match manner {
        Manner::Well => (shared.honest)(request).await,
        Manner::Status(code) => {
            StatusCode::from_u16(code).unwrap_or(StatusCode::IM_A_TEAPOT).into_response()
        }
        Manner::Never => std::future::pending().await,
        Manner::Metrics(text) => {
            ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
        }
        Manner::Text(text) => ([(header::CONTENT_TYPE, "application/json")], text).into_response(),
    }
}

async fn pass_on(http: reqwest::Client, url: String, request: Request) -> Response {
    let query = request.uri().query().unwrap_or_default();
    let mut asked = http.get(format!("{url}?{query}"));
    for name in [header::ACCEPT, header::IF_NONE_MATCH] {
        if let Some(value) = request.headers().get(&name) {
            asked = asked.header(name, value);
        }
    }
    let Ok(answer) = asked.send().await else { return StatusCode::BAD_GATEWAY.into_response() };
    let mut response = Response::builder().status(answer.status());
    for name in [header::ETAG, header::CONTENT_TYPE] {
        if let Some(value) = answer.headers().get(&name) {
            response = response.header(name, value);
        }
    }
    let body = answer.bytes().await.unwrap_or_default();
    response.body(Body::from(body)).expect("an answer that was one before")
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
