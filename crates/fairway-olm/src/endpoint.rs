//! What the guard answers over HTTP: the webhook, `/metrics`, `/healthz` and `/readyz`.

use std::sync::Arc;

use bytes::Bytes;
use fairway_api::ClusterVersion;
use fairway_compat::olm::ClusterVersions;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use hyper::body::Incoming;

use crate::metrics::{Decision, Metrics};
use crate::sight::{Only, Seen};
use crate::webhook;

/// What an API server sends at most: it takes 3 MiB of an object itself.
const BODY_BYTES: usize = 4 << 20;

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// What answers are made of.
#[derive(Clone)]
pub(crate) struct Endpoint {
    pub(crate) cluster_version: Seen<Only<ClusterVersion>>,
    pub(crate) metrics: Arc<Metrics>,
}

impl Endpoint {
    /// Answers a request, whatever it is.
    pub(crate) async fn answer(self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        match (request.method(), request.uri().path()) {
            (&Method::POST, webhook::PATH) => self.review(request).await,
            (&Method::GET, "/metrics") => answer(StatusCode::OK, OPEN_METRICS, self.metrics.text()),
            (&Method::GET, "/healthz") => answer(StatusCode::OK, TEXT, "ok"),
            (&Method::GET, "/readyz") => self.ready(),
            _ => {
                let known = "there are /validate, /metrics, /healthz and /readyz";
                answer(StatusCode::NOT_FOUND, TEXT, known)
            }
        }
    }

    fn ready(&self) -> Response<Full<Bytes>> {
        if self.cluster().is_some() {
            return answer(StatusCode::OK, TEXT, "ok");
        }
        let waiting = "waiting for a first look at the cluster";
        answer(StatusCode::SERVICE_UNAVAILABLE, TEXT, waiting)
    }

    async fn review(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let body = Limited::new(request.into_body(), BODY_BYTES).collect().await;
        let Ok(body) = body.map(Collected::to_bytes) else {
            self.metrics.reviewed(Decision::unreadable);
            return answer(StatusCode::PAYLOAD_TOO_LARGE, TEXT, "the review is too large");
        };
        // Before the first look nobody knows the version, and nobody is refused.
        let cluster = self.cluster().unwrap_or_default();
        let Some(reviewed) = webhook::answer(&body, &cluster) else {
            self.metrics.reviewed(Decision::unreadable);
            return answer(StatusCode::BAD_REQUEST, TEXT, "this is no AdmissionReview");
        };
        self.metrics.reviewed(reviewed.decision);
        answer(StatusCode::OK, "application/json", reviewed.body.to_string())
    }

    fn cluster(&self) -> Option<ClusterVersions> {
        let seen = self.cluster_version.borrow();
        let seen = seen.as_deref()?;
        Some(seen.as_ref().map(ClusterVersions::of).unwrap_or_default())
    }
}

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    answer
}
