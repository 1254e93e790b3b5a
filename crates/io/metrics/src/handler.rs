//! Responses to scrapes, and a cache of the rendered metrics.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use bytes::Bytes;
use fairway_http::ClientConnection;
use http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::Full;
use kube::Client;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::cache::Decision;
use crate::reviewer::TokenReviewer;

/// Media type that Prometheus reads.
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// Minimum interval between renderings: clients must not be able to occupy the CPU. Prometheus
/// scrapes much less often.
const RENDER_INTERVAL: Duration = Duration::from_secs(1);

/// Clients that may read metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsAuth {
    /// Those with a bearer token whose user may get `/metrics`, or with a trusted certificate.
    #[default]
    Token,
    /// All.
    None,
}

/// Identity of a client that requests metrics.
#[derive(Clone, PartialEq, Eq)]
pub struct ScrapeRequest {
    peer: IpAddr,
    has_certificate: bool,
    token: Option<String>,
}

impl<B> From<&Request<B>> for ScrapeRequest {
    fn from(request: &Request<B>) -> Self {
        let connection = request.extensions().get::<ClientConnection>();
        let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = header.and_then(|header| {
            let (scheme, token) = header.split_once(' ')?;
            (scheme.eq_ignore_ascii_case("bearer")).then(|| token.trim())
        });
        Self {
            peer: connection.map_or(Ipv4Addr::UNSPECIFIED.into(), |it| it.peer),
            has_certificate: connection.is_some_and(|it| it.has_certificate),
            token: token.filter(|token| !token.is_empty()).map(str::to_owned),
        }
    }
}

type Render = Box<dyn Fn() -> String + Send + Sync>;

/// Responds to scrapes.
pub struct MetricsHandler {
    render: Render,
    rendered: Mutex<Option<(Instant, Bytes)>>,
    /// `None` lets all clients read metrics.
    reviewer: Option<TokenReviewer>,
}

impl MetricsHandler {
    /// A handler that renders metrics as OpenMetrics text.
    pub fn new(
        auth: MetricsAuth,
        client: Client,
        render: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        let reviewer = match auth {
            MetricsAuth::Token => Some(TokenReviewer::new(client)),
            MetricsAuth::None => None,
        };
        Self { render: Box::new(render), rendered: Mutex::default(), reviewer }
    }

    /// Responds to a request for metrics.
    pub async fn respond(&self, request: ScrapeRequest) -> Response<Full<Bytes>> {
        if let Some(refusal) = self.refuse(&request).await {
            return refusal;
        }
        let mut response = Response::new(Full::new(self.text().await));
        response.headers_mut().insert(CONTENT_TYPE, OPEN_METRICS);
        response
    }

    /// Refuses a request of a client that may not read metrics.
    async fn refuse(&self, request: &ScrapeRequest) -> Option<Response<Full<Bytes>>> {
        let reviewer = self.reviewer.as_ref().filter(|_| !request.has_certificate)?;
        let Some(token) = &request.token else {
            return Some(unauthenticated("authentication required: send a bearer token"));
        };
        match reviewer.decide(request.peer, token).await {
            Ok(Decision::Allowed) => None,
            Ok(Decision::Unauthenticated) => Some(unauthenticated("the bearer token is invalid")),
            Ok(Decision::Forbidden) => Some(text(
                StatusCode::FORBIDDEN,
                "the user of the token may not get the non-resource URL /metrics",
            )),
            Err(error) => {
                let (peer, error) = (request.peer, &error as &dyn std::error::Error);
                tracing::warn!(%peer, error, "cannot review bearer token of a scrape");
                let message = "cannot verify the bearer token with the API server; retry later";
                Some(text(StatusCode::SERVICE_UNAVAILABLE, message))
            }
        }
    }

    /// The metrics, rendered a moment ago at most.
    async fn text(&self) -> Bytes {
        let mut rendered = self.rendered.lock().await;
        let now = Instant::now();
        match &*rendered {
            Some((at, text)) if now < *at + RENDER_INTERVAL => text.clone(),
            _ => {
                let text = Bytes::from((self.render)());
                *rendered = Some((now, text.clone()));
                text
            }
        }
    }
}

fn unauthenticated(message: &'static str) -> Response<Full<Bytes>> {
    let mut response = text(StatusCode::UNAUTHORIZED, message);
    response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

fn text(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, TEXT);
    response
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn text_is_rendered_once_a_second() {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&count);
        // Only one task renders, so the order of accesses is that of the test.
        let render = move || (counted.fetch_add(1, Ordering::Relaxed) + 1).to_string();
        let rendered = Mutex::default();
        let handler = MetricsHandler { render: Box::new(render), rendered, reviewer: None };
        for _ in 0..100 {
            assert_eq!(handler.text().await, "1");
        }
        tokio::time::advance(RENDER_INTERVAL).await;
        assert_eq!(handler.text().await, "2");
        assert_eq!(count.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn scrape_request_has_token_of_authorization_header() {
        let token = |header: &str| {
            let request = Request::builder().header(AUTHORIZATION, header).body(()).unwrap();
            ScrapeRequest::from(&request).token
        };
        assert_eq!(token("Bearer abc").as_deref(), Some("abc"));
        assert_eq!(token("bearer  abc ").as_deref(), Some("abc"));
        for header in ["Basic abc", "Bearer", "Bearer ", "abc"] {
            assert_eq!(token(header), None, "{header:?}");
        }
        assert!(!ScrapeRequest::from(&Request::new(())).has_certificate);
    }
}
