//! Connection settings for the update service: proxies and CA bundle.

use fairway_http::{Proxies, ProxyError};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;

/// Proxy settings; an empty string is unset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxySettings {
    /// Proxy for http URLs.
    pub http_proxy: String,
    /// Proxy for https URLs.
    pub https_proxy: String,
    /// Hosts without proxy.
    pub no_proxy: String,
}

/// Connection settings for the update service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectionSettings {
    /// Settings of Proxy `cluster`.
    pub proxy: ProxySettings,
    /// CA bundle (PEM); empty uses that of the host.
    pub ca_bundle: String,
}

/// Invalid connection settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum ConnectionError {
    #[error("invalid {field} in Proxy `cluster`: not an http or https URL")]
    Proxy { field: &'static str },
    #[error(
        "invalid CA bundle in ConfigMap openshift-config-managed/trusted-ca-bundle: no certificate \
         in ca-bundle.crt"
    )]
    CaBundle,
}

impl ConnectionSettings {
    /// The parsed proxies.
    pub fn proxies(&self) -> Result<Proxies, ConnectionError> {
        let ProxySettings { http_proxy, https_proxy, no_proxy } = &self.proxy;
        Proxies::parse(http_proxy, https_proxy, no_proxy).map_err(|ProxyError { scheme }| {
            let field = if scheme == "https" { "httpsProxy" } else { "httpProxy" };
            ConnectionError::Proxy { field }
        })
    }

    /// The CA certificates that replace those of the host, if any. Invalid certificates are ignored
    /// if there are valid ones, since bundles are collected from many sources.
    pub fn ca_certificates(&self) -> Result<Option<Vec<CertificateDer<'static>>>, ConnectionError> {
        if self.ca_bundle.trim().is_empty() {
            return Ok(None);
        }
        let mut store = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(self.ca_bundle.as_bytes());
        let certificates: Vec<_> = certificates
            .filter_map(Result::ok)
            .filter(|certificate| store.add(certificate.clone()).is_ok())
            .collect();
        if certificates.is_empty() {
            return Err(ConnectionError::CaBundle);
        }
        Ok(Some(certificates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_with_invalid_url_fails_with_field() {
        let none = "socks5://proxy.example".to_owned();
        let plain = ProxySettings { http_proxy: none.clone(), ..ProxySettings::default() };
        let secure = ProxySettings { https_proxy: none, ..ProxySettings::default() };
        let messages = [plain, secure].map(|proxy| {
            ConnectionSettings { proxy, ..ConnectionSettings::default() }
                .proxies()
                .unwrap_err()
                .to_string()
        });
        insta::assert_snapshot!(messages.join("\n"), @"
        invalid httpProxy in Proxy `cluster`: not an http or https URL
        invalid httpsProxy in Proxy `cluster`: not an http or https URL
        ");
    }

    fn count(pem: &str) -> Result<Option<usize>, ConnectionError> {
        let settings =
            ConnectionSettings { ca_bundle: pem.to_owned(), ..ConnectionSettings::default() };
        settings.ca_certificates().map(|found| found.map(|found| found.len()))
    }

    #[test]
    fn ca_certificates_with_invalid_ones_ignores_them() {
        let pem = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(count(&format!("# Ours\n{pem}{nonsense}")), Ok(Some(1)));
        assert_eq!(count(" \n"), Ok(None));
        for pem in ["hello", nonsense, "-----BEGIN CERTIFICATE-----"] {
            assert_eq!(count(pem), Err(ConnectionError::CaBundle), "{pem}");
        }
        insta::assert_snapshot!(ConnectionError::CaBundle, @"invalid CA bundle in ConfigMap openshift-config-managed/trusted-ca-bundle: no certificate in ca-bundle.crt");
    }
}
