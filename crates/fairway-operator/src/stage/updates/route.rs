//! The way to the update service: through which proxy, and whom to trust.

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use url::Url;

use super::no_proxy::NoProxy;
use crate::cluster::ProxySettings;

/// The way to the update service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Route {
    /// What the platform says about proxies.
    pub(super) proxy: ProxySettings,
    /// The authorities to trust, in PEM; where there are none, those of the machine.
    pub(super) authorities: String,
}

/// Why there is no way.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RouteError {
    #[error(
        "the {field} of Proxy cluster is not an http or https URL, so there is no way to any \
         update service"
    )]
    Proxy { field: &'static str },
    #[error(
        "ConfigMap openshift-config-managed/trusted-ca-bundle has no certificate that can be \
         read in ca-bundle.crt, so no update service is trusted"
    )]
    Authorities,
}

/// Proxies, by what is asked for.
pub(super) struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
    direct: NoProxy,
}

impl Proxies {
    /// The proxy for a request.
    pub(super) fn of(&self, url: &Url) -> Option<&Url> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !self.direct.matches(url))
    }
}

impl Route {
    /// The proxies to use, if there are any.
    pub(super) fn proxies(&self) -> Result<Option<Proxies>, RouteError> {
        let ProxySettings { http_proxy, https_proxy, no_proxy } = &self.proxy;
        let http = proxy("httpProxy", http_proxy)?;
        let https = proxy("httpsProxy", https_proxy)?;
        if http.is_none() && https.is_none() {
            return Ok(None);
        }
        Ok(Some(Proxies { http, https, direct: NoProxy::parse(no_proxy) }))
    }

    /// The authorities to trust instead of those of the machine, if there are any. Those that
    /// cannot be understood are passed over as long as there are others: bundles are collections.
    pub(super) fn authorities(&self) -> Result<Option<Vec<CertificateDer<'static>>>, RouteError> {
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

/// Reads the address of a proxy, which may go without a scheme.
fn proxy(field: &'static str, text: &str) -> Result<Option<Url>, RouteError> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let usable = |url: &Url| url.has_host() && matches!(url.scheme(), "http" | "https");
    let read = |text: &str| Url::parse(text).ok().filter(usable);
    let url = if text.contains("://") { read(text) } else { read(&format!("http://{text}")) };
    url.map(Some).ok_or(RouteError::Proxy { field })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(plain: &str, secure: &str, direct: &str) -> Route {
        let proxy = ProxySettings {
            http_proxy: plain.to_owned(),
            https_proxy: secure.to_owned(),
            no_proxy: direct.to_owned(),
        };
        Route { proxy, ..Route::default() }
    }

    #[test]
    fn every_scheme_has_its_proxy() {
        let route = route("proxy.example:3128", " https://user:pass@secure.example ", ".internal");
        let proxies = route.proxies().unwrap().unwrap();
        for (url, expected) in [
            ("http://a.example/", Some("http://proxy.example:3128/")),
            ("https://a.example/", Some("https://user:pass@secure.example/")),
            ("https://a.internal/", None),
            ("http://localhost/", None),
        ] {
            let url = Url::parse(url).unwrap();
            assert_eq!(proxies.of(&url).map(Url::as_str), expected, "{url}");
        }
    }

    #[test]
    fn a_scheme_without_a_proxy_is_asked_directly() {
        let proxies = route("", "http://proxy.example", "").proxies().unwrap().unwrap();
        assert_eq!(proxies.of(&Url::parse("http://a.example/").unwrap()), None);
        assert!(route("", " ", "*").proxies().unwrap().is_none());
    }

    #[test]
    fn a_proxy_that_is_none_is_no_reason_to_go_without() {
        for text in ["socks5://proxy.example", "://", "http://", "ftp://x", "a b"] {
            let error = route("", text, "").proxies().err().unwrap();
            assert_eq!(error, RouteError::Proxy { field: "httpsProxy" }, "{text}");
        }
        insta::assert_snapshot!(RouteError::Proxy { field: "httpProxy" }, @"the httpProxy of Proxy cluster is not an http or https URL, so there is no way to any update service");
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
        insta::assert_snapshot!(RouteError::Authorities, @"ConfigMap openshift-config-managed/trusted-ca-bundle has no certificate that can be read in ca-bundle.crt, so no update service is trusted");
    }
}
