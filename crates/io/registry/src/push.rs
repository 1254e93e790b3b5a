//! Pushes images to a registry.

use std::time::Duration;

use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};

use crate::pull::is_loopback;
use crate::pull::{Credentials, PullOptions, without_password};
use crate::{Blob, Digest, Image};

/// Timeout of a response: the registry first receives a chunk of a few megabytes, possibly over a
/// slow connection.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(5);

/// An image that cannot be pushed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum PushError {
    /// The destination is not an image reference.
    #[error("{text:?} is not an image reference such as registry.example/fairway:5.1.0")]
    Reference { text: String, source: oci_client::ParseError },
    /// The connection would not use TLS.
    #[error("refusing to push to {registry} without TLS: it is not a loopback address")]
    Plain { registry: String },
    /// The credentials are an identity token, which `oci-client` can exchange only for pull access.
    #[error(
        "the pull secret has an identity token for {registry}, but pushing requires a password"
    )]
    IdentityToken { registry: String },
    /// The registry refused the content.
    #[error("cannot push {what} to {destination}")]
    Refused { what: String, destination: String, source: Box<OciDistributionError> },
}

/// Progress of a push.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PushProgress {
    /// Bytes that are pushed or already exist.
    pub sent: u64,
    /// Bytes of the complete image.
    pub of: u64,
}

/// Pushes an image without credentials. A registry on the loopback interface is contacted without
/// TLS, as by container engines.
///
/// The process needs a TLS provider, which `main` installs.
pub async fn push(image: &Image, destination: &str) -> Result<String, PushError> {
    push_with(image, destination, &PullOptions::default(), |_| {}).await
}

/// Pushes an image and returns its reference by digest. Blobs that the registry already has are not
/// sent.
///
/// The process needs a TLS provider, which `main` installs.
pub async fn push_with(
    image: &Image,
    destination: &str,
    options: &PullOptions,
    tell: impl Fn(PushProgress),
) -> Result<String, PushError> {
    let (reference, protocol) = address(destination, options.allow_plain_http)?;
    let pinned = pinned(&reference, image.digest());
    let to = Destination {
        client: client(protocol, options).map_err(refused("anything", &reference))?,
        reference,
    };
    to.log_in(options).await?;
    let of = image.content().map(|blob| blob.bytes().len() as u64).sum();
    let mut progress = PushProgress { sent: 0, of };
    for blob in image.content() {
        to.send(blob).await?;
        progress.sent += blob.bytes().len() as u64;
        tell(progress);
    }
    to.name(image.manifest()).await?;
    Ok(pinned)
}

/// Client for the destination of a push.
struct Destination {
    client: Client,
    reference: Reference,
}

impl Destination {
    async fn log_in(&self, options: &PullOptions) -> Result<(), PushError> {
        let registry = self.reference.registry();
        let repository = format!("{registry}/{}", self.reference.repository());
        let auth = match options.secrets.find(&repository) {
            None => RegistryAuth::Anonymous,
            Some(Credentials::Password { user, password }) => {
                RegistryAuth::Basic(user.clone(), password.clone())
            }
            Some(Credentials::IdentityToken(_)) => {
                return Err(PushError::IdentityToken { registry: registry.to_owned() });
            }
        };
        let logged_in = self.client.auth(&self.reference, &auth, RegistryOperation::Push).await;
        logged_in.map(drop).map_err(refused("anything", &self.reference))
    }

    async fn send(&self, blob: &Blob) -> Result<(), PushError> {
        let digest = blob.digest().as_str();
        let refused = || refused(&format!("blob {digest}"), &self.reference);
        let exists = self.client.blob_exists(&self.reference, digest).await;
        if !exists.map_err(refused())? {
            let sent = self.client.push_blob(&self.reference, blob.shared(), digest).await;
            sent.map_err(refused())?;
        }
        Ok(())
    }

