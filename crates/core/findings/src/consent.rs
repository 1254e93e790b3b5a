//! Consent of an administrator that the checks of one release read Secrets.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Annotation of ClusterVersion with the consent, as JSON: a [`SecretConsent`].
pub const ANNOTATION: &str = "fairway.dev/preflight-allow-secrets";

/// Maximum bytes of the annotation. An administrator reviews every name.
const MAX_BYTES: usize = 16 << 10;

/// Maximum length of a namespace or a name.
const MAX_NAME: usize = 253;

/// Consent that the checks of a release read Secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretConsent {
    /// Image of the release in `spec.desiredUpdate`, or its version if the request has no image.
    /// The consent does not apply to other releases.
    pub release: String,
    /// Secrets, each as `NAMESPACE/NAME`.
    pub secrets: BTreeSet<String>,
}

impl SecretConsent {
    /// Secrets that an annotation allows for a requested release. Empty for a consent to another
    /// release, and for an invalid annotation.
    pub fn allowed(
        annotation: Option<&str>,
        image: Option<&str>,
        version: Option<&str>,
    ) -> BTreeSet<String> {
        let consent = annotation
            .filter(|text| text.len() <= MAX_BYTES)
            .and_then(|text| serde_json::from_str::<Self>(text).ok());
        match (consent, image.or(version)) {
            (Some(consent), Some(release))
                if consent.release == release
                    && consent.secrets.iter().all(|name| is_secret(name)) =>
            {
                consent.secrets
            }
            _ => BTreeSet::new(),
        }
    }
}

/// Whether a text is `NAMESPACE/NAME`, with names that Kubernetes allows.
pub fn is_secret(text: &str) -> bool {
    text.split_once('/').is_some_and(|(namespace, name)| {
        !namespace.contains('.') && [namespace, name].into_iter().all(is_name)
    })
}

/// Whether a text is a DNS subdomain, as names of Kubernetes objects are.
pub(crate) fn is_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= MAX_NAME
        && text.bytes().all(|byte| is_inner(byte) || byte == b'-' || byte == b'.')
        && text.bytes().next().is_some_and(is_inner)
        && text.bytes().last().is_some_and(is_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGE: &str = "registry.example/release@sha256:1";

    fn annotation(release: &str, secret: &str) -> String {
        let secrets = [secret.to_owned()].into();
        serde_json::to_string(&SecretConsent { release: release.to_owned(), secrets }).unwrap()
    }

    #[test]
    fn allowed_only_for_same_release() {
        let certs = "openshift-ingress/router-certs";
        let allowed = |release: &str, image, version| {
            SecretConsent::allowed(Some(&annotation(release, certs)), image, version)
        };
        let expected: BTreeSet<String> = [certs.to_owned()].into();
        assert_eq!(allowed(IMAGE, Some(IMAGE), Some("5.2.0")), expected);
        assert_eq!(allowed("5.2.0", None, Some("5.2.0")), expected);
        for (release, image, version) in [
            ("5.2.0", Some(IMAGE), Some("5.2.0")),
            ("5.1.0", None, Some("5.2.0")),
            (IMAGE, Some("registry.example/release@sha256:2"), None),
            ("", None, None),
        ] {
            assert_eq!(allowed(release, image, version), BTreeSet::new(), "{release}");
        }
    }

    #[test]
    fn allowed_of_invalid_annotation_is_empty() {
        let long = annotation(IMAGE, &format!("a/{}", "b".repeat(MAX_BYTES)));
        for text in [
            "",
            "true",
            r#"{"release": "registry.example/release@sha256:1"}"#,
            r#"{"release": "registry.example/release@sha256:1", "secrets": ["a/b"], "all": true}"#,
            &annotation(IMAGE, "*/*"),
            &annotation(IMAGE, "kube-system"),
            &long,
        ] {
            assert_eq!(SecretConsent::allowed(Some(text), Some(IMAGE), None), BTreeSet::new());
        }
        assert_eq!(SecretConsent::allowed(None, Some(IMAGE), None), BTreeSet::new());
    }

    #[test]
    fn is_secret_requires_namespace_and_name() {
        assert!(is_secret("openshift-ingress/router-certs.v2"));
        for text in ["", "a", "/a", "a/", "a/b/c", "a.b/c", "A/b", "a/b c", "a/-b", "a/*"] {
            assert!(!is_secret(text), "{text}");
        }
    }
}
