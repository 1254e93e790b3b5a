//! A CA certificate and the one certificate that it signed.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use sha2::{Digest as _, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::pem::parse_x509_pem;

/// Tolerated clock difference of API servers whose clock is behind.
const CLOCK_SKEW: Duration = Duration::from_hours(1);

/// A CA certificate and the one certificate that it signed, as PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) ca: CaCertificate,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) made: Timestamp,
    pub(crate) expires: Timestamp,
    /// Host names of the webhook.
    pub(crate) names: Vec<String>,
}

/// A CA certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CaCertificate {
    pub(crate) certificate: String,
    pub(crate) expires: Timestamp,
}

/// Errors of certificates.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// Generation failed.
    #[error("cannot generate a certificate")]
    Make(#[from] rcgen::Error),
    /// The PEM text is invalid.
    #[error("the Secret contains no valid certificate")]
    Unreadable,
}

impl Generation {
    /// Generates a certificate for host names.
    pub(crate) fn make(
        names: &[String],
        now: Timestamp,
        lifetime: Duration,
    ) -> Result<Self, CertificateError> {
        let since_1970 = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default());
        let now = rcgen::date_time_ymd(1970, 1, 1) + since_1970;
        let valid = |mut params: CertificateParams| {
            params.not_before = now - CLOCK_SKEW;
            params.not_after = now + lifetime;
            params
        };
        let key = KeyPair::generate()?;
        let mut params = valid(CertificateParams::default());
        params.distinguished_name.push(DnType::CommonName, "fairway-olm-guard-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let ca = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate()?;
        let mut params = valid(CertificateParams::new(names.to_vec())?);
        params.distinguished_name.push(DnType::CommonName, "fairway-olm-guard");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &issuer)?.pem();
        Self::read(ca, certificate, key.serialize_pem())
    }

    /// Parses a stored certificate.
    pub(crate) fn read(
        ca: String,
        certificate: String,
        key: String,
    ) -> Result<Self, CertificateError> {
        let ca = CaCertificate::read(ca)?;
        let (_, pem) =
            parse_x509_pem(certificate.as_bytes()).map_err(|_| CertificateError::Unreadable)?;
        let parsed = pem.parse_x509().map_err(|_| CertificateError::Unreadable)?;
        let time = |seconds| Timestamp::from_second(seconds);
        let made = time(parsed.validity().not_before.timestamp());
        let expires = time(parsed.validity().not_after.timestamp());
        let (Ok(made), Ok(expires)) = (made, expires) else {
            return Err(CertificateError::Unreadable);
        };
        let made = made.checked_add(CLOCK_SKEW).map_err(|_| CertificateError::Unreadable)?;
        let names = parsed.subject_alternative_name().ok().flatten();
        let names = names.into_iter().flat_map(|names| &names.value.general_names);
        let names = names.filter_map(name).collect();
        Ok(Self { ca, certificate, key, made, expires, names })
    }

    /// Short hash of the certificate.
    pub(crate) fn fingerprint(&self) -> String {
        short_hash(&self.certificate)
    }
}

impl CaCertificate {
    /// Parses a stored CA certificate.
    pub(crate) fn read(certificate: String) -> Result<Self, CertificateError> {
        let (_, pem) =
            parse_x509_pem(certificate.as_bytes()).map_err(|_| CertificateError::Unreadable)?;
        let parsed = pem.parse_x509().map_err(|_| CertificateError::Unreadable)?;
        let expires = Timestamp::from_second(parsed.validity().not_after.timestamp());
        let expires = expires.map_err(|_| CertificateError::Unreadable)?;
        Ok(Self { certificate, expires })
    }
}

/// The first 8 bytes of a SHA-256 hash.
pub(super) fn short_hash(text: &str) -> String {
    hex::encode(&Sha256::digest(text.as_bytes())[..8])
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}
