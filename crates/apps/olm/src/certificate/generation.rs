//! An authority and the one certificate that it signed.

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

/// Clocks of API servers that are behind ours by that much still take a new certificate.
const BEHIND: Duration = Duration::from_hours(1);

/// An authority and the one certificate that it signed, as PEM texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Generation {
    pub(crate) authority: Authority,
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) made: Timestamp,
    pub(crate) expires: Timestamp,
    /// What the webhook is called.
    pub(crate) names: Vec<String>,
}

/// The certificate of an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Authority {
    pub(crate) certificate: String,
    pub(crate) expires: Timestamp,
}

/// Why a text is no certificate.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CertificateError {
    /// It cannot be made.
    #[error("cannot generate a certificate")]
    Make(#[from] rcgen::Error),
    /// It cannot be read.
    #[error("the Secret contains no valid certificate")]
    Unreadable,
}

impl Generation {
    /// A new one for these names.
    pub(crate) fn make(
        names: &[String],
        now: Timestamp,
        lifetime: Duration,
    ) -> Result<Self, CertificateError> {
        let since_1970 = Duration::from_secs(u64::try_from(now.as_second()).unwrap_or_default());
        let now = rcgen::date_time_ymd(1970, 1, 1) + since_1970;
        let valid = |mut params: CertificateParams| {
            params.not_before = now - BEHIND;
            params.not_after = now + lifetime;
            params
        };
        let key = KeyPair::generate()?;
        let mut params = valid(CertificateParams::default());
        params.distinguished_name.push(DnType::CommonName, "fairway-olm-guard-ca");
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority = params.self_signed(&key)?.pem();
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate()?;
        let mut params = valid(CertificateParams::new(names.to_vec())?);
        params.distinguished_name.push(DnType::CommonName, "fairway-olm-guard");
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&key, &issuer)?.pem();
        Self::read(authority, certificate, key.serialize_pem())
    }

    /// Reads one that was stored.
    pub(crate) fn read(
        authority: String,
        certificate: String,
        key: String,
    ) -> Result<Self, CertificateError> {
        let authority = Authority::read(authority)?;
        let (_, pem) =
            parse_x509_pem(certificate.as_bytes()).map_err(|_| CertificateError::Unreadable)?;
        let parsed = pem.parse_x509().map_err(|_| CertificateError::Unreadable)?;
        let time = |seconds| Timestamp::from_second(seconds);
        let made = time(parsed.validity().not_before.timestamp());
        let expires = time(parsed.validity().not_after.timestamp());
        let (Ok(made), Ok(expires)) = (made, expires) else {
            return Err(CertificateError::Unreadable);
        };
        let made = made.checked_add(BEHIND).map_err(|_| CertificateError::Unreadable)?;
        let names = parsed.subject_alternative_name().ok().flatten();
        let names = names.into_iter().flat_map(|names| &names.value.general_names);
        let names = names.filter_map(name).collect();
        Ok(Self { authority, certificate, key, made, expires, names })
    }

    /// What tells it from others.
    pub(crate) fn fingerprint(&self) -> String {
        short_hash(&self.certificate)
    }
}

impl Authority {
    /// Reads one that was stored.
    pub(crate) fn read(certificate: String) -> Result<Self, CertificateError> {
        let (_, pem) =
            parse_x509_pem(certificate.as_bytes()).map_err(|_| CertificateError::Unreadable)?;
        let parsed = pem.parse_x509().map_err(|_| CertificateError::Unreadable)?;
        let expires = Timestamp::from_second(parsed.validity().not_after.timestamp());
        let expires = expires.map_err(|_| CertificateError::Unreadable)?;
        Ok(Self { certificate, expires })
    }
}

/// Enough of a hash to tell things apart.
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