    /// Pushes the manifest last: it makes the image visible under its tag.
    async fn name(&self, manifest: &Blob) -> Result<(), PushError> {
        let media_type = oci_client::manifest::OCI_IMAGE_MEDIA_TYPE;
        debug_assert_eq!(manifest.media_type(), media_type);
        // Infallible: a constant of ASCII letters.
        let header = media_type.parse().expect("a legal header");
        let bytes = manifest.bytes().to_vec();
        let named = self.client.push_manifest_raw(&self.reference, bytes, header).await;
        named.map(drop).map_err(refused("the manifest", &self.reference))
    }
}

fn refused(
    what: &str,
    destination: &Reference,
) -> impl FnOnce(OciDistributionError) -> PushError + use<> {
    let (what, destination) = (what.to_owned(), destination.to_string());
    move |source| PushError::Refused { what, destination, source: Box::new(source) }
}

/// Parses a destination and selects the protocol. `http://` or `https://` may precede the
/// reference.
fn address(given: &str, allow_plain: bool) -> Result<(Reference, ClientProtocol), PushError> {
    let (plain, name) = match given.split_once("://") {
        Some(("http", name)) => (Some(true), name),
        Some(("https", name)) => (Some(false), name),
        Some(("docker", name)) => (None, name),
        _ => (None, given),
    };
    let reference: Reference = name
        .parse()
        .map_err(|source| PushError::Reference { text: without_password(given), source })?;
    let registry = reference.registry().to_owned();
    let near = is_loopback(&registry);
    match plain.unwrap_or(near) {
        true if !near && !allow_plain => Err(PushError::Plain { registry }),
        true => Ok((reference, ClientProtocol::HttpsExcept(vec![registry]))),
        false => Ok((reference, ClientProtocol::Https)),
    }
}

fn pinned(reference: &Reference, digest: &Digest) -> String {
    format!("{}/{}@{digest}", reference.registry(), reference.repository())
}

fn client(protocol: ClientProtocol, options: &PullOptions) -> Result<Client, OciDistributionError> {
    Client::try_from(ClientConfig {
        protocol,
        extra_root_certificates: certificates(&options.ca_bundle),
        connect_timeout: Some(options.silence),
        read_timeout: Some(RESPONSE_TIMEOUT),
        user_agent: concat!("fairway/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    })
}

/// Splits a PEM file into certificates, as the client expects them.
fn certificates(pem: &[u8]) -> Vec<Certificate> {
    const END: &str = "-----END CERTIFICATE-----";
    let text = String::from_utf8_lossy(pem);
    let blocks = text.split_inclusive(END).filter(|block| block.ends_with(END));
    let data = blocks.map(|block| block.trim_start().as_bytes().to_vec());
    data.map(|data| Certificate { encoding: CertificateEncoding::Pem, data }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_without_tls_requires_loopback_or_option() {
        let protocol =
            |given: &str, allow| match address(given, allow).map(|(_, protocol)| protocol) {
                Ok(ClientProtocol::HttpsExcept(_)) => "http".to_owned(),
                Ok(_) => "https".to_owned(),
                Err(error) => error.to_string(),
            };
        for (given, allow, expected) in [
            ("r.example/a:1", false, "https"),
            ("r.example/a:1", true, "https"),
            ("docker://r.example/a:1", false, "https"),
            ("127.0.0.1:5000/a:1", false, "http"),
            ("https://127.0.0.1:5000/a:1", false, "https"),
            ("http://r.example/a:1", true, "http"),
            (
                "http://r.example/a:1",
                false,
                "refusing to push to r.example without TLS: it is not a loopback address",
            ),
            (
                "r.example/A B",
                false,
                "\"r.example/A B\" is not an image reference such as registry.example/fairway:5.1.0",
            ),
        ] {
            assert_eq!(protocol(given, allow), expected, "{given}");
        }
    }

    #[test]
    fn certificates_splits_pem_bundle() {
        let one = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----";
        let several = format!("# first\n{one}\n{one}\nand nothing");
        assert_eq!(certificates(several.as_bytes()).len(), 2);
        assert_eq!(certificates(b"").len(), 0);
    }
}
