//! Serving the certificate that is in the Secret, and saying so.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::SECRET;
use super::generation::Generation;
use super::stored::{Stored, annotation};
use crate::metrics::Metrics;
use crate::request::in_time;
use crate::sight::{Only, Seen};

/// How long to wait after a write that failed.
const BREATHER: Duration = Duration::from_secs(5);

/// How long a guard that ends tries to say so: a little less than anybody waits for its end.
const FAREWELL: Duration = Duration::from_secs(4);

/// The certificate that connections get; none before there is one.
pub(crate) type Current = Option<Arc<ServerConfig>>;

/// One guard that serves.
pub(crate) struct Serving {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    /// How this guard is told from others.
    pub(crate) identity: String,
    pub(crate) secret: Seen<Only<Secret>>,
    pub(crate) current: watch::Sender<Current>,
    pub(crate) metrics: Arc<Metrics>,
    /// When nothing is served any more.
    pub(crate) closing: CancellationToken,
}

/// Serves whatever certificate is in the Secret, until nothing is served any more.
pub(crate) async fn serve(mut serving: Serving) {
    let mut fingerprint = String::new();
    loop {
        let seen = serving.secret.borrow_and_update().clone();
        let secret = seen.as_deref().and_then(Option::as_ref);
        let stored = secret.and_then(|secret| Stored::read(secret).ok());
        let mut said = true;
        if let (Some(Stored { current, .. }), Some(secret)) = (stored, secret) {
            let found = current.fingerprint();
            if found != fingerprint && serving.take(&current) {
                fingerprint = found;
            }
            let key = annotation(&serving.identity);
            if secret.annotations().get(&key) != Some(&fingerprint) && !fingerprint.is_empty() {
                said = serving.say(json!({ key: fingerprint })).await;
            }
        }
        tokio::select! {
            () = serving.closing.cancelled() => break,
            changed = serving.secret.changed() => if changed.is_err() { return },
            () = fairway_clock::pause(BREATHER), if !said => {}
        }
    }
    let gone = serving.say(json!({ annotation(&serving.identity): Value::Null }));
    let _ = tokio::time::timeout(FAREWELL, gone).await;
}

impl Serving {
    /// Uses a certificate for the next connections, if it is one.
    fn take(&self, generation: &Generation) -> bool {
        match config(generation) {
            Ok(config) => {
                tracing::info!(expires = %generation.expires, "webhook certificate loaded");
                self.metrics.certificate_expires(generation.expires);
                self.current.send_replace(Some(Arc::new(config)));
                true
            }
            Err(error) => {
                tracing::error!(%error, "cannot use the webhook certificate of the Secret");
                false
            }
        }
    }

    /// Notes on the Secret what this guard serves.
    async fn say(&self, annotations: Value) -> bool {
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

fn config(generation: &Generation) -> Result<ServerConfig, rustls::Error> {
    let unreadable =
        |error: rustls::pki_types::pem::Error| rustls::Error::General(error.to_string());
    let certificates = CertificateDer::pem_slice_iter(generation.certificate.as_bytes())
        .collect::<Result<Vec<_>, _>>()
        .map_err(unreadable)?;
    let key = PrivateKeyDer::from_pem_slice(generation.key.as_bytes()).map_err(unreadable)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
