//! HTTP server of the API: authentication, authorization, bodies, responses, watches and audit.
//!
//! `handler` runs these steps for a request and passes it to [`Api`]. Lists and watches are written
//! while they are sent. Matching webhooks review the changes of clients, but not those of the
//! cluster's own components.
//!
//! | module | content |
//! | --- | --- |
//! | `listener` | connections: TLS, HTTP/1.1, HTTP/2, limits |
//! | `handler` | steps of a request |
//! | `authn`, `authz` | authentication and authorization |
//! | `escalation`, `reviews` | privilege escalation, access and token reviews, token requests |
//! | `body`, `protobuf` | request bodies: limits, media types, Protocol Buffers |
//! | `negotiate`, `response` | content negotiation, and responses |
//! | `watch` | watches as streams of events |
//! | `webhooks` | calls of validating webhooks |
//! | `discovery` | discovery, version and health |
//! | `log_options` | options of requests for pod logs |
//! | `audit` | the audit log |

mod audit;
mod authn;
mod authz;
mod body;
mod discovery;
mod escalation;
mod handler;
mod listener;
mod log_options;
mod negotiate;
mod protobuf;
mod response;
mod reviews;
mod watch;
mod webhooks;

use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::api::Api;
use crate::faults::Faults;
use crate::node::logs::Logs;
use crate::openapi::OpenApi;
use crate::token::Tokens;

pub use authn::{Caller, UserInfo};

pub(crate) use audit::AuditLog;
pub(crate) use listener::serve;

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct ServerLimits {
    /// Maximum body size.
    pub body_bytes: usize,
    /// Maximum time to receive a body.
    pub body_time: Duration,
    /// Maximum number of concurrent watches.
    pub watches: usize,
}

impl Default for ServerLimits {
    /// The body size is that of the API server.
    fn default() -> Self {
        Self { body_bytes: 3 << 20, body_time: Duration::from_secs(30), watches: 10_000 }
    }
}

/// State shared by all requests.
pub(crate) struct Server {
    api: Api,
    authorizer: authz::Authorizer,
    tokens: Arc<Tokens>,
    audit: AuditLog,
    faults: Faults,
    open_api: OpenApi,
    /// Container logs, once nodes are running.
    logs: OnceLock<Logs>,
    limits: ServerLimits,
    watches: Arc<Semaphore>,
    /// Address of the server without scheme.
    address: String,
    stopping: CancellationToken,
    /// Cancelled to close all current connections and watches, then replaced.
    connections: RwLock<CancellationToken>,
}

/// Constructor arguments of a server.
pub(crate) struct ServerParts {
    pub(crate) api: Api,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) audit: AuditLog,
    pub(crate) faults: Faults,
    pub(crate) limits: ServerLimits,
    pub(crate) address: String,
    pub(crate) stopping: CancellationToken,
}

impl Server {
    pub(crate) fn new(parts: ServerParts) -> Self {
        let ServerParts { api, tokens, audit, faults, limits, address, stopping } = parts;
        Self {
            authorizer: authz::Authorizer::new(api.store().clone()),
            api,
            tokens,
            audit,
            faults,
            open_api: OpenApi::default(),
            logs: OnceLock::new(),
            watches: Arc::new(Semaphore::new(limits.watches)),
            limits,
            address,
            connections: RwLock::new(CancellationToken::new()),
            stopping,
        }
    }

    /// Sets the source of container logs. Only the first call has an effect.
    pub(crate) fn serve_logs(&self, logs: &Logs) {
        let _ = self.logs.set(logs.clone());
    }

    /// Closes all current connections and watches. New ones are accepted.
    pub(crate) fn close_connections(&self) {
        let mut current = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *current).cancel();
    }

    /// The token that closes the current connections.
    fn connections(&self) -> CancellationToken {
        self.connections.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}

/// The API as an HTTP service. Clients authenticate by a [`Caller`], a certificate or a token.
pub(crate) fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(handler::serve).with_state(server)
}
