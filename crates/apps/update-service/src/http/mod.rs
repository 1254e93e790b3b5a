//! HTTP requests. A request is a lookup and a write of shared bytes.

mod handlers;
mod negotiation;
mod openapi;
mod request;
mod response;

pub(crate) use handlers::CachedStatus;
pub(crate) use openapi::document as openapi;

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Body;

use crate::state::State;
use request::Route;
use response::RequestError;

/// A response whose bytes are shared by all equal responses.
pub(crate) type HttpResponse = Response<Full<Bytes>>;

/// Bytes of path and query; real ones have about 150.
const MAX_URI: usize = 8 << 10;

/// Paths that a listener serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PathSet {
    /// All paths.
    All,
    /// Paths for clients; another listener serves the probes.
    Public,
    /// Probes only.
    Probes,
}

/// Admission of a connection, by the number of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Normal: requests are served.
    Welcome,
    /// Many connections: one request is served, then the connection is closed.
    Brief,
    /// Too many connections: only probes are served, other requests get 503.
    Full,
}

impl PathSet {
    fn contains(self, route: Route<'_>) -> bool {
        match self {
            Self::All => true,
            Self::Public => !route.is_probe(),
            Self::Probes => route.is_probe(),
        }
    }
}

/// Responds to any request.
pub(crate) async fn respond<B: Body>(
    state: Arc<State>,
    paths: PathSet,
    admission: Admission,
    request: Request<B>,
) -> Result<HttpResponse, Infallible> {
    let mut response = match dispatch(&state, paths, admission, &request).await {
        Ok(response) => response,
        Err(error) => {
            state.metrics.error(error.status().as_u16(), error.kind());
            error.to_response()
        }
    };
    // No request needs a body, and the service reads none. A proxy could interpret the following
    // bytes as part of the body, so the connection is closed to prevent request smuggling.
    let has_body = !request.body().is_end_stream();
    if has_body || admission != Admission::Welcome || state.is_shutting_down() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response::allow_all_origins(response.headers_mut());
    Ok(response)
}

async fn dispatch<B>(
    state: &State,
    paths: PathSet,
    admission: Admission,
    request: &Request<B>,
) -> Result<HttpResponse, RequestError> {
    let uri = request.uri();
    if uri.path().len() + uri.query().map_or(0, str::len) > MAX_URI {
        return Err(RequestError::UriTooLong);
    }
    let route =
        Route::parse(&state.settings.prefix, uri.path()).filter(|route| paths.contains(*route));
    let route = route.ok_or(RequestError::NotFound)?;
    if admission == Admission::Full && !route.is_probe() {
        state.metrics.refused.inc();
        return Err(RequestError::Busy);
    }
    match *request.method() {
        Method::GET | Method::HEAD => {}
        Method::OPTIONS => return Ok(response::preflight()),
        _ => return Ok(method_not_allowed()),
    }
    match route {
        Route::Graph | Route::V1Graph => handlers::graph(state, route, request).await,
        Route::Channels => handlers::channels(state, request).await,
        Route::Latest => handlers::latest(state, request).await,
        Route::GraphData => handlers::graph_data(state, request).await,
        Route::Signature { algorithm, digest, name } => {
            handlers::signature(state, algorithm, digest, name).await
        }
        Route::OpenApi => {
            Ok(response::document(state, request.headers(), &state.openapi, response::JSON).await)
        }
        Route::Health => Ok(handlers::health()),
        Route::Ready => Ok(handlers::ready(state)),
        Route::ServiceStatus => Ok(handlers::status(state)),
        Route::Metrics => Ok(handlers::metrics(state)),
    }
}

fn method_not_allowed() -> HttpResponse {
    let mut response = response::empty(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(response::METHODS));
    response
}
