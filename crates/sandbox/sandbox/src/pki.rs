//! Keys and certificates of a sandbox, created for each one.

use std::net::Ipv4Addr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, SanType,
};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use x509_parser::prelude::{FromDer as _, X509Certificate};

use crate::rbac::User;

/// DNS names of the API server.
const SERVER_NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Cluster IP of the Service `kubernetes`: the first of its range, as in every cluster.
pub(crate) const SERVICE_ADDRESS: Ipv4Addr = Ipv4Addr::new(127, 77, 0, 1);

/// ALPN protocols by preference. With HTTP/2, watches share one connection.
const ALPN_PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// They cannot be created.
    #[error("cannot create certificates")]
    Certificate(#[from] rcgen::Error),
    /// The TLS library refuses them.
    #[error("cannot configure TLS")]
    Tls(#[from] rustls::Error),
    /// The verification of client certificates cannot be configured.
    #[error("cannot configure the verification of client certificates")]
    Verifier(#[from] rustls::server::VerifierBuilderError),
}

/// The CA of a sandbox.
pub struct CertificateAuthority {
    certificate: Certificate,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key in PEM.
#[derive(Clone)]
pub struct ClientCertificate {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

impl CertificateAuthority {
    /// Creates a CA.
    pub fn create() -> Result<Self, PkiError> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "fairway-sandbox");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let certificate = params.self_signed(&key)?;
        Ok(Self { certificate, issuer: Issuer::new(params, key) })
    }

    /// The CA certificate in PEM.
    pub fn certificate(&self) -> String {
        self.certificate.pem()
    }

    /// Issues a client certificate for a user. It contains only the first group.
    pub fn client(&self, user: &User) -> Result<ClientCertificate, PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user.name.as_str());
        if let Some(group) = user.groups.first() {
            params.distinguished_name.push(DnType::OrganizationName, group.as_str());
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let (certificate, key) = self.issue(params)?;
        Ok(ClientCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
    }

    /// TLS configuration of the API server. Client certificates of this CA are optional.
    pub fn server(&self) -> Result<ServerConfig, PkiError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.subject_alt_names = server_names();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let (certificate, key) = self.issue(params)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));

        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(self.certificate.der().clone())?;
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
                .allow_unauthenticated()
                .build()?;
        let mut config = server_config(provider)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = ALPN_PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(config)
    }

    fn issue(&self, mut params: CertificateParams) -> Result<(Certificate, KeyPair), PkiError> {
        let key = KeyPair::generate()?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        Ok((params.signed_by(&key, &self.issuer)?, key))
    }
}

fn server_config(
    provider: Arc<CryptoProvider>,
) -> Result<rustls::ConfigBuilder<ServerConfig, rustls::WantsVerifier>, PkiError> {
    Ok(ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?)
}

fn server_names() -> Vec<SanType> {
    let names = SERVER_NAMES.iter().filter_map(|name| (*name).try_into().ok());
    let addresses = [Ipv4Addr::LOCALHOST, SERVICE_ADDRESS].map(|it| SanType::IpAddress(it.into()));
    names.map(SanType::DnsName).chain(addresses).collect()
}

/// The user of a verified client certificate.
pub(crate) fn user(certificate: &CertificateDer<'_>) -> Option<User> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let subject = certificate.subject();
    let name = subject.iter_common_name().find_map(|name| name.as_str().ok())?;
    let groups = subject.iter_organization().filter_map(|group| group.as_str().ok());
    Some(User { name: name.to_owned(), groups: groups.map(str::to_owned).collect() })
}

/// A self-contained kubeconfig for a user.
pub(crate) fn kubeconfig(server: &str, authority: &str, user: &ClientCertificate) -> String {
    format!(
        "apiVersion: v1\n\
         kind: Config\n\
         clusters:\n\
         - name: fairway-sandbox\n  cluster:\n    server: {server}\n    certificate-authority-data: {}\n\
         users:\n\
         - name: fairway-admin\n  user:\n    client-certificate-data: {}\n    client-key-data: {}\n\
         contexts:\n\
         - name: fairway-sandbox\n  context:\n    cluster: fairway-sandbox\n    user: fairway-admin\n\
         current-context: fairway-sandbox\n",
        STANDARD.encode(authority),
        STANDARD.encode(&user.certificate),
        STANDARD.encode(&user.key),
    )
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::pem::PemObject as _;

    use super::*;

    #[test]
    fn client_certificate_names_its_user() {
        let authority = CertificateAuthority::create().unwrap();
        for groups in [vec![], vec!["system:masters".to_owned()]] {
            let ann = User { name: "ann".to_owned(), groups };
            let identity = authority.client(&ann).unwrap();
            let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes());
            assert_eq!(user(&certificate.unwrap()), Some(ann));
        }
        assert_eq!(user(&CertificateDer::from(b"no certificate".to_vec())), None);
    }

    #[test]
    fn server_config_prefers_http2() {
        let config = CertificateAuthority::create().unwrap().server().unwrap();
        assert_eq!(config.alpn_protocols[0], b"h2");
    }
}
