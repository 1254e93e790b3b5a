//! The API over HTTP: who asks and whether they may, bodies, answers, watches, and the audit log.

mod access;
mod answer;
mod attributes;
mod audit;
mod body;
mod credentials;
mod documents;
mod escalation;
mod exchange;
mod identity;
mod impersonate;
mod invalid;
mod listener;
mod logs;
mod negotiate;
mod protobuf;
mod respond;
mod reviews;
mod shape;
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

pub use identity::{Caller, Identity};

pub(crate) use audit::AuditLog;
pub(crate) use listener::serve;

/// What the server gives to each request, and to all of them.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest body.
    pub body_bytes: usize,
    /// How long a client may take to send it.
    pub body_time: Duration,
    /// The watches that there may be at once.
    pub watches: usize,
}

impl Default for Limits {
    /// The length is that of the API server.
    fn default() -> Self {
        Self { body_bytes: 3 << 20, body_time: Duration::from_secs(30), watches: 10_000 }
    }
}

/// What all requests share.
pub(crate) struct Server {
    api: Api,
    access: access::Access,
    tokens: Arc<Tokens>,
    audit: AuditLog,
    faults: Faults,
    open_api: OpenApi,
    /// What pods write, once there are nodes that run them.
    logs: OnceLock<Logs>,
    limits: Limits,
    watches: Arc<Semaphore>,
    /// As clients know it, without the scheme.
    address: String,
    stopping: CancellationToken,
    /// Cuts all connections and watches that there are.
    connections: RwLock<CancellationToken>,
}

/// What a server is made of.
pub(crate) struct Parts {
    pub(crate) api: Api,
    pub(crate) tokens: Arc<Tokens>,
    pub(crate) audit: AuditLog,
    pub(crate) faults: Faults,
    pub(crate) limits: Limits,
    pub(crate) address: String,
    pub(crate) stopping: CancellationToken,
}

impl Server {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts { api, tokens, audit, faults, limits, address, stopping } = parts;
        Self {
            access: access::Access::new(api.store().clone()),
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

    /// From now on there are logs of pods; those of the first nodes stay.
    pub(crate) fn serve_logs(&self, logs: &Logs) {
        let _ = self.logs.set(logs.clone());
    }

    /// Ends all connections and watches, at once; new ones may begin.
    pub(crate) fn cut_connections(&self) {
        let mut current = self.connections.write().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *current).cancel();
    }

    /// Is cancelled when the connections of now are cut.
    fn connections(&self) -> CancellationToken {
        self.connections.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }
}

/// The API as a service; requests say who asks by a [`Caller`], a certificate, or a token.
pub(crate) fn router(server: Arc<Server>) -> Router {
    Router::new().fallback(answer::serve).with_state(server)
}
