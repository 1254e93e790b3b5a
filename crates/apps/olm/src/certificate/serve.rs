//! Serving of the certificate in the Secret, by every replica.

use std::sync::Arc;
use std::time::Duration;

use fairway_http::{ServerTls, TlsProfile};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::SECRET;
use super::generation::Generation;
use super::stored::{StoredCertificates, annotation};
use crate::metrics::Metrics;
use crate::request::in_time;
use crate::watches::{Singleton, WatchReceiver};

/// Delay after a failed write.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Timeout of removing the annotation during shutdown; shorter than the connection grace period.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(4);

/// TLS configuration of connections; `None` before the first certificate.
pub(crate) type Current = Option<Arc<ServerConfig>>;

/// Serves the certificate on one replica.
pub(crate) struct CertificateServer {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// Identity of this replica.
    pub(crate) identity: String,
    pub(crate) secret: WatchReceiver<Singleton<Secret>>,
    /// TLS profile of the cluster. Until it is known, all secure TLS versions are served.
    pub(crate) tls_profile: WatchReceiver<Option<TlsProfile>>,
    pub(crate) current: watch::Sender<Current>,
    pub(crate) metrics: Arc<Metrics>,
    /// Shutdown signal.
    pub(crate) closing: CancellationToken,
}

/// Serves the certificate of the Secret until the shutdown.
pub(crate) async fn serve(mut serving: CertificateServer) {
    let mut loaded = None;
    loop {
        let seen = serving.secret.borrow_and_update().clone();
        let secret = seen.as_deref().and_then(Option::as_ref);
        let stored = secret.and_then(|secret| StoredCertificates::read(secret).ok());
        let profile = serving.tls_profile.borrow_and_update().as_deref().cloned().flatten();
        let mut annotated = true;
        if let (Some(StoredCertificates { current, .. }), Some(secret)) = (stored, secret) {
            let found = (current.fingerprint(), profile);
            if loaded.as_ref() != Some(&found) && serving.load(&current, found.1.clone()) {
                loaded = Some(found);
            }
            let key = annotation(&serving.identity);
            if let Some((fingerprint, _)) = &loaded
                && secret.annotations().get(&key) != Some(fingerprint)
            {
                annotated = serving.annotate(json!({ key: fingerprint })).await;
            }
        }
        tokio::select! {
            () = serving.closing.cancelled() => break,
            changed = serving.secret.changed() => if changed.is_err() { return },
            changed = serving.tls_profile.changed() => if changed.is_err() { return },
            () = fairway_clock::pause(RETRY_DELAY), if !annotated => {}
        }
    }
    let gone = serving.annotate(json!({ annotation(&serving.identity): Value::Null }));
    let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, gone).await;
}

impl CertificateServer {
    /// Uses a certificate for new connections; returns whether it is valid.
    fn load(&self, generation: &Generation, profile: Option<TlsProfile>) -> bool {
        match config(generation, profile) {
            Ok(config) => {
                tracing::info!(expires = %generation.expires, "webhook certificate loaded");
                self.metrics.certificate_expires(generation.expires);
                self.current.send_replace(Some(Arc::new(config)));
                true
            }
            Err(error) => {
                tracing::error!(%error, "cannot use the webhook certificate in the Secret");
                false
            }
        }
    }

    /// Annotates the Secret with the served certificate.
    async fn annotate(&self, annotations: Value) -> bool {
        let api = Api::<Secret>::namespaced(self.client.clone(), &self.namespace);
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        match in_time(api.patch_metadata(SECRET, &PatchParams::default(), &patch)).await {
            Ok(_) => true,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "cannot annotate the Secret with the served certificate; retrying"
                );
                self.metrics.write_failed();
                false
            }
        }
    }
}

fn config(
    generation: &Generation,
    profile: Option<TlsProfile>,
) -> Result<ServerConfig, rustls::Error> {
    let unreadable =
        |error: rustls::pki_types::pem::Error| rustls::Error::General(error.to_string());
    let certificates = CertificateDer::pem_slice_iter(generation.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_slice(generation.key.as_bytes()).map_err(unreadable)?;
    ServerTls { certificates, key, client_ca: Vec::new(), profile }.config()
}
