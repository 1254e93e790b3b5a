//! Whose certificates count when a webhook is asked.

use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};

/// TLS with whoever one of these authorities vouches for; without any, those of the machine do.
pub(super) fn config(bundle: Option<&[u8]>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    if let Some(bundle) = bundle.filter(|bundle| !bundle.is_empty()) {
        let authorities = CertificateDer::pem_slice_iter(bundle).collect::<Result<Vec<_>, _>>();
        let authorities = authorities.map_err(|error| error.to_string())?;
        roots.add_parsable_certificates(authorities);
        if roots.is_empty() {
            return Err("unable to load root certificates".to_owned());
        }
    } else {
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
    }
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}
