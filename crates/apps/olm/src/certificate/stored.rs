//! Content of the certificate Secret.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt as _;
use kube::api::ObjectMeta;

use super::SECRET;
use super::generation::{CaCertificate, CertificateError, Generation};

/// Prefix of the annotations with the certificate that each replica serves.
const SERVES_PREFIX: &str = "fairway.dev/serves-";

/// Content of the certificate Secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StoredCertificates {
    /// The served certificate.
    pub(super) current: Generation,
    /// The next certificate, which is served once API servers trust its CA.
    pub(super) next: Option<Generation>,
    /// CA of a certificate that a replica may still serve.
    pub(super) previous: Option<CaCertificate>,
}

impl StoredCertificates {
    pub(super) fn new(current: Generation) -> Self {
        Self { current, next: None, previous: None }
    }

    /// Parses a Secret.
    pub(super) fn read(secret: &Secret) -> Result<Self, CertificateError> {
        let text = |key: &str| {
            let bytes = secret.data.as_ref()?.get(key)?.0.clone();
            String::from_utf8(bytes).ok()
        };
        let generation = |prefix: &str| {
            let part = |key: &str| text(&format!("{prefix}{key}"));
            let parts = (part("ca.crt"), part("tls.crt"), part("tls.key"));
            let (Some(ca), Some(certificate), Some(key)) = parts else {
                return Err(CertificateError::Unreadable);
            };
            Generation::read(ca, certificate, key)
        };
        Ok(Self {
            current: generation("")?,
            // Invalid values are ignored: the guard generates the next certificate again, and would
            // remove the previous CA at the end of the rotation anyway.
            next: generation("next-").ok(),
            previous: text("previous-ca.crt").and_then(|text| CaCertificate::read(text).ok()),
        })
    }

    /// The Secret with this content and the metadata of the one before.
    pub(super) fn secret(&self, namespace: &str, before: Option<&Secret>) -> Secret {
        let Self { current, next, previous } = self;
        let mut data = BTreeMap::new();
        let mut add = |key: String, text: &str| {
            data.insert(key, ByteString(text.as_bytes().to_vec()));
        };
        for (prefix, it) in [("", Some(current)), ("next-", next.as_ref())] {
            let Some(it) = it else { continue };
            add(format!("{prefix}ca.crt"), &it.ca.certificate);
            add(format!("{prefix}tls.crt"), &it.certificate);
            add(format!("{prefix}tls.key"), &it.key);
        }
        if let Some(previous) = previous {
            add("previous-ca.crt".to_owned(), &previous.certificate);
        }
        let fresh = || ObjectMeta {
            name: Some(SECRET.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        };
        let mut metadata = before.map_or_else(fresh, |before| before.metadata.clone());
        metadata.managed_fields = None;
        if let Some(annotations) = &mut metadata.annotations {
            // A replica with another certificate has missed a whole rotation: it is gone.
            let fingerprint = current.fingerprint();
            let is_kept = |key: &str, value: &str| {
                !key.starts_with(SERVES_PREFIX) || previous.is_some() || value == fingerprint
            };
            annotations.retain(|key, value| is_kept(key, value));
        }
        // The type of a Secret cannot be changed.
        let type_ = before.and_then(|before| before.type_.clone());
        Secret { metadata, data: Some(data), type_, ..Secret::default() }
    }

    /// CA bundle for API servers.
    pub(super) fn bundle(&self) -> String {
        let Self { current, next, previous } = self;
        let mut bundle = current.ca.certificate.clone();
        bundle.extend(next.iter().map(|next| next.ca.certificate.as_str()));
        bundle.extend(previous.iter().map(|previous| previous.certificate.as_str()));
        bundle
    }
}

/// Fingerprints of the certificates that replicas serve.
pub(super) fn served(secret: &Secret) -> BTreeMap<&str, &str> {
    let annotations = secret.annotations().iter();
    let served =
        annotations.filter_map(|(key, value)| Some((key.strip_prefix(SERVES_PREFIX)?, value)));
    served.map(|(guard, fingerprint)| (guard, fingerprint.as_str())).collect()
}

/// Annotation with the certificate that a replica serves.
pub(super) fn annotation(guard: &str) -> String {
    format!("{SERVES_PREFIX}{}", super::generation::short_hash(guard))
}

#[cfg(test)]
mod tests {
    use fairway_testkit::recorded;

    use super::*;

    #[test]
    fn secret_of_v0_1_is_read_and_written_without_loss() {
        let object = recorded::v0_1().json("annotated-objects/olm-guard-secret.json");
        let secret: Secret = serde_json::from_value(object).unwrap();
        assert_eq!(secret.metadata.name.as_deref(), Some(SECRET));
        let stored = StoredCertificates::read(&secret).unwrap();
        assert_eq!((&stored.next, &stored.previous), (&None, &None));
        assert!(!stored.current.names.is_empty());
        // The replica that wrote it serves the certificate in it.
        let fingerprint = stored.current.fingerprint();
        assert_eq!(served(&secret).into_values().collect::<Vec<_>>(), [fingerprint.as_str()]);
        let written = stored.secret("openshift-cluster-version", Some(&secret));
        assert_eq!(written.data, secret.data);
        assert_eq!(written.metadata.annotations, secret.metadata.annotations);
    }
}
