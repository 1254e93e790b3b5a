//! The way to the update service: through which proxy, and whom to trust.

use fairway_http::{Proxies, ProxyError};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde::Deserialize;

/// The way to the outside; an empty text is none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProxySettings {
    /// For plain HTTP.
    pub http_proxy: String,
    /// For HTTPS.
    pub https_proxy: String,
    /// Whom to ask without a proxy.
    pub no_proxy: String,
}

/// The way to the update service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    /// What the platform says about proxies.
    pub proxy: ProxySettings,
    /// The authorities to trust, in PEM; where there are none, those of the machine.
    pub authorities: String,
}

/// Why there is no way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains it")]
pub enum RouteError {
    #[error("invalid {field} in Proxy cluster: not an http or https URL")]
    Proxy { field: &'static str },
    #[error(
        "invalid CA bundle in ConfigMap openshift-config-managed/trusted-ca-bundle: no certificate \
         in ca-bundle.crt"
    )]
    Authorities,
}

impl Route {
    /// The proxies to use.
    pub fn proxies(&self) -> Result<Proxies, RouteError> {
        let ProxySettings { http_proxy, https_proxy, no_proxy } = &self.proxy;
        Proxies::parse(http_proxy, https_proxy, no_proxy).map_err(|ProxyError { scheme }| {
            let field = if scheme == "https" { "httpsProxy" } else { "httpProxy" };
            RouteError::Proxy { field }
        })
    }

    /// The authorities to trust instead of those of the machine, if there are any. Those that
    /// cannot be understood are passed over as long as there are others: bundles are collections.
    pub fn authorities(&self) -> Result<Option<Vec<CertificateDer<'static>>>, RouteError> {
        if self.authorities.trim().is_empty() {
            return Ok(None);
        }
        let mut store = RootCertStore::empty();
        let certificates = CertificateDer::pem_slice_iter(self.authorities.as_bytes());
        let certificates: Vec<_> = certificates
            .filter_map(Result::ok)
            .filter(|certificate| store.add(certificate.clone()).is_ok())
            .collect();
        if certificates.is_empty() {
            return Err(RouteError::Authorities);
        }
        Ok(Some(certificates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_that_is_none_is_named() {
        let none = "socks5://proxy.example".to_owned();
        let plain = ProxySettings { http_proxy: none.clone(), ..ProxySettings::default() };
        let secure = ProxySettings { https_proxy: none, ..ProxySettings::default() };
        let told = [plain, secure]
            .map(|proxy| Route { proxy, ..Route::default() }.proxies().unwrap_err().to_string());
        insta::assert_snapshot!(told.join("\n"), @"
        invalid httpProxy in Proxy cluster: not an http or https URL
        invalid httpsProxy in Proxy cluster: not an http or https URL
        ");
    }

    fn authorities(pem: &str) -> Result<Option<usize>, RouteError> {
        let route = Route { authorities: pem.to_owned(), ..Route::default() };
        route.authorities().map(|found| found.map(|found| found.len()))
    }

    #[test]
    fn authorities_that_cannot_be_read_are_passed_over_beside_others() {
        let pem = rcgen::generate_simple_self_signed(["a".to_owned()]).unwrap().cert.pem();
        let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert_eq!(authorities(&format!("# Ours\n{pem}{nonsense}")), Ok(Some(1)));
        assert_eq!(authorities(" \n"), Ok(None));
        for pem in ["hello", nonsense, "-----BEGIN CERTIFICATE-----"] {
            assert_eq!(authorities(pem), Err(RouteError::Authorities), "{pem}");
        }
        insta::assert_snapshot!(RouteError::Authorities, @"invalid CA bundle in ConfigMap openshift-config-managed/trusted-ca-bundle: no certificate in ca-bundle.crt");
    }
}
