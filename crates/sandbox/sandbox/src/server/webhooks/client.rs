//! One request to a webhook.

use std::error::Error as _;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhook;
use rustls::pki_types::ServerName;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::address::{self, Address};
use super::trust;
use crate::store::Store;

/// What the API server takes of a request's body, and more than any verdict needs.
const ANSWER_BYTES: usize = 3 << 20;

/// What a webhook gets that says nothing about it.
const DEFAULT_SECONDS: i32 = 10;

/// Sends a review and returns the answer; an error is the end of a sentence.
pub(super) async fn post(
    webhook: &ValidatingWebhook,
    review: &Value,
    store: &Store,
) -> Result<Bytes, String> {
    let seconds = webhook.timeout_seconds.unwrap_or(DEFAULT_SECONDS);
    let mut address = address::find(webhook, store)?;
    address.url.query_pairs_mut().append_pair("timeout", &format!("{seconds}s"));
    let bundle = webhook.client_config.ca_bundle.as_ref().map(|bundle| &*bundle.0);
    let tls = TlsConnector::from(Arc::new(trust::config(bundle)?));
    let limit = Duration::from_secs(u64::try_from(seconds).unwrap_or_default());
    let answer = timeout(limit, exchange(&address, tls, review)).await;
    let answer = answer.unwrap_or_else(|_| Err(Problem::Way("context deadline exceeded".into())));
    answer.map_err(|problem| match problem {
        Problem::Way(why) => {
            format!("failed to call webhook: Post {:?}: {why}", address.url.as_str())
        }
        Problem::Answer(why) => format!("failed to call webhook: {why}"),
    })
}

/// Why there is no answer.
enum Problem {
    /// The webhook could not be reached.
    Way(String),
    /// It answers something else.
    Answer(String),
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Way(error.to_string())
    }
}

impl From<hyper::Error> for Problem {
    fn from(error: hyper::Error) -> Self {
        let source = error.source().map(ToString::to_string);
        Self::Way(source.unwrap_or_else(|| error.to_string()))
    }
}

async fn exchange(address: &Address, tls: TlsConnector, review: &Value) -> Result<Bytes, Problem> {
    let Address { url, host, port } = address;
    let dial = |error: io::Error| Problem::Way(format!("dial tcp {host}:{port}: {}", told(&error)));
    let stream = TcpStream::connect((host.as_str(), *port)).await.map_err(dial)?;
    let called = url.host_str().unwrap_or_default();
    let name = ServerName::try_from(called.to_owned());
    let name = name.map_err(|error| Problem::Way(error.to_string()))?;
    let stream = tls.connect(name, stream).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post(&url[url::Position::BeforePath..])
        .header(HOST, &url[url::Position::BeforeHost..url::Position::AfterPort])
        .header(CONTENT_TYPE, "application/json")
        .header(ACCEPT, "application/json")
        .header(USER_AGENT, "kube-apiserver-admission")
        .body(Full::new(Bytes::from(review.to_string())))
        .map_err(|error| Problem::Way(error.to_string()))?;
    let answer = async {
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, ANSWER_BYTES).collect().await;
        let body = body.map_err(|error| Problem::Answer(error.to_string()))?.to_bytes();
        if head.status == StatusCode::OK { Ok(body) } else { Err(refused(&head, &body)) }
    };
    // The connection makes progress only while it is looked after.
    tokio::pin!(answer);
    tokio::select! {
        answer = answer.as_mut() => answer,
        ended = connection => match ended {
            Ok(()) => answer.await,
            Err(error) => Err(error.into()),
        },
    }
}

/// As the real server says it.
fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
        _ => error.to_string(),
    }
}

/// Errors of servers are passed on if they are plain text.
fn refused(head: &http::response::Parts, body: &[u8]) -> Problem {
    let kind = head.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_text = kind.is_some_and(|kind| kind.starts_with("text/"));
    let said = if is_text { String::from_utf8_lossy(body) } else { "unknown".into() };
    let said = said.trim();
    Problem::Answer(match head.status {
        StatusCode::NOT_FOUND => "the server could not find the requested resource".to_owned(),
        status if status.is_server_error() => {
            format!("an error on the server ({said:?}) has prevented the request from succeeding")
        }
        status => format!("the server responded with the status code {}", status.as_u16()),
    })
}
