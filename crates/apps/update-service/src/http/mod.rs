//! Requests and their answers. A request is a lookup and a write of shared bytes.

mod accept;
mod conditional;
mod graph;
mod openapi;
mod operations;
mod query;
mod refusal;
mod reply;
mod route;
mod signatures;

pub(crate) use openapi::document as openapi;
pub(crate) use operations::WrittenReport;

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Body;

use crate::state::State;
use refusal::Refusal;
use route::Route;

/// An answer; its bytes are shared with all others that are the same.
pub(crate) type Answer = Response<Full<Bytes>>;

/// The longest path with its query; real ones have some 150 characters.
const MAX_URI: usize = 8 << 10;

/// Which paths there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Paths {
    /// All of them.
    All,
    /// Those of clients; probes are answered elsewhere.
    Public,
    /// Probes alone.
    Probes,
}

/// How many other connections there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It gets what it asks for.
    Welcome,
    /// It gets what it asks for, and makes room for others.
    Brief,
    /// There are too many: probes are answered, the others are asked to come back.
    Full,
}

impl Paths {
    fn have(self, route: Route<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Public => !route.is_probe(),
            Self::Probes => route.is_probe(),
        }
    }
}

/// Answers a request, whatever it is.
pub(crate) async fn answer<B: Body>(
    state: Arc<State>,
    paths: Paths,
    admission: Admission,
    request: Request<B>,
) -> Result<Answer, Infallible> {
    let mut answer = match dispatch(&state, paths, admission, &request).await {
        Ok(answer) => answer,
        Err(refusal) => {
            state.metrics.error(refusal.status().as_u16(), refusal.kind());
            refusal.answer()
        }
    };
    // No request needs a body, and nobody reads one. What follows it on the same connection could
    // be a part of it in the eyes of a proxy, so it is not taken for a request.
    let has_body = !request.body().is_end_stream();
    if has_body || admission != Admission::Welcome || state.is_leaving() {
        answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply::allow_all_origins(answer.headers_mut());
    Ok(answer)
}

async fn dispatch<B>(
    state: &State,
    paths: Paths,
    admission: Admission,
    request: &Request<B>,
) -> Result<Answer, Refusal> {
    let uri = request.uri();
    if uri.path().len() + uri.query().map_or(0, str::len) > MAX_URI {
        return Err(Refusal::UriTooLong);
    }
    let route = Route::of(&state.settings.prefix, uri.path()).filter(|route| paths.have(*route));
    let route = route.ok_or(Refusal::NotFound)?;
    if admission == Admission::Full && !route.is_probe() {
        state.metrics.refused.inc();
        return Err(Refusal::Busy);
    }
    match *request.method() {
        Method::GET | Method::HEAD => {}
        Method::OPTIONS => return Ok(reply::preflight()),
        _ => return Ok(method_not_allowed()),
    }
    match route {
        Route::Graph | Route::V1Graph => graph::graph(state, route, request).await,
        Route::Channels => graph::channels(state, request).await,
        Route::Latest => graph::latest(state, request).await,
        Route::GraphData => graph::graph_data(state, request).await,
        Route::Signature { algorithm, digest, name } => {
            signatures::signature(state, algorithm, digest, name).await
        }
        Route::OpenApi => {
            Ok(reply::document(state, request.headers(), &state.openapi, reply::JSON).await)
        }
        Route::Health => Ok(operations::health()),
        Route::Ready => Ok(operations::ready(state)),
        Route::Status => Ok(operations::status(state)),
        Route::Metrics => Ok(operations::metrics(state)),
    }
}

fn method_not_allowed() -> Answer {
    let mut answer = reply::empty(StatusCode::METHOD_NOT_ALLOWED);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(reply::METHODS));
    answer
}
